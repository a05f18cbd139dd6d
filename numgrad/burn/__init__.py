"""Burn's front door: autodiff that devices opt into, immutable tensors, gradients that backward returns.

The rules are Burn 0.22's; the graph and the kernels are those of `numgrad.Tensor`.

    >>> from numgrad import Device, burn
    >>> device = Device.flex().autodiff()
    >>> x = burn.Tensor.from_floats([1.0, 2.0], device).require_grad()
    >>> gradients = (x * x).sum().backward()
    >>> x.grad(gradients)
    Tensor([2., 4.])
"""

from ..device import Device, GradientCheckpointingStrategy
from ..panic import Panic
from . import activation
from .distribution import Distribution
from .gradients import Gradients
from .layers import LinearConfig
from .methods import bind as _bind
from .module import Layer, Module
from .optim import AdamConfig, AdamWConfig, GradientsAccumulator, GradientsParams, ModuleOptimizer, SgdConfig
from .param import Param, ParamId
from .tensor import BoolTensor, IntTensor, Tensor

_bind()

__all__ = [
    "AdamConfig",
    "AdamWConfig",
    "BoolTensor",
    "Device",
    "Distribution",
    "GradientCheckpointingStrategy",
    "Gradients",
    "GradientsAccumulator",
    "GradientsParams",
    "IntTensor",
    "Layer",
    "LinearConfig",
    "Module",
    "ModuleOptimizer",
    "Panic",
    "Param",
    "ParamId",
    "SgdConfig",
    "Tensor",
    "activation",
]
