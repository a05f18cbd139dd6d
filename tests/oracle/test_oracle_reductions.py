"""Reductions against PyTorch's: values, dtypes, strides, node names, gradients of two orders, warnings and error texts."""

from __future__ import annotations

import itertools
import math
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import side_by_side

import numgrad

torch = pytest.importorskip("torch")

# ---------------------------------------------------------------------------------------------------- calls, one by one
# x: (2, 3) with a zero, y: (2, 2, 3), both require gradients; f: ones of (2, 3), s: 0-d, e: (0, 3), n: (3, 0).
CALLS = """
x.sum(); x.sum(0); x.sum((0, 1)); x.sum(()); x.sum(None, True); x.sum(dim=None, keepdim=True); x.sum(axis=0, keepdims=True)
x.mean(); x.mean(1); x.mean((0, 1)); x.mean(dim=(), keepdim=True); x.mean(1, dtype=torch.float64)
x.prod(); x.prod(1); x.prod(0, True); f.prod(dtype=torch.int32); f.long().prod(dtype=torch.float32); f.prod(axis=0, keepdims=True)
x.nansum(); x.nansum(1); x.nansum((0, 1), True); x.nanmean(); x.nanmean(1); f.long().nansum(); f.bool().nansum(0)
f.nansum(dtype=torch.float64); f.long().nanmean(); T([nan, 1, nan]).nanmean(); T([nan, 1]).nansum()
x.max(); x.max(1); x.min(); x.min(1); x.max(dim=1, keepdim=True); x.min(0, True); x.max(1)[0]; x.min(1)[1]; x.max(axis=0, keepdims=True)
x.amax(); x.amax(1); x.amax((0, 1), True); x.amin(); x.amin(0); x.amax([]); x.amax(axis=0, keepdims=True)
x.aminmax(); x.aminmax(dim=1); torch.aminmax(x, dim=1, keepdim=True); T([3, 1, 2]).aminmax(); T([True, False]).aminmax()
x.argmax(); x.argmin(1); x.argmax(1, True); x.argmax(keepdim=True); x.argmin(keepdim=True); x.argmin(axis=0, keepdims=True)
x.var(); x.var(1); x.var(unbiased=False); x.var(1, False); x.var(1, False, True); x.var(dim=1, correction=0, keepdim=True)
x.var(correction=0); x.var((0, 1)); x.var(None); x.var(dim=()); x.var(False); x.var(True); x.var(correction=0.5); x.var(axis=0, keepdims=True)
x.std(); x.std(1); x.std(False); x.std(1, True, True); x.std((0, 1), False, keepdim=True); x.var(0, correction=None); x.var(correction=T(1))
torch.var_mean(x); torch.var_mean(x, 1); torch.std_mean(x, dim=1, keepdim=True); torch.var_mean(x, False); torch.var_mean(x, (0,), False, True)
torch.std_mean(x, dim=None, correction=0)
x.norm(); x.norm(1); x.norm(2); x.norm(inf); x.norm(-inf); x.norm(3); x.norm('fro'); x.norm(2, 1); x.norm('fro', 1); x.norm(1, 1)
x.norm(0); x.norm(0, 1); f.norm(None); x.norm(p=2, dim=(0, 1), keepdim=True); x.norm(keepdim=True); x.norm(dtype=torch.float64); x.norm(2, ()); x.norm(inf, 1)
x.norm(-1); x.norm(0.5); x.norm(-0.5); y.norm('fro'); y.norm('fro', 1); y.norm(2, (0, 1, 2)); x.norm(p=T(2.)); x.norm(p=True); f.norm(2, 1, True)
torch.norm(f, 2, 0, False, None, torch.float64)
x.logsumexp(1); x.logsumexp((0, 1)); x.logsumexp(0, True); f.long().logsumexp(0); f.bool().logsumexp(0); y.logsumexp((0, 2), True)
x.count_nonzero(); x.count_nonzero(1); x.count_nonzero((0, 1)); x.count_nonzero(dim=()); f.count_nonzero(axis=0)
x.any(); x.any(1); x.all(); x.all(1); x.all((0, 1)); x.any(dim=()); x.any(dim=(0,)); x.any(1, True); f.all(axis=0, keepdims=True)
f.to(torch.uint8).any(); f.to(torch.uint8).all(1); f.long().all(); torch.all(f, dim=None, keepdim=True); T([nan]).any(); T([nan, 0]).all()
f.bool().max(); f.bool().max(1); f.bool().amax(1); f.bool().min(1); f.long().amax(); T([True, False]).amin(); T([3, 1, 2]).max(0)
T([True, False]).sum(); T([1, 2], dtype=torch.uint8).prod(); T([2, 3], dtype=torch.int32).sum(0); T([1.7, 1.7]).sum(dtype=torch.int64)
f.bool().sum(dtype=torch.bool); f.sum(dtype=torch.int32); f.int().mean(dtype=torch.float64); T([200, 100], dtype=torch.uint8).sum()
T([200, 100]).sum(dtype=torch.uint8); T([16, 17]).prod(dtype=torch.uint8)
s.sum(0); s.sum(-1); s.prod(0); s.amax(0); s.amax((0,)); s.norm(2, 0); s.logsumexp(0); s.min(0); s.argmin(-1); s.any(0); s.aminmax(dim=0)
torch.log_softmax(s, 0); torch.log_softmax(T(nan), 0); torch.log_softmax(T(inf), -1); torch.log_softmax(T(-inf), 0)
s.mean(0); s.var(correction=0); s.std(0, correction=0); s.count_nonzero(0); s.nansum(0); s.all(); s.amin(0, True); s.max(0, True)
e.sum(); e.sum(0); e.sum(1); e.mean(0); e.prod(); e.prod(0); e.norm(); e.norm(2, 0); e.norm(inf, 1); e.norm(0); e.all(); e.any(); e.all(0)
e.logsumexp(0); n.logsumexp(0); e.max(1); n.max(0); n.amax(0); n.argmin(0); e.aminmax(dim=1); e.count_nonzero(0); e.nansum(0); n.prod(1)
y.permute(2, 0, 1).sum(1); y.permute(2, 0, 1).amax(1); y.permute(2, 0, 1).max(1); y.permute(2, 1, 0).var(2); y.transpose(0, 2).argmax(1)
y.permute(2, 0, 1).sum(1, True).stride(); y.permute(2, 1, 0).amax(1).stride(); y.permute(2, 1, 0).max(2)[0].stride(); y.transpose(0, 2).std(1).stride()
y.sum((-1, 0)); y.var((0, -1)); y.norm(2, (-1, 0), True); y.amin((2, 0)); torch.max(f, f); torch.min(f, other=f); f.max(f)
torch.sum(f, 0, out=torch.zeros(3)); torch.sum(f, 0, out=torch.zeros(3, dtype=torch.float64)); torch.mean(f, 0, out=torch.zeros(3, dtype=torch.float64))
torch.argmax(f, 0, out=torch.zeros(3, dtype=torch.int64)); torch.all(f, 0, out=torch.zeros(3, dtype=torch.bool)); torch.all(f, 0, out=torch.zeros(3, dtype=torch.uint8))
torch.var(f, 0, out=torch.zeros(3)); torch.var(f, 0, out=torch.zeros(3, dtype=torch.float64)); torch.norm(f, 2, 0, out=torch.zeros(3))
torch.prod(f, 0, out=torch.zeros(3, dtype=torch.float64)); torch.logsumexp(f, 0, out=torch.zeros(3, dtype=torch.float64)); torch.amax(f, 0, out=torch.zeros(3))
torch.max(f, 0, out=(torch.zeros(3), torch.zeros(3, dtype=torch.int64)))[1]
x.var(correction=10); x.var(correction=6); x.var(1, correction=3); x.std(correction=10); T([1.]).var(); T([1.]).std(); s.var(); s.var(0)
e.var(); e.std(correction=0); e.var(0); e.var(1); torch.var_mean(T([1.])); T([0.]).var(correction=0)
T([-inf, -inf]).logsumexp(0); T([inf, 1]).logsumexp(0); T([inf, -inf]).logsumexp(0); T([nan, -inf]).logsumexp(0); T([2., 0]).norm(-1)
T([nan, 0]).norm(0); T([nan, 0]).norm(inf); T([nan, 0]).norm(-inf); T([2., 0]).norm(-inf); T([-0., 0]).max(0); T([0., -0.]).min(0); T([nan, 1, nan]).argmin()
T([1, nan]).max(); T([1, nan]).amin(); T([1, -nan, nan]).max(0).indices; T([inf, nan, 1]).min(0).indices; T([-inf, -inf]).argmax(); T([-inf, -inf]).amax()
"""

