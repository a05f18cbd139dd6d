"""Complex numbers in every family of ops, against PyTorch's: values and dtypes, texts of refusals, gradients of two orders."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import side_by_side

import numgrad

torch = pytest.importorskip("torch")

# z: three numbers, two equal; n: with NaN and infinities; i: indices; x: real.
CALLS = """
z.unique() | z.unique_consecutive() | torch.unique(z.reshape(3,1), dim=0) | torch.sort(z) | torch.argsort(z) | z.topk(1)
z.median() | z.nanmedian() | z.median(0) | z.max(0) | z.min(0) | z.argmax() | z.amax() | torch.msort(z) | z.kthvalue(1)
torch.floor(z) | torch.ceil(z) | torch.trunc(z) | torch.round(z) | torch.signbit(z) | torch.isposinf(z) | torch.sign(z)
torch.deg2rad(z) | torch.lgamma(z) | torch.digamma(z) | torch.erf(z) | z.clamp(0) | z.clamp(0, 1) | z.clamp_min(0)
z.clamp_max(z) | torch.remainder(z, z) | torch.fmod(z, z) | z // z | torch.div(z, z, rounding_mode='trunc') | z.cummax(0)
torch.fmax(z, z) | torch.maximum(z, z) | torch.copysign(z, z) | torch.heaviside(z, z) | torch.searchsorted(z, z) | z < z
torch.histc(z.real) | torch.cdist(z[None], z[None]) | z.softmax(0) | z.scatter_reduce(0, i, z, 'amax') | z % 2
n.nan_to_num() | n.nan_to_num(1, 2, 3) | n.isnan() | n.isinf() | n.isfinite() | n.logical_not() | z.logical_and(x)
torch.lerp(z, 2 * z, 0.5) | torch.lerp(z, 2 * z, torch.tensor(0.5j)) | torch.lerp(z, z, torch.tensor(0.5)) | torch.lerp(x, x, 0.5j)
torch.lerp(x, x, torch.ones(3, dtype=torch.float64)) | torch.lerp(x, x, torch.tensor(1)) | torch.addcmul(z, z, z, value=1j)
torch.addcmul(x, x, x, value=1j) | torch.addcdiv(x, x, x, value=1j) | torch.addcmul(i, i, x, value=1.5) | z.square()
torch.linspace(1j, 1, 3) | torch.linspace(0, 1j, 3, dtype=torch.float64) | torch.linspace(0, 1, 3, dtype=torch.complex128)
torch.logspace(0, 1j, 2) | torch.linspace(torch.tensor(1j), 1, 2) | torch.linspace(0, 1.5, 3, dtype=torch.bfloat16)
torch.float_power(z, 2) | torch.float_power(2, z) | z.clone().float_power_(1) | torch.isclose(z, z + 1e-9) | torch.allclose(z, z)
x.masked_fill(x > 1, 1j) | x.masked_fill(x > 1, torch.tensor(1j)) | z.masked_fill(x > 1, torch.tensor(1.5)) | z[i] | z[x > 1]
x.index_fill(0, i, 1j) | x.index_fill(0, i, torch.tensor(1j)) | z.index_fill(0, i, 2j) | x.index_add(0, i, x, alpha=1j)
z.index_add(0, i, z, alpha=1j) | z.scatter(0, i, 2j) | z.put(i, z) | z.take(i) | z.cumsum(0) | z.cumprod(0) | z.repeat(2)
z.flip(0) | z.roll(1) | z.diag() | z.diag().trace() | z.diag().tril() | torch.combinations(z) | torch.vander(z) | z.nonzero()
torch.corrcoef(torch.stack([z, z.conj() * 1j + 1])).abs().round(decimals=3) | torch.nanmean(z) | torch.trace(torch.ones(2, 2).half())
torch.take_along_dim(x.reshape(1, 3), torch.tensor([[-1, 5]]), 1) | torch.full((1,), -9, dtype=torch.uint8)
torch.ones(2, dtype=torch.int32).sum_to_size(()).dtype | torch.tensor(2, dtype=torch.int32).sum_to_size(()).dtype
"""


@pytest.mark.parametrize("call", [c.strip() for line in CALLS.strip().splitlines() for c in line.split("|")])
def test_values_and_refusals(call: str) -> None:
    given = "z=T([1+2j,1+2j,0j]);n=T([complex('nan+1j'),complex('inf-infj')]);i=T([0,2,0]);x=T([1.,2.,3.]);"
    snippet = f"{given}out={call}"
    assert side_by_side.shown(numgrad, snippet)[0] == side_by_side.shown(torch, snippet)[0]


GRADIENTS = """
z[i] | z.index_put((i,), w, accumulate=True) | z.index_put((i[:2],), w[:2]) | z.gather(0, I) | z.scatter(0, I[:1], w[:1])
z.scatter_add(0, I, w[:2]) | z.index_add(0, i, w, alpha=2) | z.index_copy(0, i[:2], w[:2]) | z.index_fill(0, i, s)
z.masked_fill(m, s) | z.masked_fill(m, 2j) | z.masked_select(m) | z.masked_scatter(m, w) | z.take(I) | z.put(I[0, :1], w[0, :1])
z.cumsum(1) | z.cumprod(1) | (z * m).cumprod(1) | z.tril() | z.flip(0) | z.roll(1, 0) | z.repeat(2, 1) | z[:, :3].trace()
z.repeat_interleave(i, 0) | z.diag() | torch.diag_embed(z) | z.diagonal(1) | z.unfold(1, 2, 1) | z.as_strided((2, 2), (1, 2), 1)
torch.lerp(z, w, 0.3) | torch.lerp(z, w, s) | torch.addcmul(z, z, w, value=2j) | torch.addcdiv(z, z, w, value=2)
torch.sinc(z) | torch.logaddexp(z, w) | z.square() | torch.cov(z) | torch.linalg.vecdot(z, w) | torch.float_power(z, 2)
"""


def gradients(library: ModuleType, expression: str) -> list[Any]:
    """A result, its gradients for random weights, and those of their squared sum for everything."""
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return library.from_numpy(np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape))).requires_grad_()

    leaves = {"z": drawn(3, 4), "w": drawn(3, 4), "s": drawn()}
    constants = {
        "i": library.tensor([0, 2, 0]),
        "I": library.tensor([[0, 1, 2, 0], [2, 2, 0, 1]]),
        "m": library.tensor([[True, False, True, True]]),
    }
    found = eval(expression, {"torch": library, **leaves, **constants})
    v = drawn(*found.shape)
    first = library.autograd.grad(found, list(leaves.values()), v, create_graph=True, allow_unused=True)
    loss = sum((g * g.conj()).real.sum() for g in first if g is not None)
    second = library.autograd.grad(loss, [*leaves.values(), v], allow_unused=True)
    return [None if x is None else x.detach().resolve_conj().numpy() for x in (found, *first, *second)]


@pytest.mark.parametrize("expression", [e.strip() for line in GRADIENTS.strip().splitlines() for e in line.split("|")])
def test_gradients(expression: str) -> None:
    pairs = zip(gradients(numgrad, expression), gradients(torch, expression), strict=True)
    for mine, theirs in pairs:
        if mine is None or theirs is None:  # an undefined gradient is as good as zeros
            assert mine is theirs is None or not np.any(theirs if mine is None else mine)
        else:
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)
