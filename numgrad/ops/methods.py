"""Operators and methods of `Tensor` that are ops: of the table, and the public functions of this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.variable import CLASSES
from ..dispatch import dispatch, operator
from ..interop import as_operand
from ..kernels import arithmetic as table
from ..kernels import comparison, logic
from . import (
    activations,
    arithmetic,
    bounds,
    casts,
    combined,
    complex_numbers,
    contractions,
    counting,
    dimensions,
    extrema,
    factories,
    in_place_draws,
    indexing,
    inspection,
    linalg,
    memory,
    older_linalg,
    ordering,
    probabilities,
    rearrangement,
    reductions,
    rounding,
    sampling,
    scans,
    scattering,
    selecting,
    shaping,
    splitting,
    statistics,
    systems,
    view_copies,
)
from .table import bind_methods

FUNCTIONS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (activations, ("hardshrink", "prelu")),
    (arithmetic, ("add", "sub", "pow")),
    (rounding, ("round", "copysign", "heaviside", "nextafter", "div", "floor_divide", "remainder", "fmod")),
    (bounds, ("clamp", "clip", "clamp_min", "clamp_max", "nan_to_num")),
    (combined, ("positive", "square", "lerp", "addcmul", "addcdiv", "xlogy", "float_power", "float_power_")),
    (combined, ("isclose", "allclose", "equal")),
    (ordering, ("sort", "argsort", "msort", "topk", "kthvalue", "median", "nanmedian", "mode", "quantile")),
    (ordering, ("nanquantile", "unique", "unique_consecutive")),
    (scans, ("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "diff")),
    (rearrangement, ("flip", "fliplr", "flipud", "rot90", "roll", "repeat", "tile", "repeat_interleave")),
    (rearrangement, ("tril", "triu", "diag", "diag_embed", "diagflat", "trace")),
    (contractions, ("outer", "ger", "inner", "kron", "cross", "addmv", "addr", "baddbmm", "addbmm", "dist")),
    (factories, ("new_zeros", "new_ones", "new_empty", "new_full", "new_tensor")),
    (counting, ("bincount", "histc", "cov", "corrcoef")),
    (reductions, ("sum", "mean", "nansum", "nanmean", "prod", "any", "all", "count_nonzero")),
    (extrema, ("max", "min", "amax", "amin", "aminmax", "argmax", "argmin")),
    (statistics, ("var", "std", "norm", "logsumexp")),
    (probabilities, ("log_softmax", "softmax")),
    (linalg, ("mm", "addmm", "dot", "mv", "bmm", "matmul", "vdot")),
    (older_linalg, ("cholesky", "det", "geqrf", "inverse", "logdet", "lu", "lu_solve", "matrix_exp", "matrix_power")),
    (older_linalg, ("orgqr", "pinverse", "qr", "slogdet", "svd", "triangular_solve")),
    (systems, ("cholesky_inverse", "cholesky_solve")),
    (
        complex_numbers,
        ("conj", "conj_physical", "resolve_conj", "resolve_neg", "is_conj", "is_neg", "isreal"),
    ),
    (shaping, ("view", "reshape", "t", "transpose", "permute", "squeeze", "unsqueeze", "expand")),
    (sampling, ("bernoulli", "multinomial")),
    (in_place_draws, ("uniform_", "normal_", "log_normal_", "exponential_", "geometric_", "cauchy_")),
    (in_place_draws, ("random_", "bernoulli_")),
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
    (
        memory,
        (
            "resize_as_",
            "untyped_storage",
            "is_set_to",
            "is_same_size",
            "dim_order",
            "clone",
            "contiguous",
            "is_contiguous",
        ),
    ),
    (memory, ("fill_diagonal_", "new", "resize", "resize_as", "apply_", "map_", "new_empty_strided", "share_memory_")),
    (memory, ("pin_memory", "storage", "as_subclass")),
    (inspection, ("get_device", "is_nonzero", "is_pinned", "is_shared", "dense_dim", "to_dense")),
    (scattering, ("index_reduce", "index_reduce_")),
    (selecting, ("nonzero_static",)),
    (counting, ("histogram",)),
    (statistics, ("renorm",)),
    (view_copies, ("select_scatter", "slice_scatter", "diagonal_scatter", "as_strided_scatter")),
    (view_copies, ("narrow_copy", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes")),
    (dimensions, ("unflatten", "broadcast_to")),
    (shaping, ("flatten", "select", "narrow", "as_strided", "sum_to_size")),
)

IN_PLACE: tuple[tuple[Any, tuple[str, ...]], ...] = (  # written as `f(self, ..., out=self)` by `f_`
    (rounding, ("round", "copysign", "heaviside", "div", "floor_divide", "remainder", "fmod")),
    (bounds, ("clamp", "clip", "clamp_min", "clamp_max", "nan_to_num")),
    (combined, ("square", "lerp", "addcmul", "addcdiv", "xlogy")),
)
COPIED: tuple[tuple[Any, tuple[str, ...]], ...] = (  # copied to the tensor by `f_`
    (scans, ("cumsum", "cumprod")),
    (rearrangement, ("tril", "triu")),
    (rounding, ("nextafter",)),
    (contractions, ("addmv", "addr", "baddbmm", "addbmm")),
    (linalg, ("addmm",)),
    (statistics, ("renorm",)),
)
ALIASES = {"true_divide": "div", "divide": "div"}


def bind(cls: Any) -> None:
    """Give the tensor class its operators and the methods that are ops."""
    _bind_operators(cls)
    for module, names in FUNCTIONS:
        for name in names:
            setattr(cls, name, getattr(module, name))
    for module, names in IN_PLACE:
        for name in names:
            setattr(cls, f"{name}_", in_place(getattr(module, name)))
    for module, names in COPIED:
        for name in names:
            setattr(cls, f"{name}_", copied_in_place(getattr(module, name)))
    for alias, name in ALIASES.items():
        setattr(cls, alias, getattr(cls, name))
        setattr(cls, f"{alias}_", getattr(cls, f"{name}_"))
    for method in (where, expand_as, view_as, reshape_as):
        setattr(cls, method.__name__, method)
    cls.real = property(complex_numbers.real, _set_real)
    cls.imag = property(complex_numbers.imag, _set_imag)
    for name, value in inspection.PROPERTIES.items():
        setattr(cls, name, value)
    cls.is_cpu = property(lambda self: self._device.type == "cpu")
    cls.const_data_ptr = cls.data_ptr
    for name in ("T", "mT", "mH", "H"):
        setattr(cls, name, property(getattr(dimensions, name)))
    for name, cast in casts.METHODS.items():
        setattr(cls, name, cast)
    cls.add_ = _scaled_in_place(table.add, table.add_scaled)
    cls.sub_ = _scaled_in_place(table.sub, table.sub_scaled)
    cls.subtract, cls.subtract_ = cls.sub, cls.sub_
    cls.pow_ = _pow_in_place
    bind_methods(cls)


def in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """The method that writes what a function of `out=` gives to the tensor itself, and returns that."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return function(self, *args, out=self, **options)

    method.__name__ = f"{function.__name__}_"
    method.__doc__ = f"`{function.__name__}`, in place."
    return method


