"""Rearrangement, joining, triangles, factories and counting: values, nodes and errors against PyTorch's."""

import pytest
from expressions import agree, shown, split

import numgrad

torch = pytest.importorskip("torch")

MOVEMENT = """
torch.flip(f, (0, 1)) | torch.flip(f, dims=(1,)) | f.flip(0) | torch.flip(f, (0, 0)) | torch.flip(f, (5,))
torch.fliplr(f) | torch.flipud(f) | torch.fliplr(v) | torch.rot90(f, 1, (0, 0)) | torch.rot90(v) | torch.roll(f, 1)
torch.roll(f, 1, 1) | torch.roll(f, (1, 2), (0, 1)) | torch.roll(f, (1, 2), 0) | torch.roll(f, 5, 0)
torch.roll(f, -1, -1) | f.repeat(2, 1) | f.repeat(2) | v.repeat(2, 3) | v.repeat(-1) | f.repeat(0, 1)
torch.tile(f, (2,)) | v.tile(2, 2) | torch.repeat_interleave(i) | torch.repeat_interleave(v, -1)
torch.repeat_interleave(f, i, dim=0) | torch.hstack([v, w]) | torch.hstack([f, f]) | torch.vstack([v, w])
torch.dstack([v, w]) | torch.column_stack([v, w]) | torch.hstack([z, z]) | torch.row_stack([v, w]) | torch.concat([v, w])
torch.concatenate([f, f], 1) | torch.hstack([]) | torch.meshgrid(v, i.float(), indexing='ij')
torch.meshgrid(v, torch.tensor([1.0, 2.0]), indexing='xy') | torch.meshgrid(v, indexing='z') | torch.cartesian_prod(i, j)
torch.cartesian_prod(i) | torch.combinations(i) | torch.combinations(i, 3) | torch.combinations(i, with_replacement=True)
torch.combinations(v)[0] | torch.combinations(f) | torch.atleast_2d(v) | torch.atleast_1d(z) | torch.atleast_3d(v)
torch.atleast_2d(v, z) | torch.diff(v) | torch.diff(f, dim=0) | torch.diff(v, n=2) | torch.diff(b) | torch.diff(z)
torch.diff(v, prepend=w) | torch.diff(v, n=-1) | torch.cumulative_trapezoid(v).detach() | torch.trapezoid(v).detach()
torch.trapezoid(f, dim=0).detach() | torch.trapezoid(v, w).detach() | torch.trapezoid(v, dx=0.5).detach() | torch.broadcast_tensors(f, v)
torch.meshgrid(v, i, indexing='ij') | torch.trace(f) | torch.trace(i)
torch.trace(torch.tensor([[True,False],[True,True]])) | torch.tril(f) | torch.triu(f,1) | torch.tril(f[0])
torch.tril(b.reshape(1,2)) | torch.tril_indices(3,2) | torch.triu_indices(2,3,1) | torch.tril_indices(-1,2)
torch.diag(f[0]) | torch.diag(z) | torch.diag(i,-1) | torch.diagflat(f) | torch.diagflat(z) | torch.diag_embed(f)
torch.diag_embed(f,1,0,2) | torch.diag_embed(f,0,1,1) | torch.block_diag() | torch.block_diag(i.reshape(1,1,3))
torch.vander(i) | torch.linalg.vander(i) | torch.vander(f)
"""

CREATION = """
torch.eye(3) | torch.eye(2, 3, dtype=torch.int64) | torch.eye(-1) | torch.eye(0) | torch.linspace(0, 1, 5)
torch.linspace(-3, 10, 7) | torch.linspace(0, 10, 5, dtype=torch.int64) | torch.linspace(0, 1, 1)
torch.linspace(0, 1, 0) | torch.linspace(0, 1, -1) | torch.linspace(z, 5, 3) | torch.linspace(v, 5, 3)
torch.logspace(0, 2, 3) | torch.logspace(0, 3, 4, base=2) | torch.logspace(0, 2, 3, dtype=torch.float64)
v.new_full((2,), 3) | i.new_full((2,), 3) | i.new_full((2,), 2.5) | v.new_zeros(2, 3) | v.new_ones((2,))
i.new_tensor([1.5]) | v.new_tensor(3) | v.new_tensor([1, 2]) | v.new_empty(2).shape | d.new_full((1, 2), 1)
v.new_zeros((2,), dtype=torch.int64) | torch.full((2,), True) | torch.full((2, 2), 1) | torch.full_like(i, 2)
torch.arange(3) | torch.arange(1, 2, 0.5) | torch.arange(5, 1, -2) | torch.arange(0, 3, dtype=torch.float64)
torch.arange(1, 3, 0) | torch.arange(1, 3, -1) | torch.arange(2.5) | torch.nn.functional.one_hot(i)
torch.nn.functional.one_hot(i, 5) | torch.nn.functional.one_hot(i, 2) | torch.nn.functional.one_hot(j)
torch.nn.functional.one_hot(v) | torch.bincount(i) | torch.bincount(i, minlength=6) | torch.bincount(i, p)
torch.bincount(i, d) | torch.bincount(j) | torch.bincount(v) | torch.bincount(torch.zeros(0, dtype=torch.int64))
torch.histc(p, 4) | torch.histc(p, 4, -1, 1) | torch.histc(i, 4) | torch.histc(p, 4, 2, 1)
torch.searchsorted(i.sort().values, j) | torch.searchsorted(i.sort().values, i, right=True)
torch.searchsorted(i.sort().values, 2) | torch.searchsorted(i.sort().values, i, side='x')
torch.searchsorted(i.sort().values, i, side='left', right=True) | torch.searchsorted(f, v) | torch.searchsorted(f, f)
torch.searchsorted(i.sort().values, i, out_int32=True) | torch.bucketize(v, torch.tensor([0.0, 1.0]))
torch.bucketize(v, f) | torch.bucketize(2, i.sort().values) | torch.cov(f) | torch.cov(v) | torch.cov(f, correction=0)
torch.cov(f, fweights=i) | torch.cov(f, aweights=p.abs()) | torch.corrcoef(f) | torch.corrcoef(v)
torch.cov(torch.ones(2, 2, 2)) | torch.nn.functional.one_hot(i, 0) | torch.histc(p, 0)
"""


@pytest.mark.parametrize("expression", split(MOVEMENT))
def test_movement(expression):
    ours, theirs = shown(numgrad, expression), shown(torch, expression)
    assert agree(ours, theirs), f"{ours}\n{theirs}"


@pytest.mark.parametrize("expression", split(CREATION))
def test_creation_and_counting(expression):
    ours, theirs = shown(numgrad, expression), shown(torch, expression)
    assert agree(ours, theirs), f"{ours}\n{theirs}"


@pytest.mark.parametrize("dim", range(4))
@pytest.mark.parametrize("permutation", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_stack_lays_its_result_out_as_pytorch(permutation, dim):
    found = [
        library.stack([library.arange(24.0).reshape(2, 3, 4).permute(permutation)] * 2, dim) for library in (numgrad, torch)
    ]
    assert found[0].stride() == found[1].stride()
    assert found[0].tolist() == found[1].tolist()
