"""Modules, parameters and the functions neural networks are made of."""

# ruff: noqa: F403  (every family names its modules in `__all__`)
from . import (
    activation,
    attention,
    batch_normalization,
    container,
    convolution,
    dropout,
    embedding,
    flatten,
    folding,
    linear,
    loss,
    margins,
    module,
    normalization,
    padding,
    parameter,
    parameter_container,
    pooling,
    recurrent,
    softmax,
    transformer,
    upsampling,
)
from . import functional as functional
from . import init as init
from . import modules as modules
from . import utils as utils
from .activation import *
from .attention import *
from .batch_normalization import *
from .container import *
from .convolution import *
from .dropout import *
from .embedding import *
from .flatten import *
from .folding import *
from .linear import *
from .loss import *
from .margins import *
from .module import *
from .normalization import *
from .padding import *
from .parameter import *
from .parameter_container import *
from .pooling import *
from .recurrent import *
from .softmax import *
from .transformer import *
from .upsampling import *

__all__ = [
    "functional",
    "init",
    "modules",
    "utils",
    *activation.__all__,
    *attention.__all__,
    *batch_normalization.__all__,
    *container.__all__,
    *convolution.__all__,
    *dropout.__all__,
    *embedding.__all__,
    *flatten.__all__,
    *folding.__all__,
    *linear.__all__,
    *loss.__all__,
    *margins.__all__,
    *module.__all__,
    *normalization.__all__,
    *padding.__all__,
    *parameter.__all__,
    *parameter_container.__all__,
    *pooling.__all__,
    *recurrent.__all__,
    *softmax.__all__,
    *transformer.__all__,
    *upsampling.__all__,
]

modules.publish()
