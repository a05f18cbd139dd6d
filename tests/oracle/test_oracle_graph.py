"""The graph seen from outside, and the arguments of backward and grad, against PyTorch's: the same lines in both."""

from collections.abc import Iterator

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

NODES = """
x = leaf(); w = leaf(); y = (x * w).sum(); n = y.grad_fn; m = n.next_functions[0][0]; a = m.next_functions[0][0]; out = n, n.name(), n.next_functions, m.next_functions, a.name(), a.variable is x, a.next_functions
x = leaf(); out = (x * T([1.0, 1.0])).grad_fn.next_functions
x = leaf(); n = (x * 2).grad_fn; n.metadata["a"] = 1; out = n.metadata
x = leaf(); out = isinstance((x * 2).grad_fn, ag.graph.Node), ag.graph.Node in type((x * 2).grad_fn).__mro__
x = leaf(); y = x * 1; y[:1].mul_(2); out = isinstance(y.grad_fn, ag.graph.Node), isinstance((x * 1).grad_fn.next_functions[0][0], ag.graph.Node)
out = isinstance(leaf(), ag.graph.Node), issubclass(int, ag.graph.Node), isinstance(None, ag.graph.Node)
class F(ag.Function):⏎  @staticmethod⏎  def forward(ctx, x): return x * 2⏎out = isinstance(F.apply(leaf()).grad_fn, ag.graph.Node)
ag.graph.Node()
x = leaf(); a = x * 2; b = x * 3; out = a.grad_fn._sequence_nr() < b.grad_fn._sequence_nr()
x = leaf(); out = leaf().output_nr, (leaf() * 2).output_nr, leaf().max(0)[0].output_nr
x = leaf(); x.grad_fn = 3
x = leaf(); x.is_leaf = False
x = leaf(); x.output_nr = 1
x = leaf(); v = x.view(2, 1)[0]; out = v._base is x, x._base, v._is_view(), x._is_view()
x = leaf(); a = (x * 2).grad_fn; b = (x * 3).grad_fn; out = a.next_functions[0][0] is b.next_functions[0][0]
x = leaf(); v = x._version; ag.graph.increment_version(x); out = v, x._version
x, y = leaf(), leaf(); ag.graph.increment_version([x, y]); ag.graph.increment_version(t for t in (x,)); out = x._version, y._version
x = leaf(); y = x * x; ag.graph.increment_version(x); y.sum().backward()
with torch.inference_mode(): t = torch.ones(2)⏎ag.graph.increment_version(t)
x = leaf(); n = (x * x).grad_fn; out = n(torch.ones(2)), (x * 2).grad_fn(T([3.0, 4.0]))
"""

EDGES = """
x = leaf(); y = x * 2; e = ag.graph.get_gradient_edge(y); out = type(e).__name__, e.node.name(), e.output_nr, e.node is y.grad_fn, e._fields
x = leaf(); e = ag.graph.get_gradient_edge(x); out = e.node.name(), e.node.variable is x, e.output_nr
ag.graph.get_gradient_edge(T([1.0]))
x = leaf(); y = x * 2; e = ag.graph.get_gradient_edge(y); out = ag.grad(y.sum(), e)
x = leaf(); out = ag.grad((x * x).sum(), ag.graph.get_gradient_edge(x))
x = leaf(); out = ag.grad((x * x).sum(), [ag.graph.get_gradient_edge(x), x])
x = leaf(); y = (x * 2).sum(); e = ag.graph.get_gradient_edge(y); ag.backward(e); out = x.grad
x = leaf(); e = ag.graph.get_gradient_edge(x * 2); ag.backward(e)
x = leaf(); e = ag.graph.get_gradient_edge(x * 2); ag.backward(e, torch.ones(2)); out = x.grad
x = leaf(); e = ag.graph.get_gradient_edge(x * 2); out = ag.grad(e, x, T([1.0, 3.0]))
x = leaf(); e = ag.graph.get_gradient_edge(x * 2); ag.grad(e, x, torch.ones(3))
x = leaf(); e = ag.graph.get_gradient_edge(x * 2); out = ag.grad(e, x, torch.ones(2).double())
x = leaf(); e = ag.graph.get_gradient_edge(x * 2); out = ag.grad([e, x.sum()], [x], [torch.ones(2), None])
x = leaf(); e = ag.graph.get_gradient_edge(x); (x * 2).sum().backward(inputs=[e]); out = x.grad
x = leaf(); e = ag.graph.get_gradient_edge(x); (x * 2).sum().backward(inputs=e); out = x.grad
x = leaf(); y = x * 2; e = ag.graph.get_gradient_edge(y); y.sum().backward(inputs=[e]); out = y.retains_grad, x.grad
x, z = leaf(), leaf(); out = ag.grad((x * 2).sum(), ag.graph.get_gradient_edge(z), allow_unused=True)
x, z = leaf(), leaf(); ag.grad((x * 2).sum(), ag.graph.get_gradient_edge(z), materialize_grads=True)
x = leaf(); y = x * 2; e = ag.graph.get_gradient_edge(y); z = y.sum(); del y; out = ag.grad(z, e)
x = leaf(); v, i = x.max(0); e = ag.graph.get_gradient_edge(v); out = e.node.name(), ag.grad(v * 2, e)
x = leaf(); y = x * 2; g, = ag.grad((y * y).sum(), ag.graph.get_gradient_edge(y), create_graph=True); out = g, ag.grad(g.sum(), x)
"""

