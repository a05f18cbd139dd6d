"""Complex numbers against PyTorch's: values, node names, gradients by its convention, second ones, texts and warnings."""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import numpy as np
import pytest
import side_by_side

import numgrad
from numgrad.testing import gradcheck, gradgradcheck

torch = pytest.importorskip("torch")

# Where PyTorch's own backward fails (a real operand of `where`, sums of real numbers as complex ones) it is detached.
# z, w: complex (2, 3); x, y: real (2, 3); u, v: complex vectors; m: complex (2, 3, 2). All require gradients.
CALLS = """
z + w; z - w; z * w; z / w; z + x; x + z; z - x; x - z; z * x; x * z; z / x; x / z; z + 2; z - 1.5; 3 - z; z * 1j; 1j * x; x * (2 - 1j); z / 2j; 1j / z
z + (1 + 2j); x + 1j; x - 2j; 2j - x; torch.add(z, w, alpha=2); torch.add(z, x, alpha=1j); torch.sub(z, w, alpha=1.5j); z**2; z**3; z**-1; z**0; z**0.5
z**(1 + 1j); z**w; x.abs()**z; z**x; 2**z; (1 + 1j)**z; (1j)**x; z.reciprocal(); -z; z.exp(); z.exp2(); z.expm1(); z.log(); z.log2(); z.log10(); z.log1p()
z.sqrt(); z.rsqrt(); z.sin(); z.cos(); z.tan(); z.asin(); z.acos(); z.atan(); z.sinh(); z.cosh(); z.tanh(); z.asinh(); z.acosh(); z.atanh(); z.sigmoid()
z.abs(); abs(z); z.angle(); x.angle(); z.sgn(); z.conj(); z.conj_physical(); x.conj(); z.real; z.imag; x.real; torch.real(z); torch.imag(z)
torch.view_as_real(z); torch.view_as_complex(torch.stack([x, y], -1)); torch.complex(x, y); torch.complex(x, y[0]); torch.polar(x, y); torch.polar(x[:, :1], y)
z.sum(); z.sum(0); z.sum((0, 1), True); z.mean(); z.mean(1); z.prod(); z.prod(0); z.prod(1, True); z.norm(); z.norm(1); z.norm(2, 1); z.norm(math.inf)
z.sum(dtype=torch.complex128); x.detach().sum(dtype=torch.complex64); x.detach().mean(dtype=torch.complex64)
z @ w.t(); z @ u; torch.mm(z, w.t()); torch.mv(z, u); torch.dot(u, v); u @ v; torch.vdot(u, v); m @ w.t()[None, :2]; torch.bmm(m, w[None, :, :].expand(2, 2, 3))
torch.addmm(z[:, :2], z, w.t()); torch.addmm(z[:, :2], z, w.t(), beta=2, alpha=1j); z.mH; z.H; z.adjoint(); m.mH
torch.where(x > 1, z, w); torch.where(x > 1, z, x.detach()); torch.where(x > 1, z, 0); torch.cat([z, w]); torch.cat([z, x]); torch.stack([z, w]); z.clone(); z[0]; z[:, 1:]
z.t(); z.t().contiguous(); z.reshape(3, 2); z.expand(2, 2, 3); z.flatten(); z.unsqueeze(0); z.as_strided((2, 2), (1, 2)); z.sum_to_size(1, 3); z * w[0]; z * x[0]
z.to(torch.complex128); x.to(torch.complex64); x.cdouble(); x.cfloat(); z.real * z.imag; (z * z.conj()).real; z.abs()**2; (z * 1j).imag; z.real.exp() + z.imag
z == w; z != w; z == 1; z.isreal(); torch.isreal(x); z.bool(); z.any(); z.all(0); z.count_nonzero(); z.is_complex(); z.is_conj(); z.resolve_conj()
z.detach().real.stride(); z.imag.storage_offset(); z.real._base is z; z.real.data_ptr() == z.data_ptr(); torch.view_as_real(z).stride(); z.type(); z.dtype
z.detach().tolist(); z.detach()[0, 0].item(); complex(z.detach()[0, 0]); z.detach().numpy().dtype; torch.zeros_like(z); torch.ones_like(z); z.new_zeros(2)
torch.full((2,), 1 - 2j); torch.tensor([1, 1j]); torch.tensor([True, 2j], dtype=torch.complex128); torch.tensor(1j).item(); torch.randn(2, dtype=torch.cfloat).dtype
torch.zeros(2, dtype=torch.cfloat); torch.empty(0, dtype=torch.cdouble); torch.tensor([complex('nan+infj'), -0.0 - 0j]); torch.tensor([[1e-5 + 1e5j, 2.0]])
z.logsumexp(0).detach(); z.var().detach(); z.std(0).detach(); torch.tensor(2 - 1.5j); torch.arange(2000).cfloat() * 1j; z.detach().double().sum()
"""


