"""Where the boxes of a drawing go: in layers, each above all that its values came from, with few crossings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_CHARACTER, _LINE, _PAD = 7.0, 14.0, 10.0  # of the font that the drawing uses
_GAP, _RISE = 24.0, 34.0  # between boxes of a layer, and between layers
_SWEEPS = 4


class PlacedBox(NamedTuple):
    """The middle of a box and its size."""

    x: float
    y: float
    width: float
    height: float


class Placed(NamedTuple):
    """All boxes and the size of the whole."""

    boxes: list[PlacedBox]
    width: float
    height: float


def place(labels: Sequence[Sequence[str]], arrows: Sequence[tuple[int, int]]) -> Placed:
    """Place boxes with these lines of text; arrows `(start, end)` point upwards."""
    layers = _ordered(_layers(len(labels), arrows), arrows)
    sizes = [(max(map(len, lines)) * _CHARACTER + 2 * _PAD, len(lines) * _LINE + _PAD) for lines in labels]
    widths = [sum(sizes[i][0] for i in layer) + _GAP * (len(layer) - 1) for layer in layers]
    total = max(widths, default=0.0) + 2 * _PAD
    placed = [PlacedBox(0, 0, 0, 0)] * len(labels)
    y = _PAD
    for layer, width in zip(layers, widths, strict=True):
        height = max(sizes[i][1] for i in layer)
        x = (total - width) / 2
        for i in layer:
            placed[i] = PlacedBox(x + sizes[i][0] / 2, y + height / 2, *sizes[i])
            x += sizes[i][0] + _GAP
        y += height + _RISE
    return Placed(placed, total, y - _RISE + _PAD)


def _layers(count: int, arrows: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The boxes by their longest way down from a box that nothing leads to from below, the top layer first."""
    below: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for start, end in arrows:
        below[end].append(start)
        waiting[start] += 1
    depth = [0] * count
    ready = [i for i in range(count) if not waiting[i]]
    while ready:
        i = ready.pop()
        for j in below[i]:
            depth[j] = max(depth[j], depth[i] + 1)
            waiting[j] -= 1
            if not waiting[j]:
                ready.append(j)
    layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for i, d in enumerate(depth):
        layers[d].append(i)
    return layers


def _ordered(layers: list[list[int]], arrows: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The layers, each sorted by where the neighbours of its boxes are, downwards and upwards in turn."""
    neighbours: dict[int, list[int]] = {}
    for start, end in arrows:
        neighbours.setdefault(start, []).append(end)
        neighbours.setdefault(end, []).append(start)
    position = {i: k / max(len(layer), 1) for layer in layers for k, i in enumerate(layer)}
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            layer.sort(key=lambda i: _mean([position[j] for j in neighbours.get(i, [])], position[i]))
            for k, i in enumerate(layer):
                position[i] = (k + 0.5) / len(layer)
    return layers


def _mean(values: list[float], default: float) -> float:
    return sum(values) / len(values) if values else default