ARGUMENTS = """
x = leaf(); ag.backward([x.sum(), x.sum()], [T(1.0)])
x = leaf(); ag.backward([x.sum()], [T(1.0), T(1.0)])
x = leaf(); ag.grad([x.sum(), x.sum()], x, grad_outputs=[T(1.0)])
x = leaf(); ag.grad(x.sum(), x, grad_outputs=[T(1.0), None])
x = leaf(); ag.grad(x * 2, x, grad_outputs=[1.0])
x = leaf(); ag.grad(x * 2, x, grad_outputs="a")
x = leaf(); ag.grad(x * 2, x, grad_outputs=5)
x = leaf(); (x * 2).backward(torch.ones(2, 1))
x = leaf(); (x * 2).backward(torch.ones(()))
x = leaf(); y = x.sum(); y.backward(torch.ones(1))
x = leaf(); (x * 2).backward(torch.ones(2, dtype=torch.complex64))
x = T([1.0 + 1j], requires_grad=True); (x * x).sum().backward()
x = T([1.0 + 1j], requires_grad=True); (x * x).backward(torch.ones(1))
x = T([1.0 + 1j], requires_grad=True); (x * x).backward(torch.ones(1, dtype=torch.complex64)); out = x.grad
x = T([1.0 + 1j], requires_grad=True); (x * x).backward(torch.ones(1, dtype=torch.complex128)); out = x.grad
x = leaf(); y = x * 2; y.backward(torch.ones(2, dtype=torch.int64)); out = x.grad
x = leaf(); (x * 2).sum().backward(inputs=[])
x = leaf(); (x * 2).sum().backward(inputs=())
x = leaf(); (x * 2).sum().backward(inputs={})
x = leaf(); (x * 2).sum().backward(inputs={"x": x}); out = x.grad
x = leaf(); out = ag.grad((x * 2).sum(), {"x": x})
x, z = leaf(), leaf(); out = ag.grad((x * z).sum(), {"x": x, "z": z}, allow_unused=True)
from collections import OrderedDict⏎x = leaf(); ag.grad((x * 2).sum(), OrderedDict(x=x))
from collections import OrderedDict⏎x = leaf(); (x * 2).sum().backward(inputs=OrderedDict(x=x))
x = leaf(); ag.grad((x * 2).sum(), {})
x = leaf(); (x * 2).sum().backward(inputs=[3])
x = leaf(); (x * 2).sum().backward(inputs=[T([1.0])])
x = leaf(); ag.grad((x * 2).sum(), [x, None])
x = leaf(); y = x * 2; z = y * 3; z.sum().backward(inputs=[y]); out = y.retains_grad, x.grad; z.sum().backward(inputs=[x, y]); out = out, x.grad
x = leaf(); y = x * 2; z = (y * 3).sum(); z.backward(inputs=[x, y]); out = x.grad, y.grad
x = leaf(); (i for i in ()); ag.grad((x * 2).sum(), (t for t in [x]))
out = ag.backward([], None)
out = ag.backward(())
ag.backward(5)
ag.backward([5])
ag.backward(None)
x, z = leaf(), leaf(); out = ag.grad((x * 2).sum(), [x, z], allow_unused=True)
x, z = leaf(), leaf(); ag.grad((x * 2).sum(), [x, z], allow_unused=False)
x, z = leaf(), leaf(); ag.grad((x * 2).sum(), [z, x])
x, z = leaf(), leaf(); out = ag.grad((x * 2).sum(), [x, z], materialize_grads=True)
x, z = leaf(), leaf(); r = ag.grad((x * x).sum(), [x, z], materialize_grads=True, create_graph=True); out = [t.requires_grad for t in r], r
x, z = leaf(), leaf(); out = ag.grad((x * 2).sum(), [x, z], allow_unused=True, materialize_grads=True)
x = leaf(); out = ag.grad(x.sum(), x, only_inputs=False)
x = leaf(); y = x * x; out = ag.grad(y, x, grad_outputs=torch.eye(2), is_grads_batched=True)
x = leaf(); y = x * x; ag.grad(y, x, grad_outputs=torch.ones(2), is_grads_batched=True)
x = leaf(); y = x * x; ag.grad(y, x, grad_outputs=torch.ones(2, 3), is_grads_batched=True)
x = leaf(); y = x * x; ag.grad(y, x, grad_outputs=T(1.0), is_grads_batched=True)
x, z = leaf(), leaf(); y = x * x; out = ag.grad(y, [x, z], grad_outputs=torch.eye(2), is_grads_batched=True, allow_unused=True)
x = leaf(); y = x * x; z = x.exp(); out = ag.grad([y, z], x, grad_outputs=[torch.eye(2), torch.eye(2)], is_grads_batched=True)
x = leaf(); y = x * x * x; g, = ag.grad(y, x, grad_outputs=torch.eye(2), is_grads_batched=True, create_graph=True); out = ag.grad(g.sum(), x)
x = leaf(); y = (x * x).sum(); y.backward(); y.backward()
x = leaf(); y = (x * x).sum(); y.backward(retain_graph=True); y.backward(); y.backward()
x = leaf(); y = (x * x).sum(); ag.grad(y, x); ag.grad(y, x)
x = leaf(); y = (x * x).sum(); y.backward(retain_graph=False)
x = leaf(); y = (x * x).sum(); y.backward(create_graph=True); out = x.grad
x = leaf(); y = (x * x).sum(); y.backward(create_graph=True, retain_graph=False); y.backward()
x = leaf(); (x + 1).sum().backward(torch.tensor(2.0)); out = x.grad
x = leaf(); y = x + 1; y.sum().backward(); (y * 2).sum().backward(); out = x.grad
x = leaf(); s = x * x; s.sum().backward(); (s * 3).sum().backward()
x = leaf(); out = ag.grad([x.sum(), (x * 2).sum()], x, [None, T(3.0)])
x = leaf(); ag.grad([x.sum(), x * 2], x, [None, None])
x = leaf(); ag.grad([x.sum(), T(1.0)], x)
x = leaf(); out = ag.grad(x, x, torch.ones(2))
x = leaf(); x.backward(torch.ones(2)); out = x.grad
x = leaf(3.0); x.backward(); out = x.grad
x = leaf(); g = torch.ones(2); (x * 1).backward(g); out = x.grad is g, x.grad.data_ptr() == g.data_ptr()
x = leaf(); g = torch.ones(2); x.backward(g); out = x.grad is g; x.grad.add_(1); out = out, g
x = leaf(); y = x * 2; y.backward(gradient=torch.ones(2), inputs=[x]); out = x.grad
ag.grad(5, leaf())
ag.grad(leaf().sum(), 5)
x = leaf(); ag.grad(x.sum(), "x")
x = leaf(); x.sum().backward(1, 2, 3, 4, 5)
x = leaf(); y = x * 2; L = []; y.register_hook(lambda g: L.append(y.grad_fn)); y.sum().backward(); out = len(L)
x = leaf(); L = []; y = (x * x).sum(); z = (x * 3).sum(); x.register_hook(lambda g: L.append(1) or (z.backward() if len(L) == 1 else None)); y.backward(); out = L, x.grad
"""

