"""`torch.gradient`: derivatives of sampled functions by central differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.variable import CLASSES
from .checks import check_tensor
from .dims import wrap_dims
from .shaping import cat

__all__ = ["gradient"]


def gradient(input: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> list[Any]:
    """Derivatives along dimensions, second order inside, first or second (`edge_order`) at the ends.

    Args:
        input: the samples, of any shape.
        spacing: the distance of samples: one number, one for each dimension, or a 1-D tensor of coordinates for each.
        dim: an int or several; all by default.
        edge_order: 1 or 2.

    Returns:
        A list with a tensor of the input's shape for each dimension.

    Raises:
        RuntimeError: too few samples, spacings that are not as many as the dimensions.

    Example:
        >>> import numgrad as ng
        >>> ng.gradient(ng.tensor([1.0, 4.0, 9.0, 16.0]))
        (tensor([3., 4., 6., 7.]),)
    """
    check_tensor("gradient", input)
    dims = tuple(range(input.dim())) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    dims = wrap_dims(dims, input.dim())
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    steps = _spacings(1 if spacing is None else spacing, len(dims))
    for d in dims:
        if input.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    found = tuple(_along(input, d, step, edge_order) for d, step in zip(dims, steps, strict=True))
    return found  # type: ignore[return-value]  # a list in PyTorch's words, a tuple in fact


def _spacings(spacing: Any, count: int) -> Sequence[Any]:
    if not isinstance(spacing, (tuple, list)):
        return [spacing] * count
    if len(spacing) != count:
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar or a list of length {count} but got a list of "
            f"length {len(spacing)}"
        )
    return spacing


def _along(x: Any, d: int, spacing: Any, edge_order: int) -> Any:
    n = x.shape[d]
    ahead = x.narrow(d, 1, n - 1) - x.narrow(d, 0, n - 1)
    if spacing.__class__ in CLASSES and spacing.dim():
        shape = [1] * x.dim()
        shape[d] = n - 1
        widths = (spacing[1:] - spacing[:-1]).reshape(shape)
    else:
        widths = None
        ahead = ahead / spacing
    slopes = ahead if widths is None else ahead / widths
    first, last = slopes.narrow(d, 0, 1), slopes.narrow(d, n - 2, 1)
    if n == 2:
        return cat((first, last), d)
    left, right = slopes.narrow(d, 0, n - 2), slopes.narrow(d, 1, n - 2)
    if widths is None:
        inner = (left + right) / 2
        bend_first, bend_last = (slopes.narrow(d, 1, 1) - first) / 2, (last - slopes.narrow(d, n - 3, 1)) / 2
    else:
        a, b = widths.narrow(d, 0, n - 2), widths.narrow(d, 1, n - 2)
        inner = (left * b + right * a) / (a + b)
        bend_first, bend_last = _bend(slopes, widths, d, 0), _bend(slopes, widths, d, n - 3)
        bend_first, bend_last = bend_first * widths.narrow(d, 0, 1), bend_last * widths.narrow(d, n - 2, 1)
    if edge_order == 2:
        first, last = first - bend_first, last + bend_last
    return cat((first, inner, last), d)


def _bend(slopes: Any, widths: Any, d: int, i: int) -> Any:
    """The second divided difference around two neighbouring intervals."""
    whole = widths.narrow(d, i, 1) + widths.narrow(d, i + 1, 1)
    return (slopes.narrow(d, i + 1, 1) - slopes.narrow(d, i, 1)) / whole
