"""Random numbers from Philox4x32-10, a generator without state: block number and key give four random words.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, and its Random123 library.

A draw starts at a *counter* of a stream named by a *seed*. A block of four 32-bit words makes four float32 items or two
64-bit ones, so that item i of a draw comes from block `counter + i // items_per_block` alone: any split of a draw into
chunks, on any number of threads or on another device, gives the same numbers.

    >>> import numpy as np
    >>> draw("uniform", np.dtype(np.float32), 3, seed=0, counter=0).round(4)
    array([0.399 , 0.8805, 0.7357], dtype=float32)
    >>> positions("uniform", np.dtype(np.float32), 3)   # the next draw of this stream starts here
    1

The scalar functions are plain Python; they are printed into a generated module beside the loop that calls them. `log`
and `sqrt` are `math`'s here and the vectorising ones there. Words are kept in unsigned 64-bit integers below 2**32: a
product of two is then exact, and one packed instruction.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from . import cache, threads

_MASK_64 = 2**64 - 1
WORD = np.uint64(0xFFFFFFFF)
WORD_BITS = np.uint64(32)
MULTIPLIER_0, MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL_0, WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)  # golden ratio, sqrt(3) - 1
ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)
DROP_5, DROP_6, DROP_8 = np.uint64(5), np.uint64(6), np.uint64(8)  # bits beyond a float's precision
QUADRANT_SHIFT, QUADRANT_REST, HALF_QUADRANT = np.uint64(30), np.uint64(2**30 - 1), np.int64(2**29)

FLOAT32_STEP, FLOAT64_STEP = np.float32(2.0**-24), 2.0**-53
FLOAT32_WORD, FLOAT32_HALF_WORD = np.float32(2.0**-32), np.float32(2.0**-33)
FLOAT32_QUADRANT, FLOAT64_QUADRANT, FLOAT64_QUADRANT_LOW = np.float32(2.0**-30), 2.0**-30, 2.0**-62
FLOAT64_HIGH, FLOAT64_HALF = 2.0**26, 0.5

# mpmath.chebyfit of sin(pi / 2 * t) / t and cos(pi / 2 * t) as functions of t**2, abs(t) <= 1/2, highest power first.
SIN_FLOAT32 = tuple(map(np.float32, (-0.004602149213, 0.07968021765, -0.6459634777, 1.570796322)))
COS_FLOAT32 = tuple(map(np.float32, (0.0009036280664, -0.0208600695, 0.2536692037, -1.233700541, 1.0)))
SIN_FLOAT64 = (
    5.633933781537854e-8,
    -3.5986433529823097e-6,
    0.00016044115074219091,
    -0.004681754132340976,
    0.079692626246043003,
    -0.64596409750624432,
    1.5707963267948966,
)
COS_FLOAT64 = (
    4.6552961874867622e-7,
    -2.5200135264284791e-5,
    0.00091925995004166092,
    -0.020863480734946569,
    0.25366950789986473,
    -1.2337005501361513,
    1.0,
)


# ---------------------------------------------------------------------------------------------------- scalar functions
def philox4x32(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    """The four random words of a counter (four words) under a key (two words): ten rounds of Philox4x32."""
    for _ in range(10):
        p0, p1 = c0 * MULTIPLIER_0, c2 * MULTIPLIER_1
        c0, c1, c2, c3 = (p1 >> WORD_BITS) ^ c1 ^ k0, p1 & WORD, (p0 >> WORD_BITS) ^ c3 ^ k1, p0 & WORD
        k0, k1 = (k0 + WEYL_0) & WORD, (k1 + WEYL_1) & WORD
    return c0, c1, c2, c3


def words_of_block(seed: Any, counter: Any) -> Any:
    """The four random words at a 64-bit counter of the stream of a 64-bit seed."""
    return philox4x32(counter & WORD, counter >> WORD_BITS, ZERO, ZERO, seed & WORD, seed >> WORD_BITS)


def uniform_of_word(word: Any) -> Any:
    """float32 in [0, 1): 24 of the 32 bits, so that every value is exact and 1 cannot come out."""
    return np.float32(np.int32(word >> DROP_8)) * FLOAT32_STEP


def integer_of_words(high: Any, low: Any) -> Any:
    """53 random bits, as a float64 integer; in two halves, as packed conversion of 64-bit integers is rare."""
    return np.float64(np.int32(high >> DROP_5)) * FLOAT64_HIGH + np.float64(np.int32(low >> DROP_6))


def polynomial(coefficients: Any, x: Any) -> Any:
    """Horner's rule, highest power first."""
    total = coefficients[0]
    for k in range(1, len(coefficients)):
        total = total * x + coefficients[k]
    return total


