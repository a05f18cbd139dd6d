"""`numgrad.summary`."""

from __future__ import annotations

from typing import Any

import pytest

import numgrad as ng
from numgrad import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.twice = nn.Sequential(nn.Linear(8, 8), nn.Tanh())
        self.unused = nn.Linear(3, 3)
        self.unused.weight = self.first.weight  # type: ignore[assignment]  # shared: counted once
        self.register_buffer("scale", ng.ones(10, dtype=ng.float64))
        self.twice[0].bias.requires_grad_(False)

    def forward(self, x: Any, flag: bool = False) -> Any:
        hidden = self.twice(self.twice(self.first(x)))
        return {"hidden": hidden, "both": (hidden.sum(1), [x])}


TABLE = """\
Layer     Type        Output shape          Parameters  Trainable
-----------------------------------------------------------------
Net       Net         (5, 8), (5,), (5, 4)           0          0
  first   Linear      (5, 8)                        40         40
  twice   Sequential  (5, 8) x2                      0          0
    0     Linear      (5, 8) x2                     72         64
    1     Tanh        (5, 8) x2                      0          0
  unused  Linear      -                              3          3
-----------------------------------------------------------------
Parameters: 115 (107 trainable, 8 fixed)
Memory: parameters 460 B, buffers 80 B, outputs 800 B"""


def test_table() -> None:
    assert str(ng.summary(Net(), ng.zeros(5, 4))) == TABLE


def test_numbers() -> None:
    found = ng.summary(Net(), {"x": ng.zeros(5, 4), "flag": True})
    assert [layer.name for layer in found.layers] == ["", "first", "twice", "twice.0", "twice.1", "unused"]
    assert found.layers[3].output_shapes == [(5, 8)]
    assert (found.layers[3].calls, found.layers[3].parameters, found.layers[3].trainable) == (2, 72, 64)
    assert (found.parameters, found.trainable) == (115, 107)
    assert found.parameters == sum(p.numel() for p in Net().parameters())


def test_without_input_and_with_several_arguments() -> None:
    assert all(layer.output_shapes == [] for layer in ng.summary(Net()).layers)
    assert ng.summary(nn.Bilinear(2, 3, 4), (ng.zeros(5, 2), ng.zeros(5, 3))).layers[0].output_shapes == [(5, 4)]


def test_the_model_is_as_before() -> None:
    model = Net()
    model.twice.eval()
    modes, state = [m.training for m in model.modules()], ng.get_rng_state()
    seen = []
    model.first.register_forward_hook(lambda module, args, output: seen.append((module.training, output.requires_grad)))
    ng.summary(model, ng.zeros(5, 4))
    assert seen == [(False, False)]
    assert [m.training for m in model.modules()] == modes
    assert sum(len(m._forward_hooks) for m in model.modules()) == 1
    assert (ng.get_rng_state() == state).all()


def test_an_error_leaves_no_hooks() -> None:
    model = Net()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        ng.summary(model, ng.zeros(5, 3))
    assert not any(m._forward_hooks for m in model.modules())
    assert all(m.training for m in model.modules())


def test_lazy_modules() -> None:
    assert ng.summary(nn.LazyLinear(3)).parameters == 0
    found = ng.summary(nn.LazyLinear(3), ng.zeros(5, 2))
    assert (found.layers[0].type, found.parameters) == ("LazyLinear", 9)


def test_large_sizes() -> None:
    text = str(ng.summary(nn.Linear(1000, 300), ng.zeros(50, 1000)))
    assert "300,300" in text
    assert "parameters 1.1 MiB, buffers 0 B, outputs 58.6 KiB" in text
