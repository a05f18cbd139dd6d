"""An elementwise op outside of the engine: its generated text, a function for compiled code, and a NumPy ufunc."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import cache, cpu, cuda_kernels, scalar_ir
from .locks import fork_safe_lock
from .registry import ElementwiseOp

_REAL: tuple[np.dtype, ...] = (np.dtype(np.float32), np.dtype(np.float64))
_INT: np.dtype = np.dtype(np.int64)
_BOOL: np.dtype = np.dtype(np.bool_)
_making = fork_safe_lock()


def source(op: ElementwiseOp, order: int, dtype: np.dtype, device: str) -> str:
    """The text that is compiled for an op, or for the derivative of an order by all its real inputs.

    Args:
        op: the op.
        order: 0 for the op itself, 1 for its gradient, 2 for the gradient of that, ...
        dtype: what it computes in.
        device: "cpu" or "cuda".

    Raises:
        ValueError: another device, a negative order, or an order that has no real inputs left.
    """
    if order < 0:
        raise ValueError(f"order must not be negative: {order}")
    for _ in range(order):
        mask = sum(1 << i for i, n in enumerate(op.inputs) if _is_real(op, n) and n not in op.plain)
        present = tuple(k for k, kind in enumerate(op.output_kinds) if kind == "real")
        gradient = op.backward(mask, present).op if mask and present else None
        if gradient is None:
            raise ValueError(f"{op.name}() has no derivative of order {order} to show")
        op = gradient
    function = op.scalar
    if device == "cpu":
        return cpu.kernel_source(function, dtype.name, "v" * len(function.parameters), "flat")
    if device == "cuda":
        inputs = [_dtype_of(kind, dtype) for kind in function.kinds.values()]
        outputs = [_dtype_of(kind, dtype) for kind in op.output_kinds]
        text, _ = cuda_kernels.map_source(function, dtype, inputs, outputs, cuda_kernels.Form())
        return text
    raise ValueError(f"there are kernels for 'cpu' and 'cuda', not for {device!r}")


def _is_real(op: ElementwiseOp, name: str) -> bool:
    return op.scalar.kinds.get(name, "real") == "real"


def jitted(function: scalar_ir.Function, dtype: np.dtype, defaults: Sequence[Any] = ()) -> Any:
    """The Numba function that computes a scalar function in a dtype, for use in other compiled code."""
    text, name = cpu.scalar_source(function, dtype.name, defaults)
    return getattr(cache.load_module(text, cpu.bound(function)), name)


class Ufunc:
    """A NumPy ufunc of Numba's, which also takes `where=` when called (Numba's do not: numba/numba#7373).

    Everything else (`reduce`, `accumulate`, `outer`, `types`, ...) is that ufunc's own.
    """

    def __init__(self, loops: Any) -> None:
        self._loops = loops

    def __call__(self, *args: Any, out: Any = None, where: Any = True, **options: Any) -> Any:
        """Apply it to arrays; where `where` is False, `out` keeps what it holds."""
        if where is True:
            return self._loops(*args, **options) if out is None else self._loops(*args, out=out, **options)
        *inputs, chosen = np.broadcast_arrays(*args, where)
        results = self._loops(*(x[chosen] for x in inputs), **options)
        if isinstance(out, tuple):
            (out,) = out
        if out is None:
            out = np.empty(chosen.shape, results.dtype)
        values = np.empty(chosen.shape, results.dtype)
        values[chosen] = results
        np.copyto(out, values, where=chosen)
        return out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loops, name)

    def __repr__(self) -> str:
        return f"<ufunc '{self._loops.__name__}'>"


def ufunc(op: ElementwiseOp) -> Ufunc:
    """An op as a NumPy ufunc, with loops for float32 and float64, and for int64 where the op computes with integers.

    Numba builds its wrapper anew in each process, 45-100 ms for a loop; the engine does not use it.

    Raises:
        NotImplementedError: an op with several outputs.
    """
    if op.outputs != 1:
        raise NotImplementedError(f"{op.name}() has {op.outputs} outputs: Numba's ufuncs have one")
    with _making:
        found: Ufunc | None = op.scalar.memo.get("ufunc")
        if found is None:
            found = op.scalar.memo["ufunc"] = Ufunc(_vectorized(op))
    return found


def _vectorized(op: ElementwiseOp) -> Any:
    """One function for all loops, so that NumPy sees one ufunc; by the types of its arguments it calls the right one."""
    from numba import vectorize
    from numba.extending import overload
    from numba.np.numpy_support import from_dtype

    numba_type: Any = from_dtype
    function = op.scalar
    kinds = [function.kinds[name] for name in function.parameters]
    computed: dict[Any, Any] = {}  # by the types of the arguments, the compiled function
    signatures = []
    for dtype in (_INT, *_REAL) if op.result == "same" else _REAL:
        arguments = tuple(numba_type(_dtype_of(kind, dtype)) for kind in kinds)
        if arguments not in computed:  # without a real argument all loops are alike
            computed[arguments] = jitted(function, dtype)
            signatures.append(numba_type(_dtype_of(op.output_kinds[0], dtype))(*arguments))
    scope: dict[str, Any] = {"computed": computed}
    exec(_STUB.format(names=", ".join(f"x{i}" for i in range(len(kinds)))), scope)
    overload(scope["stub"], strict=False)(scope["choose"])
    scope["mapped"].__name__ = function.name
    scope["mapped"].__doc__ = op.doc
    return vectorize(signatures)(scope["mapped"])


def _dtype_of(kind: str, dtype: np.dtype) -> np.dtype:
    return {"real": dtype, "int": _INT, "bool": _BOOL}[kind]


_STUB = """
def stub({names}):
    raise NotImplementedError("for compiled code only")

def choose({names}):
    scalar = computed[{names},]
    return lambda {names}: scalar({names})

def mapped({names}):
    return stub({names})
"""
