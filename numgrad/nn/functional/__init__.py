"""The functions behind the modules, with PyTorch's argument names and defaults; one family a file.

Each is a call into `numgrad.ops` or the dispatcher; what is done here is what PyTorch does in Python: older argument
names, warnings, choices among ops.
"""

# ruff: noqa: F403  (every family names its functions in `__all__`)
from ...ops.counting import one_hot
from ...ops.distances import cosine_similarity, pairwise_distance, pdist
from ...ops.linalg import bilinear, linear
from . import (
    activation,
    attention,
    classification,
    convolution,
    folding,
    loss,
    margins,
    normalization,
    padding,
    pooling,
    probabilities,
    resampling,
)
from . import (
    dropout as _dropout,
)
from . import (
    embedding as _embedding,
)
from .activation import *
from .attention import *
from .classification import *
from .convolution import *
from .dropout import *
from .embedding import *
from .folding import *
from .loss import *
from .margins import *
from .normalization import *
from .padding import *
from .pooling import *
from .probabilities import *
from .resampling import *

__all__ = [
    "bilinear",
    "cosine_similarity",
    "linear",
    "one_hot",
    "pairwise_distance",
    "pdist",
    *_dropout.__all__,
    *_embedding.__all__,
    *activation.__all__,
    *attention.__all__,
    *classification.__all__,
    *convolution.__all__,
    *folding.__all__,
    *loss.__all__,
    *margins.__all__,
    *normalization.__all__,
    *padding.__all__,
    *pooling.__all__,
    *probabilities.__all__,
    *resampling.__all__,
]
