"""Operators and methods of `Tensor` that are ops: of the table, and the public functions of this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.variable import CLASSES
from ..dispatch import dispatch, operator
from ..interop import as_operand
from ..kernels import arithmetic as table
from ..kernels import comparison
from . import (
    arithmetic,
    dimensions,
    extrema,
    indexing,
    linalg,
    losses,
    memory,
    reductions,
    scattering,
    selecting,
    shaping,
    splitting,
    statistics,
)
from .table import bind_methods

FUNCTIONS = (
    (arithmetic, ("add", "sub", "pow")),
    (reductions, ("sum", "mean", "nansum", "nanmean", "prod", "any", "all", "count_nonzero")),
    (extrema, ("max", "min", "amax", "amin", "aminmax", "argmax", "argmin")),
    (statistics, ("var", "std", "norm", "logsumexp")),
    (losses, ("log_softmax",)),
    (linalg, ("mm", "addmm", "dot", "mv", "bmm", "matmul")),
    (shaping, ("view", "reshape", "t", "transpose", "permute", "squeeze", "unsqueeze", "expand")),
    (indexing, ("index_put", "index_put_")),
    (scattering, ("gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_")),
    (scattering, ("take_along_dim",)),
    (selecting, ("index_select", "index_add", "index_add_", "index_copy", "index_copy_", "index_fill", "index_fill_")),
    (selecting, ("masked_fill", "masked_fill_", "masked_select", "masked_scatter", "masked_scatter_")),
    (selecting, ("take", "put", "put_", "nonzero", "argwhere")),
    (splitting, ("unbind", "split", "split_with_sizes", "chunk", "tensor_split", "hsplit", "vsplit", "dsplit")),
    (dimensions, ("swapaxes", "swapdims", "movedim", "moveaxis", "adjoint", "diagonal", "unfold", "ravel")),
    (
        memory,
        ("squeeze_", "unsqueeze_", "transpose_", "swapdims_", "swapaxes_", "t_", "as_strided_", "resize_", "set_"),
    ),
    (memory, ("resize_as_", "untyped_storage", "is_set_to", "is_same_size", "dim_order", "clone", "contiguous")),
    (dimensions, ("unflatten", "broadcast_to")),
    (shaping, ("flatten", "select", "narrow", "as_strided", "sum_to_size")),
)


def bind(cls: Any) -> None:
    """Give the tensor class its operators and the methods that are ops."""
    _bind_operators(cls)
    for module, names in FUNCTIONS:
        for name in names:
            setattr(cls, name, getattr(module, name))
    for name in ("T", "mT", "mH", "H"):
        setattr(cls, name, property(getattr(dimensions, name)))
    cls.is_contiguous = memory.is_contiguous_in
    for method in (where, expand_as, view_as, reshape_as):
        setattr(cls, method.__name__, method)
    cls.add_ = _scaled_in_place(table.add, table.add_scaled)
    cls.sub_ = _scaled_in_place(table.sub, table.sub_scaled)
    cls.pow_ = _pow_in_place
    bind_methods(cls)


def where(self: Any, condition: Any, other: Any) -> Any:
    """The tensor's items where `condition` holds, those of `other` elsewhere."""
    return arithmetic.where(condition, self, other)


def expand_as(self: Any, other: Any) -> Any:
    """`expand` to the shape of another tensor."""
    return shaping.expand(self, tuple(other.shape))


def view_as(self: Any, other: Any) -> Any:
    """`view` in the shape of another tensor."""
    return shaping.view(self, tuple(other.shape))


def reshape_as(self: Any, other: Any) -> Any:
    """`reshape` to the shape of another tensor."""
    return shaping.reshape(self, tuple(other.shape))


def _bind_operators(cls: Any) -> None:
    for name, op in (("add", table.add), ("sub", table.sub), ("mul", table.mul), ("truediv", table.div)):
        setattr(cls, f"__{name}__", operator(op, as_operand))
        setattr(cls, f"__i{name}__", _in_place(op))
    # Reflected ones put the tensor first: that is where the fast path looks for it.
    for name, op in (("radd", table.add), ("rmul", table.mul), ("rsub", table.rsub)):
        setattr(cls, f"__{name}__", operator(op, as_operand))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(cls, f"__{name}__", operator(getattr(comparison, name), as_operand))
    cls.__hash__ = object.__hash__
    cls.__rtruediv__ = lambda self, other: dispatch(table.reciprocal, (self,)) * other
    cls.__neg__ = lambda self: dispatch(table.neg, (self,))
    cls.__pos__ = lambda self: self
    cls.__abs__ = lambda self: dispatch(table.absolute, (self,))
    cls.__pow__ = arithmetic.pow
    cls.__rpow__ = lambda self, base: arithmetic.pow(base, self)
    cls.__matmul__ = _matmul
    cls.__rmatmul__ = lambda self, other: _matmul(as_operand(other, self), self)


def _in_place(op: Any) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        return dispatch(op, (self, other), (), self)

    method.__doc__ = f"{op.doc} Writes the result to the tensor itself."
    return method


def _scaled_in_place(op: Any, scaled: Any) -> Callable[..., Any]:
    def method(self: Any, other: Any, *, alpha: float = 1) -> Any:
        """Add (or subtract) `alpha * other`, in place."""
        if alpha == 1:
            return dispatch(op, (self, other), (), self)
        arithmetic.check_alpha(self, other, alpha)
        return dispatch(scaled, (self, other, alpha), (), self)

    return method


def _pow_in_place(self: Any, exponent: Any) -> Any:
    """Raise to a power, in place."""
    arithmetic.check_exponent(self, exponent)
    op = table.power_tensor if exponent.__class__ in CLASSES else table.power
    return dispatch(op, (self, exponent), (), self)


def _matmul(first: Any, second: Any) -> Any:
    if second.__class__ not in CLASSES:
        second = as_operand(second, first)
    if second.__class__ not in CLASSES or first.__class__ not in CLASSES:
        return NotImplemented
    return linalg.matmul(first, second)
