"""Pooling: the largest item, or the mean, of each window of an image."""

from __future__ import annotations

from typing import Any

from ..dispatch import dispatch
from ..kernels import pooling as kernels
from ..kernels import resampling
from .checks import check_tensor

_COUNTS = {1: "one", 2: "two", 3: "three"}


# ---------------------------------------------------------------------------------------------------- max_pool
def max_pool1d(
    input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """The largest item of each window of (n, channels, length) or (channels, length); see `max_pool2d`."""
    check_tensor("max_pool1d", input)
    given = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    numbers = {name: _ints("max_pool1d", name, value) for name, value in given.items()}
    if input.dim() not in (2, 3) or 0 in tuple(input.shape)[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(input.shape)}"
        )
    _check_max_pool1d(numbers, input.shape[-1], ceil_mode)
    _check_floating("max_pool1d_impl", input)
    return max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool2d(
    input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """The largest item of each window of images.

    Args:
        input: (n, channels, height, width) or (channels, height, width).
        kernel_size: of a window; a number, or one for each spatial dimension, like all that follow.
        stride: how far a window moves at a time; by default its size.
        padding: rows around an image that no window takes an item from.
        dilation: how far the items of a window are apart.
        ceil_mode: whether a window may reach beyond the image's end (it begins within it, though).

    Returns:
        (n, channels, windows down, windows across). Of equal items the first gets the gradient; NaN is the largest item.

    Raises:
        RuntimeError: shapes and numbers that do not fit.
        TypeError: an argument of another type.
    """
    return max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool3d(
    input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """The largest item of each window of (n, channels, depth, height, width); see `max_pool2d`."""
    return max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool1d_with_indices(
    input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> tuple[Any, Any]:
    """`max_pool1d`, and the place of each largest item in its row."""
    check_tensor("max_pool1d", input)
    _check_rows("max_pool1d", input)
    size = _single("max_pool1d", "kernel_size", kernel_size)
    step = _single("max_pool1d", "stride", stride, size)
    around, spread = _single("max_pool1d", "padding", padding), _single("max_pool1d", "dilation", dilation)
    windows = ((1, size), (1, step), (0, around), (1, spread))
    values, places = max_pool2d_with_indices(input.unsqueeze(-2), *windows, ceil_mode)
    return values.squeeze(-2), places.squeeze(-2)


def _check_max_pool1d(numbers: dict[str, tuple[int, ...]], extent: int, ceil_mode: bool) -> None:
    for name, kinds in (
        ("kernel_size", "an int, list of ints or tuple of ints"),
        ("stride", "None, an int, list of ints, or tuple of ints"),
        ("padding", "an int, list of ints, or tuple of ints"),
        ("dilation", "an int, list of ints or tuple of ints"),
    ):
        count = len(numbers[name])
        if count != 1 and not (name == "stride" and not count):
            raise RuntimeError(f"max_pool1d() {name} must be {kinds} of size 1 but got size {count}")
    (size,), (around,), (spread,) = numbers["kernel_size"], numbers["padding"], numbers["dilation"]
    step = numbers["stride"][0] if numbers["stride"] else size
    for name, value in (("kernel_size", size), ("stride", step)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {value}")
    if around < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {around}")
    if around > size // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={around} and kernel_size={size}"
        )
    if spread <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {spread}")
    count = kernels.pooled_size(extent, size, step, around, spread, ceil_mode)
    if count <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")


def max_pool2d_with_indices(
    input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> tuple[Any, Any]:
    """`max_pool2d`, and the place of each largest item in its image, as `max_unpool2d` takes it."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> tuple[Any, Any]:
    """`max_pool3d`, and the place of each largest item in its image."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool(
    rank: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Any, Any]:
    name = f"max_pool{rank}d"
    check_tensor(name, input)
    size = _sized(name, rank, "kernel_size", kernel_size, "must either be")
    step = _sized(name, rank, "stride", stride, "must either be omitted,", size)
    around = _sized(name, rank, "padding", padding, "must either be")
    spread = _sized(name, rank, "dilation", dilation, "must be either")
    _check_dims(rank, input)
    counts = _window_counts(input, size, step, around, spread, ceil_mode)
    _check_positive(rank, size, step, spread)
    _check_not_empty(rank, input, "max_pool3d_with_indices_out_cpu_template")
    _check_counts(rank, input, counts)
    if input.dtype.name == "bool":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")
    op = kernels.max_pool2d_with_indices if rank == 2 else kernels.max_pool3d_with_indices
    return dispatch(op, (input,), (size, step, around, spread, bool(ceil_mode)))


# ---------------------------------------------------------------------------------------------------- max_unpool
def max_unpool(rank: int, input: Any, indices: Any, output_size: tuple[int, ...]) -> Any:
    """Zeros of `output_size` with the items of an image of `rank` spatial dimensions, 2 or 3, at their places."""
    check_tensor(f"max_unpool{rank}d", input)
    check_tensor(f"max_unpool{rank}d", indices, "indices", 2)
    if indices.dtype.name != "int64":
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype.scalar_name}")
    if input.dim() not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Input to max_unpooling{rank}d should be a {rank + 1}d or {rank + 2}d Tensor, but got a tensor with "
            f"{input.dim()} dimensions."
        )
    if input.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices "
            f"tensor with shape: {list(indices.shape)}"
        )
    op = kernels.max_unpool2d if rank == 2 else kernels.max_unpool3d
    return dispatch(op, (input, indices), (output_size,))