def calls() -> list[str]:
    return [c.strip() for line in CALLS.strip().splitlines() for c in line.split(";")]


def scope_of(library: Any, double: bool = False) -> dict[str, Any]:
    rng = np.random.default_rng(0)

    def leaf(shape: tuple[int, ...], is_complex: bool) -> Any:
        values = rng.uniform(0.3, 1.8, shape) + (1j * rng.uniform(-1.5, 1.5, shape) if is_complex else 0)
        kind = ("complex128" if double else "complex64") if is_complex else ("float64" if double else "float32")
        return library.from_numpy(values.astype(kind)).requires_grad_()

    shapes = {"z": (2, 3), "w": (2, 3), "u": (3,), "v": (3,), "m": (2, 3, 2)}
    leaves = {n: leaf(s, True) for n, s in shapes.items()} | {n: leaf((2, 3), False) for n in "xy"}
    return {"torch": library, "math": math, **leaves}


def shown(value: Any) -> str:
    return re.sub(r" object at \w+", "", repr(value).replace("numgrad.", "torch."))


def numbers(value: Any) -> Any:
    return None if value is None else (str(value.dtype), np.array(value.detach().tolist()))


def as_real(value: Any) -> Any:
    """A real scalar of a result: a fixed weight for each part."""
    value = value.double() if not value.is_complex() else value.cdouble()
    if value.is_complex():
        return (value.real * 0.7).sum() + (value.imag * 1.3).sum()
    return (value * 0.7).sum()


