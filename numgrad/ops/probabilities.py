"""softmax and log_softmax as functions of tensors."""

from __future__ import annotations

from typing import Any

from ..call_plans import Call, with_plans
from ..kernels import softmax as kernels
from ..kernels.registry import KernelOp
from .checks import check_tensor
from .dims import wrap_dim


@with_plans
def softmax(input: Any, dim: int, dtype: Any = None, *, out: Any = None) -> Any:
    """Exponentials of the items divided by their sum along `dim`, computed without overflow; `dtype` casts first.

    Raises NotImplementedError for integers.

    Example:
        >>> import numgrad as ng
        >>> ng.softmax(ng.tensor([0.0, 0.0]), 0)
        tensor([0.5000, 0.5000])
    """
    return _along(kernels.softmax, input, dim, dtype, out)


@with_plans
def log_softmax(input: Any, dim: int, dtype: Any = None, *, out: Any = None) -> Any:
    """Logarithm of the softmax along `dim`, computed without overflow; `dtype` casts first.

    Raises NotImplementedError for integers.
    """
    return _along(kernels.log_softmax, input, dim, dtype, out)


def _along(op: KernelOp, input: Any, dim: Any, dtype: Any, out: Any) -> Any:
    check_tensor(op.name, input)
    if not hasattr(dim, "__index__"):
        raise TypeError(f"{op.name}(): argument 'dim' (position 2) must be int, not {type(dim).__name__}")
    if dtype is not None:
        input = input.to(dtype)
    d = wrap_dim(dim, input.dim())
    if not input.dtype.is_floating_point:
        last = "_lastdim" if d == max(input.dim() - 1, 0) else ""
        raise NotImplementedError(f"\"{op.name}{last}_kernel_impl\" not implemented for '{input.dtype.scalar_name}'")
    return Call(op, (input,), (d,), out=out)
