"""Autograd's surface against PyTorch's: the same lines must show, raise and warn the same in both libraries."""

from collections.abc import Iterator

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

# What may require a gradient, and the attributes of tensors.
FLAGS = """
torch.tensor([1, 2], requires_grad=True)
torch.ones(2, dtype=torch.int64).requires_grad_()
t = torch.ones(2, dtype=torch.int64); t.requires_grad = True
T([True]).requires_grad_()
torch.arange(3, requires_grad=True)
out = torch.arange(3.0, requires_grad=True)
y = leaf() * 2; y.requires_grad_(False)
y = leaf() * 2; y.requires_grad_(True); out = y
y = leaf() * 2; y.requires_grad = True
y = leaf() * 2; y.requires_grad = False
t = leaf(); t.requires_grad = "yes"
t = leaf(); t.requires_grad = 1
leaf().requires_grad_("yes")
T([1.0]).retain_grad()
x = leaf(); x.retain_grad(); out = x.retains_grad
y = leaf() * 2; y.retain_grad(); out = y.retains_grad
y = leaf() * 2; out = y.grad
y = leaf() * 2; y.retain_grad(); out = y.grad
x = leaf(); x.grad = 3
x = leaf(); x.grad = torch.ones(3)
x = leaf(); x.grad = torch.ones(2, dtype=torch.float64)
x = leaf(); x.grad = torch.ones(2, dtype=torch.int64)
x = leaf(); x.grad = x
x = leaf(); x.grad = torch.ones(2); x.grad = None; out = x.grad
x = leaf(); x.data = torch.zeros(2, dtype=torch.int64)
x = leaf(); x.data = torch.zeros(5); out = x.shape, x.requires_grad
x = leaf(); v = x.view(2); v.detach_()
x = leaf(); y = x * 2; y.detach_(); out = y.requires_grad, y.is_leaf, y.grad_fn
x = leaf(); d = x.detach(); out = d.requires_grad, d.is_leaf, d._version, d.data_ptr() == x.data_ptr()
torch.ones(2, requires_grad=True, dtype=torch.bool)
a = T([1.0, 2.0]); aa = a * a; aa.requires_grad_(); out = aa.requires_grad, aa.is_leaf, aa.grad_fn
out = T([1, 2]).is_leaf, T([1, 2]).requires_grad
x = T([1.0, 2.0]); x.requires_grad = True; x.requires_grad = False; out = x.requires_grad, x.is_leaf
x = leaf(); out = torch.ones_like(x).requires_grad, torch.zeros_like(x).requires_grad, x.new_ones(2).requires_grad
x = leaf(); y = x * 2; out = y.is_leaf, y.detach().is_leaf, y.data.is_leaf, y.clone().is_leaf, y.detach().requires_grad_().is_leaf
x = leaf(); y = x.clone().detach().requires_grad_(True); out = y.is_leaf, y.requires_grad
x = T(3.0, requires_grad=True); out = x > 2, x.int().requires_grad, (x > 2).requires_grad
x = leaf(); y = x.to(torch.int64); out = y.requires_grad, y.grad_fn
x = leaf(); y = x * 2⏎with torch.no_grad(): y.requires_grad_(); z = x.requires_grad_(False)⏎out = y.requires_grad, x.requires_grad
out = leaf().output_nr, (leaf() * 2).output_nr, leaf().max(0)[0].output_nr
"""

