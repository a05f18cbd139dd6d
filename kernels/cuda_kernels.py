"""Texts of the CUDA kernels: what a runtime compiles, or interprets, without this package knowing which.

A kernel is the text of a module whose entry point is called `ENTRY`. It imports nothing: the names `cuda`, `math`,
`libdevice` (those of `numba.cuda`) and the number types `f16 f32 f64 i8 ... i64 u8 ... u64 boolean` are placeholders,
bound by whoever loads it. So one text goes to numba-cuda, to its successor, and to an interpreter in the tests.

Parameters follow the *pointer ABI*, spelled as a signature: `*f4` is a pointer to float32, `i8` and `f8` are 64-bit
scalars, `i8x3` is a tuple of three. bfloat16 is stored as `u2`, its bits, and bool as `u1` (numba-cuda cannot store a
bool through a pointer). Half types are only stored; they are computed in float32.

Elementwise kernels are printed around a scalar function (`map_source`). Reductions and products are the functions at
the end, as they stand, behind a header that says what `_T` (the type computed in), `_load`, `_store`, `BLOCK` and
`TILE` are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import scalar_ir

ENTRY = "numgrad_kernel"

cuda: Any = None
libdevice: Any = None
f32: Any = None
i32: Any = None
i64: Any = None
u16: Any = None
u32: Any = None
_T: Any = None
_load: Any = None
_store: Any = None
BLOCK = TILE = 0
Pointer = Any

_TYPE_NAMES = {
    "bool": "boolean",
    "float16": "f16", "float32": "f32", "float64": "f64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip
_STORED_AS = {"bfloat16": "*u2", "bool": "*u1"}
_HEADER = "from __future__ import annotations\n\n"  # the annotations below are for readers of this file
_DEVICE_FUNCTION = "@cuda.jit(device=True)"
_CALLED = "_function"  # the scalar function in an elementwise kernel, whatever its own name
_RESERVED = frozenset(
    {"cuda", "libdevice", ENTRY, _CALLED, "_I", "_bfloat16_to_f32", "_f32_to_bfloat16", *_TYPE_NAMES.values()}
)
_LIBDEVICE = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint", "exp2": "exp2", "cbrt": "cbrt"}
"""What `math` gives as an int, or numba-cuda does not have of it."""


class Form(NamedTuple):
    """Shape of an elementwise kernel's loop.

    With no axes all arrays are dense and one counter indexes them all. Otherwise the counter is taken apart into `axes`
    coordinates. `is_wide` says that 32 bits do not hold it: a 64-bit division is a call of a routine on a GPU.
    """

    axes: int = 0
    is_wide: bool = False


def compute_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype that arithmetic happens in: float32 for half types, int64 for integers, else the dtype itself.

    A compiler widens small integers anyway; storing the result wraps it.
    """
    if dtype.name in ("float16", "bfloat16"):
        return np.dtype(np.float32)
    return np.dtype(np.int64) if dtype.kind in "iu" and dtype.itemsize < 8 else dtype