def copied_in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """The method that computes a function of a copy of the tensor, and writes the result over the tensor."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return self.copy_(function(self.clone(), *args, **options))

    method.__name__ = f"{function.__name__}_"
    method.__doc__ = f"`{function.__name__}`, in place."
    return method


def _set_real(self: Any, value: Any) -> None:
    complex_numbers.real(self).copy_(value)


def _set_imag(self: Any, value: Any) -> None:
    complex_numbers.imag(self).copy_(value)


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
    cls.__hash__ = lambda self: id(self)  # as PyTorch; Python's own differs from it in value
    cls.__rtruediv__ = lambda self, other: dispatch(table.reciprocal, (self,)) * other
    for name, op in (("and", logic.bitwise_and), ("or", logic.bitwise_or), ("xor", logic.bitwise_xor)):
        setattr(cls, f"__{name}__", operator(op, as_operand))
        setattr(cls, f"__r{name}__", operator(op, as_operand))
        setattr(cls, f"__i{name}__", _in_place(op))
    for name, op in (("lshift", logic.bitwise_left_shift), ("rshift", logic.bitwise_right_shift)):
        setattr(cls, f"__{name}__", operator(op, as_operand))
        setattr(cls, f"__r{name}__", _reflected(lambda a, b, op=op: dispatch(op, (a, b))))
        setattr(cls, f"__i{name}__", _in_place(op))
    for name, function in (("floordiv", rounding.floor_divide), ("mod", rounding.remainder)):
        setattr(cls, f"__{name}__", function)
        setattr(cls, f"__r{name}__", _reflected(function))
        setattr(cls, f"__i{name}__", in_place(function))
    cls.__ipow__ = _pow_in_place
    cls.__invert__ = _invert
    cls.__neg__ = lambda self: dispatch(table.neg, (self,))
    cls.__pos__ = combined.positive
    cls.__abs__ = lambda self: dispatch(table.absolute, (self,))
    cls.__pow__ = arithmetic.pow
    cls.__rpow__ = lambda self, base: arithmetic.pow(base, self)
    cls.__matmul__ = _matmul
    cls.__rmatmul__ = lambda self, other: _matmul(
        other if other.__class__ in CLASSES else as_operand(other, self), self
    )


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        return function(other, self)

    return method


def _invert(self: Any) -> Any:
    """All bits turned round; the negation of bools. Raises TypeError for floats."""
    if self._array.dtype.kind not in "iub":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return dispatch(logic.bitwise_not, (self,))


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