# backward() and grad(): arguments and errors.
BACKWARD = """
(T([1.0]) * 2).sum().backward()
T([1.0]).backward()
(leaf() * 2).backward()
(leaf() * 2).backward(torch.ones(3))
(leaf() * 2).backward(torch.ones(1))
(leaf() * 2).backward([1.0, 1.0])
(leaf() * 2).backward(2.0)
(leaf() * 2).backward("g")
x = leaf(); (x * 2).backward(torch.ones(2, dtype=torch.float64)); out = x.grad, x.grad.dtype
x = leaf(); (x * 2).backward(torch.ones(2, dtype=torch.int64)); out = x.grad, x.grad.dtype
x = leaf(); y = (x * x).sum(); y.backward(); y.backward()
x = leaf(); y = (x + 1).sum(); y.backward(); y.backward(); out = x.grad
x = leaf(); s = x * x; s.sum().backward(); (s * 3).sum().backward()
x = leaf(); z = leaf(); ag.grad((x * 2).sum(), [x, z])
x = leaf(); z = leaf(); out = ag.grad((x * 2).sum(), [x, z], allow_unused=True)
x = leaf(); z = leaf(); out = ag.grad((x * 2).sum(), [x, z], materialize_grads=True)
x = leaf(); z = leaf(); ag.grad((x * 2).sum(), [x, z], allow_unused=False, materialize_grads=True)
x = leaf(); ag.grad((x * 2).sum(), T([1.0]))
x = leaf(); ag.grad((x * 2).sum(), [x, T([1.0])], allow_unused=True)
x = leaf(); ag.grad([x.sum(), x.sum()], x, grad_outputs=[T(1.0)])
x = leaf(); out = ag.grad([x.sum(), (x * x).sum()], x)
x = leaf(); ag.grad(x * 2, x)
x = leaf(); out = ag.grad(x * 2, x, torch.ones(2))
x = leaf(); out = ag.grad((x * 2).sum(), x, only_inputs=False)
x = leaf(); ag.grad((x * 2).sum(), [])
x = leaf(); (x * 2).sum().backward(inputs=[])
x = leaf(); y = x * 2; y.sum().backward(inputs=[y]); out = y.retains_grad, x.grad
x = leaf(); y = x * 2; y.retain_grad(); y.sum().backward(inputs=[y]); out = y.grad, x.grad
x = leaf(); (x * 2).sum().backward(inputs=T([1.0])); out = x.grad
x = leaf(); z = leaf(); (x * 2).sum().backward(inputs=[z]); out = x.grad, z.grad
x = leaf(); z = leaf(); (x * z).sum().backward(inputs=[x]); out = x.grad, z.grad
x = leaf(); (x * 2).sum().backward(inputs=x); out = x.grad
out = ag.backward([], None)
x = leaf(); ag.backward([x * 2, x.sum()], [torch.ones(2), None]); out = x.grad
x = leaf(); ag.backward((x * 2).sum(), grad_tensors=T(1.0), grad_variables=T(1.0))
x = leaf(); ag.backward((x * 2).sum(), grad_variables=T(3.0)); out = x.grad
x = leaf(); ag.backward([x.sum(), x.sum()], [T(1.0)])
x = leaf()⏎with torch.no_grad(): y = (x * x).sum()⏎y.backward()
ag.grad(5, leaf())
x = leaf(); ag.grad((x * 2).sum(), "x")
x = leaf(); ag.grad((x * 2).sum(), [x, 3])
x = leaf(); (x * 2).sum().backward(foo=1)
x = leaf(); y = x.detach().sum(); y.backward()
x = leaf(); (x > 1).sum().backward()
x = leaf(); y = x.sum(); y.backward(T([1.0]))
x = leaf(); g, = ag.grad((x * x).sum(), x, create_graph=True); out = g, ag.grad(g.sum(), x)
x = leaf(); x.sum().backward(); x.sum().backward(); out = x.grad
x = leaf(); x.grad = torch.zeros(2); g = x.grad; x.sum().backward(); out = g is x.grad, g
x = leaf(); (x * x).sum().backward(); g = x.grad; (x * x).sum().backward(); out = g is x.grad, g
x = leaf(); (x * x).sum().backward(); g = x.grad; (x * x).sum().backward(create_graph=True); out = g is x.grad, x.grad
x = leaf(3.0); x.backward(); out = x.grad
x = leaf(); y = (x * 2)[:1]; y.backward(); out = x.grad
x = leaf(); out = ag.grad((x * 2).sum(), x, grad_outputs=T(3.0))
x = leaf(); ag.grad((x * 2).sum(), x); out = x.grad
x = leaf(); x.sum().backward(); g1 = x.grad; x.grad = None; x.sum().backward(); out = g1 is x.grad
x = leaf(); y = x * 2; y.sum().backward(retain_graph=True); g = x.grad.clone(); y.sum().backward(); out = g, x.grad
x = leaf(); y = (x**2).sum(); ag.grad(y, x, create_graph=True); out = ag.grad(y, x)
x = leaf(); y = x * 2; y.retain_grad(); ag.grad(y.sum(), x); out = y.grad
x = leaf(); y = x * 2; y.retain_grad(); ag.grad(y.sum(), y); out = y.grad
T([1.0, 2.0]).requires_grad_().sum().backward(); x = T([1.0, 2.0]); y = x * 2; x.requires_grad_(); y.sum().backward()
x = T([1.0, 2.0]); w = leaf(3.0, 4.0); used = x * w; x.requires_grad_(); used.sum().backward(); out = x.grad, w.grad
x = leaf(); y = x * 2; x.requires_grad_(False); y.sum().backward(); out = x.grad, x.requires_grad
x = leaf(); x.grad = torch.ones(2); x.grad.zero_(); out = x.grad
x = leaf(); x.sum().backward(); del x.grad; out = x.grad
x = leaf(); y = x.sum(); del x; y.backward(); out = y.grad_fn.next_functions[0][0].variable.grad
x = leaf(); y = x * 2; y.backward(torch.ones(2), retain_graph=True); y.backward(torch.ones(2)); out = x.grad
x = leaf(); y = (x * x).sum(); y.backward(retain_graph=True, create_graph=False); y.backward(); out = x.grad
x = leaf(); y = x * 2; z = y.detach(); z.requires_grad_(); (z * z).sum().backward(); y.backward(z.grad); out = x.grad
x = leaf(); y = x * 2; r = weakref.ref(y); z = y * 3; del y; out = r() is None
x = T(3.0, requires_grad=True); y = x * x; y.backward(T(2.0)); out = x.grad
x = leaf(); out = ag.grad((x * x).sum(), (x,))
x = leaf(); y = x * T(float("nan")); y.sum().backward(); out = x.grad
x = leaf(); y = (x * x).sum(); y.backward(); (y * 2).backward()
x = leaf(); y = x + 1; z = y * 2; z.sum().backward(); z2 = (y * 3).sum(); z2.backward(); out = x.grad
x = leaf(); y = x.exp(); z = y * 2; z.sum().backward(); (y * 3).sum().backward()
x = leaf(); y = (x * 2).sum(); y.backward(torch.tensor(1.0), True); y.backward(); out = x.grad
x = leaf(); v = torch.ones(2, requires_grad=True); gx, = ag.grad(x * x, x, v, create_graph=True); out = ag.grad(gx.sum(), v)
x = leaf(); y = x * 2; ag.grad(y.sum(), x, retain_graph=True); out = y.grad_fn.next_functions
x = leaf(); y = x.exp(); y.backward(torch.ones(2)); out = y, y.grad_fn.name(), y.requires_grad
x = leaf(); y = x * 2; gg = torch.ones(2, requires_grad=True); out = ag.grad(y, x, gg, create_graph=True)
x = leaf(); s = x.sum(); s.backward(gradient=None, retain_graph=None, create_graph=False, inputs=None); out = x.grad
x = leaf(1.0)⏎y = x⏎for i in range(20000): y = y * 1.0⏎y.backward(); out = x.grad
x = leaf(); y = x * x; z = y.clone(); ag.grad(z.sum(), [y, x], allow_unused=True); out = x.grad
x = leaf(); y = x * x; out = ag.grad((y * 2).sum(), [x, y])
x = leaf(); y = x * x; out = ag.grad([y, y], [x, y], [torch.ones(2), torch.ones(2)])
x = leaf(); out = ag.grad(x.sum(), [x, x])
x = leaf(); y = x.sum(); out = ag.grad(y, y)
x = leaf(); x.sum().backward(inputs=[x, x]); out = x.grad
x = leaf(); y = x * 3; y.register_hook(lambda g: g * 2); out = ag.grad(y.sum(), y)
x = leaf(); v, i = x.max(0); out = v, i, i.requires_grad, ag.grad(v, x)
x = leaf(1.0, 1.0, 0.0); x.max().backward(); a = x.grad.clone(); x.grad = None; x.max(0)[0].backward(); out = a, x.grad
"""