def accumulate_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype that sums happen in whose result is of `dtype`: float32, float64 or int64."""
    return np.dtype(np.int64) if dtype.kind == "b" else compute_dtype(dtype)


def pointer_type(dtype: np.dtype) -> str:
    """How a signature spells a pointer to items of a dtype.

    Raises:
        NotImplementedError: the dtype has no CUDA kernels (complex numbers).
    """
    if dtype.name in _STORED_AS:
        return _STORED_AS[dtype.name]
    if dtype.name not in _TYPE_NAMES:
        raise NotImplementedError(f"CUDA kernels take no {dtype.name} arrays: move the tensor to the CPU")
    return f"*{dtype.kind}{dtype.itemsize}"


# --------------------------------------------------------------------------------------------------- items of any dtype


def _load_text(dtype: np.dtype, kind: str, item: str) -> str:
    """An item of an array as an operand of this kind."""
    if dtype.name == "bfloat16":
        item = f"_bfloat16_to_f32({item})"
    if kind == "bool":
        return f"{item} != 0"
    return f"i64({item})" if kind == "int" else f"_T({item})"


def _store_text(dtype: np.dtype, value: str) -> str:
    """A computed value as an item of an array."""
    if dtype.name == "bfloat16":
        return f"_f32_to_bfloat16(f32({value}))"
    return f"u8({value} != 0)" if dtype.kind == "b" else f"{_TYPE_NAMES[dtype.name]}({value})"


def _bfloat16_to_f32(bits: Any) -> Any:
    return libdevice.int_as_float(i32(u32(u32(bits) << u32(16))))


def _f32_to_bfloat16(value: Any) -> Any:
    if value != value:
        return u16(0x7FC0)
    bits = u32(libdevice.float_as_int(value))
    half = u32(u32(0x7FFF) + u32(u32(bits >> u32(16)) & u32(1)))  # ties go to even
    return u16(u32(bits + half) >> u32(16))


def _device_function(function: Callable[..., Any]) -> str:
    return f"{_DEVICE_FUNCTION}\n{inspect.getsource(function)}\n\n"


def _bfloat16_helpers(dtypes: Sequence[np.dtype]) -> str:
    if not any(dtype.name == "bfloat16" for dtype in dtypes):
        return ""
    return _device_function(_bfloat16_to_f32) + _device_function(_f32_to_bfloat16)


# -------------------------------------------------------------------------------------------------- elementwise kernels


def _dialect(dtype: np.dtype) -> scalar_ir.Dialect:
    """How scalar functions are spelled."""
    functions = {}
    if dtype.kind == "f":
        suffix = "f" if dtype.itemsize == 4 else ""
        functions = {name: f"libdevice.{device}{suffix}" for name, device in _LIBDEVICE.items()}
    return scalar_ir.Dialect("cuda", _DEVICE_FUNCTION, "_T", functions, _RESERVED)


def _item(array: str, form: Form) -> str:
    """The running item of an array: indexed by the counter, or by the scalar product of coordinates and strides."""
    if not form.axes:
        return f"{array}[i]"
    return f"{array}[{' + '.join(f'c{axis} * {array}_strides[{axis}]' for axis in range(form.axes))}]"


def _coordinates(form: Form) -> list[str]:
    """Statements that take the counter apart, the last axis running fastest."""
    lines = []
    rest = "_I(i)"
    for axis in range(form.axes - 1, 0, -1):
        lines += [
            f"r{axis} = {rest}",
            f"q{axis} = _I(r{axis} // _I(shape[{axis}]))",
            f"c{axis} = i64(_I(r{axis} - _I(q{axis} * _I(shape[{axis}]))))",
        ]
        rest = f"q{axis}"
    return [*lines, f"c0 = i64({rest})"] if form.axes else []


def map_source(
    function: scalar_ir.Function,
    dtype: np.dtype,
    inputs: Sequence[np.dtype | type],
    outputs: Sequence[np.dtype],
    form: Form,
) -> tuple[str, str]:
    """Text and signature of an elementwise kernel.

    Parameters of the kernel are the number of items, the inputs, the outputs, and in a strided form the shape and the
    strides of every array.

    Args:
        function: the scalar function, computed in `dtype`.
        dtype: what "real" operands are cast to.
        inputs: the dtype of each array, `float` or `int` for a Python number.
        outputs: dtypes of the output arrays.
        form: how the arrays are laid out.

    Raises:
        NotImplementedError: the function calls compiled code that has no text.
    """
    if unprintable := scalar_ir.bindings(function):
        raise NotImplementedError(
            f"'{next(iter(unprintable.values())).__name__}' is compiled code with a registered derivative: it has no "
            "CUDA form. Write it in plain Python, or move the operands with .to('cpu')"
        )
    dtype = compute_dtype(dtype)
    printed, names = scalar_ir.print_module([function], dtype.name, _dialect(dtype))
    used = [*(source for source in inputs if isinstance(source, np.dtype)), *outputs]
    kernel, signature = _map_kernel([function.kinds[name] for name in function.parameters], inputs, outputs, form)
    text = (
        f"{_HEADER}_T = {_TYPE_NAMES[dtype.name]}\n_I = {'i64' if form.is_wide else 'u32'}\n\n\n"
        f"{_bfloat16_helpers(used)}{printed}\n\n{_CALLED} = {names[function]}\n\n\n{kernel}\n"
    )
    return text, signature


def _map_kernel(
    kinds: Sequence[str], inputs: Sequence[np.dtype | type], outputs: Sequence[np.dtype], form: Form
) -> tuple[str, str]:
    """The loop of an elementwise kernel, and its signature."""
    sources = {f"x{k}": source for k, source in enumerate(inputs)}
    results = {f"y{k}": dtype for k, dtype in enumerate(outputs)}
    arrays = {name: dtype for name, dtype in (sources | results).items() if isinstance(dtype, np.dtype)}
    numbers = {name: source for name, source in sources.items() if name not in arrays}
    parameters = ["n", *sources, *results]
    signature = ["i8"]
    for name in parameters[1:]:
        signature.append(pointer_type(arrays[name]) if name in arrays else "f8" if numbers[name] is float else "i8")
    if form.axes:
        parameters += ["shape", *(f"{name}_strides" for name in arrays)]
        signature += [f"{'i8' if form.is_wide else 'u4'}x{form.axes}"] + [f"i8x{form.axes}"] * len(arrays)
    hoisted, operands = [], []
    for (name, source), kind in zip(sources.items(), kinds, strict=True):
        if name in arrays:
            operands.append(_load_text(arrays[name], kind, _item(name, form)))
        else:  # a number is a 64-bit argument, narrowed once for each thread
            hoisted.append(f"{name}_item = {_load_text(np.dtype(source), kind, name)}")
            operands.append(f"{name}_item")
    body = [
        *_coordinates(form),
        f"{', '.join(f'{name}_item' for name in results)} = {_CALLED}({', '.join(operands)})",
        *(f"{_item(name, form)} = {_store_text(dtype, f'{name}_item')}" for name, dtype in results.items()),
        "i += step",
    ]
    lines = [
        f"def {ENTRY}({', '.join(parameters)}):",
        *(f"    {line}" for line in [*hoisted, "i = cuda.grid(1)", "step = cuda.gridsize(1)", "while i < n:"]),
        *(f"        {line}" for line in body),
    ]
    return "\n".join(lines), " ".join(signature)


# -------------------------------------------------------------------------------------------------- handwritten kernels


def _handwritten(kernel: Callable[..., None], sources: np.dtype, target: np.dtype, **constants: int) -> str:
    """The text of a function below, for arrays of these dtypes."""
    accumulated = accumulate_dtype(target)
    lines = [f"_T = {_TYPE_NAMES[accumulated.name]}", *(f"{name} = {value}" for name, value in constants.items())]
    load, store = _load_text(sources, "real", "item"), _store_text(target, "value")
    return (
        _HEADER + "\n".join(lines) + "\n\n\n" + _bfloat16_helpers([sources, target])
        + f"{_DEVICE_FUNCTION}\ndef _load(item):\n    return {load}\n\n\n"
        + f"{_DEVICE_FUNCTION}\ndef _store(value):\n    return {store}\n\n\n"
        + f"{inspect.getsource(kernel)}\n\n{ENTRY} = {kernel.__name__}\n"
    )  # fmt: skip


def reduce_sum_source(source: np.dtype, target: np.dtype, block: int) -> tuple[str, str]:
    """Text and signature of `sum_rows` for blocks of `block` threads, a power of two."""
    text = _handwritten(sum_rows, source, target, BLOCK=block)
    return text, f"{pointer_type(source)} {pointer_type(target)} i8 i8 i8 i8"


def matmul_source(source: np.dtype, target: np.dtype, tile: int) -> tuple[str, str]:
    """Text and signature of `matmul_tiles` for tiles of `tile` x `tile`, one thread for each item."""
    text = _handwritten(matmul_tiles, source, target, TILE=tile)
    pointer = pointer_type(source)
    return text, f"{pointer} {pointer} {pointer_type(target)} i8 i8 i8 i8x2 i8x2 i8x2"


def sum_rows(source: Pointer, target: Pointer, columns: int, segment: int, row_stride: int, column_stride: int) -> None:
    """target[row, part] = the sum of one segment of a row, for a grid of rows x parts.

    Every thread adds up each BLOCK-th item, then the threads' sums are added in pairs: the same order on every run.
    """
    row = i64(cuda.blockIdx.x)
    part = i64(cuda.blockIdx.y)
    thread = cuda.threadIdx.x
    column = part * segment + thread
    stop = min(part * segment + segment, columns)
    total = _T(0)
    while column < stop:
        total += _load(source[row * row_stride + column * column_stride])
        column += BLOCK
    totals = cuda.shared.array(BLOCK, _T)
    totals[thread] = total
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if thread < half:
            totals[thread] += totals[thread + half]
        cuda.syncthreads()
        half = half // 2
    if thread == 0:
        target[row * cuda.gridDim.y + part] = _store(totals[0])


def matmul_tiles(
    a: Pointer,
    b: Pointer,
    c: Pointer,
    rows: int,
    columns: int,
    inner: int,
    a_strides: tuple[int, int],
    b_strides: tuple[int, int],
    c_strides: tuple[int, int],
) -> None:
    """c = a @ b, a tile of c for each block; tiles of a and b pass through shared memory, padded with zeros."""
    tiles_across = (columns + TILE - 1) // TILE
    tile_row = i64(cuda.blockIdx.x) // tiles_across
    tile_column = i64(cuda.blockIdx.x) - tile_row * tiles_across
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    row = tile_row * TILE + y
    column = tile_column * TILE + x
    a_tile = cuda.shared.array((TILE, TILE), _T)
    b_tile = cuda.shared.array((TILE, TILE), _T)
    total = _T(0)
    start = 0
    while start < inner:
        a_item = _T(0)
        if row < rows and start + x < inner:
            a_item = _load(a[row * a_strides[0] + (start + x) * a_strides[1]])
        b_item = _T(0)
        if column < columns and start + y < inner:
            b_item = _load(b[(start + y) * b_strides[0] + column * b_strides[1]])
        a_tile[y, x] = a_item
        b_tile[y, x] = b_item
        cuda.syncthreads()
        for k in range(TILE):
            total += a_tile[y, k] * b_tile[k, x]
        cuda.syncthreads()
        start += TILE
    if row < rows and column < columns:
        c[row * c_strides[0] + column * c_strides[1]] = _store(total)
