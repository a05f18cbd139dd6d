"""Random tensors: rand, randn, randint, randperm, normal, bernoulli, multinomial, poisson, and the `*_like` forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtype as dtypes
from ..autograd.variable import CLASSES
from ..creation import as_dtype, in_layout_of, sizes
from ..device import default, device
from ..dispatch import dispatch
from ..kernels import draws as kernels
from ..operands import broadcast_shapes
from ..random import Generator, chosen
from .checks import check_tensor, invalid_combination, written
from .draws import check_integer_bounds, check_std, draw, integers, refuse_complex, refuse_integers

_GENERAL = (
    "torch.layout layout = None, torch.device device = None, bool pin_memory = False, bool requires_grad = False)"
)
_SIZES = tuple(
    f"(tuple of ints size, *, {generator}Tensor out = None, torch.dtype dtype = None, {_GENERAL}"
    for generator in ("torch.Generator generator, ", "")
)
_device = device


# ---------------------------------------------------------------------------------------------------- uniform, normal
def _factory(
    name: str,
    kind: str,
    shape: tuple[Any, ...],
    size: Any,
    generator: Any,
    out: Any,
    dtype: Any,
    device: Any,
    requires_grad: Any,
) -> Any:
    is_sized = size is not None or (bool(shape) and (len(shape) == 1 or not isinstance(shape[0], (tuple, list))))
    wrong = {}
    if generator is not None and not isinstance(generator, Generator):
        wrong["generator"] = generator
    if dtype is not None and dtypes.as_dtype(dtype) is None:
        wrong["dtype"] = dtype
    if not isinstance(requires_grad, bool):
        wrong["requires_grad"] = requires_grad
    if wrong or not is_sized:
        raise invalid_combination(name, shape, wrong, _SIZES)
    wanted = _wanted(name, out, dtype)
    refuse_integers(_KERNELS[kind], wanted)
    drawn = draw(name, kind, sizes(name, shape if size is None else (size,)), wanted, device, generator, out=out)
    return drawn._mark_leaf(True) if requires_grad else drawn


def _wanted(name: str, out: Any, dtype: Any) -> dtypes.dtype:
    if dtype is None:
        return dtypes.get_default_dtype() if out is None else out.dtype
    wanted = as_dtype(dtype, name)
    if out is not None and wanted is not out.dtype:
        raise RuntimeError(
            f"dtype {wanted.scalar_name} does not match dtype of out parameter ({out.dtype.scalar_name})"
        )
    return wanted


_KERNELS = {"uniform": "check_uniform_bounds", "normal": "normal_kernel_cpu"}  # what PyTorch names when it refuses


def rand(
    *shape: Any,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Numbers drawn evenly from [0, 1): `rand(2, 3)` or `rand((2, 3))`.

    Raises NotImplementedError for integers and bool.
    """
    return _factory("rand", "uniform", shape, size, generator, out, dtype, device, requires_grad)


