"""The functions behind the modules, with PyTorch's argument names and defaults; one family a file.

Each is a call into `numgrad.ops` or the dispatcher; what is done here is what PyTorch does in Python: older argument
names, warnings, choices among ops.
"""

# ruff: noqa: F403  (every family names its functions in `__all__`)
from ...ops.counting import one_hot
from ...ops.linalg import bilinear, linear
from . import (
    activation,
    attention,
    convolution,
    loss,
    padding,
    pooling,
    probabilities,
)
from .activation import *
from .attention import *
from .convolution import *
from .loss import *
from .padding import *
from .pooling import *
from .probabilities import *

__all__ = [
    "bilinear",
    "linear",
    "one_hot",
    *activation.__all__,
    *attention.__all__,
    *convolution.__all__,
    *loss.__all__,
    *padding.__all__,
    *pooling.__all__,
    *probabilities.__all__,
]