ERRORS = """
f.sum(2); f.sum(-3); f.sum((0, 0)); f.sum((0, -2)); f.amax((0, 0)); f.amax(2); f.amax((0, 3)); f.var(5); f.std(-5); f.var((0, 0)); f.prod(5); f.all(5)
f.any((0, 0)); f.norm(2, 5); f.norm(2, (0, 0)); f.logsumexp(5); f.logsumexp((0, 0)); f.count_nonzero((0, 0)); torch.count_nonzero(f, dim=-3); f.min(2)
f.min(-3); f.aminmax(dim=5); f.argmin(2); s.sum(1); s.all(1); s.amax((0, -1)); s.sum((0, -1)); f.sum((0, 'a')); f.argmax((0, 1)); f.argmax(0.5); f.argmin('a')
f.logsumexp('a'); f.sum(0, keepdim=1); f.sum(0, keepdim=None); f.mean(dtype=torch.int64); f.long().mean(); f.long().var(); f.bool().std(0)
torch.var_mean(f.long()); torch.std_mean(f.long()); f.long().norm(); f.bool().norm(2, 0); f.long().norm(dtype=torch.float32); f.norm(dtype=torch.int64)
f.double().norm(dtype=torch.float32); f.norm('abc'); f.norm(p='inf'); f.norm('fro', (0, 1, 2)); f.norm(p=[1]); f.bool().argmax(); f.bool().argmin(0)
e.max(); e.min(); e.amax(); e.amin(); e.argmax(); e.argmin(); e.max(0); e.min(0); e.amax(0); e.amin((0, 1)); e.argmin(0); e.aminmax(); e.aminmax(dim=0)
e.norm(inf); e.norm(-inf); e.norm(-1); e.norm(inf, 0); torch.amax(f, 0, out=torch.zeros(3, dtype=torch.float64)); torch.argmax(f, 0, out=torch.zeros(3))
torch.all(f, 0, out=torch.zeros(3)); torch.max(f, 0, out=(torch.zeros(3), torch.zeros(3))); torch.sum([1.]); torch.amax([1.]); torch.prod([1.]); torch.max([1.])
torch.sum(f, 0, dtype=torch.float32, out=torch.zeros(3, dtype=torch.float64)); torch.logsumexp([1.], 0); torch.argmin([1.]); torch.count_nonzero([1.])
torch.aminmax([1.]); torch.nansum([1.]); torch.amax(x, 0, out=torch.zeros(3))
"""