# Sub-gradients and special values.
VALUES = """
x = T([0.0, 0.0], requires_grad=True); x.abs().sum().backward(); out = x.grad
x = T([0.0], requires_grad=True); x.sqrt().backward(); out = x.grad
x = T([0.0, 1.0], requires_grad=True); torch.where(x > 0, x.log(), torch.zeros(2)).sum().backward(); out = x.grad
x = T([-1.0, 1.0], requires_grad=True); torch.where(x > 0, x.sqrt(), x).sum().backward(); out = x.grad
x = T([0.0, -0.0, -1.0, 1.0, float("nan")], requires_grad=True); x.relu().sum().backward(); out = x.relu(), x.grad
x = T([0.0, 2.0], requires_grad=True); (x**0).sum().backward(); out = x.grad
x = T([0.0, 2.0], requires_grad=True); (x**2).sum().backward(); out = x.grad
x = T([0.0, 2.0], requires_grad=True); (x**0.5).sum().backward(); out = x.grad
x = T([0.0, 2.0], requires_grad=True); y = T([0.0, 3.0], requires_grad=True); (x**y).sum().backward(); out = x.grad, y.grad
x = T([0.0, 2.0], requires_grad=True); (0**x).sum().backward(); out = x.grad
x = T([1.0, 2.0, float("nan")], requires_grad=True); y = T([1.0, 3.0, 1.0], requires_grad=True); torch.maximum(x, y).sum().backward(); out = x.grad, y.grad
x = T([1.0, float("nan")], requires_grad=True); x.max().backward(); out = x.max(), x.grad
x = T([1.0, float("nan"), float("nan")], requires_grad=True); v, i = x.max(0); v.backward(); out = v, i, x.grad
out = T([1.0, float("nan"), 3.0]).argmax(), T([[1.0, 3.0], [3.0, 3.0]]).argmax(1), T([[1, 3], [3, 2]]).argmax()
out = torch.ones(0).sum(), torch.ones(0).mean(), torch.ones(0, 3).sum(0), torch.ones(0, 3).sum(1), torch.ones(2, 0).mean(1)
torch.ones(0).max()
torch.ones(0, 2).max(0)
torch.ones(0).argmax()
torch.ones(2, 0).argmax(1)
out = torch.ones(0, 2).max(1)
x = torch.ones(0, 3, requires_grad=True); (x * 2).sum().backward(); out = x.grad
out = T([1.0, -1.0, 0.0]) / 0, T([1, -1]) / 2, 1 / T([0.0, -0.0])
out = T([0.0, 1.0, -1.0]).log(), T([-1.0, 0.0]).sqrt(), T([1000.0, -1000.0]).exp(), T([1000.0, -1000.0]).sigmoid()
x = T([0.0, -0.0, -1.0, 2.0, float("inf"), -float("inf")], requires_grad=True); y = x.lgamma(); y.sum().backward(); out = y, x.grad, x.digamma()
out = T([1.0, -1.0, 2.0, 0.0, -0.0]).erfinv(), T([30.0, -30.0, float("nan")]).erfc(), T([30.0, -0.0]).erf()
out = torch.maximum(T([1.0, float("nan")]), T([float("nan"), 1.0])), torch.minimum(T([0.0]), T([-0.0]))
out = T([2, 3]) ** 2, T([2, 3]) ** 0.5, 2 ** T([2, 3]), T([2, 3]) ** T([2, 0]), T([True]) ** 2
T([2]) ** -1
T([2]) ** T([-1])
out = T([-2.0]) ** 2, T([-2.0]) ** 3, T([-2.0]) ** 0.5, T([0.0]) ** -1
"""

