"""`gradcheck` and `gradgradcheck` against PyTorch's: the same lines must pass, raise and warn the same in both libraries."""

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

PRELUDE = """
t = T([0.5, 1.5], dtype=torch.float64, requires_grad=True)
c = T([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)
class B(ag.Function):
    @staticmethod
    def forward(ctx,x): return x*2
    @staticmethod
    def backward(ctx,g): return g
n=[0]
class Non(ag.Function):
    @staticmethod
    def forward(ctx,x): return x*2
    @staticmethod
    def backward(ctx,g):
        n[0]+=1; return g*2*(1+n[0]*1e-3)
class NonLin(ag.Function):
    @staticmethod
    def forward(ctx,x): return x*2
    @staticmethod
    def backward(ctx,g): return g*2+ (g==0)*1.
class Undef(ag.Function):
    @staticmethod
    def forward(ctx,x,y): ctx.set_materialize_grads(False); return x*2, y*2
    @staticmethod
    def backward(ctx,a,b): return a*2,b*2
class J(ag.Function):
    @staticmethod
    def forward(ctx,x): return x*2
    @staticmethod
    def backward(ctx,g): return g*2
    @staticmethod
    def jvp(ctx,g): return g*3
"""

CHECKS = """
out = ag.gradcheck(lambda x:x*x, t)
out = ag.gradcheck(lambda x:x*x, (torch.tensor([1.,2.]),))
out = ag.gradcheck(lambda x:x*x, (torch.ones(3,requires_grad=True),), atol=1e-2)
out = ag.gradcheck(B.apply, t)
out = ag.gradcheck(B.apply, t, raise_exception=False)
out = ag.gradcheck(B.apply, t, fast_mode=True, raise_exception=False)
out = ag.gradcheck(lambda x:x*x, (torch.ones(1,dtype=torch.float64).expand(3).requires_grad_(),))
out = ag.gradcheck(lambda x:x.detach(), t)
out = ag.gradcheck(lambda x:x.detach(), t, fast_mode=True)
out = ag.gradcheck(lambda x:x.round(), t)
out = ag.gradcheck(Non.apply, t, rtol=1e-1)
out = ag.gradcheck(Non.apply, t, rtol=1e-1, nondet_tol=1)
out = ag.gradcheck(NonLin.apply, t)
out = ag.gradcheck(Undef.apply, (t,t*2))
out = ag.gradcheck(Undef.apply, (t,t*2), check_undefined_grad=False)
out = ag.gradcheck(J.apply, t)
out = ag.gradcheck(J.apply, t, check_forward_ad=True)
out = ag.gradcheck(J.apply, t, check_forward_ad=True, check_backward_ad=False)
out = ag.gradcheck(J.apply, t, check_forward_ad=False, check_backward_ad=False)
out = ag.gradcheck(J.apply, t, check_batched_grad=True, check_backward_ad=False, check_forward_ad=True)
out = ag.gradcheck(J.apply, t, check_batched_forward_grad=True)
out = ag.gradcheck(lambda x: x.sin().prod(), t, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)
out = ag.gradcheck(lambda x: x.sin().prod(), t, check_forward_ad=True, fast_mode=True)
out = ag.gradcheck(lambda x,y: (x*y,x.sum()), (t,t*2))
out = ag.gradcheck(lambda x,y: x*2, (t,t*2))
out = ag.gradcheck(lambda x,s: x*s, (t,3))
out = ag.gradcheck(lambda x: x.float(), t)
out = ag.gradgradcheck(lambda x:x*x*x, t)
out = ag.gradgradcheck(lambda x:x*x*x, t, check_fwd_over_rev=True, check_batched_grad=True)
out = ag.gradgradcheck(lambda x:x*x*x, t, check_fwd_over_rev=False, check_rev_over_rev=False)
out = ag.gradgradcheck(lambda x:x*x*x, t, check_fwd_over_rev=True, check_rev_over_rev=False)
out = ag.gradgradcheck(lambda x:x*x*x, t, check_fwd_over_rev=True, check_rev_over_rev=False, check_undefined_grad=False)
out = ag.gradgradcheck(lambda x:x*x*x, t, torch.ones(2,dtype=torch.float64,requires_grad=True), fast_mode=True)
out = ag.gradgradcheck(lambda x:x*x*x, t, gen_non_contig_grad_outputs=True)
out = ag.gradcheck(lambda x: x.new_zeros(0)*x.sum(), t)
out = ag.gradcheck(lambda x: x*2, torch.zeros(0,dtype=torch.float64,requires_grad=True))
out = ag.gradcheck(lambda x: x.sum(), torch.ones(2,2,dtype=torch.float64,requires_grad=True), check_grad_dtypes=True)
"""

COMPLEX = """
out = ag.gradcheck(lambda x: x*x, c)
out = ag.gradcheck(lambda x: x*x, c, check_forward_ad=True)
out = ag.gradcheck(lambda x: x*x, c, fast_mode=True)
out = ag.gradcheck(lambda x: x.abs(), c, check_forward_ad=True)
out = ag.gradcheck(lambda x: x*1j, t, check_forward_ad=True)
out = ag.gradcheck(B.apply, c)
"""


@pytest.mark.parametrize("snippet", snippets(CHECKS))
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, PRELUDE + snippet) == shown(torch, PRELUDE + snippet)


@pytest.mark.skipif(not hasattr(numgrad.Tensor, "imag"), reason="complex tensors have no parts yet")
@pytest.mark.parametrize("snippet", snippets(COMPLEX))
def test_complex_numbers(snippet: str) -> None:
    assert shown(numgrad, PRELUDE + snippet) == shown(torch, PRELUDE + snippet)
