"""The graph: nodes, the engine that runs backward, and what users call of it."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from . import anomaly_mode, grad_mode
from .anomaly_mode import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_anomaly_enabled,
    set_detect_anomaly,
)
from .differentiate import backward, grad
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .gradient_container import Gradients, gradients
from .variable import Variable, is_inference

if TYPE_CHECKING:
    from . import forward_ad, function, functional, graph, profiler, profiler_util
    from .function import Function

__all__ = [
    "Function",
    "GradcheckError",
    "Gradients",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "gradients",
    "graph",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "no_grad",
    "profiler",
    "profiler_util",
    "set_anomaly_enabled",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

# Imported when first asked for: an import of numgrad stays short.
_LATE = frozenset({"forward_ad", "function", "functional", "graph", "profiler", "profiler_util"})
_LATE_FROM = {"Function": "function"}


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return _import_module(f"{__name__}.{name}")
    if name in _LATE_FROM:
        return getattr(_import_module(f"{__name__}.{_LATE_FROM[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE, *_LATE_FROM})
