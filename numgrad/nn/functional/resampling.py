"""Images of another size."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ...ops import resampling
from ...tensor import Tensor
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

_RANKS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
_AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Images in another size.

    Args:
        input: (n, channels, *spatial) with one to three spatial dimensions.
        size: the spatial size of the result; a number, or one for each dimension.
        scale_factor: instead of `size`, how many times larger it is.
        mode: "nearest" or "nearest-exact" (the item at the place, which the latter takes in the middle of an item);
            "linear", "bilinear", "trilinear" (between the items on both sides, in each dimension); "bicubic" (a cubic
            through the four around); "area" (the mean of a share of the image).
        align_corners: whether the outermost items lie on each other, rather than their outer edges.
        recompute_scale_factor: whether places follow from the sizes, rather than from the `scale_factor` that is given.
        antialias: not there yet.

    Raises:
        ValueError: not one of `size` and `scale_factor`, other numbers of dimensions, options that do not fit the mode.
        NotImplementedError: a mode that does not fit the input's dimensions, integers other than uint8, antialias.
        RuntimeError: sizes of 0.

    Example:
        >>> import numgrad as ng
        >>> ng.nn.functional.interpolate(ng.tensor([[[0.0, 2.0]]]), size=3, mode="linear", align_corners=True)
        tensor([[[0., 1., 2.]]])
    """
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    output_size, factors = _size_and_factors(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if factors is not None and (recompute_scale_factor or mode == "area"):
        output_size = [int(n * f) for n, f in zip(input.shape[2:], factors, strict=True)]
        factors = None
    if antialias:
        if mode not in ("bilinear", "bicubic", "lanczos") or input.dim() != 4:
            raise ValueError(
                "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
            )
        raise NotImplementedError("interpolate: antialias=True is not implemented")
    rank = input.dim() - 2
    _check_mode(mode, rank)
    if mode == "area":
        return _AREA[rank](input, output_size)
    return resampling.upsample(input, mode, output_size, factors, bool(align_corners))


def _size_and_factors(input: Tensor, size: Any, scale_factor: Any) -> tuple[Any, Any]:
    """The one of the two that is given, with a number for each dimension, and None for the other."""
    rank, images = input.dim() - 2, list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    form = "Please provide input tensor in (N, C, d1, d2, ...,dK) format and"
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return [size] * rank, None
        if len(size) != rank:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions "
                f"of {images} and output size of {size}. {form} output size in (o1, o2, ...,oK) format."
            )
        if not all(hasattr(n, "__index__") for n in size):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
                f"with types {[type(n) for n in size]}"
            )
        return size, None
    if not isinstance(scale_factor, (list, tuple)):
        return None, [scale_factor] * rank
    if len(scale_factor) != rank:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {images} and scale_factor of shape {scale_factor}. {form} scale_factor in (s1, s2, ...,sK) "
            "format."
        )
    return None, scale_factor


def _check_mode(mode: str, rank: int) -> None:
    wanted = _RANKS.get(mode)
    if rank in (1, 2, 3) and (wanted == rank or mode in ("nearest", "nearest-exact", "area")):
        return
    if wanted is not None and rank in (1, 2, 3) and mode != "bicubic":
        raise NotImplementedError(f"Got {rank + 2}D input, but {mode} mode needs {wanted + 2}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank + 2}D) for the modes: nearest | linear | "
        f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """PyTorch's older name of `interpolate`, with its warning."""
    _warn_of("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "nearest", with PyTorch's warning that it is an older name."""
    _warn_of("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "bilinear" and aligned corners, with PyTorch's warning that it is an older name."""
    _warn_of("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _warn_of(name: str) -> None:
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)
