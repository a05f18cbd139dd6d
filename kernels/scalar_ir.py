"""The intermediate language of scalar kernels: the one module that the rest of `kernels/` imports it from.

    Python source --(lower)--> Function --(derive)--> Function --(print_module)--> Python source --> njit, CUDA

`scalar_function` has the language and its analyses, `scalar_printer` writes it out.
"""

from __future__ import annotations

from .scalar_function import (
    DifferentiationError,
    Function,
    Opaque,
    Operand,
    bindings,
    is_cacheable,
    narrowed,
    output_kinds,
    pruned,
    reads,
    settle,
)
from .scalar_printer import PYTHON, Dialect, as_python, print_module, spelled

__all__ = [
    "PYTHON",
    "Dialect",
    "DifferentiationError",
    "Function",
    "Opaque",
    "Operand",
    "as_python",
    "bindings",
    "is_cacheable",
    "narrowed",
    "output_kinds",
    "print_module",
    "pruned",
    "reads",
    "settle",
    "spelled",
]