def randn(
    *shape: Any,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Numbers drawn from the normal distribution of mean 0 and variance 1; complex ones have parts of variance 1/2.

    Raises NotImplementedError for integers and bool.
    """
    return _factory("randn", "normal", shape, size, generator, out, dtype, device, requires_grad)


def _drawn_like(name: str, kind: str, input: Any, generator: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    check_tensor(name, input)
    wanted = input.dtype if dtype is None else as_dtype(dtype, name)
    refuse_integers(_KERNELS[kind], wanted)
    where = input._device if device is None else device
    made = in_layout_of(input, lambda shape: draw(name, kind, shape, wanted, where, generator))
    return made._mark_leaf(requires_grad)


def rand_like(
    input: Any,
    *,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """`rand` with the shape, layout, dtype and device of `input`."""
    return _drawn_like("rand_like", "uniform", input, generator, dtype, device, requires_grad)


def randn_like(
    input: Any,
    *,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """`randn` with the shape, layout, dtype and device of `input`."""
    return _drawn_like("randn_like", "normal", input, generator, dtype, device, requires_grad)


_NORMALS = (
    "(Tensor mean, Tensor std, *, torch.Generator generator = None, Tensor out = None)",
    "(Tensor mean, float std = 1, *, torch.Generator generator = None, Tensor out = None)",
    "(float mean, Tensor std, *, torch.Generator generator = None, Tensor out = None)",
    "(float mean, float std, tuple of ints size, *, torch.Generator generator = None, Tensor out = None, torch.dtype "
    f"dtype = None, {_GENERAL}",
)


def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Numbers drawn from normal distributions: of each mean and std of tensors (broadcast), or of two numbers and a size.

    The result has the dtype of `mean` if that is a tensor, else that of `std`. Gradients are 0.

    Raises:
        RuntimeError: a negative standard deviation.
        NotImplementedError: tensors of integers.

    Example:
        >>> import numgrad as ng
        >>> ng.normal(ng.tensor([0.0, 100.0]), ng.zeros(2))
        tensor([  0., 100.])
    """
    tensors = [x for x in (mean, std) if x.__class__ in CLASSES]
    if not tensors:
        return _normal_of_numbers(mean, std, size, generator, out, dtype, device)._mark_leaf(requires_grad)
    if size is not None:
        raise invalid_combination("normal", (mean, std, size), {}, _NORMALS)
    for x in (mean, std):
        if x.__class__ not in CLASSES and not isinstance(x, (int, float)):
            raise invalid_combination("normal", (mean, std), {}, _NORMALS)
    if std.__class__ not in CLASSES:
        check_std(std)
    elif std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    elif std.numel() and not bool((std.detach().cpu() >= 0).all()):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    first = tensors[0]
    refuse_integers(_KERNELS["normal"], first.dtype)
    shape = broadcast_shapes(mean._array.shape, std._array.shape) if len(tensors) == 2 else first._array.shape
    unit = draw("normal", "normal", shape, first.dtype, first._device, generator)
    values = unit * _outside(std) + _outside(mean)
    if out is not None:
        return _to_out("normal", values, out, tensors)
    if len(tensors) == 2:
        return dispatch(kernels.normal_both, (mean, std, values))
    return dispatch(kernels.normal_mean if first is mean else kernels.normal_std, (first, values))


def _normal_of_numbers(mean: Any, std: Any, size: Any, generator: Any, out: Any, dtype: Any, device: Any) -> Any:
    if not isinstance(size, (tuple, list)) or not all(isinstance(x, (int, float)) for x in (mean, std)):
        given = {} if size is None else {"size": size}
        raise invalid_combination("normal", (mean, std), given, _NORMALS)
    check_std(std)
    wanted = _wanted("normal", out, dtype)
    refuse_integers(_KERNELS["normal"], wanted)
    values = draw("normal", "normal", sizes("normal", (size,)), wanted, device, generator) * std + mean
    return values if out is None else _to_out("normal", values, out)


def _outside(value: Any) -> Any:
    return value.detach() if value.__class__ in CLASSES else value


def _to_out(name: str, values: Any, out: Any, inputs: Sequence[Any] = ()) -> Any:
    if any(x.requires_grad for x in inputs):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    return written(name, values, out)


# ---------------------------------------------------------------------------------------------------- integers
_RANDINTS = tuple(
    f"({bounds}, tuple of ints size, *, {generator}Tensor out = None, torch.dtype dtype = None, {_GENERAL}"
    for bounds in ("int high", "int low, int high")
    for generator in ("torch.Generator generator, ", "")
)


def randint(
    *arguments: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Integers drawn evenly from [low, high): `randint(high, size)` or `randint(low, high, size)`, int64 by default.

    Raises RuntimeError for an empty range and for bounds that the dtype does not hold.

    Example:
        >>> import numgrad as ng
        >>> ng.randint(3, 4, (2,))
        tensor([3, 3])
    """
    bounds = list(arguments)
    if size is None and bounds:
        size = bounds.pop()
    if high is None and bounds:
        high = bounds.pop()
    if low is None:
        low = bounds.pop() if bounds else 0
    if bounds or high is None or (arguments and size is None):
        raise invalid_combination("randint", arguments, {}, _RANDINTS)
    if not isinstance(size, (tuple, list)):
        if len(arguments) == 3:
            raise invalid_combination("randint", arguments, {}, _RANDINTS)
        position = max(len(arguments), 2)
        raise TypeError(f"randint(): argument 'size' (position {position}) must be tuple of ints, not {_type(size)}")
    low, high = _bound("randint", "low", 1, low), _bound("randint", "high", max(1, len(arguments) - 1), high)
    wanted = as_dtype(dtype, "randint") if dtype is not None else dtypes.int64 if out is None else out.dtype
    shape = sizes("randint", (size,))
    check_integer_bounds(wanted, low, high)
    values = integers("randint", shape, wanted, device, generator, low, high - 1)
    return (values if out is None else _to_out("randint", values, out))._mark_leaf(requires_grad)


def _type(value: Any) -> str:
    return "Tensor" if value.__class__ in CLASSES else type(value).__name__


def _bound(name: str, argument: str, position: int, value: Any) -> int:
    if isinstance(value, float) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be int, not {_type(value)}")
    found = int(value.__index__())
    if not -(2**63) <= found < 2**63:
        raise ValueError("Overflow when unpacking long long")
    return found


def randint_like(
    input: Any,
    low: Any = None,
    high: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """`randint` with the shape, layout, dtype and device of `input`: `randint_like(x, high)` or `(x, low, high)`."""
    check_tensor("randint_like", input)
    if high is None:
        low, high = 0, low
    low, high = _bound("randint_like", "low", 2, 0 if low is None else low), _bound("randint_like", "high", 2, high)
    wanted = input.dtype if dtype is None else as_dtype(dtype, "randint_like")
    check_integer_bounds(wanted, low, high)
    where = input._device if device is None else device
    made = in_layout_of(input, lambda shape: integers("randint_like", shape, wanted, where, generator, low, high - 1))
    return made._mark_leaf(requires_grad)


def randperm(
    n: Any,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """The integers from 0 to n - 1 in random order, int64 by default.

    Raises RuntimeError for a negative `n`, and for one that the dtype does not hold.
    """
    count = _bound("randperm", "n", 1, n)
    wanted = as_dtype(dtype, "randperm") if dtype is not None else dtypes.int64 if out is None else out.dtype
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    if wanted is dtypes.bool_ or wanted.is_complex:
        raise NotImplementedError(f"\"randperm\" not implemented for '{wanted.scalar_name}'")
    if count and count - 1 > kernels.integer_range(wanted.numpy)[1]:
        raise RuntimeError(f"value cannot be converted to type {wanted.name}_t without overflow")
    target = default.device if device is None else _device(device).concrete()
    positions = kernels.positions("integers", dtypes.int64.numpy, count)
    stream = chosen(generator, target, "randperm").advance(positions)
    return dispatch(kernels.permutation, (), (count, wanted.name, *stream, target), out)._mark_leaf(requires_grad)


# ---------------------------------------------------------------------------------------------------- of tensors
def bernoulli(input: Any, p: Any = None, *, generator: Any = None, out: Any = None) -> Any:
    """0 or 1 at random: 1 with the probability that is the item of `input`, or with `p` everywhere if that is given.

    The result has the dtype of `input`; its gradient is 0.

    Raises:
        RuntimeError: a probability outside [0, 1].
        NotImplementedError: integers as probabilities.

    Example:
        >>> import numgrad as ng
        >>> ng.bernoulli(ng.tensor([0.0, 1.0]))
        tensor([0., 1.])
    """
    check_tensor("bernoulli", input)
    if p is not None:
        return _zeros_of(input).bernoulli_(p, generator=generator)
    values = trials("bernoulli", input, input._array.shape, generator).to(input.dtype)
    return dispatch(kernels.bernoulli, (input, values)) if out is None else _to_out("bernoulli", values, out, [input])


def _zeros_of(x: Any) -> Any:
    return x.detach().new_zeros(x._array.shape)


def trials(name: str, p: Any, shape: tuple[int, ...], generator: Any) -> Any:
    """A bool tensor that is True with the probabilities of the tensor `p`, broadcast to `shape`."""
    refuse_complex("bernoulli_tensor_cpu_self_", p.dtype)
    if not p.is_floating_point():
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{p.dtype.scalar_name}'")
    known = p.detach().expand(shape)
    if not bool(((known >= 0) * (known <= 1)).cpu().all()):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, "
            "please report an enhancement request to PyTorch.)"
        )
    wide = dtypes.promote_types(p.dtype, dtypes.float32)
    return draw(name, "uniform", shape, wide, p._device, generator) < known


def multinomial(
    input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Any = None
) -> Any:
    """Indices drawn from each row of `input` (1-d or 2-d) with probabilities proportional to its items; int64.

    Without `replacement` no index comes twice; when fewer than `num_samples` have a probability above 0, the others come
    last.

    Raises RuntimeError for integers, negative, infinite or NaN items, a row of zeros, and more samples than there are.
    """
    check_tensor("multinomial", input)
    if not 0 < input.dim() <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not input.is_floating_point():
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype.scalar_name}")
    num_samples = _bound("multinomial", "num_samples", 2, num_samples)
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    categories = input._array.shape[-1]
    if not replacement and num_samples > categories:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.scalar_name}")
    weights = input.detach()
    if weights.dim() == 1 or weights._array.shape[0]:
        _check_weights(weights.cpu(), by_race=not replacement or num_samples == 1)
    count = weights.numel() // (categories or 1) * (num_samples if replacement else categories)
    positions = kernels.positions("uniform", dtypes.float64.numpy, count)
    stream = chosen(generator, input._device, "multinomial").advance(positions)
    return dispatch(kernels.multinomial, (weights,), (num_samples, bool(replacement), *stream), out)


def _check_weights(weights: Any, by_race: bool) -> None:
    """Raise PyTorch's errors, which depend on the way in which it samples."""
    if by_race:
        if not bool(((weights >= 0) * (weights < float("inf"))).all()):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    elif not bool((weights >= 0).all()):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    elif not bool((weights < float("inf")).all()):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    if bool((weights.sum(-1) <= 0).any()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def poisson(input: Any, generator: Any = None) -> Any:
    """Counts drawn from Poisson distributions whose rates are the items of `input`, in its dtype; the gradient is 0.

    Raises RuntimeError for a negative rate, NotImplementedError for integers.
    """
    check_tensor("poisson", input)
    refuse_integers("poisson_cpu", input.dtype)
    refuse_complex("poisson_cpu", input.dtype)
    if not bool((input.detach().cpu() >= 0).all()):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    stream = chosen(generator, input._device, "poisson").advance(input.numel())
    counts = dispatch(kernels.poisson_counts, (input.detach(),), stream)
    return dispatch(kernels.poisson, (input, counts))
