"""`make_tensor`: random tensors to test with."""

from __future__ import annotations

from typing import Any

from ..dtype import bool_, complex64, complex128, float32, float64, int64, uint8
from ..limits import finfo
from ..ops import rand, randint, where

_FLOATS = (-9.0, 9.0)
_RANGES = {bool_: (0, 2), uint8: (0, 10)}  # other integers are drawn from -9 to 9


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of random items, evenly from `low` up to but not including `high`.

    Args:
        shape: a shape, or its extents.
        dtype, device: of the tensor.
        low, high: by default -9 and 9 for floats (both parts of complex numbers), -9 and 10 for integers, 0 and 10 for
            uint8, 0 and 2 for bools.
        requires_grad: make it a leaf that wants gradients.
        noncontiguous: leave gaps between its items.
        exclude_zero: no item is 0: it becomes the least number above instead (1 for integers).
        memory_format: not supported beside `noncontiguous`.

    Raises:
        ValueError: an empty range; `requires_grad` for integers.

    Example:
        >>> import numgrad as ng
        >>> ng.testing.make_tensor(2, 3, dtype=ng.float32, device="cpu").shape
        torch.Size([2, 3])
    """
    size = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got noncontiguous=True and "
            f"{memory_format=}"
        )
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    spread = noncontiguous and len(size) > 0 and all(n > 0 for n in size)
    drawn = (*size[:-1], size[-1] * 2) if spread else size
    items = _drawn(drawn, dtype, device, low, high)
    if exclude_zero:
        least = finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
        items = where(items == 0, items.new_ones(items.shape) * least, items).to(dtype)
    if spread:
        items = items[..., ::2]
    return items.requires_grad_() if requires_grad else items


def _drawn(size: tuple[int, ...], dtype: Any, device: Any, low: float | None, high: float | None) -> Any:
    if dtype.is_floating_point or dtype.is_complex:
        start, stop = (_FLOATS[0] if low is None else low), (_FLOATS[1] if high is None else high)
        _check_range(start, stop)
        real = {complex64: float32, complex128: float64}.get(dtype, dtype)
        parts = [rand(size, dtype=real, device=device) * (stop - start) + start for _ in range(1 + dtype.is_complex)]
        return parts[0] + parts[1] * 1j if dtype.is_complex else parts[0]
    default = _RANGES.get(dtype, (-9, 10))
    start, stop = (default[0] if low is None else int(low)), (default[1] if high is None else int(high))
    _check_range(start, stop)
    return randint(start, stop, size, dtype=int64, device=device).to(dtype)


def _check_range(low: float, high: float) -> None:
    if low >= high:
        raise ValueError(f"make_tensor: `low` must be less than `high`, but got {low=} and {high=}")
