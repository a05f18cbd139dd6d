"""Jacobians from rows or columns: what `autograd.functional` and `func` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..kernels.movement import cat, stack
from .basis import basis
from .batching import BatchLevel, peeled
from .differentiate import grad
from .duals import DualLevel, split_dual
from .elementwise_node import ElementwiseNode
from .forward_ad import with_tangent
from .functional_checks import as_tensors
from .inplace import CopySlices
from .node import AccumulateGrad, gradient_edge
from .op_node import OpNode
from .pullback import Identity
from .tracing import innermost

_OWN_NODES = (ElementwiseNode, OpNode, AccumulateGrad, CopySlices, Identity)
_ROWS_AT_ONCE = 64
_ITEMS_AT_ONCE = 1 << 18  # of the gradients that travel together


def jacobian_blocks(
    outputs: Sequence[Any], inputs: Sequence[Any], strict: bool, create_graph: bool
) -> tuple[tuple[Any, ...], ...]:
    """For each output its Jacobian blocks, one for each input.

    Rows are computed several at a time where the graph is made of numgrad's own ops alone. Hooks and custom Functions are
    the user's code, which expects one gradient: there it is one backward for each row.

    Raises RuntimeError, with PyTorch's texts, for what `strict` refuses.
    """
    return tuple(_blocks(i, y, inputs, strict, create_graph) for i, y in enumerate(outputs))


def _blocks(number: int, output: Any, inputs: Sequence[Any], strict: bool, create_graph: bool) -> tuple[Any, ...]:
    rows: list[Any] = [None] * len(inputs)
    if output.requires_grad and output.numel():
        compute = _batches if _is_plain(output, inputs) else _one_by_one
        rows = compute(output, inputs, create_graph)
    found = []
    for i, (g, x) in enumerate(zip(rows, inputs, strict=True)):
        if g is None and strict and output.numel():
            raise RuntimeError(
                f"Output {number} of the user-provided function is independent of input {i}. This is not allowed in "
                "strict mode."
            )
        if g is not None and strict and create_graph and not g.requires_grad:
            raise RuntimeError(
                f"The jacobian of the user-provided function is independent of input {number}. This is not allowed in "
                "strict mode when create_graph=True."
            )
        shape = (*output.shape, *x.shape)
        found.append(x.new_zeros(shape) if g is None else g.view(shape))
    return tuple(found)


def _is_plain(output: Any, inputs: Sequence[Any]) -> bool:
    """Whether all that a gradient of `output` passes is numgrad's own."""
    if innermost((output, *inputs)) is not None:
        return False
    edge = gradient_edge(output)
    assert edge is not None
    seen = {edge[0]}
    waiting = [edge[0]]
    while waiting:
        node = waiting.pop()
        if node.hooks is not None or not isinstance(node, _OWN_NODES):
            return False
        for link in node.edges:
            if link is not None and link[0] not in seen:
                seen.add(link[0])
                waiting.append(link[0])
    return True


def _batches(output: Any, inputs: Sequence[Any], create_graph: bool) -> list[Any]:
    """The rows for each input, stacked; None where there is no gradient."""
    (units,) = basis((output,))
    count = output.numel()
    items = count + sum(x.numel() for x in inputs)
    length = max(1, min(_ROWS_AT_ONCE, _ITEMS_AT_ONCE // items))
    parts = []
    for start in range(0, count, length):
        seeds = units.narrow(0, start, min(length, count - start)).view((-1, *output.shape))
        parts.append(_rows(output, inputs, seeds, create_graph))
    return [
        several[0] if len(several) == 1 or several[0] is None else cat(*several, dim=0)
        for several in zip(*parts, strict=True)
    ]


def _rows(output: Any, inputs: Sequence[Any], seeds: Any, create_graph: bool) -> Sequence[Any]:
    options: dict[str, Any] = {"retain_graph": True, "create_graph": create_graph, "allow_unused": True}
    if seeds.shape[0] == 1:
        found = grad(output, inputs, seeds.view(output.shape), **options)
        return [None if g is None else g.unsqueeze(0) for g in found]
    found = grad(output, inputs, seeds, is_grads_batched=True, **options)
    return list(found)


def _one_by_one(output: Any, inputs: Sequence[Any], create_graph: bool) -> list[Any]:
    """`_batches`, by one backward for each row."""
    flat = output.reshape(-1)
    rows = [
        grad(flat[j], inputs, retain_graph=True, create_graph=create_graph, allow_unused=True)
        for j in range(output.numel())
    ]
    return [None if several[0] is None else stack(*several, dim=0) for several in zip(*rows, strict=True)]


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
