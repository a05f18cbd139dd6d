"""Elementwise functions of the user against PyTorch's functions of the same meaning: values and two orders of gradients."""

import math

import numpy as np
import pytest

import numgrad as ng

torch = pytest.importorskip("torch")
F = torch.nn.functional


@ng.elementwise
def huber(pred, target, delta=1.0):
    a = abs(pred - target)
    return 0.5 * a * a if a < delta else delta * (a - 0.5 * delta)


@ng.elementwise
def mish(x):
    soft = max(x, 0.0) + math.log1p(math.exp(-abs(x)))
    return x * math.tanh(soft)


@ng.elementwise
def elu(x, alpha=1.0):
    if x > 0:
        return x
    return alpha * math.expm1(x)


CASES = {
    "huber": (huber, lambda p, t: F.huber_loss(p, t, reduction="none"), 2),
    "huber, delta": (
        lambda p, t: huber(p, t, delta=0.3),
        lambda p, t: F.huber_loss(p, t, reduction="none", delta=0.3),
        2,
    ),
    "mish": (mish, F.mish, 1),
    "elu": (elu, F.elu, 1),
}


TOLERANCE = {"float32": {"rtol": 3e-6, "atol": 1e-6}, "float64": {"rtol": 1e-13, "atol": 1e-14}}


@pytest.mark.parametrize(("name", "dtype"), [*((name, "float64") for name in CASES), ("huber", "float32")])
def test_values_and_gradients(name, dtype):
    ours, theirs, count = CASES[name]
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(4, 3)).astype(dtype) for _ in range(count)]
    weights = rng.normal(size=(4, 3)).astype(dtype)
    found = []
    for library, function in ((ng, ours), (torch, theirs)):
        inputs = [library.from_numpy(a.copy()).requires_grad_() for a in arrays]
        y = function(*inputs)
        first = library.autograd.grad((y * library.from_numpy(weights)).sum(), inputs, create_graph=True)
        second = library.autograd.grad((first[0] * first[0]).sum(), inputs[0])
        found.append([v.detach().numpy() for v in (y, *first, *second)])
    for got, wanted in zip(*found, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, **TOLERANCE[dtype])
