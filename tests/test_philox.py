"""Philox4x32-10: known answers, independence of chunks, and the distributions of draws.

Every statistical bound is a number of standard deviations of the statistic under the exact distribution. Seeds are
fixed, so a test passes always or never; with bounds of 5 sigma it would fail by chance for one seed in a million.
"""

import math
import platform
import re

import numpy as np
import pytest
from numba import float32, int64, uint64

from numgrad.kernels import cache, philox

COUNT = 200_000
SIGMAS = 5.0
KINDS = [
    ("uniform", "float32"),
    ("uniform", "float64"),
    ("normal", "float32"),
    ("normal", "float64"),
    ("integers", "int64"),
]
REAL_KINDS = KINDS[:4]


def draw(kind, dtype, count=COUNT, seed=11, counter=0, low=-3, high=14):
    return philox.draw(kind, np.dtype(dtype), count, seed, counter, low, high)


def words(*values):
    return [np.uint64(value) for value in values]


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_known_answers_of_random123(counter, key, expected):
    assert philox.philox4x32(*words(*counter), *words(*key)) == expected


@pytest.mark.parametrize(("seed", "counter"), [(0, 0), (2**64 - 1, 2**40 + 5), (-1, 3)])
def test_compiled_words_are_those_of_plain_python(seed, counter):
    bits = draw("uniform", "float32", 8, seed, counter) * np.float32(2**24)
    expected = [
        int(word) >> 8
        for block in (counter, counter + 1)
        for word in philox.words_of_block(*words(seed % 2**64, block))
    ]
    assert bits.tolist() == expected


@pytest.mark.parametrize(("kind", "dtype"), KINDS)
def test_compiled_items_are_those_of_plain_python(kind, dtype):
    block = philox._DRAWS[kind, dtype].block
    expected = block(*words(11, 7), np.int64(-3), np.uint64(17))
    tolerance = 8 * float(np.finfo(dtype).eps) if kind == "normal" else 0
    np.testing.assert_allclose(draw(kind, dtype, len(expected), counter=7), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("kind", "dtype"), KINDS)
@pytest.mark.parametrize("cuts", [(1, 2, 3), (4, 64), (5, 6, 7, 8, 9, 63), (100,), (98, 99)])
def test_chunks_give_the_numbers_of_the_whole(kind, dtype, cuts):
    whole = draw(kind, dtype, 101)
    parts = np.zeros_like(whole)
    for start, stop in zip((0, *cuts), (*cuts, 101), strict=True):
        philox.fill(parts[start:stop], kind, start, 11, 0, -3, 14)
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize(("kind", "dtype"), KINDS)
def test_position_is_where_the_next_draw_goes_on(kind, dtype):
    whole = draw(kind, dtype, 64)
    after = philox.positions(kind, np.dtype(dtype), 40)
    np.testing.assert_array_equal(draw(kind, dtype, 24, counter=after), whole[40:])
    assert philox.positions(kind, np.dtype(dtype), 0) == 0
    assert philox.positions(kind, np.dtype(dtype), 37) == philox.positions(kind, np.dtype(dtype), 38)


def test_the_counter_wraps_and_seeds_differ():
    np.testing.assert_array_equal(
        draw("uniform", "float32", 8, counter=2**64 - 1)[4:], draw("uniform", "float32", 4, counter=0)
    )
    assert not np.any(draw("uniform", "float64", 100, seed=1) == draw("uniform", "float64", 100, seed=2))