# In-place ops, views and versions.
WRITES = """
x = leaf(); x.add_(1)
x = leaf(); x += 1
x = leaf(); x.zero_()
x = leaf(); x[0] = 1.0
x = leaf(); x[:1].add_(1)
x = leaf(); x.view(2).mul_(2)
x = leaf()⏎with torch.no_grad(): x.add_(1)⏎out = x, x._version
x = leaf(); y = x * 1; z = y * y; y.add_(1); z.sum().backward()
x = leaf(); y = x.exp(); y.add_(1); y.sum().backward()
x = leaf(); y = x.sigmoid(); y.mul_(2); y.sum().backward()
x = leaf(); y = x.tanh(); yy = y.detach(); yy.zero_(); y.sum().backward()
x = leaf(); y = x * 2; y.add_(1); y.sum().backward(); out = x.grad
x = leaf(); y = x * 2⏎with torch.no_grad(): v = y[:1]⏎v.add_(1)
x = leaf()⏎with torch.no_grad(): v = x[:1]⏎v.add_(1)
x = torch.ones(1).expand(3); x.add_(1)
x = torch.ones(1).expand(3); x[0].add_(1); out = x
t = torch.ones(2, dtype=torch.int64); t.add_(0.5)
t = torch.ones(2, dtype=torch.int64); t.mul_(T([0.5, 0.5]))
t = torch.ones(2, dtype=torch.int64); t.div_(2)
t = torch.ones(2, dtype=torch.int64); t /= 2
t = torch.ones(2, dtype=torch.bool); t.add_(1)
t = torch.ones(2, dtype=torch.bool); t.mul_(True); out = t
t = torch.ones(2); t.add_(torch.ones(3))
t = torch.ones(2); t.add_(torch.ones(2, 2))
t = torch.ones(2); t.add_(torch.ones(2, dtype=torch.float64)); out = t
t = torch.ones(2, dtype=torch.int64); t.copy_(T([1.7, -1.7])); out = t
t = torch.ones(2); t.copy_(torch.ones(3))
t = torch.ones(2); t.fill_(T(3.0)); out = t
t = torch.ones(2); t.fill_(T([3.0, 4.0]))
t = torch.ones(2, dtype=torch.int64); t.fill_(2.7); out = t
t = torch.ones(2, dtype=torch.bool); t.fill_(2); out = t
t = torch.ones(2, dtype=torch.bool); t.zero_(); out = t
x = leaf(); torch.add(x, 1, out=torch.empty(2))
x = T([1.0, 2.0]); torch.add(x, 1, out=leaf())
x = T([1.0, 2.0]); o = torch.empty(2); r = torch.add(x, 1, out=o); out = r is o, o, o._version
x = T([1.0, 2.0]); torch.add(x, 1, out=torch.empty(2, dtype=torch.int64))
x = T([1.0, 2.0]); o = torch.empty(2, dtype=torch.float64); torch.exp(x * 0, out=o); out = o
x = leaf(); y = x * 2; z = y * y; y.data.add_(1); z.sum().backward(); out = x.grad
x = leaf(); y = x * 2; v = y[:1]; v.mul_(10); out = v.grad_fn.name(), y.grad_fn.name(), y, v
x = leaf(); y = x * 2; v = y[:1]; v.mul_(10); y.sum().backward(); out = x.grad
x = leaf(); y = x * 2; v = y[:1]; v.mul_(10); v.sum().backward(); out = x.grad
x = leaf(); y = x * 1; y[0] = 0.0; y.sum().backward(); out = x.grad
x = leaf(); y = torch.zeros(2); y[:] = x; y.sum().backward(); out = x.grad, y
x = leaf(); y = torch.zeros(2); y[0:] = x; out = y
x = leaf(); y = torch.zeros(2); y[0:2, ...] = x; out = y
x = leaf(); y = torch.zeros(2); y[...] = x; out = y
x = leaf(); y = torch.zeros(2); y[-2:] = x; out = y
x = leaf(); y = torch.zeros(2); y[None] = x; out = y
x = leaf(1.0)[0]; y = torch.zeros(()); y[...] = x; out = y
x = leaf(); y = torch.zeros(4); y[0:2] = x; y.sum().backward(); out = x.grad, y.grad_fn.name()
y = T([1.0, 2.0]); v = y[:1]; x = leaf(5.0); v.mul_(x); out = y.requires_grad, y.grad_fn.name(), v.grad_fn.name(), y._version, v._version
t = torch.ones(2); v0 = t._version; t.add_(1); v = t[:1]; v.add_(1); d = t.detach(); out = v0, t._version, v._version, d._version, t.data._version
x = leaf(); v = x.view(2, 1)[0]; out = v._base is x, x._base, v._is_view(), x._is_view()
x = leaf(); y = x.view(1, 2); out = y._base is x, y[0]._base is x, y.grad_fn.name()
x = leaf(); y = x * 2; y.zero_(); y.sum().backward(); out = x.grad
x = leaf(); y = x * 2; y.copy_(T([7.0, 7.0])); y.sum().backward(); out = x.grad, y
x = leaf(); y = x * 2; w = leaf(); y.copy_(w); y.sum().backward(); out = x.grad, w.grad
x = leaf(); y = x * 2; y.fill_(3.0); out = y; y.sum().backward(); out = x.grad
x = leaf(); y = x**2; x.data.mul_(100); y.sum().backward(); out = x.grad
x = torch.ones(2, 2); x[:1].copy_(x[1:]); x.t().add_(x)
x = torch.arange(4.0); x[1:].add_(x[:-1])
x = torch.arange(6.0).view(2, 3); x[:, 0] += x[:, 1]; out = x
x = torch.arange(6.0); x[::2] += x[1::2]; out = x
x = torch.ones(3); x += x; out = x
x = torch.ones(3); x[:2].mul_(x[:2]); out = x
x = leaf(); x.data.fill_(9.0); out = x, x._version
x = leaf(); y = x.detach(); y.fill_(9.0); out = x, x._version, y._version
x = leaf(); y = x * 1; v = y.view(1, 2); y.mul_(3); out = v, v.grad_fn.name(); v.sum().backward(); out = out, x.grad
x = leaf(); y = x * 1; d = y[0:1]; d.zero_(); y.sum().backward(); out = x.grad
x = leaf(); y = x.expand(3, 2); y.sum().backward(); out = x.grad
x = leaf(); y = x * 2; x2 = x.detach(); x2.mul_(3); y.sum().backward(); out = x.grad
a = leaf(); b = a; b = b * 1; b += 1; out = a, b
x = leaf(); y = x * x; y[0] = 0; y.sum().backward(); out = x.grad
x = leaf(); y = x.t(); z = y * y; x.data.add_(1); z.sum().backward(); out = x.grad
x = leaf(); y = x * 1; y.mul_(y); y.sum().backward()
x = leaf(); y = x * 1; y *= x; y.sum().backward(); out = x.grad
x = leaf(); y = x * 1; y.add_(y); y.sum().backward(); out = x.grad
x = leaf(); y = x * 1; y.retain_grad(); y.mul_(2); y.sum().backward(); out = y.grad
x = leaf(); y = x * 1; h = y.register_hook(lambda g: g * 10); y.mul_(2); y.sum().backward(); out = x.grad
x = leaf(); y = x.clone(); v = y[:1]; v.retain_grad(); y[1:].zero_(); v.sum().backward(); out = v.grad, x.grad
x = leaf(); y = x * 2; out = y.add_(1) is y, y.grad_fn.name(), y.exp_().grad_fn.name(), y.neg_().grad_fn.name()
x = leaf(); y = x.clone(); out = y.tanh_(), y.relu_(), y.sigmoid_(), y.sqrt_(), y.abs_()
x = leaf(); y = x * 1; y.sub_(x, alpha=2); out = y, ag.grad(y.sum(), x)
x = leaf(); y = x * 1; y.pow_(2); out = y, ag.grad(y.sum(), x)
x = leaf(); y = x.clone(); y.div_(x); out = y, ag.grad(y.sum(), x)
"""

