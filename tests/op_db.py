"""PyTorch's own table of ops, `op_db`: its sample inputs run through both libraries, and what differs.

A sample is PyTorch's: tensors, numbers, dtypes in nested tuples and dicts. `converted` makes numgrad's of it, with the
same items, strides and wish for a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import numgrad as ng

SECOND_ORDER_LIMIT = 150  # items of all inputs, beyond which second gradients are not compared


ADAPTED: dict[str, Callable[..., Any]] = {  # ops that PyTorch's table calls in a way of its own
    "__getitem__": lambda x, index: x[index],
    "linalg.lstsq.grad_oriented": lambda a, b, driver: ng.linalg.lstsq(a, b, driver=driver)[:2],
    "linalg.pinv.singular": lambda a, b: ng.linalg.pinv(a @ b.mT),
    "einsum": lambda operands, equation: ng.einsum(equation, operands),
    "nn.functional.embedding": lambda weight, indices, **named: ng.nn.functional.embedding(indices, weight, **named),
    "where": lambda x, condition, other: ng.where(condition, x, other),
    "zero_": lambda x: x.clone().zero_(),
}


def full_name(op: Any) -> str:
    """The name of an op in PyTorch's table, with its variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def numgrad_function(op: Any) -> Callable[..., Any] | None:
    """What an op of PyTorch's table is in numgrad: a function, or a method where PyTorch has no function; else None."""
    name = op.name
    for adapted in (full_name(op), name):
        if adapted in ADAPTED:
            return ADAPTED[adapted]
    found: Any = ng
    reference: Any = torch
    for part in name.split("."):
        found, reference = getattr(found, part, None), getattr(reference, part, None)
    if callable(found) and not isinstance(found, ng.dtype):
        return found
    if reference is None or "." not in name:
        method = getattr(ng.Tensor, name, None)
        if isinstance(method, property):
            return lambda x: getattr(x, name)
        return method
    return None


