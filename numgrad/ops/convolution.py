"""Convolutions with one to three spatial dimensions, and the transposed ones."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..kernels import convolution as kernels
from ..kernels import padding as padding_kernels
from .checks import check_tensors, invalid_combination

_AXES = {1: ("width",), 2: ("height", "width"), 3: ("depth", "height", "width")}
_INTS = "tuple of ints"
_COMMON = "Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1"
_SIGNATURES = (
    f"({_COMMON}, tuple of ints padding = 0, tuple of ints dilation = 1, int groups = 1)",
    f'({_COMMON}, str padding = "valid", tuple of ints dilation = 1, int groups = 1)',
)


def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Slide windows of a weight along one spatial dimension, and multiply and add; see `conv2d`.

    (n, channels, length) and (outputs, channels / groups, size) to (n, outputs, windows).
    """
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Slide windows of a weight over images, and multiply and add (the cross-correlation).

    Args:
        input: images, (n, channels, height, width) or (channels, height, width).
        weight: (outputs, channels / groups, height, width) of a window.
        bias: (outputs,), added to the result.
        stride: how far a window moves at a time; a number, or one for each spatial dimension, like all that follow.
        padding: rows of zeros around an image; "valid" for none; "same" for as many as keep the image's size, an odd
            one at the end.
        dilation: how far the items of a window are apart.
        groups: parts of the channels that are convolved by themselves, each with its part of the weight's outputs.

    Returns:
        (n, outputs, windows down, windows across).

    Raises:
        RuntimeError: shapes or dtypes that do not fit, "same" with a stride.
        TypeError: an argument of another type.

    Example:
        >>> import numgrad as ng
        >>> ng.conv2d(ng.ones(1, 3, 8, 8), ng.ones(4, 3, 3, 3), padding=1).shape
        numgrad.Size([1, 4, 8, 8])
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """`conv2d` with three spatial dimensions."""
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transposed convolution along one spatial dimension; see `conv_transpose2d`."""
    return _convolve_transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transposed convolution: each item adds a window of the weight, times itself, to the result.

    It is the gradient of `conv2d` for its input.

    Args:
        input: (n, channels, height, width) or (channels, height, width).
        weight: (channels, outputs / groups, height, width) of a window.
        bias: (outputs,), added to the result.
        stride: how far the windows of neighbouring items are apart.
        padding: rows that are cut off around the result.
        output_padding: rows that the result has more at its end.
        groups: parts of the channels that are taken by themselves.
        dilation: how far the items of a window are apart.

    Returns:
        (n, outputs, (height - 1) * stride - 2 * padding + dilation * (size - 1) + output_padding + 1, ...).

    Raises:
        RuntimeError: shapes or dtypes that do not fit, an output_padding that is not below stride or dilation.
        TypeError: an argument of another type.
    """
    return _convolve_transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """`conv_transpose2d` with three spatial dimensions."""
    return _convolve_transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


# ---------------------------------------------------------------------------------------------------- the two forms
def _convolve(
    rank: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any
) -> Any:
    _check_types(rank, input, weight, bias, stride, padding, dilation, groups)
    images = _batched(f"conv{rank}d", rank, input)
    stride, padding, dilation = (_repeated(x, rank) for x in (stride, padding, dilation))
    if isinstance(padding, str):
        found = _convolve_by_name(images, weight, bias, stride, padding, dilation, groups)
    else:
        found = _run(images, weight, bias, stride, padding, dilation, False, 0, groups)
    return found if images is input else found.squeeze(0)


def _convolve_transposed(
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: Any,
    dilation: Any,
) -> Any:
    name = f"conv_transpose{rank}d"
    check_tensors(name, input=input, weight=weight)
    for argument, value in (
        ("stride", stride),
        ("padding", padding),
        ("output_padding", output_padding),
        ("dilation", dilation),
    ):
        if not _is_ints(value):
            raise TypeError(f"{name}(): argument '{argument}' must be {_INTS}, not {type(value).__name__}")
    images = _batched(name, rank, input)
    stride, padding, output_padding, dilation = (
        _repeated(x, rank) for x in (stride, padding, output_padding, dilation)
    )
    found = _run(images, weight, bias, stride, padding, dilation, True, output_padding, groups)
    return found if images is input else found.squeeze(0)