def box_muller(uniform: Any, quadrant: Any, t: Any, sin_coefficients: Any, cos_coefficients: Any) -> Any:
    """Two independent normal numbers from a radius and an angle (Box and Muller, 1958).

    `uniform` lies in (0, 1], `quadrant` in 0..3, and the angle is (quadrant + t) * pi / 2 with t in [-1/2, 1/2].
    """
    logarithm = log(uniform)
    radius = sqrt(-(logarithm + logarithm))
    square = t * t
    sine = t * polynomial(sin_coefficients, square)
    cosine = polynomial(cos_coefficients, square)
    odd = (quadrant & ONE) == ONE
    x = sine if odd else cosine
    y = cosine if odd else sine
    x = -x if ((quadrant + ONE) & TWO) == TWO else x
    y = -y if (quadrant & TWO) == TWO else y
    return radius * x, radius * y


def normals_of_words(first: Any, second: Any) -> Any:
    """Two float32 normal numbers; all 32 bits go into the radius, so the tails reach 6.7 standard deviations."""
    uniform = np.float32(np.uint32(first)) * FLOAT32_WORD + FLOAT32_HALF_WORD
    t = np.float32(np.int32(np.int64(second & QUADRANT_REST) - HALF_QUADRANT)) * FLOAT32_QUADRANT
    return box_muller(uniform, second >> QUADRANT_SHIFT, t, SIN_FLOAT32, COS_FLOAT32)


def uniform_float32(seed: Any, counter: Any, low: Any, span: Any) -> Any:
    """Four float32 in [0, 1)."""
    w0, w1, w2, w3 = words_of_block(seed, counter)
    return uniform_of_word(w0), uniform_of_word(w1), uniform_of_word(w2), uniform_of_word(w3)


def uniform_float64(seed: Any, counter: Any, low: Any, span: Any) -> Any:
    """Two float64 in [0, 1), multiples of 2**-53."""
    w0, w1, w2, w3 = words_of_block(seed, counter)
    return integer_of_words(w0, w1) * FLOAT64_STEP, integer_of_words(w2, w3) * FLOAT64_STEP


def normal_float32(seed: Any, counter: Any, low: Any, span: Any) -> Any:
    """Four float32 of mean 0 and variance 1."""
    w0, w1, w2, w3 = words_of_block(seed, counter)
    x0, x1 = normals_of_words(w0, w1)
    x2, x3 = normals_of_words(w2, w3)
    return x0, x1, x2, x3


def normal_float64(seed: Any, counter: Any, low: Any, span: Any) -> Any:
    """Two float64 of mean 0 and variance 1."""
    w0, w1, w2, w3 = words_of_block(seed, counter)
    uniform = (integer_of_words(w0, w1) + FLOAT64_HALF) * FLOAT64_STEP
    quarter = np.int32(np.int64(w2 & QUADRANT_REST) - HALF_QUADRANT)
    t = np.float64(quarter) * FLOAT64_QUADRANT + np.float64(np.uint32(w3)) * FLOAT64_QUADRANT_LOW
    return box_muller(uniform, w2 >> QUADRANT_SHIFT, t, SIN_FLOAT64, COS_FLOAT64)


def scaled_integer(high: Any, low: Any, span: Any) -> Any:
    """floor(r * span / 2**64) of the 64-bit r = high * 2**32 + low: the upper half of a 128-bit product.

    As Lemire, "Fast random integer generation in an interval", 2019, without the rejection: no result is more than
    span / 2**64 too likely or too rare.
    """
    span_high, span_low = span >> WORD_BITS, span & WORD
    middle = high * span_low + ((low * span_low) >> WORD_BITS)
    other = low * span_high + (middle & WORD)
    return high * span_high + (middle >> WORD_BITS) + (other >> WORD_BITS)


def integers_int64(seed: Any, counter: Any, low: Any, span: Any) -> Any:
    """Two int64 in [low, low + span)."""
    w0, w1, w2, w3 = words_of_block(seed, counter)
    return low + np.int64(scaled_integer(w0, w1, span)), low + np.int64(scaled_integer(w2, w3, span))


# ---------------------------------------------------------------------------------------------------- loops
@dataclass(frozen=True)
class _Draw:
    """One kind of draw: the scalar function that makes a block of items, and what it calls, callees first."""

    block: Callable[..., Any]
    items_per_block: int
    functions: tuple[Callable[..., Any], ...]


_DRAWS = {
    ("uniform", "float32"): _Draw(uniform_float32, 4, (uniform_of_word,)),
    ("uniform", "float64"): _Draw(uniform_float64, 2, (integer_of_words,)),
    ("normal", "float32"): _Draw(normal_float32, 4, (polynomial, box_muller, normals_of_words)),
    ("normal", "float64"): _Draw(normal_float64, 2, (integer_of_words, polynomial, box_muller)),
    ("integers", "int64"): _Draw(integers_int64, 2, (scaled_integer,)),
}

_HEADER = '''"""Generated by numgrad: {name}."""
from math import sqrt
from typing import Any
import numpy as np
from numba import njit
from {package}.philox import {constants}
from {package}.vector_math.logarithm import log_{real} as log

_jit = njit(error_model="numpy", nogil=True, fastmath={{"contract"}}, forceinline=True,
            no_cpython_wrapper=True, no_cfunc_wrapper=True)
'''

