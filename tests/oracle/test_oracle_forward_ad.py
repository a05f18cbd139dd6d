"""`autograd.forward_ad` against PyTorch's: the same lines must show, raise and warn the same in both libraries."""

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

PRELUDE = """
fwAD = ag.forward_ad
make, unpack = fwAD.make_dual, fwAD.unpack_dual
p, t = T([2.0, 3.0]), T([1.0, 0.5])
"""

SURFACE = """
fwAD.make_dual(T([1.0]), T([1.0]))
out = unpack(p)
with fwAD.dual_level(): out = unpack(p)
with fwAD.dual_level():⏎  with fwAD.dual_level(): pass
with fwAD.dual_level(): make(T([1.0]), torch.ones(2))
with fwAD.dual_level(): make(torch.ones(2, 2), torch.ones(2))
with fwAD.dual_level(): make(T([1.0]), T([1.0], dtype=torch.float64))
with fwAD.dual_level(): make(T([1]), T([1.0]))
with fwAD.dual_level(): make(T([1.0]), T([1]))
with fwAD.dual_level(): make(5.0, T([1.0]))
with fwAD.dual_level(): make(T([1.0]), 5.0)
with fwAD.dual_level(): d = make(T([2.0]), T([1.0])); make(d, T([1.0]))
with fwAD.dual_level(): d = make(p, t); o = d * d⏎out = unpack(o), unpack(d), o, d
with fwAD.dual_level(): out = make(p, t)
with fwAD.dual_level(): out = make(T(2.0), T(1.0))
with fwAD.dual_level(): out = make(leaf(), t)
with fwAD.dual_level(): out = make(leaf(), t) * 2
with fwAD.dual_level(): d = make(p, t); d.add_(1); out = unpack(d), unpack(d.detach()), p
with torch.no_grad():⏎  with fwAD.dual_level(): out = unpack(make(T([2.0]), T([1.0])) * 3)
with fwAD.dual_level():⏎  d = make(T([2.0]), T([1.0]))⏎  with fwAD._set_fwd_grad_enabled(False): o = d * 3⏎  out = unpack(o)
with fwAD.dual_level(): out = unpack(make(p, t), level=0)
with fwAD.dual_level(): out = unpack(make(p, t), level=-1)
fwAD.exit_dual_level()
out = fwAD.enter_dual_level(), unpack(make(p, t)), fwAD.exit_dual_level()
fwAD.enter_dual_level()⏎try: fwAD.exit_dual_level(level=1)⏎finally: fwAD.exit_dual_level()
with fwAD.dual_level() as level: out = level
with fwAD.dual_level(): out = fwAD.UnpackedDualTensor(p, t)
with fwAD.dual_level(): d = make(p, t); out = d.requires_grad, d.is_leaf, d.grad_fn, d.shape, d.dtype, d.tolist(), d[0].item(), bool(d[0] > 1)
with fwAD.dual_level(): u = unpack(make(p, t)); out = u.tangent is t, u.primal is p, u.primal.data_ptr() == p.data_ptr()
with fwAD.dual_level(): d = make(p, t); t.mul_(10); out = unpack(d * 2)
"""

OPS = """
with fwAD.dual_level(): d = make(p, t); out = unpack(d * d), unpack(d + 1), unpack(2 / d), unpack(d ** 3), unpack(-d)
with fwAD.dual_level(): d = make(p, t); out = unpack(d.sum()), unpack(d.mean()), unpack(d.prod()), unpack(d.norm()), unpack(d.std())
with fwAD.dual_level(): d = make(p, t); out = unpack(d > 2), unpack(d.argmax()), unpack(d.max(0)[0]), unpack(d.max(0)[1])
with fwAD.dual_level(): d = make(p, t); out = unpack(d[0]), unpack(d[1:]), unpack(d.view(2, 1)), unpack(d.unsqueeze(0)), unpack(d.expand(2, 2))
with fwAD.dual_level(): d = make(p, t); out = unpack(torch.cat([d, p])), unpack(torch.stack([p, d]))
with fwAD.dual_level(): d = make(p, t); out = unpack(d.double()), unpack(d.long()), unpack(d.clone()), unpack(d.contiguous())
with fwAD.dual_level(): d = make(p, t); out = unpack(d @ p), unpack(d.view(2, 1) @ d.view(1, 2)), unpack(d.view(1, 2).mm(torch.ones(2, 2)))
with fwAD.dual_level(): d = make(p, t); out = unpack(torch.where(d > 2, d, d * 0)), unpack(d.clamp(max=2.5)), unpack(d.relu())
with fwAD.dual_level(): d = make(p, t); out = unpack(torch.log_softmax(d, 0)), unpack(d.logsumexp(0)), unpack(F.mse_loss(d, p + 1))
with fwAD.dual_level(): d = make(p, t); out = unpack(torch.ones_like(d)), unpack(torch.zeros_like(d)), unpack(d.new_zeros(2))
with fwAD.dual_level(): d = make(p, t); out = unpack(d * T([1.0, 2.0], dtype=torch.float64)), unpack(d * T(2.0, dtype=torch.float64))
with fwAD.dual_level(): d = make(p, t); w = nn.Linear(2, 1); out = unpack(w(d)).tangent.detach() - w.weight.detach() @ t
with fwAD.dual_level(): a, b = make(p, t), make(T([5.0, 7.0]), T([0.0, 2.0])); out = unpack(a * b), unpack(a / b), unpack(torch.dot(a, b)), unpack(a.pow(b))
"""

