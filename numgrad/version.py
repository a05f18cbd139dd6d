"""The version, as `torch.version` shows its own: `cuda` is None where no CUDA device can be used."""

from __future__ import annotations

from . import __version__

__all__ = ["__version__", "debug", "git_version", "hip", "xpu"]

debug = False
git_version = None
hip = None
xpu = None


def __getattr__(name: str) -> str | None:
    if name != "cuda":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .cuda import is_available

    return "13" if is_available() else None