# Conversions and Python's protocols.
CONVERSIONS = """
leaf().numpy()
(leaf() * 2).numpy()
np.asarray(leaf() * 1)
out = leaf().detach().numpy(), leaf().numpy(force=True)
leaf().item()
torch.ones(0).item()
out = leaf(3.0).item(), T([[2]]).item(), T(True).item(), type(T(2).item()), type(T(2.0).item())
out = float(T(3.0)), int(T([3.7])), bool(leaf(0.0)), bool(T([[1]]))
float(torch.ones(2))
int(torch.ones(0))
bool(leaf())
bool(torch.ones(0))
iter(T(1.0))
len(T(1.0))
out = len(torch.ones(3, 2)), [r.tolist() for r in torch.ones(2, 2)], len(torch.ones(0, 2))
out = torch.tensor(leaf())
out = torch.as_tensor(leaf()).requires_grad, torch.as_tensor([1, 2])
out = leaf().tolist(), T(2.5).tolist(), T([[True, False]]).tolist(), torch.ones(0, 2).tolist()
x = leaf(); out = x.clone().grad_fn.name(), x.to(torch.float64).grad_fn.name(), x.to(torch.float32) is x, x.contiguous() is x
out = format(leaf(3.0)[0], ".2f"), "%f" % T(3.0), f"{T(1.5):.3f}", f"{T([1.5])}", f"{T([1.5])}"
format(leaf(), ".2f")
x = leaf(); out = {x: 1}[x], x == x, x in [x]
x = leaf(); out = str(x * 2), repr((x * 2).sum()), str(x), str((x * 2).detach())
out = 1.0 in T([1.0, 2.0]), 3.0 in T([1.0, 2.0])
out = list(range(5))[T(2)], [0, 1, 2][T([1])]
[0, 1][T(1.0)]
[0, 1][T([0, 1])]
out = T([1, 2]) == T([1, 3]), T([1.0]) != 1, T([1, 2]) < 2, T([1, 2]) >= T(2), 2 > T([1, 2])
out = T([1.0]) == None
out = T([1.0]) == "a"
T([1.0]) < None
T([1.0]) + None
T([1.0]) + "a"
T([1.0]) * [1]
None - T([1.0])
T([1.0]) @ 3
out = np.float64(2.0) * T([1.0]), T([1.0]) * np.float64(2.0), T([1]) * np.int64(2), T([1]) * np.float32(2)
out = torch.Tensor([1, 2]), torch.Tensor(2, 0), torch.Tensor(), isinstance(T(1), torch.Tensor), torch.is_tensor(3)
torch.tensor([[1, 2], [3]])
torch.tensor([1, "a"])
torch.tensor("a")
torch.tensor(None)
torch.tensor([1, [2]])
torch.tensor([[1], 2])
out = torch.tensor([]), torch.tensor([[]]), torch.tensor([1, 2.5]), torch.tensor([True, 2]), torch.tensor([True, 2.5]), torch.tensor((1, 2))
out = torch.tensor([True]), torch.tensor([1.0, 2.0]), torch.tensor(3), torch.tensor(2.5, dtype=torch.int64), torch.tensor([T(1), T(2)])
out = torch.tensor([0.1], dtype=torch.float64), torch.tensor(np.array([0.1])), torch.tensor([2**53 + 1]), torch.tensor(np.float32(0.1))
torch.tensor(2**63)
out = torch.zeros(2, 0), torch.ones((2, 1)), torch.full((2,), 3), torch.full((2,), 3.5), torch.full((2,), True), torch.full([], 2)
torch.zeros(-1)
torch.zeros(2, -3)
torch.zeros("a")
torch.zeros(1.5)
torch.ones(2, dtype=3)
torch.arange(1, 0)
torch.arange(0, 1, 0)
out = torch.arange(3), torch.arange(1, 7, 2), torch.arange(0.0, 1.0, 0.25), torch.arange(5, 0, -2), torch.arange(0), torch.arange(2, dtype=torch.float64)
out = T([1.5, -1.5]).long(), T([0, 2]).bool(), T([1]).float(), T([1.0]).double(), T([1.9]).int(), T([1]).to(torch.float64)
out = T([1.0]).type(), T([1]).type(), T([True]).type(), T([1.0]).type(torch.float64), T([1.0]).type_as(T([1]))
T([1.0]).to("cuda:x")
torch.from_numpy(3)
a = np.ones(2, np.float32); t = torch.from_numpy(a); t.add_(1); out = a, t
a = np.ones((2, 3)); t = torch.from_numpy(a.T); out = t.stride(), t.dtype, t.shape
t = torch.ones(2); a = t.numpy(); t.add_(1); out = a, t._version
"""

