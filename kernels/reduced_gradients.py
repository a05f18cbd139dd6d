"""Gradients of broadcast operands, summed inside the loop that computes them (CPU).

A bias under (rows, columns) gets a gradient of its own shape, the sum over the rows of something elementwise. Written
out in full and summed afterwards it would pass through memory twice. Here an output of a gradient kernel is one of

- `f`: full, one item for each of the incoming gradient's;
- `r`: one row, summed over the rows (the gradient of a bias);
- `c`: one column, summed over the columns (of a scale for each row);
- `s`: a single item, summed over everything.

Rows come in blocks whose size depends on the shape alone, and threads take whole blocks, so the result does not depend on
the number of threads. Within a block sums are kept in the dtype for `_GROUP` rows or `_SEGMENT` columns, then in float64.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import cache, cpu, scalar_ir, threads
from .array import Array, Shape, contiguous_strides, dense_array

_GROUP = 16  # rows that a row of sums takes up before it goes to float64; 2 x faster than float64 throughout
_SEGMENT = 1024  # columns, for sums along a row: those are vectorised, so each lane adds some hundred items
_BLOCKS = 32  # at most so many blocks of rows, each with sums of its own
_WIDTH = 4096  # columns, where the operands prescribe none
_NARROW = 64  # shorter rows cost more than their items: where operands allow, some are strung together
_SMALL = 1 << 14  # fewer items than this take longer to arrange than to compute

_FLAGS = '{"contract", "reassoc"}'  # of the sums alone: the scalar function keeps the flags that it is compiled with


# ---------------------------------------------------------------------------------------------------- the kernel
def kernel_source(function: scalar_ir.Function, dtype: str, inputs: str, outputs: str) -> str:
    """The text of the module that holds one kernel, called as `kernel(*inputs, *outputs, width, rows)`.

    Full operands are 1-D; their items are seen as rows of `width`, the last of which may be shorter.

    Args:
        function: the scalar function; its first input is a full one.
        dtype: name of the dtype it computes in, float32 or float64.
        inputs: a letter for each input, as in the rows form of `cpu.kernel_source`: `f`, `r`, `c` or `n`.
        outputs: a letter for each output: `f`, `r`, `c` or `s`. Outputs of `r` are float64 of shape (blocks, width),
            those of `s` float64 of shape (blocks,), with a block for every `rows` rows.
    """
    spelled = cpu.Spelled(function, dtype)
    sources = [(f"x{i}", letter) for i, letter in enumerate(inputs)]
    targets = [(f"out{i}", letter) for i, letter in enumerate(outputs)]

    def lines(indent: int, pattern: str, pairs: Sequence[tuple[str, str]], letters: str) -> list[str]:
        """The pattern for each operand of these letters."""
        return ["    " * indent + pattern.format(name) for name, letter in pairs if letter in letters]

    reals = [
        (name, letter)
        for (name, letter), parameter in zip(sources, function.parameters, strict=True)
        if function.kinds[parameter] == "real"
    ]
    item = {"f": "{}_part[j]", "r": "{}_part[j]", "c": "{}_item", "n": "{}"}
    result = {"f": "{}_part[j]", "r": "{}_new", "c": "{}_new", "s": "{}_new"}
    arguments = ", ".join(item[letter].format(name) for name, letter in sources)
    results = ", ".join(result[letter].format(name) for name, letter in targets)
    parameters = ", ".join(name for name, _ in sources + targets)
    sums = lines(0, "{0}_part[j] += {0}_new", targets, "r") + lines(0, "{0}_part += {0}_new", targets, "cs")
    body = [
        f"@_kernel\ndef kernel({parameters}, width, rows):",
        *lines(1, "{0} = _T({0})", reals, "n"),
        "    height = (x0.shape[0] + width - 1) // width",
        *lines(1, "{}_sums = np.empty(width, _T)", targets, "r"),
        "    for block in range((height + rows - 1) // rows):",
        "        end = min((block + 1) * rows, height)",
        *lines(2, "{0}_block = {0}[block]\n        {0}_block[:] = 0", targets, "r"),
        *lines(2, "{}_block = _A(0)", targets, "s"),
        f"        for group in range(block * rows, end, {_GROUP}):",
        *lines(3, "{}_sums[:] = 0", targets, "r"),
        f"            for i in range(group, min(group + {_GROUP}, end)):",
        *lines(4, "{0}_item = {0}[i]", sources, "c"),
        *lines(4, "{}_row = _A(0)", targets, "c"),
        "                first = i * width",
        "                last = min(first + width, x0.shape[0])",
        f"                for start in range(first, last, {_SEGMENT}):",
        f"                    stop = min(start + {_SEGMENT}, last)",
        *lines(5, "{0}_part = {0}[start:stop]", sources + targets, "f"),
        *lines(5, "{0}_part = {0}[start - first : stop - first]", sources, "r"),
        *lines(5, "{0}_part = {0}_sums[start - first : stop - first]", targets, "r"),
        *lines(5, "{}_part = _T(0)", targets, "cs"),
        *(" " * 20 + line for line in spelled.loop("for j in range(stop - start):", results, arguments, sums)),
        *lines(5, "{0}_row += {0}_part", targets, "c"),
        *lines(5, "{0}_block += {0}_part", targets, "s"),
        *lines(4, "{0}[i] = {0}_row", targets, "c"),
        *lines(3, "for j in range(width):\n                {0}_block[j] += {0}_sums[j]", targets, "r"),
        *lines(2, "{0}[block] = {0}_block", targets, "s"),
    ]
    title = f"{function.name}, {dtype}, {inputs} to {outputs}"
    return cpu.with_header(f"{spelled.text}\n\n" + "\n".join(body) + "\n", title, dtype, _FLAGS, noalias=True)


@functools.cache
def _kernel(function: scalar_ir.Function, dtype: np.dtype, inputs: str, outputs: str) -> Callable[..., None]:
    from numba import types

    wide = np.dtype(np.float64)
    kinds = {"f": (dtype, 1), "r": (wide, 2), "c": (dtype, 1), "s": (wide, 1)}
    results = [cpu.array_type(*kinds[letter]) for letter in outputs]
    arguments = cpu.argument_types(function, dtype, inputs.replace("f", "v"))
    signature = (*arguments, *results, types.int64, types.int64)
    text = kernel_source(function, dtype.name, inputs, outputs)
    return cache.compiled(text, "kernel", signature, cpu.bound(function))


def sum_kernel(function: scalar_ir.Function, dtype: np.dtype, numbers: int) -> Callable[..., float]:
    """Adds up a scalar function of contiguous 1-D arrays of one size, and of so many Python numbers, on one thread."""
    letters = "f" * (len(function.parameters) - numbers) + "n" * numbers
    kernel = _kernel(function, dtype, letters, "s")

    def total(*operands: Any) -> float:
        out = np.empty(1)
        kernel(*operands, out, _WIDTH, len(operands[0]) + 1)
        return out[0]

    return total


# ---------------------------------------------------------------------------------------------------- on arrays
def reduced_gradients(
    function: scalar_ir.Function, dtype: np.dtype, inputs: Sequence[Any], shapes: Sequence[Shape]
) -> list[Array] | None:
    """Gradients of the given shapes, where the kernel can reduce them; None where it cannot.

    Args:
        function: the gradient: `g` and what it reads in, one output for each of `shapes` out.
        dtype: the dtype that it computes in.
        inputs: arrays and numbers that broadcast to the shape of the first one, `g`.
        shapes: shapes that broadcast to it.
    """
    g: Array = inputs[0]
    if dtype.name not in ("float32", "float64") or g.size < 2 or all(own == g.shape for own in shapes):
        return None
    values = [cpu.simplest(x, False, dtype) if x.__class__ is Array else cpu.fitting(x, dtype) for x in inputs]
    wanted = [cpu.operand_dtype(kind, dtype) for kind in function.kinds.values()]
    for x, own in zip(values, wanted, strict=True):
        if x.__class__ is Array and (x.flat is None or x.dtype != own):
            return None
    found = _layout(g.shape, tuple([x.shape if x.__class__ is Array else None for x in values]), tuple(shapes))
    if found is None:
        return None
    sources, targets, width, copies = found
    height = -(-g.size // width)
    rows = max(-(-height // _BLOCKS), _GROUP)
    blocks = -(-height // rows)
    sizes = {"f": g.size, "r": (blocks, width), "c": height, "s": blocks}
    outputs = [np.empty(sizes[letter], dtype if letter in "fc" else np.float64) for letter in targets]
    operands = [x.flat if x.__class__ is Array else x for x in values]
    if copies > 1:
        operands = [np.tile(x, copies) if letter == "r" else x for x, letter in zip(operands, sources, strict=True)]
    kernel = _kernel(function, dtype, sources, targets)
    whole = (*operands, *outputs, width, rows)
    if g.size < cpu.SPLIT:
        kernel(*whole)
    else:  # an array of `f` has rows * width items for each block, one of `c` has rows
        parts = "".join({"f": "f", "c": "s"}.get(letter, "w") for letter in sources)
        parts += "".join({"f": "f", "c": "s"}.get(letter, "v") for letter in targets) + "ww"
        threads.split(kernel, parts, whole, g.size, blocks, rows * width, rows)
    return [
        dense_array(_total(out, letter, copies, dtype), dtype, own, contiguous_strides(own))
        for out, letter, own in zip(outputs, targets, shapes, strict=True)
    ]


def _total(out: np.ndarray, letter: str, copies: int, dtype: np.dtype) -> np.ndarray:
    """The gradient, as a 1-D array, from what the kernel wrote."""
    if letter == "r":
        return out.reshape(len(out) * copies, -1).sum(0).astype(dtype)
    return out.sum(keepdims=True).astype(dtype) if letter == "s" else out


@functools.lru_cache(maxsize=4096)
def _layout(
    shape: Shape, inputs: tuple[Shape | None, ...], outputs: tuple[Shape, ...]
) -> tuple[str, str, int, int] | None:
    """How a call is laid out; None if it is to be done otherwise.

    Gives the letters of inputs (None for a number) and outputs, the width of the rows that full operands are seen as,
    and how many copies of a row operand such a row takes.
    """
    for split in range(len(shape) + 1):
        sources = ["n" if own is None else cpu.row_letter(own, shape, split) for own in inputs]
        targets = ["s" if math.prod(own) == 1 else cpu.row_letter(own, shape, split) for own in outputs]
        if sources[0] != "f" or None in sources or None in targets:
            continue
        used = {*sources, *targets}
        width, copies = math.prod(shape[split:]), 1
        narrow = width < _NARROW and math.prod(shape) >= _SMALL
        if "c" in used and narrow:  # 8 columns: 1.4 x the time of summing afterwards
            return None
        if "r" in used and narrow:  # 8 columns: 0.4 instead of 1.4 x
            copies = -(-_NARROW // width)
        if not used & {"r", "c"}:
            width = _WIDTH
        return "".join(sources), "".join(targets), width * copies, copies  # type: ignore[arg-type]
    return None