def assert_mean(sample, mean, deviation):
    """The mean of n independent items has standard deviation `deviation` / sqrt(n) (central limit theorem)."""
    assert abs(sample.mean() - mean) <= SIGMAS * deviation / math.sqrt(sample.size)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_moments_and_range(dtype):
    x = draw("uniform", dtype).astype(np.float64)
    assert x.min() >= 0
    assert x.max() < 1
    assert_mean(x, 1 / 2, math.sqrt(1 / 12))
    assert_mean((x - 0.5) ** 2, 1 / 12, math.sqrt(1 / 180))  # E(x - 1/2)**4 - 1/144 = 1/80 - 1/144 = 1/180
    assert_mean((x[1:] - 0.5) * (x[:-1] - 0.5), 0, 1 / 12)  # neighbours, which share a block, are uncorrelated


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_moments(dtype):
    x = draw("normal", dtype).astype(np.float64)
    assert np.all(np.isfinite(x))
    assert_mean(x, 0, 1)
    assert_mean(x**2, 1, math.sqrt(2))  # E x**4 - 1 = 2
    assert_mean(x**3, 0, math.sqrt(15))  # E x**6 = 15
    assert_mean(x**4, 3, math.sqrt(96))  # E x**8 - 9 = 105 - 9
    assert_mean(x[1:] * x[:-1], 0, 1)
    assert_mean(x[1::2] ** 2 * x[::2] ** 2, 1, math.sqrt(8))  # both of a Box-Muller pair share a radius; E = 9 - 1


@pytest.mark.parametrize(("kind", "dtype"), REAL_KINDS)
def test_kolmogorov_smirnov(kind, dtype):
    """sqrt(n) * D exceeds 2.7 with probability 2 * exp(-2 * 2.7**2) < 1e-6."""
    x = np.sort(draw(kind, dtype).astype(np.float64))
    distribution = x if kind == "uniform" else np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x.tolist()])
    steps = np.arange(COUNT + 1) / COUNT
    distance = max(np.max(steps[1:] - distribution), np.max(distribution - steps[:-1]))
    assert math.sqrt(COUNT) * distance < 2.7


def test_normal_float32_reaches_far_tails():
    """P(abs(x) > 4.5) is 6.8e-6; the count among 2,000,000 is Poisson of mean 13.6."""
    far = np.count_nonzero(np.abs(draw("normal", "float32", 2_000_000)) > 4.5)
    mean = 2_000_000 * math.erfc(4.5 / math.sqrt(2))
    assert abs(far - mean) <= SIGMAS * math.sqrt(mean)


def test_integers_are_equally_frequent():
    """A count among 17 values is binomial; each lies within 5 of its standard deviations."""
    values, counts = np.unique(draw("integers", "int64"), return_counts=True)
    assert values.tolist() == list(range(-3, 14))
    assert np.max(np.abs(counts - COUNT / 17)) <= SIGMAS * math.sqrt(COUNT * (1 / 17) * (16 / 17))


@pytest.mark.parametrize(("low", "high"), [(5, 6), (-(2**63), 2**63 - 1), (0, 2**63 - 1), (-(2**40), 2**33 + 1)])
def test_integers_of_any_span_are_the_upper_half_of_a_wide_product(low, high):
    got = draw("integers", "int64", 64, low=low, high=high)
    expected = []
    for block in range(32):
        w0, w1, w2, w3 = map(int, philox.words_of_block(*words(11, block)))
        expected += [low + ((r * (high - low)) >> 64) for r in (w0 << 32 | w1, w2 << 32 | w3)]
    assert got.tolist() == expected


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="low < high, got low=3 and high=3"):
        draw("integers", "int64", 4, low=3, high=3)
    with pytest.raises(ValueError, match="kind 'uniform' with dtype int64; there are: uniform float32"):
        draw("uniform", "int64", 4)
    with pytest.raises(ValueError, match="contiguous"):
        philox.fill(np.empty(8, np.float32)[::2], "uniform", 0, 1, 0)


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="looks for x86-64 instructions")
def test_the_rounds_are_vectorised():
    # Numba shows no assembly of code that came from its disk cache, so this module is compiled here.
    text = philox.kernel_source("uniform", np.dtype(np.float32))
    kernel = cache.load_module(text).kernel
    kernel.compile((float32[::1], uint64, uint64, int64, uint64, int64, int64))
    (assembly,) = kernel.inspect_asm().values()
    # SSE2 and AVX2 multiply 32-bit words into 64 bits; AVX-512 may use its full 64-bit product instead.
    assert re.search(r"\bv?pmul(udq|lq)\s.*%[xyz]mm", assembly)
