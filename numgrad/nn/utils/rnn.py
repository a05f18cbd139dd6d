"""Sequences of different lengths in one tensor: padded, or packed step by step for recurrent networks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

from ...creation import arange, empty_like
from ...dispatch import dispatch
from ...dtype import float16, float32, float64, int8, int16, int32, int64, uint8
from ...interop import as_tensor
from ...kernels import recurrent as kernels
from ...ops import sort
from ...tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

_UNSORTED = (
    "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` "
    "to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
)
_NOT_ON_CPU = (
    "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They should be "
    "instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. "
    "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
)


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences without padding: the first step of all, longest sequence first, then the second of those that have one.

    The functions of this module make it, and recurrent layers take and return it.

    Attributes:
        data: (rows, ...).
        batch_sizes: how many sequences reach each step, int64 on the CPU.
        sorted_indices: which sequences of the batch these are, in this order; None if they were sorted.
        unsorted_indices: the inverse of it.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        """From the fields, or from a pair of data and batch sizes. Raises ValueError for batch sizes on a GPU."""
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(_NOT_ON_CPU)
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert or move the data, and move the indices with it; the sequence itself if there is nothing to do."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return type(self)(data, self.batch_sizes, *[None if x is None else x.to(data.device) for x in self[2:]])

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """Move to the CPU."""
        return self.to(*args, **{"device": "cpu"} | kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a CUDA device."""
        return self.to(*args, **kwargs if args else {"device": "cuda"} | kwargs)

    def double(self) -> Self:
        """Convert the data to float64."""
        return self.to(dtype=float64)

    def float(self) -> Self:
        """Convert the data to float32."""
        return self.to(dtype=float32)

    def half(self) -> Self:
        """Convert the data to float16."""
        return self.to(dtype=float16)

    def long(self) -> Self:
        """Convert the data to int64."""
        return self.to(dtype=int64)

    def int(self) -> Self:
        """Convert the data to int32."""
        return self.to(dtype=int32)

    def short(self) -> Self:
        """Convert the data to int16."""
        return self.to(dtype=int16)

    def char(self) -> Self:
        """Convert the data to int8."""
        return self.to(dtype=int8)

    def byte(self) -> Self:
        """Convert the data to uint8."""
        return self.to(dtype=uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another one (None for None)."""
    if permutation is None:
        return None
    output = empty_like(permutation)
    output.scatter_(0, permutation, arange(0, permutation.numel(), device=permutation.device))
    return output


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack (steps, batch, ...), or (batch, steps, ...) with `batch_first`, of which `lengths` says what is no padding.

    Without `enforce_sorted` the sequences may come in any order, and are sorted by length.

    Raises RuntimeError for lengths that are not sorted, not positive, longer than the input or not one for each sequence.
    """
    own = lengths.to(dtype=int64) if isinstance(lengths, Tensor) else as_tensor(lengths, dtype=int64, device="cpu")
    sorted_indices = None
    if not enforce_sorted:
        own, sorted_indices = sort(own, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    sizes = _batch_sizes(input, own)
    data = dispatch(kernels.pack_padded_sequence, (input,), (tuple(sizes),))
    return PackedSequence(data, as_tensor(sizes), sorted_indices)


def _batch_sizes(input: Tensor, lengths: Tensor) -> list[int]:
    """How many sequences reach each step of (steps, batch, ...)."""
    batch = input.size(1)
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.dim() != 1 or lengths.device.type != "cpu":
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device} "
            f"{lengths.dtype.scalar_name} tensor"
        )
    if lengths.size(0) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.size(0)} (batch_size={batch})"
        )
    numbers = lengths.tolist()
    if numbers[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(one < next_one for one, next_one in pairwise(numbers)):
        raise RuntimeError(_UNSORTED)
    if numbers[0] > input.size(0):
        raise RuntimeError(
            f"pack_padded_sequence: a sequence of length {numbers[0]} does not fit into an input of {input.size(0)} steps"
        )
    return [sum(length > t for length in numbers) for t in range(numbers[0])]


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Undo `pack_padded_sequence`: the padded tensor, in the order that it had, and the lengths.

    Raises ValueError for a `total_length` shorter than the longest sequence.
    """
    sizes = sequence.batch_sizes.tolist()
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    data = sequence.data
    padded = data.new_full((steps, sizes[0], *data.shape[1:]), padding_value)
    start = 0
    for first, last, size in _runs(sizes):
        stop = start + (last - first) * size
        padded[first:last, :size] = data[start:stop].unflatten(0, (last - first, size))
        start = stop
    lengths = as_tensor([sum(size > b for size in sizes) for b in range(sizes[0])])
    if batch_first:
        padded = padded.transpose(0, 1)
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def _runs(sizes: Sequence[int]) -> Iterable[tuple[int, int, int]]:
    """Steps in a row that have equal sizes, as (first, end, size)."""
    first = 0
    for t in range(1, len(sizes) + 1):
        if t == len(sizes) or sizes[t] != sizes[first]:
            yield first, t, sizes[first]
            first = t


def pad_sequence(
    sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack tensors of (length, ...) as (longest, batch, ...), or (batch, longest, ...) with `batch_first`.

    Raises RuntimeError for no tensors, for different further sizes, and for a side other than "left" and "right".
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    given = tuple(sequences)
    for k, x in enumerate(given):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {k} in argument 0, but got {type(x).__name__}")
    if not given:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if any(not x.dim() for x in given):
        raise RuntimeError("pad_sequence: a sequence has at least one dimension, but got a 0-d tensor")
    longest = max(x.size(0) for x in given)
    shape = (len(given), longest) if batch_first else (longest, len(given))
    out = given[0].new_full((*shape, *given[0].shape[1:]), padding_value)
    for k, x in enumerate(given):
        places = slice(longest - x.size(0), longest) if padding_side == "left" else slice(0, x.size(0))
        target = out[k, places] if batch_first else out[places, k]
        target.copy_(_fitting(x, target))
    return out


def _fitting(x: Tensor, target: Tensor) -> Tensor:
    """`x`, of the shape of `target`. Raises RuntimeError where only broadcasting would make it fit."""
    if x.shape != target.shape:
        differing = [d for d in range(min(x.dim(), target.dim())) if x.shape[d] != target.shape[d]]
        d = differing[-1] if differing else 0
        raise RuntimeError(
            f"The size of tensor a ({target.shape[d] if differing else target.dim()}) must match the size of tensor b "
            f"({x.shape[d] if differing else x.dim()}) at non-singleton dimension {d}"
        )
    return x


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Undo `pad_sequence`: the tensors of their own lengths."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    steps = arange(padded_sequences.shape[1], device=lengths.device)
    return [x[steps < length] for x, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors of (length, ...), from the longest to the shortest unless `enforce_sorted` is False."""
    lengths = as_tensor([x.size(0) for x in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Undo `pack_sequence`: the tensors of their own lengths."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
