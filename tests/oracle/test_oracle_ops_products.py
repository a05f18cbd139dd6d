"""Products, contractions and norms: values, nodes and errors against PyTorch's."""

import pytest
from expressions import agree, shown, split

import numgrad

torch = pytest.importorskip("torch")

PRODUCTS = """
torch.outer(i,i) | torch.outer(f,i) | torch.outer(f[0],f[1]) | torch.ger(f[0],i) | torch.inner(f,f) | torch.inner(f,i)
torch.inner(f,z) | torch.inner(f,torch.ones(2)) | torch.vdot(f,f) | torch.cross(i,i)
torch.cross(f,torch.ones(2,2),dim=1) | torch.cross(torch.ones(2,2),torch.ones(2,2),dim=1)
torch.addbmm(torch.ones(2,2),torch.ones(4,2,3),torch.ones(4,3,2))
torch.baddbmm(torch.ones(4,2,2),torch.ones(4,2,3),torch.ones(4,3,2),beta=0.5)
torch.baddbmm(torch.ones(4,2,2),torch.ones(4,2,3),torch.ones(3,3,2)) | torch.addr(torch.ones(2,2),f[:,0],f[0])
torch.addmv(f,f,f[0]) | torch.addmv(f[:,0],f,f[:,0]) | torch.addmm(f,f,f)
torch.addmm(torch.ones(2,2),f,f.t(),beta=2,alpha=0.5) | torch.addmm(torch.tensor([[float('nan')]]),f,f.t(),beta=0)
torch.addbmm(torch.ones(2,2),torch.ones(4,2,3),torch.ones(3,3,2)) | torch.addr(i,i,i,alpha=2) | torch.tensordot(f,f,2)
torch.tensordot(f,f,([1],[1])) | torch.tensordot(f,f,1) | torch.tensordot(f,f,([0],[1])) | torch.tensordot(f,f,-1)
torch.tensordot(f,f,3) | torch.tensordot(f,f,([0,1],[0])) | torch.einsum('ij,kj->ik',f,f)
torch.einsum('ii->i',torch.ones(2,2,requires_grad=True)) | torch.einsum('ij',f) | torch.einsum('ji',f)
torch.einsum('...j,...j->...',f,f) | torch.einsum('ij,j',f,f[0]) | torch.einsum(f,[0,1],f,[0,1],[0])
torch.einsum('ij->ijk',f) | torch.einsum('ij,jk',f) | torch.einsum('ijk',f) | torch.einsum('i',f)
torch.einsum('ij,jk',f,f) | torch.einsum('i->ii',f[0]) | torch.einsum('i,,j->ij',f[0],f[1]) | torch.einsum('i$->i',f)
torch.einsum('ii',f) | torch.einsum('i..j',f) | torch.einsum('......',f) | torch.einsum('ij->...',f) | torch.einsum('')
torch.einsum() | torch.einsum('i,i',f[0],i) | torch.einsum(' i j -> j i ',f) | torch.einsum('ij->ik',f)
torch.einsum('ij->',f) | torch.einsum('i.j',f) | torch.einsum('ij->i->j',f) | torch.einsum('ij,->ij',f,z)
torch.einsum('...ij->...ji',f) | torch.einsum('i...->...',f) | torch.cdist(f,i) | torch.cdist(f,torch.ones(2,2))
torch.linalg.vecdot(f,f) | torch.linalg.norm(f) | torch.linalg.vector_norm(f,1) | torch.linalg.matrix_norm(f,1)
torch.linalg.norm(f,'fro') | torch.linalg.norm(f,float('inf')) | torch.linalg.matrix_norm(f[0])
torch.linalg.vector_norm(i) | torch.linalg.matrix_norm(f,-1,keepdim=True) | torch.linalg.norm(f,1,dim=0)
torch.linalg.matrix_norm(f,3) | torch.linalg.norm(f[0],'fro') | torch.linalg.vector_norm(f,2,dtype=torch.float64)
torch.linalg.matmul(f,f.t())
"""


@pytest.mark.parametrize("expression", split(PRODUCTS))
def test_products(expression):
    ours, theirs = shown(numgrad, expression), shown(torch, expression)
    assert agree(ours, theirs), f"{ours}\n{theirs}"