# Hooks: register_hook and retain_grad.
HOOKS = """
T([1.0]).register_hook(lambda g: g)
x = leaf(); h = x.register_hook(lambda g: g * 10); h.remove(); x.sum().backward(); out = x.grad
x = leaf(); h = x.register_hook(lambda g: g * 10); x.sum().backward(); h.remove(); h.remove(); x.sum().backward(); out = x.grad
x = leaf(); x.register_hook(lambda g: 3); x.sum().backward()
x = leaf(); x.register_hook(lambda g: torch.ones(3)); x.sum().backward()
x = leaf(); x.register_hook(lambda g: torch.ones(2, dtype=torch.float64)); x.sum().backward()
x = leaf(); x.register_hook(lambda g: torch.ones(2, dtype=torch.int64)); x.sum().backward()
x = leaf(); x.register_hook(lambda g: g[:1]); x.sum().backward()
x = leaf(); x.register_hook(lambda g: 1 / 0); x.sum().backward()
x = leaf(); L = []; a = x * 2; b = x * 3; a.register_hook(lambda g: L.append("a")); b.register_hook(lambda g: L.append("b")); (a + b).sum().backward(); out = L
x = leaf(); L = []; x.register_hook(lambda g: L.append(g.tolist())); y = x * 2 + x * 3; y.sum().backward(); out = L, x.grad
x = leaf(); y = x * 3; y.register_hook(lambda g: 2 * g); y.register_hook(lambda g: 10 * g); y.retain_grad(); y.sum().backward(); out = x.grad, y.grad
x = leaf(); y = x * 3; y.retain_grad(); y.register_hook(lambda g: 2 * g); y.sum().backward(); out = x.grad, y.grad
x = leaf(); L = []; y = x * 2; y.register_hook(lambda g: L.append(1)); ag.grad(y.sum(), x, create_graph=True); out = L
x = leaf(); y = x * 2; y.register_hook(lambda g: None); y.sum().backward(); out = x.grad
x = leaf(); L = []; x.register_hook(lambda g: L.append(g)); out = ag.grad((x * 2).sum(), x), L, x.grad
x = leaf(); x.register_hook(lambda g: g * 5); out = ag.grad((x * 2).sum(), x)
x = leaf(); x.register_hook(lambda g: g * 5); (x * 2).sum().backward(inputs=[x]); out = x.grad
x = leaf(); L = []; h = x.register_hook(lambda g: (L.append(1), h.remove())[0]); x.sum().backward(); x.sum().backward(); out = L
x = leaf(); L = []; x.register_hook(lambda g: L.append(torch.is_grad_enabled())); x.sum().backward(); ag.grad((x * x).sum(), x, create_graph=True); out = L
x = leaf(); y = x * x; g = []; y.register_hook(lambda t: g.append(t.requires_grad)); ag.grad(y.sum(), x, create_graph=True); out = g
x = leaf(); y = x * 2; y.register_hook(lambda g: g * leaf(3.0, 4.0)); out = ag.grad(y.sum(), x)
x = leaf(); v, i = x.max(0); v.register_hook(lambda g: g * 7); v.backward(); out = x.grad
x = leaf(); v = (x * 2)[0]; v.register_hook(lambda g: g * 7); v.backward(); out = x.grad
"""

