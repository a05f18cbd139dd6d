"""The compiler of kernels that tells LLVM that no output overlaps another array.

Without that LLVM vectorises a loop only behind a comparison of every output with every other array. It gives up beyond
some 128 of them, which 8 inputs with 8 gradients nearly reach: 16 gradients of multiply-adds took 80 ns for an item
instead of 14. And it takes the scalar loop when an output *is* an input: in place, exp took 7.6 ms instead of 0.26.

An output of a kernel with one output may indeed be the memory of an input. That is safe: an item is stored once, after
all loads that it depends on, and the loads of an iteration have no other purpose.

Numba has the flag (its own parallel loops use it), but no option of `njit` that sets it.
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler import Compiler


class NoAlias(Compiler):
    """Numba's compiler with `noalias` on all array arguments."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.flags.noalias = True
