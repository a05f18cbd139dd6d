"""CUDA devices, as far as a runtime for them is installed (`numgrad.kernels.cuda.install`)."""

from __future__ import annotations


def is_available() -> bool:
    """Whether tensors can be made on a CUDA device."""
    from ..kernels import cuda

    return cuda.is_available()


def device_count() -> int:
    """Number of CUDA devices that can be used."""
    return int(is_available())