def scope_of(library: ModuleType) -> dict[str, Any]:
    def leaf(*shape: int) -> Any:
        values = np.array([1.0, 2, 3, 4, 0, 6, -1, 2.5, 7, 0.5, -3, 8])[: math.prod(shape)].reshape(shape)
        return library.from_numpy(values.astype(np.float32)).requires_grad_()

    return {
        "torch": library,
        "T": library.tensor,
        "x": leaf(2, 3),
        "y": leaf(2, 2, 3),
        "f": library.ones(2, 3),
        "s": library.tensor(1.0),
        "e": library.zeros(0, 3),
        "n": library.zeros(3, 0),
        "inf": math.inf,
        "nan": math.nan,
    }


def expressions(text: str) -> list[str]:
    return [e.strip() for line in text.strip().splitlines() for e in line.split(";")]


def outcome(library: ModuleType, expression: str) -> tuple[str, list[str]]:
    """The repr, or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            shown = repr(eval(expression, scope_of(library)))
        except Exception as error:
            shown = f"{type(error).__name__}: {error}"
    return side_by_side.neutral(shown), [side_by_side.neutral(str(w.message)) for w in caught]


@pytest.mark.parametrize("expression", expressions(CALLS))
def test_calls(expression: str) -> None:
    """Values, dtypes, node names (as a repr shows them) and warnings."""
    assert outcome(numgrad, expression) == outcome(torch, expression)


@pytest.mark.parametrize("expression", expressions(ERRORS))
def test_errors(expression: str) -> None:
    ours, theirs = outcome(numgrad, expression), outcome(torch, expression)
    assert "Error: " in theirs[0]
    assert ours == theirs


# ---------------------------------------------------------------------------------------------------- every layout
FUNCTIONS = {
    "sum": lambda x, dims: x.sum(dims), "mean": lambda x, dims: x.mean(dims, True), "nansum": lambda x, dims: x.nansum(dims),
    "amax": lambda x, dims: x.amax(dims), "amin": lambda x, dims: x.amin(dims, True), "var": lambda x, dims: x.var(dims),
    "std": lambda x, dims: x.std(dims, correction=0, keepdim=True), "norm": lambda x, dims: x.norm(2, dims),
    "norm 1": lambda x, dims: x.norm(1, dims), "norm 3": lambda x, dims: x.norm(3, dims, True), "norm .5": lambda x, dims: x.norm(0.5, dims),
    "norm inf": lambda x, dims: x.norm(math.inf, dims), "norm -inf": lambda x, dims: x.norm(-math.inf, dims),
    "logsumexp": lambda x, dims: x.logsumexp(dims), "any": lambda x, dims: x.any(dims), "all": lambda x, dims: x.all(dims, True),
    "count_nonzero": lambda x, dims: x.count_nonzero(dims),
}  # fmt: skip
ONE_DIM = {
    "prod": lambda x, dim: x.prod(dim), "max": lambda x, dim: x.max(dim)[0], "min": lambda x, dim: x.min(dim, True)[0],
    "argmax": lambda x, dim: x.argmax(dim), "argmin": lambda x, dim: x.argmin(dim, True),
    "max's index": lambda x, dim: x.max(dim, True)[1], "min's index": lambda x, dim: x.min(dim)[1],
    "aminmax": lambda x, dim: x.aminmax(dim=dim)[0], "aminmax's": lambda x, dim: x.aminmax(dim=dim, keepdim=True)[1],
}  # fmt: skip
WHOLE = {
    "sum": lambda x: x.sum(), "mean": lambda x: x.mean(), "prod": lambda x: x.prod(), "max": lambda x: x.max(), "min": lambda x: x.min(),
    "argmax": lambda x: x.argmax(), "argmin": lambda x: x.argmin(), "var": lambda x: x.var(), "norm": lambda x: x.norm(), "any": lambda x: x.any(),
}  # fmt: skip
CALLED = [
    *((f"{name} {dims}", lambda x, f=f, dims=dims: f(x, dims)) for name, f in FUNCTIONS.items() for dims in (0, 1, 2, (0, 1), (1, 2), (0, 2))),
    *((f"{name} {dim}", lambda x, f=f, dim=dim: f(x, dim)) for name, f in ONE_DIM.items() for dim in (0, 1, -1)),
    *((name, f) for name, f in WHOLE.items()),
]  # fmt: skip
SHAPE = (3, 4, 5)

# Each gives, of a contiguous array of 3 x 4 x 5 items, a tensor of that shape and of another layout.
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.reshape(5, 3, 4).permute(1, 2, 0),
    "reversed": lambda x: x.reshape(5, 4, 3).permute(2, 1, 0),
    "expanded": lambda x: x[:, :1].expand(3, 4, 5),
    "expanded first": lambda x: x[:1].expand(3, 4, 5),
}
SLICES = {  # of a larger array
    "rows": ((3, 4, 7), lambda x: x[:, :, :5]),
    "columns": ((3, 6, 5), lambda x: x[:, 1:5]),
    "steps": ((6, 4, 10), lambda x: x[::2, :, ::2]),
}
VALUES = {
    "any": lambda rng, shape: rng.normal(size=shape),
    "ties": lambda rng, shape: rng.integers(-1, 2, shape).astype(float),
    "zero": lambda rng, shape: np.zeros(shape),
    "nan": lambda rng, shape: np.where(rng.random(shape) < 0.1, np.nan, rng.normal(size=shape)),
}


def arrangements() -> list[tuple[str, Any]]:
    """(kind of values, (shape, what makes a layout of it))."""
    same = [(SHAPE, layout) for layout in LAYOUTS.values()]
    return list(itertools.product(VALUES, [*same, *SLICES.values()]))


def gradients(library: ModuleType, function: Any, values: np.ndarray, layout: Any, order: int) -> list[np.ndarray]:
    """The value, and gradients up to an order; each gradient's roots are weighted with fixed numbers."""
    leaf = library.from_numpy(values.copy()).requires_grad_()
    out = function(layout(leaf))
    found = [out.detach().numpy()]
    for _ in range(order):
        if not out.requires_grad:
            break
        weights = np.cos(np.arange(out.numel())).reshape(tuple(out.shape)).astype(values.dtype)
        (out,) = library.autograd.grad(out, leaf, library.from_numpy(weights), create_graph=True)
        found.append((out.detach() + 0).numpy())  # PyTorch has tensors of zeros without memory
    return found