# The loop makes whole blocks. Numba lets a signed index be negative; with unsigned ones LLVM sees that the items of a
# block lie side by side, and vectorises. So does `forceinline`, without which a function this long stays a call.
_LOOP = """
@njit(error_model="numpy", nogil=True, fastmath={{"contract"}})
def kernel(out, seed, counter, low, span, start, stop):
    for b in range(start, stop):
        i = np.uint64(b) * np.uint64({items})
        {targets} = {block}(seed, counter + np.uint64(b), low, span)
"""


def kernel_source(kind: str, dtype: np.dtype) -> str:
    """The text of the module that holds the CPU loop of one kind of draw."""
    draw_ = _lookup(kind, dtype)
    constants = ", ".join(name for name in globals() if name.isupper() and not name.startswith("_"))
    name = draw_.block.__name__
    header = _HEADER.format(
        name=name, package=__package__, constants=constants, real=dtype.name if dtype.kind == "f" else "float64"
    )
    functions: tuple[Callable[..., Any], ...] = (philox4x32, words_of_block, *draw_.functions, draw_.block)
    printed = [f"\n@_jit\n{inspect.getsource(function)}" for function in functions]
    targets = ", ".join(f"out[i + np.uint64({lane})]" for lane in range(draw_.items_per_block))
    loop = _LOOP.format(items=draw_.items_per_block, targets=targets, block=name)
    return "\n".join([header, *printed, loop])


@functools.cache
def _lookup(kind: str, dtype: np.dtype) -> _Draw:
    try:
        return _DRAWS[kind, dtype.name]
    except KeyError:
        known = ", ".join(f"{k} {d}" for k, d in _DRAWS)
        raise ValueError(f"no random draw of kind {kind!r} with dtype {dtype.name}; there are: {known}") from None


@functools.cache
def _kernel(kind: str, dtype: np.dtype) -> tuple[Callable[..., None], int]:
    """The compiled loop of one kind of draw, and how many items a block has."""
    from numba import types
    from numba.np.numpy_support import from_dtype

    blocks = types.Array(from_dtype(dtype), 1, "C")
    signature = (blocks, types.uint64, types.uint64, types.int64, types.uint64, types.int64, types.int64)
    return cache.compiled(kernel_source(kind, dtype), "kernel", signature), _lookup(kind, dtype).items_per_block


def fill(out: np.ndarray, kind: str, start: int, seed: int, counter: int, low: int = 0, high: int = 0) -> None:
    """Write items `start`, `start + 1` ... of a draw into a contiguous 1-D array, on several threads if it is large.

    Args:
        out: the array, contiguous; its dtype is the draw's.
        kind: "uniform" in [0, 1), "normal" of mean 0 and variance 1, or "integers" in [low, high).
        start: which item of the draw `out[0]` is.
        seed: names the stream, modulo 2**64.
        counter: where in the stream the draw begins, modulo 2**64.
        low: smallest integer of an "integers" draw.
        high: one more than the largest.

    Raises:
        ValueError: for an unknown kind or dtype, when `low < high` does not hold for integers, and when `out` is not
            contiguous.
    """
    if not out.flags.c_contiguous:
        raise ValueError("a random draw is written into a contiguous array")
    if kind == "integers" and not low < high:
        raise ValueError(f"integers needs low < high, got low={low} and high={high}")
    kernel, size = _kernel(kind, out.dtype)
    wanted = out.size
    if not start % size and not wanted % size and wanted < threads.THRESHOLD:  # as nearly all small ones
        kernel(out, seed & _MASK_64, (counter + start // size) & _MASK_64, low, high - low, 0, wanted // size)
        return

    def blocks(target: np.ndarray, items: int, first: int) -> None:
        operands = (target, seed & _MASK_64, (counter + first) & _MASK_64, low, high - low, 0, items // size)
        if items < threads.THRESHOLD:
            kernel(*operands)
        else:
            threads.split(kernel, "wwwww<>", operands, items, items // size)

    # The array may begin or end within a block; such a block is made aside, and its part copied.
    done = 0
    while done < wanted:
        block, lane = divmod(start + done, size)
        whole = 0 if lane else (wanted - done) // size * size
        if whole:
            blocks(out[done : done + whole], whole, block)
            done += whole
        else:
            aside = np.empty(size, out.dtype)
            blocks(aside, size, block)
            part = aside[lane : lane + wanted - done]
            out[done : done + part.size] = part
            done += part.size


def draw(kind: str, dtype: np.dtype, count: int, seed: int, counter: int, low: int = 0, high: int = 0) -> np.ndarray:
    """A new 1-D array of `count` random items; arguments and errors are those of `fill`."""
    _lookup(kind, dtype)
    out = np.empty(count, dtype)
    fill(out, kind, 0, seed, counter, low, high)
    return out


def positions(kind: str, dtype: np.dtype, count: int) -> int:
    """By how much a draw of `count` items advances the counter of its stream.

    Raises:
        ValueError: for an unknown kind or dtype.
    """
    return -(-count // _lookup(kind, dtype).items_per_block)
