"""Jacobians from rows or columns: what `autograd.functional` and `func` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..kernels.movement import stack
from .basis import basis
from .batching import BatchLevel, peeled
from .differentiate import grad
from .duals import DualLevel, split_dual
from .forward_ad import with_tangent
from .functional_checks import as_tensors


def row_by_row(
    outputs: Sequence[Any], inputs: Sequence[Any], strict: bool, create_graph: bool
) -> tuple[tuple[Any, ...], ...]:
    """For each output its Jacobian blocks, one for each input, by one backward for each item of the outputs.

    Raises RuntimeError, with PyTorch's texts, for what `strict` refuses.
    """
    return tuple(_blocks(i, y, inputs, strict, create_graph) for i, y in enumerate(outputs))


def _blocks(number: int, output: Any, inputs: Sequence[Any], strict: bool, create_graph: bool) -> tuple[Any, ...]:
    rows: list[list[Any]] = [[] for _ in inputs]
    flat = output.reshape(-1)
    for j in range(output.numel()):
        found: Sequence[Any] = (None,) * len(inputs)
        if output.requires_grad:
            found = grad(flat[j], inputs, retain_graph=True, create_graph=create_graph, allow_unused=True)
        for i, (g, x) in enumerate(zip(found, inputs, strict=True)):
            if g is None and strict:
                raise RuntimeError(
                    f"Output {number} of the user-provided function is independent of input {i}. This is not allowed in "
                    "strict mode."
                )
            if g is not None and strict and create_graph and not g.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {number}. This is not allowed "
                    "in strict mode when create_graph=True."
                )
            rows[i].append(x.new_zeros(x.shape) if g is None else g)
    return tuple(
        stack(*block, dim=0).view((*output.shape, *x.shape)) if block else x.new_zeros((*output.shape, *x.shape))
        for block, x in zip(rows, inputs, strict=True)
    )


def split_rows(rows: Sequence[Any], outputs: Sequence[Any], inputs: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    """Jacobian blocks, outputs first, from stacked rows of shape (all items of the outputs, *input.shape)."""
    found = []
    start = 0
    for y in outputs:
        size = y.numel()
        found.append(
            tuple(r.narrow(0, start, size).reshape((*y.shape, *x.shape)) for r, x in zip(rows, inputs, strict=True))
        )
        start += size
    return tuple(found)


def split_columns(columns: Sequence[Any], outputs: Sequence[Any], inputs: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    """Jacobian blocks, outputs first, from stacked columns of shape (all items of the inputs, *output.shape)."""
    found = []
    for column, y in zip(columns, outputs, strict=True):
        blocks = []
        start = 0
        for x in inputs:
            part = column.narrow(0, start, x.numel())
            moved = part.permute((*range(1, part.dim()), 0))
            blocks.append(moved.reshape((*y.shape, *x.shape)))
            start += x.numel()
        found.append(tuple(blocks))
    return tuple(found)


def forward_jacobian(func: Callable[..., Any], inputs: Any, vectorize: bool) -> Any:
    """`jacobian(strategy="forward-mode")`: all columns from one call of the function, on a batch of dual numbers.

    Raises NotImplementedError unless `vectorize`.
    """
    several_inputs, given = as_tensors(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
        )
    batch = BatchLevel(sum(x.numel() for x in given))
    with batch.entered():
        tangents = [batch.batched(part, 0) for part in basis(given)]
        forward = DualLevel()
        with forward.entered():
            duals = [with_tangent(x, t.view(x.shape), forward) for x, t in zip(given, tangents, strict=True)]
            several_outputs, outputs = as_tensors(func(*duals), "outputs", "None")
            pairs = [split_dual(y, forward) for y in outputs]
        columns = [peeled(p.new_zeros(p.shape) if t is None else t, batch) for p, t in pairs]
    blocks = [list(inner) for inner in split_columns(columns, outputs, given)]  # lists, as PyTorch's
    return unpacked(blocks, several_outputs, several_inputs)


def unpacked(blocks: Any, several_outer: bool, several_inner: bool) -> Any:
    """A tuple of tuples as the user gets it: without the levels at which there is a single tensor."""
    if not several_inner:
        blocks = tuple(inner[0] for inner in blocks)
    return blocks if several_outer else blocks[0]