# ---------------------------------------------------------------------------------------------------- conversion
def converted(value: Any, leaves: list[Any] | None = None) -> Any:
    """A sample of PyTorch's as numgrad's; tensors that require a gradient are appended to `leaves`."""
    if isinstance(value, torch.Tensor):
        return _converted_tensor(value, leaves)
    if isinstance(value, torch.dtype):
        return getattr(ng, str(value).removeprefix("torch."))
    if isinstance(value, torch.memory_format):
        return getattr(ng, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return ng.device(str(value))
    if isinstance(value, torch.Size):
        return ng.Size(value)
    if isinstance(value, torch.nn.PairwiseDistance):
        return ng.nn.PairwiseDistance(value.norm, value.eps, value.keepdim)
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return ng.nn.utils.rnn.PackedSequence(*(converted(v, leaves) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(converted(v, leaves) for v in value)
    if isinstance(value, dict):
        return {k: converted(v, leaves) for k, v in value.items()}
    return value


def _converted_tensor(x: torch.Tensor, leaves: list[Any] | None) -> Any:
    plain = x.detach().resolve_conj().resolve_neg()
    if plain.is_sparse or 0 in plain.stride():
        made = _copied(plain)
    else:  # all of its memory, which it may be a part of
        memory = torch.empty(0, dtype=plain.dtype).set_(plain.untyped_storage())
        whole = _copied(memory)
        made = whole.as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset()).detach()
    if x.requires_grad:
        made.requires_grad_()
        if leaves is not None:
            leaves.append(made)
    return made


def _copied(x: torch.Tensor) -> Any:
    if x.dtype is torch.bfloat16:  # which NumPy has not
        return ng.from_numpy(x.float().numpy()).bfloat16()
    return ng.from_numpy(x.numpy(force=True).copy())


def leaves_of(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in a sample that require a gradient, in the order in which `converted` meets them."""
    if isinstance(value, torch.Tensor):
        if value.requires_grad:
            yield value
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from leaves_of(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from leaves_of(v)


def fresh(value: Any) -> Any:
    """A sample with leaves of its own: those of op_db may share memory or be views."""
    if isinstance(value, torch.Tensor):
        copy = value.detach() if value.requires_grad else value
        return copy.requires_grad_(value.requires_grad)
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        items = [fresh(v) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {k: fresh(v) for k, v in value.items()}
    return value


# ---------------------------------------------------------------------------------------------------- results
def flat(result: Any) -> list[Any]:
    """The tensors (and whatever else) in a result, in order."""
    if isinstance(result, (tuple, list)) and not isinstance(result, (torch.Size, ng.Size)):
        return [item for part in result for item in flat(part)]
    return [result]


TOLERANCE = {  # relative; others are compared exactly
    torch.float64: 1e-7,
    torch.complex128: 1e-7,
    torch.float32: 4e-6,
    torch.complex64: 4e-6,
    torch.float16: 2e-3,
    torch.bfloat16: 1.6e-2,
}
EXACT = (torch.float64, torch.complex128)  # only of these second gradients are compared: of others rounding decides


def compare(got: Any, expected: Any, what: str, factor: float = 1.0) -> None:
    """Raise AssertionError unless two results agree in structure, dtype, shape and values."""
    first, second = flat(got), flat(expected)
    assert len(first) == len(second), f"{what}: {len(first)} results, expected {len(second)}"
    for mine, theirs in zip(first, second, strict=True):
        if not isinstance(theirs, torch.Tensor):
            assert mine == theirs, f"{what}: {mine!r}, expected {theirs!r}"
            continue
        assert isinstance(mine, ng.Tensor), f"{what}: {type(mine).__name__}, expected a tensor"
        assert tuple(mine.shape) == tuple(theirs.shape), f"{what}: shape {mine.shape}, expected {theirs.shape}"
        assert str(mine.dtype) == str(theirs.dtype), f"{what}: {mine.dtype}, expected {theirs.dtype}"
        values, wanted = _items(mine.detach()), _items(theirs.detach())
        tolerance = factor * TOLERANCE.get(theirs.dtype, 0)
        np.testing.assert_allclose(values, wanted, rtol=tolerance, atol=10 * tolerance, err_msg=what)


def _items(x: Any) -> np.ndarray:
    wide = x.float() if x.dtype in (torch.bfloat16, ng.bfloat16) else x
    return wide.numpy(force=True) if isinstance(wide, torch.Tensor) else wide.numpy()


TIED = {"kthvalue", "topk", "mode", "median", "nanmedian", "sort", "argsort", "msort"}
"""Ops that give indices: PyTorch does not say which of equal items they name."""


UP_TO_SIGN = {"linalg.eig", "linalg.eigh", "linalg.svd", "svd"}
"""Ops whose vectors LAPACK may give with another sign (a phase, of complex ones): their magnitudes are compared."""


def _magnitudes(result: Any) -> Any:
    return tuple(x.abs() for x in result)


def _same_items(op: Any, input: Any, got: Any, expected: Any) -> tuple[Any, Any]:
    """The results with indices replaced by the items that they name."""
    if op.name not in TIED or not isinstance(expected, tuple) or len(expected) != 2:
        return got, expected
    values, indices = expected
    for d in range(input.dim()):
        theirs = _items_at(input, indices, d)
        if theirs is not None and torch.equal(theirs, values.detach()):
            mine = _items_at(input, torch.from_numpy(got[1].numpy()), d)
            return (got[0], ng.from_numpy(mine.numpy())), (values, theirs)
    return got, expected


def _items_at(input: Any, indices: Any, dim: int) -> Any:
    """The items at indices along a dimension, which may be gone from the indices; None if they are of another one."""
    wide = indices if indices.dim() == input.dim() else indices.unsqueeze(dim)
    others = [d for d in range(input.dim()) if d != dim]
    if (wide.numel() and wide.max() >= input.shape[dim]) or any(wide.shape[d] != input.shape[d] for d in others):
        return None
    return input.detach().gather(dim, wide).reshape(indices.shape)


def check_sample(function: Callable[..., Any], op: Any, sample: Any) -> None:
    """Forward, first and second gradients of one sample in both libraries."""
    arguments = fresh((sample.input, *sample.args)), fresh(sample.kwargs)
    theirs = list(leaves_of(arguments))
    mine: list[Any] = []
    own_args, own_kwargs = converted(arguments[0], mine), converted(arguments[1], mine)
    expected = op.op(*arguments[0], **arguments[1])
    got = function(*own_args, **own_kwargs)
    if op.name in UP_TO_SIGN:
        got, expected = _magnitudes(got), _magnitudes(expected)
    compare(*_same_items(op, arguments[0][0], got, expected), "forward")
    check_gradients(got, expected, mine, theirs, op.supports_gradgrad)


def check_gradients(got: Any, expected: Any, mine: list[Any], theirs: list[Any], twice: bool) -> None:
    """What requires a gradient in two results, their gradients for the leaves and, where `twice`, the second ones."""
    roots = [(a, b) for a, b in zip(flat(got), flat(expected), strict=True) if _differentiable(b)]
    for a, b in zip(flat(got), flat(expected), strict=True):
        if isinstance(b, torch.Tensor):
            assert a.requires_grad == b.requires_grad, f"requires_grad {a.requires_grad}, expected {b.requires_grad}"
    if not roots or not theirs:
        return
    twice = twice and sum(x.numel() for x in theirs) <= SECOND_ORDER_LIMIT and all(x.dtype in EXACT for x in theirs)
    rng = np.random.default_rng(0)
    weights = [_weights(rng, b) for _, b in roots]
    wanted = _torch_gradients([b for _, b in roots], theirs, weights, twice)
    found = _numgrad_gradients([a for a, _ in roots], mine, weights, twice)
    _compare_gradients(found, wanted, "gradient")
    if not twice:
        return
    seeded = [(x, _weights(rng, leaf)) for x, leaf in zip(wanted, theirs, strict=True)]
    wanted = _second_gradients(_torch_gradients, wanted, theirs, seeded)
    found = _second_gradients(_numgrad_gradients, found, mine, seeded)
    _compare_gradients(found, wanted, "second gradient", 10)


def _weights(rng: Any, like: Any) -> Any:
    """Normal numbers in the shape of a tensor, complex ones for a complex tensor."""
    real = rng.normal(size=tuple(like.shape))
    return real + 1j * rng.normal(size=tuple(like.shape)) if like.is_complex() else real


def _second_gradients(gradients: Any, first: Any, leaves: Any, seeded: Any) -> Any:
    """Gradients of the weighted first ones; those without a graph are constant."""
    pairs = [(g, w) for g, (_, w) in zip(first, seeded, strict=True) if g is not None and g.requires_grad]
    if not pairs:
        return [None] * len(leaves)
    return gradients([g for g, _ in pairs], leaves, [w for _, w in pairs], False)


def _differentiable(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.requires_grad


def _torch_gradients(roots: Any, leaves: Any, weights: Any, create_graph: bool) -> Any:
    seeds = [torch.from_numpy(np.asarray(w)).to(r.dtype) for w, r in zip(weights, roots, strict=True)]
    return torch.autograd.grad(roots, leaves, seeds, create_graph=create_graph, allow_unused=True)


def _numgrad_gradients(roots: Any, leaves: Any, weights: Any, create_graph: bool) -> Any:
    seeds = [ng.from_numpy(np.asarray(w)).to(r.dtype) for w, r in zip(weights, roots, strict=True)]
    return ng.autograd.grad(roots, leaves, seeds, create_graph=create_graph, allow_unused=True)


def _compare_gradients(found: Any, wanted: Any, what: str, factor: float = 1.0) -> None:
    """Gradients agree; one that is undefined is as good as zeros."""
    for k, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
        if theirs is None or mine is None:
            other = mine if theirs is None else theirs
            assert other is None or not (abs(other) > 1e-12).any(), f"{what} {k}: {mine}, expected {theirs}"
            continue
        compare(mine, theirs, f"{what} of input {k}", factor)
