"""Elementary and special functions in pure arithmetic, so that LLVM vectorises the loops that call them.

`math.exp` in a Numba loop is a scalar call into the C library. The functions here have neither calls nor branches, and
every integer step is one that exists as a packed instruction from SSE2 on, so a plain loop becomes vector code (before
SSE4.1, which brought packed selection, LLVM finds that some float64 loops do not gain by it):

    @njit(error_model="numpy")
    def exp(x, out):
        for i in range(out.shape[0]):
            out[i] = exp_float32(x[i])

They are for compiled code only: calling one from Python is an error.

Each function has one body for float32 and float64, made by a factory for a `Format`. Errors stay within 2 ulp on the
whole range (where a function says otherwise, in its docstring, within that), with subnormals as input and output,
signed zeros, infinities and NaN, whether or not the machine fuses multiply-adds. Nothing is ever raised. sin, cos
and tan are limited to arguments up to `LIMITS`, the divisions with a whole quotient (which are Python's `%` and `//`) to
such quotients; kernels/guards.py keeps generated kernels within them.

They compile without fastmath except `contract`: no step here relies on a product being rounded before it is added.
`reassoc` would undo the two-part ln 2, `nnan` and `ninf` would break the special values. LLVM keeps the flags with the
instructions that it inlines, so the fastmath flags of a calling loop do not reach these steps.

Polynomials are near-minimax fits by `mpmath.chebyfit`; the fitted function stands beside each.
"""

from __future__ import annotations

MODULES = {
    "exp": "exponential",
    "exp2": "exponential",
    "expm1": "exponential",
    "sigmoid": "exponential",
    "log": "logarithm",
    "log1p": "logarithm",
    "log2": "logarithm",
    "log10": "logarithm",
    "softplus": "logarithm",
    "pow": "power",
    "cbrt": "power",
    "sinh": "hyperbolic",
    "cosh": "hyperbolic",
    "tanh": "hyperbolic",
    "asinh": "hyperbolic",
    "acosh": "hyperbolic",
    "atanh": "hyperbolic",
    "sin": "trigonometric",
    "cos": "trigonometric",
    "tan": "trigonometric",
    "asin": "inverse_trigonometric",
    "acos": "inverse_trigonometric",
    "atan": "inverse_trigonometric",
    "atan2": "inverse_trigonometric",
    "erf": "error_function",
    "erfc": "error_function",
    "erfinv": "error_function",
    "gelu": "error_function",
    "lgamma": "gamma",
    "digamma": "gamma",
    "remainder": "division",
    "floor_divide": "division",
}
"""Where each function is defined, as `<name>_float32` and `<name>_float64`: a kernel imports only those that it calls."""

LIMITED = {"sin": "sin", "cos": "cos", "tan": "tan", "%": "remainder", "//": "floor_divide"}
"""What is accurate for a limited range only: primitives of scalar functions, and the function here that computes each."""
LIMITS = {"float32": 2.0**25, "float64": 2.0**23}
"""The largest argument, in size, of those functions; the largest quotient. Infinite and NaN arguments do give NaN."""
