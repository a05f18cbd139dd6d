"""Modules, parameters and the functions neural networks are made of."""

from . import functional as functional
from . import init as init
from . import modules as modules
from . import utils as utils
from .activation import ReLU, Sigmoid, Tanh
from .container import ModuleList, Sequential
from .flatten import Flatten
from .linear import Identity, Linear
from .loss import CrossEntropyLoss, MSELoss
from .module import Module
from .parameter import Parameter

__all__ = [
    "CrossEntropyLoss",
    "Flatten",
    "Identity",
    "Linear",
    "MSELoss",
    "Module",
    "ModuleList",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
    "functional",
    "init",
    "modules",
    "utils",
]
