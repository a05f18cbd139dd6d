"""Scans, sorting, medians, quantiles and unique: values, nodes and errors against PyTorch's."""

import pytest
from expressions import agree, shown, split

import numgrad

torch = pytest.importorskip("torch")

ORDERING = """
torch.cumsum(f,0) | torch.cumsum(i,0) | torch.cumsum(b,0) | torch.cumsum(f,2) | torch.cumsum(z,0)
torch.cumsum(f,0,dtype=torch.float64) | torch.cumsum(i.to(torch.int32),0) | torch.cumsum(e,0) | torch.cumprod(f,1)
torch.cumprod(i,0) | torch.cummax(f,1) | torch.cummax(i,0) | torch.cummin(f,0) | torch.cummax(z,0) | torch.cummax(f,5)
torch.cummax(b,0) | torch.logcumsumexp(f,1) | torch.logcumsumexp(i,0) | torch.softmax(i,0) | torch.softmax(f,4)
torch.softmax(z,0) | torch.softmax(f,1,torch.float64) | torch.log_softmax(i,0) | torch.median(f) | torch.median(f,1)
torch.median(i) | torch.median(f,1,True) | torch.median(e) | torch.median(b) | torch.median(z) | torch.median(z,0)
torch.median(e,0) | torch.nanmedian(f) | torch.nanmedian(f,1) | torch.quantile(f,1.5) | torch.quantile(i,0.5)
torch.quantile(f,0.5,interpolation='x') | torch.quantile(f,torch.tensor(0.5,dtype=torch.float64)) | torch.quantile(e,0.5)
torch.quantile(f,torch.tensor([[0.5]])) | torch.mode(f) | torch.mode(f,0) | torch.mode(i) | torch.mode(b) | torch.mode(z)
torch.mode(e) | torch.kthvalue(f,2) | torch.kthvalue(f,2,0,True) | torch.kthvalue(f,4) | torch.kthvalue(f,0)
torch.kthvalue(z,1) | torch.kthvalue(i,1) | torch.sort(f) | torch.sort(f,0,True)
torch.sort(f,descending=True,stable=True) | torch.sort(i) | torch.sort(b) | torch.sort(z) | torch.sort(f,5)
torch.sort(f,dim=0,stable=True) | torch.argsort(f) | torch.argsort(f,0,True) | torch.argsort(f,stable=True,dim=1)
torch.msort(f) | f.sort(0) | f.argsort() | torch.topk(f,2) | torch.topk(f,2,1,False) | torch.topk(f,4)
torch.topk(i,2,sorted=False) | torch.topk(z,1) | torch.topk(f,-1) | torch.topk(b,1)
torch.sort(torch.tensor([float('nan'),1.,float('inf')]))
torch.sort(torch.tensor([float('nan'),1.,float('inf')]),descending=True)
torch.topk(torch.tensor([float('nan'),1.,float('inf')]),2) | torch.unique(i) | torch.unique_consecutive(i)
torch.unique_consecutive(torch.tensor([1,1,2,2,3,1,1]),return_inverse=True,return_counts=True) | torch.unique(b)
torch.unique(e) | torch.unique(e,dim=0) | i.unique(return_counts=True) | torch.unique(f,dim=3)
"""


@pytest.mark.parametrize("expression", split(ORDERING))
def test_scans_and_ordering(expression):
    ours, theirs = shown(numgrad, expression), shown(torch, expression)
    assert agree(ours, theirs), f"{ours}\n{theirs}"