IN_PLACE = """
with fwAD.dual_level(): d = make(p, t); d.mul_(2); out = unpack(d), t
with fwAD.dual_level(): d = make(p, t); d.mul_(d); out = unpack(d)
with fwAD.dual_level(): d = make(p, t) * 1; d.exp_(); out = unpack(d)
with fwAD.dual_level(): d = make(p, t) * 1; d.zero_(); out = unpack(d)
with fwAD.dual_level(): d = make(p, t) * 1; d.fill_(3.0); out = unpack(d)
with fwAD.dual_level(): d = make(p, t) * 1; d[0] = 5.0; out = unpack(d)
with fwAD.dual_level(): d = make(p, t) * 1; d[0] = d[1] * 2; out = unpack(d)
with fwAD.dual_level(): d = make(p, t) * 1; d[0].mul_(3); out = unpack(d)
with fwAD.dual_level(): d = make(p, t) * 1; v = d[1:]; d.mul_(3); out = unpack(v), unpack(d)
with fwAD.dual_level(): d = make(p, t) * 1; d.copy_(p); out = unpack(d)
with fwAD.dual_level(): x = torch.zeros(2); x.copy_(make(p, t)); out = unpack(x)
with fwAD.dual_level(): x = torch.ones(2); x.add_(make(p, t)); out = unpack(x)
with fwAD.dual_level(): x = torch.ones(3); x[1:] = make(p, t); out = unpack(x)
with fwAD.dual_level(): x = torch.ones(3); x[1:].mul_(make(p, t)); out = unpack(x)
with fwAD.dual_level(): x = torch.ones(2, 2); x[:, 1] = make(p, t); out = unpack(x.sum(0)), unpack(x.t())
with fwAD.dual_level(): x = torch.ones(3); v = x[1:]; w = x[:2]; x[1:] = make(p, t); out = unpack(x), unpack(v), unpack(w * 2)
x = torch.ones(3); v = x[1:]; w = v[0]; u = x[:2].unbind()⏎with fwAD.dual_level(): x[1:].add_(make(p, t)); out = unpack(x), unpack(v), unpack(w), unpack(u[1] * 2)
x = torch.ones(3); v = x[1:]; u = x[:2]⏎with fwAD.dual_level(): v.mul_(make(p, t)); out = unpack(x), unpack(v), unpack(u)⏎out = out, unpack(u), u
with fwAD.dual_level(): x = torch.ones(2, 2); v = x.t(); x.mul_(make(p, t)); out = unpack(x), unpack(v), unpack(v[0])
with fwAD.dual_level(): d = make(p, t); torch.mul(d, 2, out=torch.zeros(2))
with fwAD.dual_level(): x = leaf(); d = make(x, t); d.mul_(2)
with fwAD.dual_level(): x = leaf(); d = make(x * 1, t); d.mul_(2); out = [y.detach() for y in unpack(d)], d.grad_fn
"""

BOTH_MODES = """
x = leaf()⏎with fwAD.dual_level(): d = make(x, t); y = (d ** 3).sum(); out = y, ag.grad(y, x)
x = leaf()⏎with fwAD.dual_level(): d = make(x, t); y = (d ** 3).sum(); g, = ag.grad(y, x, create_graph=True); out = [y.detach() for y in unpack(g)]
x = leaf()⏎with fwAD.dual_level(): d = make(x, t); y = (d ** 3).sum(); out = ag.grad(unpack(y).tangent, x)
x = leaf(); w = leaf(3.0, 4.0)⏎with fwAD.dual_level(): d = make(x, w); y = (d ** 3).sum(); out = ag.grad(unpack(y).tangent, (x, w))
x = leaf()⏎with fwAD.dual_level(): d = make(x, t); (d ** 3).sum().backward(); out = unpack(x.grad)⏎out = out, x.grad
x = leaf()⏎with fwAD.dual_level(): d = make(x, t); (d ** 3).sum().backward(); (d * 2).sum().backward(); out = unpack(x.grad)
x = leaf()⏎with fwAD.dual_level(): d = make(x * 1, t); (d ** 3).sum().backward(inputs=[x]); out = unpack(x.grad)
x = leaf()⏎with fwAD.dual_level(): d = make(x, t); y = d * d; out = y.requires_grad, y.grad_fn, unpack(y)
w = leaf()⏎with fwAD.dual_level(): d = make(p, t); y = unpack(d * w); out = y.primal, y.tangent.detach(), ag.grad(y.tangent.sum(), w)
with fwAD.dual_level(): d = make(p, t); out = ag.functional.jacobian(lambda x: x * d, p)
tf = torch.func⏎with fwAD.dual_level(): d = make(p, t); out = unpack(tf.grad(lambda x: (x ** 3).sum())(d))
"""


@pytest.mark.parametrize("snippet", snippets(SURFACE + OPS + IN_PLACE + BOTH_MODES))
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, PRELUDE + snippet) == shown(torch, PRELUDE + snippet)
