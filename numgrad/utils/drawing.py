"""Drawings of graphs: as DOT for Graphviz, as Mermaid for Markdown pages, and as SVG for notebooks, all as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from ..autograd.node import AccumulateGrad, Node, gradient_edge
from ..nn.module import Module
from ..tensor import Tensor
from .layers import Placed, place

__all__ = ["GraphDrawing", "graph", "make_dot"]

_FILLS = {"result": "#caff70", "leaf": "#add8e6", "node": "#eeeeee"}


class Box(NamedTuple):
    """A box of the drawing: a tensor or a step of the graph. `kind` is 'result', 'leaf' or 'node'."""

    lines: tuple[str, ...]
    kind: str


class GraphDrawing:
    """The graph behind tensors. Notebooks show it; `dot`, `mermaid` and `svg` are its forms as text.

    Gradients run from the results at the top down to the leaves; arrows point the way the values went.
    """

    def __init__(self, boxes: Sequence[Box], arrows: Sequence[tuple[int, int]]) -> None:
        self.boxes = tuple(boxes)
        self.arrows = tuple(arrows)  # from what a value came from to what it went into, as indices of boxes

    @property
    def dot(self) -> str:
        """The drawing in Graphviz' language."""
        lines = ["digraph {", "  rankdir=BT", '  node [shape=box style=filled fontname="monospace" fontsize=10]']
        for i, box in enumerate(self.boxes):
            label = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in box.lines)
            lines.append(f'  n{i} [label="{label}" fillcolor="{_FILLS[box.kind]}"]')
        lines += [f"  n{start} -> n{end}" for start, end in self.arrows]
        return "\n".join([*lines, "}"]) + "\n"

    @property
    def mermaid(self) -> str:
        """The drawing in Mermaid's language, which many Markdown pages show."""
        lines = ["flowchart BT"]
        for i, box in enumerate(self.boxes):
            label = "<br/>".join(escape(line, {'"': "#quot;"}) for line in box.lines)
            lines.append(f'  n{i}["{label}"]:::{box.kind}')
        lines += [f"  n{start} --> n{end}" for start, end in self.arrows]
        lines += [f"  classDef {kind} fill:{fill},stroke:#555" for kind, fill in _FILLS.items()]
        return "\n".join(lines) + "\n"

    @property
    def svg(self) -> str:
        """The drawing as an SVG picture."""
        placed = place([box.lines for box in self.boxes], self.arrows)
        return _svg(self.boxes, self.arrows, placed)

    source = dot

    def save(self, path: Any) -> None:
        """Write the form that the ending of the name tells: .dot or .gv, .mmd, .svg. Raises ValueError for another."""
        forms = {".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".svg": "svg"}
        suffix = Path(path).suffix
        if suffix not in forms:
            raise ValueError(f"no drawing of the kind {suffix!r}: the name must end in one of {', '.join(forms)}")
        Path(path).write_text(getattr(self, forms[suffix]), encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"GraphDrawing({len(self.boxes)} boxes, {len(self.arrows)} arrows)"


def graph(*outputs: Any, params: Any = None) -> GraphDrawing:
    """A drawing of the graph behind tensors.

    Args:
        outputs: tensors, or one sequence of them.
        params: names for leaves: a dict of tensors by name, pairs as of `named_parameters()`, or a module.

    Raises:
        TypeError: an output that is no tensor.

    Example:
        >>> import numgrad as ng
        >>> w = ng.ones(2, requires_grad=True)
        >>> drawing = ng.graph((w * w).sum(), params={"w": w})
        >>> drawing
        GraphDrawing(4 boxes, 4 arrows)
        >>> print(drawing.mermaid.splitlines()[1])
          n0["result<br/>()"]:::result
    """
    tensors = tuple(outputs[0]) if len(outputs) == 1 and isinstance(outputs[0], (list, tuple)) else outputs
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"graph() draws the graph behind tensors, not behind {type(tensor).__name__}")
    return _Collector(_names(params)).collect(tensors)


def make_dot(var: Any, params: Any = None) -> GraphDrawing:
    """`graph(var, params=params)` under the name that the package torchviz gives it; `source` is the DOT text."""
    return graph(var, params=params)


def _names(params: Any) -> dict[int, str]:
    if params is None:
        return {}
    if isinstance(params, Module):
        params = dict(params.named_parameters())
    pairs = params.items() if isinstance(params, Mapping) else params
    return {id(tensor): name for name, tensor in pairs}


class _Collector:
    """Walks a graph and numbers what it meets."""

    def __init__(self, names: dict[int, str]) -> None:
        self.names = names
        self.boxes: list[Box] = []
        self.arrows: list[tuple[int, int]] = []
        self.numbers: dict[Node, int] = {}

    def collect(self, tensors: Sequence[Any]) -> GraphDrawing:
        for tensor in tensors:
            name = self.names.get(id(tensor), "result")
            number = self._add(Box((name, str(tuple(tensor.shape))), "result"))
            edge = gradient_edge(tensor)
            if edge is not None:
                self._walk(edge[0])
                self.arrows.append((self.numbers[edge[0]], number))
        return GraphDrawing(self.boxes, self.arrows)

    def _add(self, box: Box) -> int:
        self.boxes.append(box)
        return len(self.boxes) - 1

    def _walk(self, root: Node) -> None:
        if root in self.numbers:
            return
        self.numbers[root] = self._add(self._box(root))
        stack = [root]
        while stack:
            node = stack.pop()
            for following in _inputs_of(node):
                if following not in self.numbers:
                    self.numbers[following] = self._add(self._box(following))
                    stack.append(following)
                self.arrows.append((self.numbers[following], self.numbers[node]))

    def _box(self, node: Node) -> Box:
        if not isinstance(node, AccumulateGrad):
            return Box((node.name().rsplit("::", 1)[-1],), "node")
        leaf = node.variable
        shape = str(tuple(leaf._array.shape))
        name = self.names.get(id(leaf))
        return Box((shape,) if name is None else (name, shape), "leaf")


def _inputs_of(node: Node) -> Iterator[Node]:
    for following, _ in node.next_functions:
        if following is not None:
            yield following


# ---------------------------------------------------------------------------------------------------- SVG
_LINE = 14


def _svg(boxes: Sequence[Box], arrows: Sequence[tuple[int, int]], placed: Placed) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {placed.width:g} {placed.height:g}" '
        f'width="{placed.width:g}" height="{placed.height:g}" font-family="monospace" font-size="11">'
    )
    marker = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>'
    )
    lines = [head, marker]
    for start, end in arrows:
        a, b = placed.boxes[start], placed.boxes[end]
        lines.append(
            f'<line x1="{a.x:g}" y1="{a.y - a.height / 2:g}" x2="{b.x:g}" y2="{b.y + b.height / 2:g}" stroke="#555" '
            'marker-end="url(#tip)"/>'
        )
    for box, at in zip(boxes, placed.boxes, strict=True):
        lines.append(
            f'<rect x="{at.x - at.width / 2:g}" y="{at.y - at.height / 2:g}" width="{at.width:g}" height="{at.height:g}" '
            f'rx="3" fill="{_FILLS[box.kind]}" stroke="#555"/>'
        )
        top = at.y - _LINE * (len(box.lines) - 1) / 2 + 4
        for k, line in enumerate(box.lines):
            lines.append(f'<text x="{at.x:g}" y="{top + _LINE * k:g}" text-anchor="middle">{escape(line)}</text>')
    return "\n".join([*lines, "</svg>"])