def results(library: Any, call: str) -> dict[str, Any]:
    """The value, and the gradients of two orders for each leaf."""
    scope = scope_of(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = eval(call, scope)
        found: dict[str, Any] = {"out": out}
        if not getattr(out, "requires_grad", False):
            return found
        leaves = [v for k, v in scope.items() if len(k) == 1]
        first = library.autograd.grad(as_real(out), leaves, create_graph=True, allow_unused=True)
        found["first"] = [numbers(g) for g in first]
        again = [as_real(g) for g in first if g is not None and g.requires_grad]
        if again:
            second = library.autograd.grad(sum(again[1:], again[0]), leaves, allow_unused=True)
            found["second"] = [numbers(g) for g in second]
    return found


def assert_close(one: Any, other: Any, tolerance: float) -> None:
    """Equal dtypes and close numbers; None is as good as zeros."""
    if one is None or other is None:
        given = one or other
        assert given is None or not np.any(given[1]), (one, other)
        return
    assert one[0] == other[0]
    np.testing.assert_allclose(one[1], other[1], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("call", calls())
def test_calls(call: str) -> None:
    ours, theirs = results(numgrad, call), results(torch, call)
    if not hasattr(ours["out"], "grad_fn"):
        assert shown(ours["out"]) == shown(theirs["out"])
        return
    assert_close(numbers(ours["out"]), numbers(theirs["out"]), 2e-6)
    assert ours["out"].shape == theirs["out"].shape
    assert shown(type(ours["out"].grad_fn).__name__) == shown(type(theirs["out"].grad_fn).__name__)
    assert ours["out"].stride() == theirs["out"].stride()
    for order, tolerance in (("first", 2e-5), ("second", 1e-4)):
        for one, other in zip(ours.get(order, []), theirs.get(order, []), strict=True):
            assert_close(one, other, tolerance)
    if ours["out"].grad_fn is None:
        assert shown(ours["out"]) == shown(theirs["out"])


@pytest.mark.parametrize("call", [
    "z * w / (z + 2)", "z**w", "z**2 + 2**z", "x * z", "z.abs() * x", "z.angle()", "z.sgn()", "(z @ w.t()).abs()", "z.prod(0)", "z.exp() * z.conj()",
    "torch.polar(x, y) * z", "torch.complex(x, y)**2", "z.real * w.imag", "torch.vdot(u, v)", "z.tanh() + z.sqrt() + z.log()", "z.norm() * z", "z.var()",
    "z.logsumexp(1)", "torch.view_as_real(z * w)", "torch.view_as_complex(torch.stack([x, y], -1)) * z", "z.sigmoid().mean(1)", "x.to(torch.complex128) * z",
])  # fmt: skip
def test_gradients_by_finite_differences(call: str) -> None:
    scope = scope_of(numgrad, double=True)
    names = [n for n in scope if len(n) == 1 and re.search(rf"\b{n}\b", call)]

    def function(*leaves: Any) -> Any:
        return eval(call, {**scope, **dict(zip(names, leaves, strict=True))})

    leaves = [scope[n] for n in names]
    assert gradcheck(function, leaves)
    assert gradgradcheck(function, leaves)


def test_gradcheck_notices_a_missing_conjugate() -> None:
    z = numgrad.tensor([1 + 2j], dtype=numgrad.complex128, requires_grad=True)
    assert not gradcheck(lambda z: z * z.detach().conj() * 1j, z, raise_exception=False)


SNIPPETS = """
z = T([1 + 2j, 3j], requires_grad=True); z.sum().backward()
z = T([1 + 2j, 3j], requires_grad=True); z.backward()
z = T([1 + 2j, 3j], requires_grad=True); z.sum().backward(T(1.0))
z = T([1 + 2j, 3j], requires_grad=True); z.abs().sum().backward(T(1j))
z = T([1 + 2j, 3j], requires_grad=True); z.sum().backward(T(1 + 0j)); out = z.grad
z = T([1 + 2j, 3j], requires_grad=True); (z * z.conj()).real.sum().backward(); out = z.grad
z = T([1 + 2j, 3j], requires_grad=True); out = ag.grad(z.sum(), z, T(2 - 1j)), ag.grad((z * leaf()).sum(), z, T(1j))
x = leaf(); z = T([1 + 2j, 3j]); out = ag.grad((z * x).sum(), x, T(1j)), ag.grad((x * 1j).sum(), x, T(1 + 1j)), ag.grad((x / z).sum(), x, T(1j))
x = leaf(); out = ag.grad(x.cfloat().sum(), x, T(2 + 5j))
z = T([1 + 2j, 3j], requires_grad=True); z.real.sum().backward(); out = z.grad
z = T([1 + 2j, 3j], requires_grad=True); z.imag.sum().backward(); out = z.grad
z = T([0j, 0j], requires_grad=True); (z.abs() + z.angle() + z.sgn().real).sum().backward(); out = z.grad
z = T([1 + 2j, 3j], requires_grad=True); out = z, z.detach(), z * 2, z.real, z.conj()
z = T([1 + 2j, 3j]); z.real = 5; out = z
z = T([1 + 2j, 3j]); z.imag = T([1.0, 2.0]); out = z, z._version
z = T([1 + 2j, 3j]); z.real.mul_(3); out = z
z = T([1 + 2j, 3j]); torch.view_as_real(z)[0] = 7; out = z
x = torch.ones(2, 2); torch.view_as_complex(x).mul_(1j); out = x
z = T([1 + 2j, 3j]); z.mul_(1j); z += 1; z.sub_(2j); z /= 2; out = z
z = T([1 + 2j, 3j]); z.fill_(1 - 1j); out = z, z.zero_()
z = T([1 + 2j, 3j]); z.copy_(T([1.0, 2.0])); out = z
z = T([1 + 2j, 3j], requires_grad=True); w = z * 1; w.mul_(z); out = w, ag.grad(w.sum(), z, T(1 + 0j))
z = T([1 + 2j, 3j], requires_grad=True); w = z * 1; w[0] = 5j; out = w, ag.grad(w.abs().sum(), z)
z = T([1 + 2j, 3j], requires_grad=True); w = z * 1; w.real.mul_(3); out = w, ag.grad(w.abs().sum(), z)
z = T([1 + 2j, 3j], requires_grad=True); w = z * 1; r = w.imag; r.mul_(leaf()); out = r, w, ag.grad(w.abs().sum(), z)
x = leaf(); w = torch.zeros(2, dtype=torch.cfloat); w.imag.copy_(x); out = w, w.imag, ag.grad(w.abs().sum(), x)
x = torch.ones(2, 2, requires_grad=True); y = x * 1; torch.view_as_complex(y).mul_(1j); out = y, ag.grad(y.sum() + (y * y).sum(), x)
z = T([1 + 2j, 3j], requires_grad=True); torch.view_as_real(z).mul_(2)
z = T([1 + 2j, 3j], requires_grad=True); z.real.mul_(2)
z = T([1 + 2j, 3j], requires_grad=True); w = z * 1; a = w.real; w.mul_(2j); out = a, ag.grad(a.sum(), z)
T([1.0]).add_(1j)
T([1.0]).mul_(T([1j]))
T([1.0]).imag
torch.add(T([1.0]), T([1.0]), alpha=1j)
T([1j]) < T([1j])
T([1j]).max()
T([1j]).amax(0)
T([1j]).argmax()
torch.maximum(T([1j]), T([1j]))
T([1j]).relu()
T([1j]).sign()
T([1j]).erf()
T([1j], dtype=torch.complex128).erf()
torch.atan2(T([1j]), T([1j]))
T([1j]).nansum()
F.mse_loss(T([1j]), T([1j]))
T([1j]).log_softmax(0)
torch.dot(T([1j]), T([1.0]))
torch.vdot(T([1j]), T([1.0]))
torch.mm(T([[1j]]), T([[1.0]]))
torch.complex(T([1.0]), T([1.0]).double())
torch.complex(T([1]), T([1]))
torch.complex(1, T([1.0]))
torch.complex(torch.ones(2), torch.ones(3))
torch.polar(T([1.0]), T([1.0]).double())
torch.view_as_real(T([1.0]))
torch.view_as_complex(T([1.0]))
torch.view_as_complex(T([[1, 2]]))
torch.view_as_complex(T([[1.0, 2.0], [3.0, 4.0]]).t())
torch.view_as_complex(T(1.0))
torch.view_as_complex(torch.ones(3, 3)[:, :2])
T([1j]).H
T([1j]).mH
T([1j]).adjoint()
float(T(1j))
int(T(1j))
out = complex(T(1j)), complex(T(2.0)), bool(T(1j)), bool(T(0j)), float(T(2 + 0j)), T([0j, 1j]).bool()
torch.conj(1)
torch.real([1])
torch.tensor([1j], dtype=torch.float32)
torch.arange(3, dtype=torch.cfloat)
torch.ones(2, dtype=torch.complex64, requires_grad=True).sum().item()
out = T([[1 + 2j, -3.25j], [0.5, 1e4]]), T([1 + 2j]).cdouble(), T(float('nan') * 1j), torch.zeros(0, dtype=torch.cfloat)
"""


@pytest.mark.parametrize("snippet", side_by_side.snippets(SNIPPETS))
def test_snippets(snippet: str) -> None:
    assert side_by_side.shown(numgrad, snippet) == side_by_side.shown(torch, snippet)


def test_a_cast_to_real_numbers_warns_once() -> None:
    """PyTorch, too, warns once a process, in whichever of its tests comes first: the texts alone are compared."""
    numgrad.ops.casts.warn_of_real_parts.cache_clear()
    with pytest.warns(UserWarning, match="^Casting complex values to real discards the imaginary part") as caught:
        out = numgrad.tensor([1 + 2j]).float(), numgrad.tensor([1 + 2j]).to(numgrad.int32), numgrad.tensor([1j]).bool()
    assert len(caught) == 1
    numgrad.ops.casts.warn_of_real_parts.cache_clear()
    with pytest.warns(UserWarning, match="^Casting complex values to real discards the imaginary part"):
        numgrad.zeros(1).copy_(numgrad.tensor([1 + 2j]))
    assert [t.tolist() for t in out] == [[1.0], [1], [True]]