# Grad modes.
MODES = """
with torch.no_grad: pass
with torch.no_grad(): y = leaf() * 2; p = leaf()⏎out = y.requires_grad, y.is_leaf, p.requires_grad
@torch.no_grad()⏎def f(x): return x * 2⏎out = f(leaf()).requires_grad, f.__name__
@torch.no_grad⏎def f(x): return x * 2⏎out = f(leaf()).requires_grad
torch.set_grad_enabled(False); r = torch.is_grad_enabled(); torch.set_grad_enabled(True); out = r, torch.is_grad_enabled()
with torch.no_grad():⏎  with torch.enable_grad(): y = leaf() * 2⏎out = y.requires_grad
with torch.set_grad_enabled(False): y = leaf() * 2⏎out = y.requires_grad, torch.is_grad_enabled()
r = []; t = threading.Thread(target=lambda: r.append(torch.is_grad_enabled()))⏎with torch.no_grad(): t.start(); t.join()⏎out = r
x = leaf(); y = (x * x).sum()⏎with torch.no_grad(): y.backward()⏎out = x.grad
@torch.no_grad()⏎def g():⏎  yield torch.is_grad_enabled()⏎  yield torch.is_grad_enabled()⏎out = [(v, torch.is_grad_enabled()) for v in g()]
@torch.enable_grad()⏎def f(x): return (x * 2).requires_grad⏎with torch.no_grad(): out = f(leaf())
x = leaf()⏎with torch.no_grad(): x.grad = torch.ones(2); x.sub_(x.grad)⏎out = x
"""

