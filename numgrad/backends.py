"""`torch.backends`: libraries that PyTorch can use, and their switches.

Scripts set them; they are kept and choose nothing, since numgrad has one implementation of everything. A library that is not
there says so.
"""

from __future__ import annotations

from typing import Any

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]


class _Backend:
    """Switches under their names; whatever a script sets is kept."""

    def __init__(self, available: bool, **switches: Any) -> None:
        self._available = available
        self.__dict__.update(switches)

    def is_available(self) -> bool:
        """Whether the library is used."""
        return self._available

    def is_built(self) -> bool:
        """Whether numgrad can use the library."""
        return self._available


class _Cuda(_Backend):
    """Switches of CUDA: the precision of products, and which kernels attention may use."""

    def is_built(self) -> bool:
        """Whether CUDA can be used."""
        from .cuda import is_available

        return is_available()

    is_available = is_built

    def enable_flash_sdp(self, enabled: bool) -> None:
        """Keep the switch."""
        self.flash = enabled

    def enable_math_sdp(self, enabled: bool) -> None:
        """Keep the switch."""
        self.math = enabled

    def enable_mem_efficient_sdp(self, enabled: bool) -> None:
        """Keep the switch."""
        self.mem_efficient = enabled

    def flash_sdp_enabled(self) -> bool:
        """What `enable_flash_sdp` was told."""
        return self.flash

    def math_sdp_enabled(self) -> bool:
        """What `enable_math_sdp` was told."""
        return self.math

    def mem_efficient_sdp_enabled(self) -> bool:
        """What `enable_mem_efficient_sdp` was told."""
        return self.mem_efficient

    flash: bool = True
    math: bool = True
    mem_efficient: bool = True


class _Cudnn(_Backend):
    """Switches of cuDNN, which is not used."""

    def version(self) -> None:
        """None."""


cuda = _Cuda(False, matmul=_Backend(False, allow_tf32=False, fp32_precision="ieee"))
cudnn = _Cudnn(False, enabled=True, benchmark=False, deterministic=False, allow_tf32=True)
mkl = _Backend(False)
mkldnn = _Backend(False)
mps = _Backend(False)
openmp = _Backend(False)
opt_einsum = _Backend(True, enabled=True, strategy="auto")
