"""Configurations of layers: what to make, before it is known where."""

from __future__ import annotations

from dataclasses import dataclass

from .. import nn
from ..device import device as Device
from .module import Layer


@dataclass(frozen=True)
class LinearConfig:
    """An affine map. `weight` has the engine's layout, (d_output, d_input)."""

    d_input: int
    d_output: int
    bias: bool = True

    def init(self, device: Device) -> Layer:
        """A new layer on a device. Its parameters are to be trained, and leaves where the device has autodiff."""
        return Layer.init(lambda: nn.Linear(self.d_input, self.d_output, self.bias), device)