def _is_ints(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(v.__class__ is int or hasattr(v, "__index__") for v in value)
    return value.__class__ is int or hasattr(value, "__index__")


def _repeated(value: Any, rank: int) -> Any:
    """A single number as one for each dimension that the function is for, whatever the weight has."""
    return value if isinstance(value, (tuple, list, str)) else (value,) * rank


def _check_types(
    rank: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any
) -> None:
    """Raise PyTorch's error for arguments that neither of its two signatures takes."""
    fits = (
        input.__class__ in CLASSES
        and weight.__class__ in CLASSES
        and (bias is None or bias.__class__ in CLASSES)
        and _is_ints(stride)
        and (isinstance(padding, str) or _is_ints(padding))
        and _is_ints(dilation)
        and hasattr(groups, "__index__")
    )
    if fits:
        return
    given = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    defaults = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
    named = {k: v for k, v in given.items() if v is not defaults[k]}
    tensors = (input, weight) if bias is None else (input, weight, bias)
    raise invalid_combination(f"conv{rank}d", tensors, named, _SIGNATURES)


def _batched(name: str, rank: int, input: Any) -> Any:
    """The input with a first dimension for the batch."""
    dims = input.dim()
    if dims not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, "
            f"but got input of size: {list(input.shape)}"
        )
    return input if dims == rank + 2 else input.unsqueeze(0)


def _convolve_by_name(input: Any, weight: Any, bias: Any, stride: Any, padding: str, dilation: Any, groups: int) -> Any:
    """The convolution whose padding is "valid" or "same"."""
    if padding == "valid":
        return _run(input, weight, bias, stride, 0, dilation, False, 0, groups)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    _check_dims(input, weight)
    rank = weight.dim() - 2
    steps = _expanded("stride", stride, rank)
    if any(s != 1 for s in steps):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    spread = _expanded("dilation", dilation, rank)
    totals = [d * (k - 1) for d, k in zip(spread, weight.shape[2:], strict=True)]
    both = tuple(t // 2 for t in totals)
    if any(t % 2 for t in totals):
        warnings.warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input "
            "be created",
            stacklevel=4,
        )
        pad = tuple(n for t in reversed(totals) for n in (0, t % 2))
        input = dispatch(padding_kernels.constant_pad_nd, (input,), (pad, 0))
    return _run(input, weight, bias, stride, both, dilation, False, 0, groups)


