"""CUDA devices, as far as a runtime for them is installed (`numgrad.kernels.cuda.install`)."""

from __future__ import annotations

from .. import random


def is_available() -> bool:
    """Whether tensors can be made on a CUDA device."""
    from ..kernels import cuda

    return cuda.is_available()


def device_count() -> int:
    """Number of CUDA devices that can be used."""
    return int(is_available())


def manual_seed(seed: int) -> None:
    """Seed what tensors on CUDA devices are drawn from: the default generator, which serves every device.

    Does nothing where no CUDA device can be used, as in PyTorch.
    """
    if is_available():
        random.manual_seed(seed)


manual_seed_all = manual_seed
