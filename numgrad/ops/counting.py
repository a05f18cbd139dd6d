"""bincount, histc, histogram, searchsorted, bucketize, one_hot, unravel_index, cov, corrcoef."""

from __future__ import annotations

from typing import Any

from .. import return_types
from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..dtype import bool_, float64, int32, int64
from ..interop import tensor
from ..kernels import counting, scatter, views
from ..kernels.blocks import first_outside
from .checks import check_tensor, written
from .complex_numbers import complex


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number from 0 on is among the items of a vector of integers; or the sums of their weights.

    Raises RuntimeError for floats, negative numbers and other ranks.
    """
    check_tensor("bincount", input)
    if input._array.dtype.kind == "f":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{input.dtype.scalar_name}'")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if input.dim() != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return dispatch(counting.bincount, (input.long(),), (minlength,))
    if weights.dim() != 1 or weights.shape[0] != input.shape[0]:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    given = weights if weights.is_floating_point() else weights.to(float64)
    return dispatch(counting.weighted_bincount, (input.long(), given.detach()), (minlength,))


def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0, *, out: Any = None) -> Any:
    """How many items are in each of `bins` intervals of equal width from `min` to `max`.

    With `min` equal to `max` the range is that of the items. Those outside do not count.
    """
    check_tensor("histc", input)
    if not input.is_floating_point():
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{input.dtype.scalar_name}'")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = float(min), float(max)
    if low == high and input.numel():
        low, high = input.min().item(), input.max().item()
    if low == high:
        low, high = low - 1, high + 1
    if not (abs(low) < float("inf") and abs(high) < float("inf")):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    return dispatch(counting.histc, (input,), (bins, low, high), out)


def histogram(
    input: Any,
    bins: Any,
    *,
    range: tuple[float, float] | None = None,
    weight: Any = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """How many items, or the sum of whose `weight`, lie in each bin; and the edges of the bins: (hist, bin_edges).

    Args:
        input: floats of any shape.
        bins: a number of equal bins over `range` (by default from the least item to the largest), or a 1-D tensor of
        rising edges. range: the outer edges. weight: the weight of each item, of the input's shape. density: divides by
        the sum and the width of each bin, so that the integral is 1. out: two tensors for the results.

    Raises:
        NotImplementedError: integers.
        RuntimeError: no bins, edges of several dimensions, a range in the wrong order.
    """
    check_tensor("histogram", input)
    if input.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{input.dtype.scalar_name}'")
    edges = bins if bins.__class__ in CLASSES else _equal_bins(input, bins, range)
    if edges.dim() != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {edges.dim()} dimensions in the bins tensor "
            "for dimension 0"
        )
    count = edges.numel() - 1
    items = input.detach().reshape(-1)
    weights = tensor(1.0, dtype=input.dtype).expand(items.shape) if weight is None else weight.reshape(-1)
    places = searchsorted(edges, items, right=True) - 1
    places = places.masked_fill(items == edges[-1], count - 1)
    inside = (places >= 0) & (places < count)
    hist = items.new_zeros(count).index_add(0, places[inside], weights[inside].to(input.dtype))
    if density:
        hist = hist / (hist.sum() * (edges[1:] - edges[:-1]))
    if out is not None:
        hist, edges = written("histogram", hist, out[0]), written("histogram", edges, out[1])
    return return_types.histogram(hist, edges)


def _equal_bins(input: Any, bins: int, range: tuple[float, float] | None) -> Any:
    from ..creation import linspace

    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if range is not None:
        low, high = map(float, range)
    else:
        low, high = (input.min().item(), input.max().item()) if input.numel() else (0.0, 1.0)
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension 0"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, dtype=input.dtype)


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """The indices of each dimension, for indices of the flattened items of a shape (an int or several).

    Example:
        >>> import numgrad as ng
        >>> ng.unravel_index(ng.tensor([3, 5]), (2, 3))
        (tensor([1, 1]), tensor([0, 2]))
    """
    check_tensor("unravel_index", indices, "indices")
    if indices.dtype.is_differentiable or indices.dtype.name == "bool":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(n < 0 for n in extents):
        raise ValueError(f"'shape' cannot have negative values, but got {extents}")
    found = []
    indices = indices.long()
    for n in reversed(extents):
        found.append(indices % n)
        indices = indices // n
    return tuple(reversed(found))


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Which of the elements are among the test elements, as bools; with `invert`, which are not.

    One of the two may be a number. `assume_unique` promises that items do not repeat, which changes nothing here.

    Raises RuntimeError for bools.

    Example:
        >>> import numgrad as ng
        >>> ng.isin(ng.tensor([1, 2, 3]), ng.tensor([2, 5]))
        tensor([False,  True, False])
    """
    tensors = [x if x.__class__ in CLASSES else tensor(x) for x in (elements, test_elements)]
    for x in tensors:
        if x.dtype is bool_ or x.is_complex():
            raise RuntimeError(f"Unsupported input type encountered for isin(): {x.dtype.scalar_name}")
    return dispatch(counting.isin, tuple(x.detach() for x in tensors), (bool(invert),))