def first_gradient_alone(library: ModuleType, function: Any, values: np.ndarray, layout: Any) -> np.ndarray | None:
    """The gradient as `backward` computes it, without a graph of its own."""
    leaf = library.from_numpy(values.copy()).requires_grad_()
    out = function(layout(leaf))
    if not out.requires_grad:
        return None
    out.backward(library.from_numpy(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)).astype(values.dtype)))
    return leaf.grad.numpy()


@pytest.mark.parametrize(("name", "function"), CALLED, ids=[name for name, _ in CALLED])
def test_layouts_and_values(name: str, function: Any) -> None:
    """Values and first gradients, in the layouts and for the values above, in float64."""
    rng = np.random.default_rng(0)
    for kind, (shape, layout) in arrangements():
        if kind == "nan" and name.startswith("prod"):
            continue  # the gradient at the only NaN is the product of the others, PyTorch's is NaN
        values = VALUES[kind](rng, shape)
        (ours, *mine), (theirs, *its) = (gradients(library, function, values, layout, 1) for library in (numgrad, torch))
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)
        assert len(mine) == len(its)
        for one, other in zip(mine, its, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(first_gradient_alone(numgrad, function, values, layout), other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "function"), CALLED, ids=[name for name, _ in CALLED])
def test_second_gradients(name: str, function: Any) -> None:
    """Where there are neither ties nor zeros: PyTorch's second derivatives at kinks are NaN in part."""
    values = VALUES["any"](np.random.default_rng(0), SHAPE)
    for layout in (LAYOUTS["contiguous"], LAYOUTS["reversed"]):
        ours, theirs = (gradients(library, function, values, layout, 2) for library in (numgrad, torch))
        for one, other in zip(ours, theirs, strict=False):  # a gradient of 0 has a graph in the one and none in the other
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
        longer = ours if len(ours) > len(theirs) else theirs
        assert all((rest == 0).all() for rest in longer[min(len(ours), len(theirs)) :])