GRAD = """
x = leaf(); x.sum().backward(); g = x.grad; x.sum().backward(); out = x.grad is g, g
x = leaf(); (x * x).sum().backward(); g = x.grad; (x * x).sum().backward(create_graph=True); out = g is x.grad, x.grad
x = leaf(); x.grad = torch.zeros(2); g = x.grad; x.sum().backward(); out = g is x.grad, g, g._version
x = torch.ones(2, 3, requires_grad=True); x.t().sum().backward(); out = x.grad.stride()
x = torch.ones(3, 2).t().requires_grad_(); (x * 2).sum().backward(); out = x.grad.stride(), x.stride()
x = torch.ones(2, 3, requires_grad=True); (x.t() * torch.ones(3, 2)).sum().backward(); out = x.grad.stride()
x = torch.ones(1, requires_grad=True); x.expand(3).sum().backward(); out = x.grad
x = leaf(); x.grad = torch.ones(2).expand(2); x.sum().backward(); out = x.grad
x = torch.ones(4, 3)[:, :2].requires_grad_(); (x * 2).sum().backward(); out = x.stride(), x.grad.stride()
x = torch.ones(2, 3, 4).permute(2, 0, 1).requires_grad_(); x.sum().backward(); x.sum().backward(); out = x.stride(), x.grad.stride(), x.grad.sum()
x = torch.ones(1, 3).expand(2, 3).requires_grad_(); x.sum().backward(); out = x.stride(), x.grad.stride()
x = torch.ones(3, 2).t().requires_grad_(); x.backward(torch.ones(2, 3)); out = x.grad.stride()
x = leaf(); (x * x).sum().backward(create_graph=True); g = x.grad; (x * x).sum().backward(); out = g is x.grad, g
x = leaf(); x.grad = 3
x = leaf(); x.grad = "a"
x = leaf(); x.grad = torch.ones(3)
x = leaf(); x.grad = torch.ones(2, 1)
x = leaf(); x.grad = torch.ones(2, dtype=torch.float64)
x = leaf(); x.grad = x
x = leaf(); x.grad = torch.ones(2); x.grad = None; out = x.grad
x = leaf(); x.grad = torch.ones(2); del x.grad; out = x.grad
y = leaf() * 2; out = y.grad
y = leaf() * 2; y.grad = torch.ones(2); out = y.grad
x = leaf(); x.grad = torch.ones(2, requires_grad=True); x.sum().backward(); out = x.grad, x.grad.requires_grad
x = leaf(); out = x.grad_dtype
x = leaf(); (x * 2).grad_dtype
x = leaf(); y = x * 2; y.grad_dtype = torch.float64
x = leaf(); x.grad_dtype = None; x.grad = torch.ones(2, dtype=torch.float64); out = x.grad.dtype
x = leaf(); x.grad = torch.ones(2); x.grad_dtype = torch.float64
x = leaf(); x.grad_dtype = torch.float64; x.sum().backward(); x.sum().backward(); out = x.grad, x.grad_dtype
x = leaf(); x.grad_dtype = None; x.sum().backward(); out = x.grad, x.grad_dtype
x = leaf(); x.grad_dtype = torch.float64; L = []; x.register_hook(lambda g: L.append(g)); x.sum().backward(); out = L
x = leaf(); x.grad_dtype = torch.float64; out = ag.grad((x * x).sum(), x)
x = leaf(); x.grad_dtype = 5
x = leaf(); x.grad_dtype = torch.float64; x.grad = torch.ones(2)
x = leaf(); x.grad_dtype = None; x.grad = torch.ones(2, dtype=torch.float64); x.sum().backward(); out = x.grad
out = torch.autograd.Variable(T([1.0]), requires_grad=True), isinstance(leaf(), torch.autograd.Variable)
x = leaf(); y = x * 2; y.retain_grad(); y.sum().backward(); out = y.grad; y.sum().backward(); out = out, y.grad
x = leaf(); y = x * 2; y.retain_grad(); y.retain_grad(); ag.grad(y.sum(), y); out = y.grad
x = leaf(); L = []; y = x * 2; y.retain_grad(); z = y * 3; z.retain_grad(); z.sum().backward(); out = y.grad, z.grad
"""

