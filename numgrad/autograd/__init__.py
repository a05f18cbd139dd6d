"""The graph: nodes, the engine that runs backward, and what users call of it."""

from .differentiate import backward, grad
from .grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .gradient_container import Gradients, gradients

__all__ = [
    "Gradients",
    "backward",
    "enable_grad",
    "grad",
    "gradients",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
