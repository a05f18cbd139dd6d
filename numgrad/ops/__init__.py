"""Public functions on tensors: composites of the table's ops, and those made from the table. No kernels here."""

from typing import TYPE_CHECKING, Any

from .arithmetic import add, pow, rsub, sub, where
from .complex_numbers import (
    adjoint,
    complex,
    conj,
    conj_physical,
    imag,
    is_conj,
    is_neg,
    isreal,
    polar,
    real,
    resolve_conj,
    resolve_neg,
    view_as_complex,
    view_as_real,
)
from .extrema import amax, amin, aminmax, argmax, argmin, max, min
from .inspection import is_complex, is_floating_point, is_nonzero, is_signed, is_tensor, numel, result_type
from .linalg import addmm, bmm, dot, matmul, mm, mv, vdot
from .losses import log_softmax, nll_loss
from .reductions import all, any, count_nonzero, mean, nanmean, nansum, prod, sum
from .shaping import (
    as_strided,
    cat,
    flatten,
    narrow,
    permute,
    reshape,
    select,
    squeeze,
    stack,
    t,
    transpose,
    unsqueeze,
)
from .statistics import logsumexp, norm, std, std_mean, var, var_mean
from .table import FUNCTIONS

if TYPE_CHECKING:  # the functions of the table have no names that a type checker could read

    def __getattr__(name: str) -> Any: ...


globals().update(FUNCTIONS)

__all__ = [
    "add",
    "addmm",
    "adjoint",
    "all",
    "amax",
    "amin",
    "aminmax",
    "any",
    "argmax",
    "argmin",
    "as_strided",
    "bmm",
    "cat",
    "complex",
    "conj",
    "conj_physical",
    "count_nonzero",
    "dot",
    "flatten",
    "imag",
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_neg",
    "is_nonzero",
    "is_signed",
    "is_tensor",
    "isreal",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max",
    "mean",
    "min",
    "mm",
    "mv",
    "nanmean",
    "nansum",
    "narrow",
    "nll_loss",
    "norm",
    "numel",
    "permute",
    "polar",
    "pow",
    "prod",
    "real",
    "reshape",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "rsub",
    "select",
    "squeeze",
    "stack",
    "std",
    "std_mean",
    "sub",
    "sum",
    "t",
    "transpose",
    "unsqueeze",
    "var",
    "var_mean",
    "vdot",
    "view_as_complex",
    "view_as_real",
    "where",
    *FUNCTIONS,
]
