"""Drawings of graphs: what is in them, that the texts are well formed, and that boxes do not lie on each other."""

from __future__ import annotations

import itertools
from xml.dom import minidom

import pytest

import numgrad as ng
from numgrad.utils.layers import place


@pytest.fixture
def model():
    return ng.nn.Sequential(ng.nn.Linear(2, 3), ng.nn.Tanh(), ng.nn.Linear(3, 1))


def test_boxes_are_the_nodes_and_the_leaves(model):
    drawing = ng.graph(model(ng.ones(4, 2)).sum(), params=model)
    lines = [box.lines for box in drawing.boxes if box.kind == "leaf"]
    assert sorted(lines) == sorted((name, str(tuple(p.shape))) for name, p in model.named_parameters())
    nodes = sorted(box.lines[0] for box in drawing.boxes if box.kind == "node")
    assert nodes == ["AddmmBackward0"] * 2 + ["SumBackward0"] + ["TBackward0"] * 2 + ["TanhBackward0"]


def test_arrows_are_next_functions():
    x = ng.ones(2, requires_grad=True)
    drawing = ng.graph(x * x)
    names = [" ".join(box.lines) for box in drawing.boxes]
    assert [(names[a], names[b]) for a, b in drawing.arrows] == [
        ("(2,)", "MulBackward0"), ("(2,)", "MulBackward0"), ("MulBackward0", "result (2,)"),
    ]  # fmt: skip


def test_the_texts_are_well_formed(model):
    model.weight_1 = ng.nn.Parameter(ng.ones(1))
    drawing = ng.graph(model(ng.ones(2)) * model.weight_1, params=[('a "quoted" <name>', model.weight_1)])
    picture = minidom.parseString(drawing.svg)
    assert len(picture.getElementsByTagName("rect")) == len(drawing.boxes)
    assert len(picture.getElementsByTagName("line")) == len(drawing.arrows)
    assert drawing._repr_svg_() == drawing.svg
    assert 'a \\"quoted\\" <name>' in drawing.dot
    assert drawing.dot.count("->") == drawing.mermaid.count("-->") == len(drawing.arrows)
    assert "a #quot;quoted#quot; &lt;name&gt;" in drawing.mermaid


def test_boxes_do_not_overlap_and_arrows_go_up(model):
    drawing = ng.graph(model(ng.ones(2)))
    placed = place([box.lines for box in drawing.boxes], drawing.arrows)
    for a, b in itertools.combinations(placed.boxes, 2):
        assert abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
    for start, end in drawing.arrows:
        assert placed.boxes[start].y > placed.boxes[end].y
    for box in placed.boxes:
        assert box.x - box.width / 2 >= 0
        assert box.x + box.width / 2 <= placed.width


def test_a_deep_graph_is_drawn_without_recursion():
    y = ng.ones(1, requires_grad=True)
    for _ in range(3000):
        y = y * 1.0
    assert len(ng.graph(y).boxes) == 3002


def test_saving(tmp_path):
    drawing = ng.utils.make_dot(ng.ones(1, requires_grad=True) * 2)
    for suffix, form in (("dot", drawing.dot), ("svg", drawing.svg), ("mmd", drawing.mermaid)):
        drawing.save(tmp_path / f"g.{suffix}")
        assert (tmp_path / f"g.{suffix}").read_text() == form
    assert drawing.source == drawing.dot
    with pytest.raises(ValueError, match=r"'\.png'"):
        drawing.save(tmp_path / "g.png")


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="not behind int"):
        ng.graph(3)


def test_without_a_graph_there_is_one_box():
    assert len(ng.graph(ng.ones(2)).boxes) == 1
    assert len(ng.graph([ng.ones(2), ng.ones(3)]).boxes) == 2
