"""The compiler of kernels with several outputs, which tells LLVM that no output overlaps another array.

Without that LLVM vectorises a loop only behind a comparison of every output with every other array, and gives up
beyond some 128 of them, which 8 inputs with 8 gradients nearly reach: 16 gradients of multiply-adds took 80 ns for an
item instead of 14. Numba has the flag (its own parallel loops use it), but no option of `njit` that sets it.
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler import Compiler


class NoAlias(Compiler):
    """Numba's compiler with `noalias` on all array arguments: for kernels whose outputs are new arrays."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.flags.noalias = True
