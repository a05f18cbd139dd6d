"""Nodes of elementwise ops with several outputs, such as a function that returns a price and its sensitivity.

Gradients may arrive for some of the outputs only. Each such choice has a kernel of its own, in which those of the others
are 0 and what only they would need is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..kernels.array import Array
from ..kernels.registry import ElementwiseOp
from ..kernels.unbroadcast import unbroadcast
from .elementwise_node import ElementwiseNode, unbroadcast_tensor


class SeveralRecorder:
    """How an elementwise op with several outputs is recorded for one dtype and one choice of wanted gradients.

    Attributes:
        saves: indices of what a node keeps: inputs, or `OUT`, `OUT - 1`, ... for the results.
    """

    def __init__(self, op: ElementwiseOp, mask: int, dtype: Any) -> None:
        self.op = op
        self.mask = mask
        self.dtype = dtype
        differentiable = tuple(k for k, kind in enumerate(op.output_kinds) if kind == "real")
        self.saves = tuple(sorted(op.backward(mask, differentiable).saved, key=lambda i: (i < 0, abs(i))))


class SeveralNode(ElementwiseNode):
    """A node of an elementwise op with several outputs."""

    __slots__ = ()

    recorder: Any

    @property
    def outputs(self) -> int:  # type: ignore[override]
        """Number of outputs of the forward op."""
        return self.op.outputs

    def apply(self, g: Any, graph: bool) -> Sequence[Any]:
        """Gradients for each input; see `Node.apply`."""
        present = () if g is None else tuple(k for k, x in enumerate(g) if x is not None)
        if not present:
            return (None,) * len(self.edges)
        given = [g[k] for k in present]
        return self._apply_several_tensors(given, present) if graph else self._apply_arrays(given, present)

    def _apply_arrays(self, given: list[Array], present: tuple[int, ...]) -> Sequence[Array | None]:
        recorder = self.recorder
        backward = recorder.op.backward(recorder.mask, present)
        values = dict(zip(recorder.saves, self._unpack(), strict=True))
        results = self._run(backward, [*given, *(values[i] for i in backward.saved)])
        if self.meta is None:
            return results
        return [None if r is None else unbroadcast(r, *m) for r, m in zip(results, self.meta, strict=True)]

    def _apply_several_tensors(self, given: list[Any], present: tuple[int, ...]) -> Sequence[Any]:
        recorder = self.recorder
        values = self.tensors_by_index()
        results: list[Any] = []
        for i in range(len(self.edges)):
            if not recorder.mask >> i & 1:
                results.append(None)
                continue
            single = recorder.op.backward(1 << i, present)  # one op for each gradient, as for ops of one output
            result = single.op(*given, *(values[j] for j in single.saved))
            results.append(result if self.meta is None else unbroadcast_tensor(result, *self.meta[i]))
        return results
