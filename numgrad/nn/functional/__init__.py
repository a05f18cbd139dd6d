"""The functions behind the modules, with PyTorch's argument names and defaults; one family a file.

Each is a call into `numgrad.ops` or the dispatcher; what is done here is what PyTorch does in Python: older argument
names, warnings, choices among ops.
"""

# ruff: noqa: F403  (every family names its functions in `__all__`)
from ...ops.counting import one_hot
from ...ops.distances import cosine_similarity, pairwise_distance, pdist
from ...ops.linalg import linear
from . import activation, classification, loss, margins, probabilities
from .activation import *
from .classification import *
from .loss import *
from .margins import *
from .probabilities import *

__all__ = [
    "cosine_similarity",
    "linear",
    "one_hot",
    "pairwise_distance",
    "pdist",
    *activation.__all__,
    *classification.__all__,
    *loss.__all__,
    *margins.__all__,
    *probabilities.__all__,
]