# ---------------------------------------------------------------------------------------------------- avg_pool
def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The mean of each window of (n, channels, length) or (channels, length); see `numgrad.nn.functional.avg_pool2d`."""
    check_tensor("avg_pool1d", input)
    _check_rows("avg_pool1d", input)
    size = _single("avg_pool1d", "kernel_size", kernel_size)
    step = _single("avg_pool1d", "stride", stride, size)
    around = _single("avg_pool1d", "padding", padding)
    found = avg_pool(2, input.unsqueeze(-2), (1, size), (1, step), (0, around), ceil_mode, count_include_pad, None)
    return found.squeeze(-2)


def avg_pool(
    rank: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """The mean of each window over `rank` spatial dimensions, 2 or 3."""
    name = f"avg_pool{rank}d"
    check_tensor(name, input)
    either = "must either be" if rank == 2 else "must be"
    size = _sized(name, rank, "kernel_size", kernel_size, either)
    step = _sized(name, rank, "stride", stride, f"{either} omitted,", size)
    around = _sized(name, rank, "padding", padding, either)
    if divisor_override is not None and divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if rank == 3:
        _check_dims(rank, input)
    elif input.dim() < 3:
        low, high = -max(input.dim(), 1), max(input.dim(), 1) - 1
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got -3)")
    ones = (1,) * rank
    counts = _window_counts(input, size, step, around, ones, ceil_mode)
    _check_positive(rank, size, step, ones)
    _check_not_empty(rank, input, name)
    if rank == 2:
        _check_few_dims(input)
    elif any(n < k for n, k in zip(input.shape[-3:], size, strict=True)) and min(counts) < 1:
        image, kernel = (
            " ".join(f"{mark}{axis}: {n}" for axis, n in zip("THW", numbers, strict=True))
            for mark, numbers in (("", input.shape[-3:]), ("k", size))
        )
        raise RuntimeError(f"input image ({image}) smaller than kernel size ({kernel})")
    _check_counts(rank, input, counts)
    if not (input.dtype.is_floating_point or input.dtype.name == "int64"):
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.scalar_name}'")
    way = resampling.Windows(size, step, around, bool(ceil_mode), bool(count_include_pad), divisor_override)
    return dispatch(resampling.AVG_POOL[rank], (input,), (way,))


def _check_few_dims(input: Any) -> None:
    if input.dim() > 4:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(input.shape)}"
        )


# ---------------------------------------------------------------------------------------------------- adaptive
def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """The means of so many windows that share the length of (n, channels, length); see `adaptive_avg_pool`."""
    check_tensor("adaptive_avg_pool1d", input)
    _check_rows("adaptive_avg_pool1d", input)
    size = _single("adaptive_avg_pool1d", "output_size", output_size)
    return adaptive_avg_pool(2, input.unsqueeze(-2), (1, size)).squeeze(-2)


def adaptive_avg_pool(rank: int, input: Any, output_size: Any) -> Any:
    """The means of so many windows that share an image of `rank` spatial dimensions, 2 or 3, as evenly as they can."""
    name = f"adaptive_avg_pool{rank}d"
    size = _ints(name, "output_size", output_size)
    if len(size) != rank:
        raise RuntimeError(f"{name}: output_size must be {rank}")
    if min(size) < 0:
        told = "{" + ", ".join(map(str, size[:2])) + "".join(f",{n}" for n in size[2:]) + "}"
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {told}")
    if size == (1,) * rank and input.dim() >= rank and input.dtype.is_floating_point and 0 not in input.shape[-rank:]:
        return input.mean(tuple(range(-rank, 0)), keepdim=True)
    _check_shared(name, rank, input, "")
    _check_floating(name if rank == 2 else f"{name}_cpu", input)
    return dispatch(resampling.ADAPTIVE_AVG_POOL[rank], (input,), (resampling.Shares(size),))


def adaptive_max_pool1d(input: Any, output_size: Any) -> tuple[Any, Any]:
    """The largest items of so many windows that share the length of (n, channels, length), and their places."""
    check_tensor("adaptive_max_pool1d", input)
    _check_rows("adaptive_max_pool1d", input)
    size = _single("adaptive_max_pool1d", "output_size", output_size)
    if size < 0:
        shape = [*input.shape[:-1], 1, size]
        raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {shape}")
    values, places = adaptive_max_pool(2, input.unsqueeze(-2), (1, size))
    return values.squeeze(-2), places.squeeze(-2)


def adaptive_max_pool(rank: int, input: Any, output_size: Any) -> tuple[Any, Any]:
    """The largest items of so many windows that share an image of `rank` spatial dimensions, and their places."""
    name = f"adaptive_max_pool{rank}d"
    size = _ints(name, "output_size", output_size)
    _check_shared(name, rank, input, ":")
    if len(size) != rank:
        raise RuntimeError(f"{name}(): internal error: output_size.size() must be {rank}")
    if min(size) < 0:
        shape = [*input.shape[:-rank], *size]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {shape}")
    _check_floating(name if rank == 2 else f"{name}_cpu", input)
    op = kernels.adaptive_max_pool2d if rank == 2 else kernels.adaptive_max_pool3d
    return dispatch(op, (input,), (size,))


def _check_shared(name: str, rank: int, input: Any, colon: str) -> None:
    shape = list(input.shape)
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got{colon} {shape}")
    lead = len(shape) - rank
    if 0 in shape[lead:]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {shape} with "
            f"dimension {shape.index(0, lead)} being empty"
        )


# ---------------------------------------------------------------------------------------------------- checks
_POSITIONS = {"kernel_size": 2, "output_size": 2, "stride": 3, "padding": 4, "dilation": 5}
_LETTERS = {2: "HW", 3: "THW"}


def _ints(name: str, argument: str, value: Any) -> tuple[int, ...]:
    """The ints of an argument, of which there may be one or several; none for None."""
    if value is None:
        return ()
    nested = isinstance(value, (tuple, list))
    given = tuple(value) if nested else (value,)
    for position, v in enumerate(given):
        if v.__class__ is not int and not hasattr(v, "__index__"):
            kind = type(v).__name__
            found = f"but found element of type {kind} at pos {position}" if nested else f"not {kind}"
            raise TypeError(
                f"{name}(): argument '{argument}' (position {_POSITIONS[argument]}) must be tuple of ints, {found}"
            )
    return tuple(int(v) for v in given)


def _single(name: str, argument: str, value: Any, default: int | None = None) -> int:
    """The only int of an argument; `default` where none is given."""
    numbers = _ints(name, argument, value)
    if not numbers and default is not None:
        return default
    if len(numbers) != 1:
        raise RuntimeError(f"{name}() argument '{argument}' should contain one int (got {len(numbers)})")
    return numbers[0]


def _check_rows(name: str, input: Any) -> None:
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self' (while checking "
            f"arguments for {name})"
        )


def _sized(
    name: str, rank: int, argument: str, value: Any, wanted: str, default: tuple[int, ...] = ()
) -> tuple[int, ...]:
    """A number for each spatial dimension; `default` where none is given."""
    numbers = _ints(name, argument, value)
    if len(numbers) == rank:
        return numbers
    if len(numbers) == 1:
        return numbers * rank
    if numbers or not default:
        raise RuntimeError(f"{name}: {argument} {wanted} a single int, or a tuple of {_COUNTS[rank]} ints")
    return default


def _window_counts(
    input: Any,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    ceil_mode: bool,
) -> tuple[int, ...]:
    """How many windows there are along each spatial dimension."""
    found = []
    extents = input.shape[-len(size) :]
    for n, k, s, p, d in zip(extents, size, stride, padding, dilation, strict=True):
        if s == 0:
            raise RuntimeError("stride should not be zero")
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > int(((k - 1) * d + 1) / 2):
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
        found.append(kernels.pooled_size(n, k, s, p, d, ceil_mode))
    return tuple(found)


def _check_positive(rank: int, size: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> None:
    for what, letter, numbers in (
        ("kernel size", "k", size),
        ("stride", "d", stride),
        ("dilation", "dilation", dilation),
    ):
        if min(numbers) <= 0:
            told = " ".join(f"{letter}{axis}: {n}" for axis, n in zip(_LETTERS[rank], numbers, strict=True))
            raise RuntimeError(f"{what} should be greater than zero, but got {told}")


def _check_dims(rank: int, input: Any) -> None:
    if input.dim() not in (rank + 1, rank + 2):
        raise RuntimeError(f"non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input")


def _check_not_empty(rank: int, input: Any, function: str) -> None:
    """Raise for images without items; a batch may have none."""
    shape = list(input.shape)
    own = shape[-rank - 1 :]
    if 0 not in own:
        return
    if rank == 2:
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{shape}"
        )
    raise RuntimeError(
        f"{function}(): Expected input's non-batch dimensions to have positive length, but input has a shape of {shape} "
        "and non-batch dimension 0 has length zero!"
    )


def _check_counts(rank: int, input: Any, counts: tuple[int, ...]) -> None:
    if min(counts) < 1:
        own = tuple(input.shape[-rank - 1 :])
        before, after = "x".join(map(str, own)), "x".join(map(str, (own[0], *counts)))
        raise RuntimeError(f"Given input size: ({before}). Calculated output size: ({after}). Output size is too small")


def _check_floating(name: str, input: Any) -> None:
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.scalar_name}'")
