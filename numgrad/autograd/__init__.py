"""The graph: nodes, the engine that runs backward, and what users call of it."""

from . import forward_ad, functional
from .differentiate import backward, grad
from .grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

__all__ = [
    "backward",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