SAVED = "x*y;x*2;x*2.0;x/y;x/2;x.exp();x.log();x.sqrt();x.tanh();x.sigmoid();x.relu();x.abs();x.sin();x.cos();x.erf();x.sum(0);x.max();x@y;x@z;x.mv(z);torch.dot(z,z);x.log_softmax(1);torch.maximum(x,y);x.prod();x.logsumexp(1);x.atan2(y);F.gelu(x);F.silu(x);x.clone().mul_(y);x.clone().exp_();x.rsqrt();x.reciprocal();x**2;x**2.5;x**y;x.max(0)[0];torch.where(x>1,x,y);x.view(4);x.expand(2,2,2);x[0];x.unsqueeze(0);x.transpose(0,1)"


@pytest.fixture(autouse=True)
def every_warning() -> Iterator[None]:
    """PyTorch's own warnings each time, not once in a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


@pytest.mark.parametrize("snippet", snippets(NODES + EDGES + ARGUMENTS + GRAD))
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, snippet) == shown(torch, snippet)


@pytest.mark.parametrize("expression", SAVED.split(";"))
def test_saved_tensors_are_attributes(expression: str) -> None:
    """What a node saves has PyTorch's name and value wherever both save it; numgrad may save less."""
    snippet = (
        "x = T([[1.0, 2.0], [3.0, 4.0]], requires_grad=True); y = T([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)⏎"
        f"z = T([1.0, 2.0], requires_grad=True)⏎n = ({expression}).grad_fn⏎"
        "out = {a: getattr(n, a) for a in dir(n) if a.startswith('_saved')}"
    )
    ours, theirs = ({}, {})
    for library, found in ((numgrad, ours), (torch, theirs)):
        scope = {"torch": library, "T": library.tensor, "F": library.nn.functional}
        exec(snippet.replace("⏎", "\n"), scope)
        found |= {name: repr(value).replace("numgrad", "torch") for name, value in scope["out"].items() if value is not None}
    common = {name: value for name, value in ours.items() if name in theirs}
    assert common == {name: theirs[name] for name in common}
    saved_here = {name for name in ours if name in ("_saved_self", "_saved_other", "_saved_result")}
    assert saved_here <= set(theirs), "a name that PyTorch does not have"
