"""Public functions on tensors: composites of the table's ops, and those made from the table. No kernels here."""

from typing import TYPE_CHECKING, Any

from .arithmetic import add, pow, rsub, sub, where
from .linalg import addmm, bmm, dot, matmul, mm, mv
from .losses import log_softmax, nll_loss
from .reductions import argmax, max, mean, sum
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
    "dot",
    "flatten",
    "log_softmax",
    "matmul",
    "max",
    "mean",
    "mm",
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
    "t",
    "transpose",
    "unsqueeze",
    "where",
    *FUNCTIONS,
]
