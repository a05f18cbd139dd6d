"""Public functions on tensors: composites of the table's ops, and those made from the table. No kernels here."""

from typing import TYPE_CHECKING, Any

from .arithmetic import add, pow, rsub, sub, where
from .dimensions import (
    adjoint,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_shapes,
    broadcast_tensors,
    broadcast_to,
    diagonal,
    moveaxis,
    movedim,
    ravel,
    swapaxes,
    swapdims,
    unflatten,
)
from .extrema import amax, amin, aminmax, argmax, argmin, max, min
from .indexing import index_put, index_put_
from .linalg import addmm, bmm, dot, matmul, mm, mv
from .losses import log_softmax, nll_loss
from .reductions import all, any, count_nonzero, mean, nanmean, nansum, prod, sum
from .scattering import gather, scatter, scatter_add, scatter_reduce, take_along_dim
from .selecting import (
    argwhere,
    index_add,
    index_copy,
    index_fill,
    index_select,
    masked_fill,
    masked_scatter,
    masked_select,
    nonzero,
    put,
    take,
)
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
from .splitting import chunk, dsplit, hsplit, split, split_with_sizes, tensor_split, unbind, vsplit
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
    "argwhere",
    "as_strided",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "bmm",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "cat",
    "chunk",
    "count_nonzero",
    "diagonal",
    "dot",
    "dsplit",
    "flatten",
    "gather",
    "hsplit",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_put_",
    "index_select",
    "log_softmax",
    "logsumexp",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "max",
    "mean",
    "min",
    "mm",
    "moveaxis",
    "movedim",
    "mv",
    "nanmean",
    "nansum",
    "narrow",
    "nll_loss",
    "nonzero",
    "norm",
    "permute",
    "pow",
    "prod",
    "put",
    "ravel",
    "reshape",
    "rsub",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "select",
    "split",
    "split_with_sizes",
    "squeeze",
    "stack",
    "std",
    "std_mean",
    "sub",
    "sum",
    "swapaxes",
    "swapdims",
    "t",
    "take",
    "take_along_dim",
    "tensor_split",
    "transpose",
    "unbind",
    "unflatten",
    "unsqueeze",
    "var",
    "var_mean",
    "vsplit",
    "where",
    *FUNCTIONS,
]