def _run(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    """`convolution`, its numbers checked and one for each spatial dimension."""
    if groups < 1:
        raise RuntimeError("non-positive groups is not supported")
    rank = weight.dim() - 2
    if rank < 1:
        raise RuntimeError("weight should have at least three dimensions")
    steps = _expanded("stride", stride, rank)
    around = _expanded("padding", padding, rank)
    spread = _expanded("dilation", dilation, rank)
    extra = _expanded("output_padding", output_padding, rank)
    _check_dtypes(input, weight, bias)
    _check_numbers(steps, around, spread, extra)
    _check_shapes(input, weight, bias, groups, transposed)
    size = kernels.result_size(tuple(input.shape[2:]), tuple(weight.shape), steps, around, spread, transposed, extra)
    _check_sizes(input, weight, size, steps, around, spread, extra, transposed)
    attributes = (steps, around, spread, transposed, extra, groups)
    if bias is None:
        return dispatch(kernels.convolution_alone, (input, weight), attributes)
    return dispatch(kernels.convolution, (input, weight, bias), attributes)


def convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    """The general form of `conv1d`, ..., `conv_transpose3d`: the weight says how many spatial dimensions there are."""
    check_tensors("convolution", input=input, weight=weight)
    return _run(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """`conv1d` in another order of dimensions: (time, batch, channels) and (size, channels, outputs)."""
    check_tensors("conv_tbc", input=input, weight=weight, bias=bias)
    if input.dim() != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel.")
    if weight.dim() != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor (input channels).")
    if bias.shape[0] != weight.shape[2]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


# ---------------------------------------------------------------------------------------------------- checks
def _expanded(name: str, value: Any, rank: int) -> tuple[int, ...]:
    """A number for each spatial dimension."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    numbers = tuple(int(v) for v in given)
    if len(numbers) == 1:
        return numbers * rank
    if len(numbers) != rank:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {rank} values to match the convolution "
            f"dimensions, but got {name}={list(numbers)}"
        )
    return numbers


def _check_dtypes(input: Any, weight: Any, bias: Any) -> None:
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(f"Input type ({input.dtype.c_name}) and bias type ({bias.dtype.c_name}) should be the same")
    if weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.scalar_name} but found {weight.dtype.scalar_name}")
    if input.dtype.name == "bool":
        raise NotImplementedError(f"\"slow_conv{input.dim() - 2}d_cpu\" not implemented for 'Bool'")


def _check_numbers(
    stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...], output_padding: tuple[int, ...]
) -> None:
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")


def _check_dims(input: Any, weight: Any) -> None:
    if input.dim() != weight.dim():
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight {list(weight.shape)}, but "
            f"got {input.dim()}-dimensional input of size {list(input.shape)} instead"
        )


def _check_shapes(input: Any, weight: Any, bias: Any, groups: int, transposed: bool) -> None:
    _check_dims(input, weight)
    shape, images = list(weight.shape), list(input.shape)
    if shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{shape} instead"
        )
    if shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{shape}] instead"
        )
    channels = shape[0] if transposed else shape[1] * groups
    if images[1] != channels:
        given = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {given}, weight of size {shape}, expected input{images} to have {channels} channels, but got "
            f"{images[1]} channels instead"
        )
    outputs = shape[1] * groups if transposed else shape[0]
    if bias is not None and list(bias.shape) != [outputs]:
        given = f"Given transposed={int(transposed)}, weight of size" if transposed else "Given weight of size"
        raise RuntimeError(
            f"{given} {shape}, expected bias to be 1-dimensional with {outputs} elements, but got bias of size "
            f"{list(bias.shape)} instead"
        )


def _check_sizes(
    input: Any,
    weight: Any,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    output_padding: tuple[int, ...],
    transposed: bool,
) -> None:
    """Raise for windows that do not fit, and for results without items."""
    taps, names = tuple(weight.shape[2:]), _AXES.get(weight.dim() - 2, ())
    if not transposed:
        padded = [n + 2 * p for n, p in zip(input.shape[2:], padding, strict=True)]
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, taps, strict=True)]
        if any(n < r for n, r in zip(padded, reach, strict=True)):
            raise RuntimeError(
                f"Calculated padded input size per channel: ({_by(padded)}). Kernel size: ({_by(reach)}). "
                "Kernel size can't be greater than actual input size"
            )
    if not math.prod(taps):
        sizes = " ".join(f"kernel_{n}: {k}" for n, k in zip(names, taps, strict=True))
        raise RuntimeError(f"kernel size should be greater than zero, but got {sizes}")
    if not transposed:
        return
    if any(e >= s and e >= d for e, s, d in zip(output_padding, stride, dilation, strict=True)):
        parts = [("output_padding", output_padding), ("stride", stride), ("dilation", dilation)]
        told = " ".join(f"{what}_{n}: {v}" for what, values in parts for n, v in zip(names, values, strict=True))
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {told}")
    if min(size) < 1:
        raise RuntimeError(
            f"Given input size per channel: ({_by(input.shape[2:])}). Calculated output size per channel: ({_by(size)}). "
            "Output size is too small"
        )


def _by(sizes: Any) -> str:
    return " x ".join(map(str, sizes))