def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
    out: Any = None,
) -> Any:
    """Where values would be put in the sorted rows of the last dimension, to keep them in order.

    Args:
        sorted_sequence: a vector, or rows with the leading shape of `input`.
        input: the values, a tensor or a number.
        out_int32: whether the result is int32 instead of int64.
        right: whether values go after equal ones. `side="right"` says the same.
        side: "left" or "right".
        sorter: indices that put `sorted_sequence` in order.
        out: a tensor for the result.
    """
    check_tensor("searchsorted", sorted_sequence, "sorted_sequence")
    number = input.__class__ not in CLASSES
    values = sorted_sequence.new_full((), input) if number else input
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    if sorted_sequence.dim() != 1 and tuple(sorted_sequence.shape[:-1]) != tuple(values.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and input value "
            f"tensor {list(values.shape)}"
        )
    if sorter is not None:
        sorted_sequence = dispatch(scatter.gather, (sorted_sequence.detach(), sorter), (sorted_sequence.dim() - 1,))
    found = dispatch(
        counting.searchsorted, (sorted_sequence.detach(), values.detach()), (bool(right) or side == "right",)
    )
    if out_int32:
        found = found.to(int32)
    return written("searchsorted", found, out)


def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False, out: Any = None) -> Any:
    """The index of the bucket, between `boundaries`, that each value falls into."""
    check_tensor("bucketize", boundaries, "boundaries", 2)
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def one_hot(input: Any, num_classes: int = -1) -> Any:
    """Rows (int64) with a one at the index that each item gives, zeros elsewhere; by default as wide as needed."""
    check_tensor("one_hot", input)
    if input.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not input.numel():
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
    elif num_classes <= 0 or not _are_below(input, num_classes):
        if input.min().item() < 0:
            raise RuntimeError("Class values must be non-negative.")
        largest = int(input.max().item())
        if num_classes == -1:
            num_classes = largest + 1
        elif num_classes <= largest:
            raise RuntimeError("Class values must be smaller than num_classes.")
    from ..creation import arange

    return (input.unsqueeze(-1) == arange(num_classes)).long()


def _are_below(classes: Any, number: int) -> bool:
    """Whether contiguous int64 items are all in [0, number); False also where that takes longer to tell."""
    items = classes._array.flat
    return items is not None and first_outside(items, 0, number) < 0


# ---------------------------------------------------------------------------------------------------- covariance
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance matrix of variables in rows, observations in columns.

    Args:
        input: at most two dimensions.
        correction: what is subtracted from the number of observations.
        fweights: how often each observation was made, integers.
        aweights: how much each observation counts.
    """
    check_tensor("cov", input)
    _check_observations("cov", input)
    if input._array.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = input.reshape(1, -1) if input.dim() < 2 else input
    if fweights is not None:
        _check_weights("fweights", "integral", fweights._array.dtype.kind in "iu", fweights, rows.shape[1])
    if aweights is not None:
        _check_weights("aweights", "floating point", aweights.is_floating_point(), aweights, rows.shape[1])
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    total = rows.shape[1] if weights is None else weights.sum()
    centred = rows - (rows if weights is None else rows * weights).sum(1, keepdim=True) / total
    weighted = centred if weights is None else centred * weights
    if aweights is None or not correction:
        freedom = total - correction
    else:
        freedom = total - correction * (weights * aweights).sum() / total
    product = weighted @ centred.conj().t()
    if freedom.__class__ in CLASSES:
        found = product / freedom.clamp(min=0)
    else:
        found = product / product.new_full((), max(freedom, 0))
    return found.squeeze()


def _check_weights(name: str, kind: str, fits: bool, weights: Any, count: int) -> None:
    """Raise RuntimeError, with PyTorch's texts, for weights of observations that cannot be such."""
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.dim()} dimensions"
        )
    if not fits:
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype.scalar_name} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {count}"
        )
    if weights.numel() and bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


def _check_observations(name: str, input: Any) -> None:
    if input.dim() > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )


def corrcoef(input: Any) -> Any:
    """The matrix of correlation coefficients of variables in rows."""
    check_tensor("corrcoef", input)
    _check_observations("corrcoef", input)
    found = cov(input)
    if not found.dim():
        return found / found
    deviation = dispatch(views.diagonal, (found,), (0, 0, 1)).sqrt()
    found = found / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if found.is_complex():
        return complex(found.real.clamp(-1, 1), found.imag.clamp(-1, 1))
    return found.clamp(-1, 1)
