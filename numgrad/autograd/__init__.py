"""The graph: nodes, the engine that runs backward, and what users call of it."""

from . import functional
from .differentiate import backward, grad
from .grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

__all__ = ["backward", "enable_grad", "functional", "grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]
