"""Public functions on tensors: composites of the table's ops, and those made from the table. No kernels here."""

from typing import TYPE_CHECKING, Any

from .arithmetic import add, pow, rsub, sub, where
from .linalg import addmm, bmm, dot, linear, matmul, mm, mv
from .losses import cross_entropy, log_softmax, mse_loss, nll_loss
from .reductions import argmax, max, mean, sum
from .shaping import (
    as_strided,
    cat,
    expand,
    flatten,
    narrow,
    permute,
    reshape,
    select,
    squeeze,
    stack,
    sum_to_size,
    t,
    transpose,
    unsqueeze,
    view,
)
from .table import FUNCTIONS

if TYPE_CHECKING:  # the functions of the table have no names that a type checker could read

    def __getattr__(name: str) -> Any: ...


globals().update(FUNCTIONS)

__all__ = [
    "add",
    "addmm",
    "argmax",
    "as_strided",
    "bmm",
    "cat",
    "cross_entropy",
    "dot",
    "expand",
    "flatten",
    "linear",
    "log_softmax",
    "matmul",
    "max",
    "mean",
    "mm",
    "mse_loss",
    "mv",
    "narrow",
    "nll_loss",
    "permute",
    "pow",
    "reshape",
    "rsub",
    "select",
    "squeeze",
    "stack",
    "sub",
    "sum",
    "sum_to_size",
    "t",
    "transpose",
    "unsqueeze",
    "view",
    "where",
    *FUNCTIONS,
]