# The graph seen from outside.
GRAPH = """
x = leaf(); w = leaf(); n = (x * w).sum().grad_fn; out = n, n.name(), n.next_functions, n.next_functions[0][0].next_functions
x = leaf(); a = (x * leaf()).grad_fn.next_functions[0][0]; out = a.name(), a.variable is x, a.next_functions
x = leaf(); out = (x * T([1.0, 1.0])).grad_fn.next_functions
x = leaf(); out = (x * 2).grad_fn.next_functions, (x + 1).grad_fn.next_functions, (x / 2).grad_fn.next_functions
x = leaf(); a = (x * 2).grad_fn; b = (x * 3).grad_fn; out = a.next_functions[0][0] is b.next_functions[0][0]
x = leaf(); n = (x * 2).grad_fn; n.metadata["a"] = 1; out = n.metadata
x = leaf(); y = x * 2; out = y.grad_fn is y.grad_fn, y.grad_fn == y.grad_fn
x = leaf(); a = x * 2; b = x * 3; out = a.grad_fn._sequence_nr() < b.grad_fn._sequence_nr()
"""

THREADS = """
x = leaf(); y = (x * x).sum(); ev = []⏎def b():⏎  try: y.backward()⏎  except Exception as e: ev.append(str(e)[:40])⏎b(); ts = threading.Thread(target=b); ts.start(); ts.join(); out = ev, x.grad
leaf().cuda()
"""


@pytest.fixture(autouse=True)
def every_warning() -> Iterator[None]:
    """PyTorch's own warnings each time, not once in a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


@pytest.mark.parametrize("snippet", snippets(FLAGS + BACKWARD + VALUES + WRITES + CONVERSIONS + HOOKS + MODES + GRAPH + THREADS))
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, snippet) == shown(torch, snippet)
