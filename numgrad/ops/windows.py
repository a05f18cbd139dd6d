"""Window functions for spectra: Bartlett, Blackman, Hamming, Hann, Kaiser. A window has `window_length` items.

`periodic` windows are those of one item more without the last, as discrete Fourier transforms want them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import dtype as dtypes
from ..creation import arange, as_dtype, empty, ones

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _window(
    name: str,
    length: int,
    periodic: bool,
    function: Callable[[Any, float], Any],
    dtype: Any,
    device: Any,
    requires_grad: bool,
) -> Any:
    """The window of `function(n, last)`, n from 0 to the last index. Computed in float64 for the halves."""
    wanted = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype, name)
    if not wanted.is_floating_point:
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={wanted.c_name}, device=cpu, "
            "layout=Strided (default), requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))"
        )
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if length < 2:
        made = (ones if length else empty)(length, dtype=wanted, device=device)
        return made.requires_grad_(requires_grad)
    last = length if periodic else length - 1
    found = function(arange(length, dtype=dtypes.float64, device=device), float(last))
    return found.to(wanted).requires_grad_(requires_grad)


def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """A triangle: `1 - abs(2 n / N - 1)`."""
    return _window(
        "bartlett_window", window_length, periodic, lambda n, N: 1 - (2 * n / N - 1).abs(), dtype, device, requires_grad
    )


def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)`."""

    def blackman(n: Any, N: float) -> Any:
        angle = n * (2 * math.pi / N)
        return 0.42 - 0.5 * angle.cos() + 0.08 * (2 * angle).cos()

    return _window("blackman_window", window_length, periodic, blackman, dtype, device, requires_grad)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`alpha - beta cos(2 pi n / N)`."""

    def hamming(n: Any, N: float) -> Any:
        return alpha - beta * (n * (2 * math.pi / N)).cos()

    return _window("hamming_window", window_length, periodic, hamming, dtype, device, requires_grad)


def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`(1 - cos(2 pi n / N)) / 2`.

    Example:
        >>> import numgrad as ng
        >>> ng.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def hann(n: Any, N: float) -> Any:
        return 0.5 - 0.5 * (n * (2 * math.pi / N)).cos()

    return _window("hann_window", window_length, periodic, hann, dtype, device, requires_grad)


def _bessel_i0(x: float) -> float:
    """The modified Bessel function of the first kind and order 0, by its series, whose terms are all positive."""
    term = total = 1.0
    k = 0
    while term > total * 1e-17:
        k += 1
        term *= (x / (2 * k)) ** 2
        total += term
    return total


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta)`, I0 the modified Bessel function of order 0."""

    def kaiser(n: Any, N: float) -> Any:
        x = beta * (1 - (2 * n / N - 1) ** 2).clamp(min=0).sqrt()
        return x.new_tensor([_bessel_i0(value) / _bessel_i0(beta) for value in x.tolist()])

    return _window("kaiser_window", window_length, periodic, kaiser, dtype, device, requires_grad)
