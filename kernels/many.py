"""One call of a compiled loop for many groups of arrays: what an optimizer's step runs on all parameters at once.

An elementwise function with some inputs as *targets* is run on each group of arrays, and its results replace the targets.
The kernel gets the addresses of NumPy's array objects, not the arrays: to unpack one takes 0.1 us as an argument of a
compiled function and 1 us in Python, while a step of 64 x 64 items takes 2. It reads from the object where the data are,
the first field after Python's own (`PyArrayObject`, part of NumPy's C interface).

The groups are cut into chunks, which are the units of work of several threads. So a step of many small parameters is
shared, too, and a chunk starts at the same item of its array for any number of threads.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import cache, scalar_ir, threads
from .cpu import SPLIT, Spelled, argument_types, bound, with_header

CHUNK = 1 << 14
"""Items of the largest chunk."""
_DATA = object.__basicsize__  # bytes from a NumPy array object to the address of its data

_TEXT = """

@njit(pipeline_class=NoAlias, error_model="numpy", nogil=True, fastmath={{"contract"}}, no_cfunc_wrapper=True)
def part({arguments}):
{loop}


@_kernel
def kernel(objects, chunks, start, stop{numbers}):
{casts}
    for c in range(start, stop):
        group, first, size = chunks[c, 0], chunks[c, 1], chunks[c, 2]
        part({parts})
"""


def __getattr__(name: str) -> Any:
    if name != "items_at":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _items_at()


def map_many(
    function: scalar_ir.Function,
    dtype: np.dtype,
    targets: tuple[int, ...],
    width: int,
    arrays: Sequence[np.ndarray],
    numbers: Sequence[float],
) -> None:
    """Run a function on groups of arrays in place.

    Args:
        function: scalar function of as many arrays as a group has, and then of the numbers.
        dtype: of all arrays.
        targets: which of its inputs its results replace.
        width: how many arrays a group has.
        arrays: contiguous 1-D arrays, group by group; those of one group have one size.
        numbers: the same for all groups.
    """
    kernel = _kernel(function, dtype, targets, width)
    objects = np.fromiter(map(id, arrays), np.int64, len(arrays))
    chunks, items = _chunks(tuple(map(len, arrays[::width])))
    if items < SPLIT:
        kernel(objects, chunks, 0, len(chunks), *numbers)
    else:
        letters = "ww<>" + "w" * len(numbers)
        threads.split(kernel, letters, (objects, chunks, 0, len(chunks), *numbers), items, len(chunks))


@functools.lru_cache(maxsize=64)
def _chunks(sizes: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """For each chunk its group, first item and size, and the number of items of all."""
    rows = [
        (group, first, min(CHUNK, size - first)) for group, size in enumerate(sizes) for first in range(0, size, CHUNK)
    ]
    return np.array(rows, np.int64).reshape(-1, 3), sum(sizes)


@functools.cache
def _kernel(
    function: scalar_ir.Function, dtype: np.dtype, targets: tuple[int, ...], arrays: int
) -> Callable[..., None]:
    from numba import types

    numbers = len(function.parameters) - arrays
    table = [types.Array(types.int64, ndim, "C") for ndim in (1, 2)]
    signature = (
        *table,
        types.int64,
        types.int64,
        *argument_types(function, dtype, "v" * arrays + "n" * numbers)[arrays:],
    )
    return cache.compiled(_source(function, dtype.name, targets, arrays), "kernel", signature, bound(function))


def _source(function: scalar_ir.Function, dtype: str, targets: tuple[int, ...], arrays: int) -> str:
    spelled = Spelled(function, dtype)
    names = [f"x{i}" for i in range(len(function.parameters))]
    results = ", ".join(f"x{i}[i]" for i in targets)
    items = ", ".join(f"{name}[i]" if i < arrays else name for i, name in enumerate(names))
    loop = spelled.loop("for i in range(x0.shape[0]):", results, items)
    numbers = names[arrays:]
    parts = [f"items_at(objects[{arrays} * group + {i}] + {_DATA}, first, size, _T(0))" for i in range(arrays)]
    text = spelled.text + _TEXT.format(
        arguments=", ".join(names),
        loop="\n".join(f"    {line}" for line in loop),
        numbers="".join(f", {name}" for name in numbers),
        casts="\n".join(f"    {name} = _T({name})" for name in numbers),
        parts=", ".join([*parts, *numbers]),
    )
    text = f"from {__package__}.many import items_at\n\n{text}"
    return with_header(text, f"{function.name}, {dtype}, in place for many arrays", dtype, noalias=True)


@functools.cache
def _items_at() -> Any:
    """`items_at(place, first, size, like)`: the array of `size` items of the type of `like` that starts at item `first`
    of the data whose address is stored at `place`."""
    from llvmlite import ir
    from numba import config, types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array, populate_array

    if config.DISABLE_JIT:  # type: ignore[attr-defined]  # Numba sets it at run time
        return _items_of_object

    @intrinsic
    def items_at(typingctx: Any, place: Any, first: Any, size: Any, like: Any) -> Any:
        found = types.Array(like, 1, "C")

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place, first, size, _ = arguments
            item = context.get_data_type(like)
            width = context.get_constant(types.intp, context.get_abi_sizeof(item))
            data = builder.load(builder.inttoptr(place, item.as_pointer().as_pointer()))
            array = make_array(found)(context, builder)
            populate_array(
                array,
                data=builder.gep(data, [first]),
                shape=cgutils.pack_array(builder, [size]),
                strides=cgutils.pack_array(builder, [width]),
                itemsize=width,
                meminfo=ir.Constant(context.get_value_type(types.MemInfoPointer(types.voidptr)), None),
            )
            return array._getvalue()

        return found(place, first, size, like), codegen

    return items_at


def _items_of_object(place: int, first: int, size: int, like: Any) -> np.ndarray:
    """`items_at` for kernels that run as plain Python."""
    array: np.ndarray = ctypes.cast(int(place) - _DATA, ctypes.py_object).value
    return array[first : first + size]
