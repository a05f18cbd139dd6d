"""What ops without a complex form say of complex numbers, where PyTorch's text is not the usual one."""

from __future__ import annotations

from collections.abc import Iterable

from . import activations, arithmetic, bounds, counting, elementary, extrema, logic, ordering, rounding, special
from .registry import Op


def _refuse(kind: type[Exception], text: str, ops: Iterable[Op]) -> None:
    """Set the error; in its text `{}` becomes the dtype."""
    for op in ops:
        op.complex_error = (kind, text)


_KERNELS: dict[str, tuple[Op, ...]] = {  # what PyTorch calls the kernel that is missing
    **{f"{op.name}_vml_cpu": (op,) for op in (special.erf, special.erfc, special.erfinv, special.lgamma)},
    "digamma": (special.digamma,),
    "round_vml_cpu": (rounding.round_,),
    "div_floor_cpu": (rounding.div_floor,),
    "div_trunc_cpu": (rounding.div_trunc,),
    "max_all": (extrema.max_all,),
    "min_all": (extrema.min_all,),
    "max_values_cpu": (extrema.amax,),
    "min_values_cpu": (extrema.amin,),
    "median_cpu": (ordering.median_all, ordering.nanmedian_all),
    "median_out": (ordering.median_dim, ordering.nanmedian_dim),
    "unique": (ordering.unique, ordering.unique_consecutive),
    "unique_dim": (ordering.unique_dim,),
    "searchsorted_out_cpu": (counting.searchsorted,),
    "aminmax_cpu": (counting.histc,),
    "minimum_cpu": (bounds.clamp_max_tensor,),
    "maximum_cpu": (bounds.clamp_min_tensor,),
}
for _kernel, _ops in _KERNELS.items():
    _refuse(NotImplementedError, f"\"{_kernel}\" not implemented for '{{}}'", _ops)

_refuse(
    NotImplementedError,
    "clamp is not supported for complex types",
    (
        activations.relu,
        bounds.clamp,
        bounds.clamp_low,
        bounds.clamp_high,
        bounds.clamp_tensor,
        bounds.clamp_low_tensor,
        bounds.clamp_high_tensor,
        bounds.clamp_min,
        bounds.clamp_max,
    ),
)
_refuse(
    NotImplementedError,
    "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
    (arithmetic.sign,),
)
_refuse(NotImplementedError, "signbit is not implemented for complex tensors.", (rounding.signbit,))
_refuse(RuntimeError, "heaviside is not yet implemented for complex tensors.", (rounding.heaviside,))
for _op in (rounding.floor, rounding.ceil, rounding.trunc):
    _refuse(NotImplementedError, f"{_op.name} is not supported for complex inputs", (_op,))
for _op in (arithmetic.maximum, arithmetic.minimum, bounds.fmax, bounds.fmin):
    _refuse(RuntimeError, f"{_op.name} not implemented for complex tensors.", (_op,))
for _op in (logic.isposinf, logic.isneginf):
    _refuse(RuntimeError, f"{_op.name} does not support complex inputs.", (_op,))
for _op in (elementary.deg2rad, elementary.rad2deg):
    _refuse(RuntimeError, f"{_op.name} is not supported for complex tensors.", (_op,))
for _reduction in (extrema.max_dim, extrema.min_dim, extrema.argmax, extrema.argmin):
    _refuse(RuntimeError, f"{_reduction.name.partition('.')[0]}(): does not support complex input", (_reduction,))
_refuse(
    RuntimeError,
    " Sort does not support complex dtypes on CPU",
    (ordering.sort, ordering.stable_sort, ordering.argsort),
)
_refuse(RuntimeError, " topk does not support complex dtypes on CPU", (ordering.topk,))
