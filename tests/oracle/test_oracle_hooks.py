"""Hooks against PyTorch's: of tensors, leaves, nodes, saved tensors and modules; the same lines in both libraries."""

from collections.abc import Iterator

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

LEAVES = """
x = leaf(); x.register_post_accumulate_grad_hook(lambda p: None); x.sum().backward(); out = x.grad
x = leaf(); L = []; x.register_post_accumulate_grad_hook(lambda p: L.append((p is x, p.grad.tolist()))); x.sum().backward(); x.sum().backward(); out = L
(leaf() * 2).register_post_accumulate_grad_hook(lambda p: None)
T([1.0]).register_post_accumulate_grad_hook(lambda p: None)
x = leaf(); x.register_post_accumulate_grad_hook(lambda p: 1); x.sum().backward()
x = leaf(); x.register_post_accumulate_grad_hook(lambda p: p); x.sum().backward(); out = x.grad
x = leaf(); L = []; h = x.register_post_accumulate_grad_hook(lambda p: L.append(1)); h.remove(); x.sum().backward(); out = L
x = leaf(); L = []; x.register_post_accumulate_grad_hook(lambda p: L.append(1)); ag.grad(x.sum(), x); out = L, x.grad
x = leaf(); L = []; x.register_post_accumulate_grad_hook(lambda p: L.append(1)); x.sum().backward(inputs=[x]); out = L, x.grad
x = leaf(); z = leaf(); L = []; x.register_post_accumulate_grad_hook(lambda p: L.append(1)); (x * z).sum().backward(inputs=[z]); out = L, x.grad, z.grad
x = leaf(); x.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None)); x.sum().backward(); out = x.grad
x = leaf()⏎def step(p):⏎  with torch.no_grad(): p.sub_(p.grad)⏎  p.grad = None⏎x.register_post_accumulate_grad_hook(step); (x * x).sum().backward(); out = x, x.grad
x = leaf(); L = []; x.register_hook(lambda g: L.append("tensor")); x.register_post_accumulate_grad_hook(lambda p: L.append("post")); x.sum().backward(); out = L
x = leaf(); a = (x * 2).grad_fn.next_functions[0][0]; L = []; a.register_prehook(lambda g: L.append("acc pre")); a.register_hook(lambda gi, go: L.append(("acc post", gi, go, x.grad.tolist()))); x.register_hook(lambda g: L.append("tensor")); x.register_post_accumulate_grad_hook(lambda p: L.append("post_acc")); (x * 2).sum().backward(); out = L
x = leaf(); a = (x * 2).grad_fn.next_functions[0][0]; a.register_prehook(lambda g: (g[0] * 10,)); (x * 2).sum().backward(); out = x.grad
x = leaf(); w = leaf(); L = []; x.register_post_accumulate_grad_hook(lambda p: L.append("x")); w.register_post_accumulate_grad_hook(lambda p: L.append("w")); (x * 2 + w * 3).sum().backward(); out = L
x = leaf(); L = []; x.register_post_accumulate_grad_hook(lambda p: L.append(torch.is_grad_enabled())); x.sum().backward(); out = L
"""

NODES = """
x = leaf(); L = []; y = x * 2; y.grad_fn.register_hook(lambda gi, go: L.append((gi, go))); y.sum().backward(); out = L
x = leaf(); y = x * 2; y.grad_fn.register_hook(lambda gi, go: (torch.zeros(2), None)); y.sum().backward(); out = x.grad
x = leaf(); y = x * 2; y.grad_fn.register_hook(lambda gi, go: (torch.zeros(2),)); y.sum().backward()
x = leaf(); y = x * x; y.grad_fn.register_hook(lambda gi, go: (torch.zeros(2),) * 3); y.sum().backward()
x = leaf(); y = x * 2; y.grad_fn.register_hook(lambda gi, go: gi[0]); y.sum().backward()
x = leaf(); y = x.exp(); y.grad_fn.register_hook(lambda gi, go: gi[0] * 2); y.sum().backward()
x = leaf(); y = x * 2; y.grad_fn.register_hook(lambda gi, go: (gi[0] * 2, gi[0])); y.sum().backward()
x = leaf(); y = x * 2; y.grad_fn.register_hook(lambda gi, go: (None, None)); y.sum().backward(); out = x.grad
x = leaf(); y = x * 2; y.grad_fn.register_hook(lambda gi, go: (gi[0].double(), None)); y.sum().backward()
x = leaf(); y = x * 2; y.grad_fn.register_hook(lambda gi, go: (gi[0][:1], None)); y.sum().backward()
x = leaf(); y = x * 2; y.grad_fn.register_hook(lambda gi, go: (5, None)); y.sum().backward()
x = leaf(); y = x * x; y.grad_fn.register_prehook(lambda g: 3); y.sum().backward()
x = leaf(); y = x * x; y.grad_fn.register_prehook(lambda g: g[0] * 2); y.sum().backward()
x = leaf(); y = x * x; y.grad_fn.register_prehook(lambda g: (g[0] * 2,)); y.sum().backward(); out = x.grad
x = leaf(); y = x * x; y.grad_fn.register_prehook(lambda g: (None,)); y.sum().backward(); out = x.grad
x = leaf(); y = x * x; y.grad_fn.register_prehook(lambda g: (g[0] * 2, g[0])); y.sum().backward()
x = leaf(); y = x * x; y.grad_fn.register_prehook(lambda g: [g[0] * 2]); y.sum().backward()
x = leaf(); y = x * x; y.grad_fn.register_prehook(lambda g: (g[0] * 2,)); y.grad_fn.register_prehook(lambda g: (g[0] * 5,)); y.sum().backward(); out = x.grad
x = leaf(); y = x * 2; L = []; y.register_hook(lambda g: L.append("tensor")); y.grad_fn.register_prehook(lambda go: L.append("prehook")); y.grad_fn.register_hook(lambda a, b: L.append("posthook")); y.sum().backward(); out = L
x = leaf(); y = x * 2; L = []; y.register_hook(lambda g: L.append(("before", g.tolist())) or g * 2); y.retain_grad(); y.register_hook(lambda g: L.append(("after", g.tolist())) or g * 5); y.sum().backward(); out = L, y.grad
x = leaf(); y = x * 2; y.retain_grad(); y.grad_fn.register_prehook(lambda g: (g[0] * 10,)); y.sum().backward(); out = y.grad, x.grad
x = leaf(); y = x * 2; h = y.grad_fn.register_hook(lambda a, b: (a[0] * 10, None)); h.remove(); y.sum().backward(); out = x.grad
x = leaf(); y = x * 2; L = []; y.grad_fn.register_hook(lambda a, b: L.append(1)); ag.grad(y.sum(), y); out = L
x = leaf(); y = x * 2; L = []; y.grad_fn.register_hook(lambda a, b: L.append(1)); ag.grad(y.sum(), x); out = L
x = leaf(); y = x * x; y.grad_fn.register_hook(lambda a, b: (a[0] * 2, a[1])); g, = ag.grad(y.sum(), x, create_graph=True); out = g, ag.grad(g.sum(), x)
x = leaf(); y = (x * 2).exp(); y.grad_fn.register_prehook(lambda g: (g[0] * 2,)); g, = ag.grad(y.sum(), x, create_graph=True); out = ag.grad(g.sum(), x)
x = leaf(); v, i = x.max(0); L = []; v.grad_fn.register_hook(lambda a, b: L.append((a, b))); v.backward(); out = L
x = leaf(); v, i = x.max(0); v.grad_fn.register_prehook(lambda g: (g[0] * 3, g[1])); v.backward(); out = x.grad
x = leaf(); y = x.sum(); y.grad_fn.register_hook(lambda a, b: (a[0] * 3,)); y.backward(); out = x.grad
x = leaf(); y = torch.where(x > 1.5, x, x * 2); L = []; y.grad_fn.register_hook(lambda a, b: L.append(a)); y.sum().backward(); out = L
x = leaf(); y = x * 1; v = y[:1]; v.mul_(3); L = []; y.grad_fn.register_hook(lambda a, b: L.append((a, b))); y.sum().backward(); out = L
x = leaf(); y = x * 2; y.sum().backward(); h = y.register_hook(lambda g: 0); out = y.requires_grad
x = leaf(); y = x * 1; y.register_hook(lambda g: g * 10); y.mul_(2); y.register_hook(lambda g: g * 100); y.sum().backward(); out = x.grad
x = leaf(); y = x * 1; h = y.register_hook(lambda g: g * 10); h2 = y.register_hook(lambda g: (h.remove(), g * 3)[1]); y.sum().backward(retain_graph=True); y.sum().backward(); out = x.grad
x = leaf(); n = (x * x).grad_fn; out = n(torch.ones(2))
x = leaf(); n = x.exp().grad_fn; out = n(torch.ones(2))
x = leaf(); n = (x * 2).grad_fn; out = n(None)
x = leaf(); n = (x * x).grad_fn; n(torch.ones(2), torch.ones(2))
x = leaf(); n = (x * x).grad_fn; n("a")
x = leaf(); n = (x * x).grad_fn⏎with torch.no_grad(): out = n(torch.ones(2))
x = leaf(); x.register_hook(lambda g: g.mul_(10)); (x * 2).sum().backward(); out = x.grad
"""

SEVERAL = """
from REL.autograd.graph import register_multi_grad_hook as r⏎a, b = leaf(), leaf(); L = []; r([a, b], lambda gs: L.append([None if g is None else g.tolist() for g in gs])); (a * 2).sum().backward(); out = L
from REL.autograd.graph import register_multi_grad_hook as r⏎a, b = leaf(), leaf(); L = []; r([a, b], lambda gs: L.append([None if g is None else g.tolist() for g in gs])); (a * 2 + b * 3).sum().backward(); (b * 3).sum().backward(); out = L
from REL.autograd.graph import register_multi_grad_hook as r⏎a, b = leaf(), leaf(); L = []; r([a, b], lambda g: L.append(g.tolist()), mode="any"); (a * 2 + b).sum().backward(); out = L
from REL.autograd.graph import register_multi_grad_hook as r⏎a, b = leaf(), leaf(); L = []; r([a, b], lambda g: L.append(g.tolist()), mode="any"); (a * 2 + b).sum().backward(); (a * 5).sum().backward(); out = L
from REL.autograd.graph import register_multi_grad_hook as r⏎r([leaf()], lambda g: 0, mode="foo")
from REL.autograd.graph import register_multi_grad_hook as r⏎r([T([1.0])], lambda g: 0)
from REL.autograd.graph import register_multi_grad_hook as r⏎out = len(r([T([1.0]), leaf()], lambda g: 0, mode="any").handles)
from REL.autograd.graph import register_multi_grad_hook as r⏎a, b = leaf(), leaf(); L = []; h = r([a, b], lambda gs: L.append(1)); h.remove(); (a * b).sum().backward(); out = L
from REL.autograd.graph import register_multi_grad_hook as r⏎a = leaf(); y = a * 2; z = y * 3; L = []; r([y, z, a], lambda gs: L.append([g.tolist() for g in gs])); z.sum().backward(); out = L
from REL.autograd.graph import register_multi_grad_hook as r⏎a, b = leaf(), leaf(); L = []; r([a, b], lambda gs: L.append(1))⏎with r([a], lambda gs: L.append(2)): (a * b).sum().backward()⏎(a * b).sum().backward(); out = L
"""

SAVED = """
with ag.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t * 2): x = leaf(); y = x * x⏎y.sum().backward(); out = x.grad
L = []⏎with ag.graph.saved_tensors_hooks(lambda t: (L.append(t.tolist()), t)[1], lambda t: t): x = leaf(); y = x * x; z = y.exp()⏎z.sum().backward(); out = L, x.grad
L = []⏎with ag.graph.saved_tensors_hooks(lambda t: t, lambda t: (L.append(1), t)[1]): x = leaf(); z = (x * x).exp()⏎z.sum().backward(retain_graph=True); z.sum().backward(); out = L, x.grad
with ag.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t): y = T([1.0, 2.0]) * leaf()
with ag.graph.saved_tensors_hooks(lambda t: t, lambda t: 5): x = leaf(); y = x * x⏎y.sum().backward()
with ag.graph.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t): x = leaf(); y = x * x
with ag.graph.saved_tensors_hooks(lambda t: t, lambda t: 1 / 0): x = leaf(); y = x * x⏎y.sum().backward()
with ag.graph.saved_tensors_hooks(lambda t: t, lambda t: t): x = leaf(); y = x * x⏎y.sum().backward(); y.sum().backward()
with ag.graph.disable_saved_tensors_hooks("no hooks please"):⏎  with ag.graph.saved_tensors_hooks(lambda t: t, lambda t: t): pass
with ag.graph.disable_saved_tensors_hooks("a"):⏎  with ag.graph.disable_saved_tensors_hooks("b"): pass⏎  with ag.graph.saved_tensors_hooks(lambda t: t, lambda t: t): pass
with ag.graph.disable_saved_tensors_hooks("a"): pass⏎with ag.graph.saved_tensors_hooks(lambda t: t, lambda t: t): out = 1
with ag.graph.saved_tensors_hooks(lambda t: t, lambda t: t):⏎  with ag.graph.disable_saved_tensors_hooks("a"): pass
with ag.graph.disable_saved_tensors_hooks("a"):⏎  with ag.graph.save_on_cpu(): pass
with ag.graph.save_on_cpu(): x = leaf(); y = x * x⏎y.sum().backward(); out = x.grad
with ag.graph.save_on_cpu(pin_memory=False): x = leaf(); y = (x * x).exp()⏎g, = ag.grad(y.sum(), x, create_graph=True); out = g, ag.grad(g.sum(), x)
with ag.graph.saved_tensors_hooks(lambda t: ("p", t.detach().numpy().tolist()), lambda p: torch.tensor(p[1])): x = leaf(); y = x * x⏎y.sum().backward(); out = x.grad
with ag.graph.saved_tensors_hooks(lambda t: t * 3, lambda t: t):⏎  with ag.graph.saved_tensors_hooks(lambda t: t * 5, lambda t: t): x = leaf(); y = x * x⏎  z = x * x⏎y.sum().backward(); out = x.grad; x.grad = None; z.sum().backward(); out = out, x.grad
with ag.graph.saved_tensors_hooks(lambda t: t.requires_grad, lambda t: T([float(t)] * 2)): x = leaf(); y = x * x⏎y.sum().backward(); out = x.grad
L = []⏎with ag.graph.saved_tensors_hooks(lambda t: (L.append(torch.is_grad_enabled()), t)[1], lambda t: (L.append(torch.is_grad_enabled()), t)[1]): x = leaf(); y = x.exp()⏎y.sum().backward(); out = L
with ag.graph.saved_tensors_hooks(lambda t: t, lambda t: t): x = leaf(); y = x * x; z = x.clone(); z.mul_(y)⏎z.sum().backward(); out = x.grad
with ag.graph.saved_tensors_hooks(lambda t: t + 0, lambda t: t): x = leaf(); y = x * 1; z = y * y; y.add_(1)⏎z.sum().backward(); out = x.grad
with ag.graph.saved_tensors_hooks(lambda t: t + 0, lambda t: t): x = leaf(); y = x * 1; v = y[:1]; v.mul_(x[1:])⏎y.sum().backward(); out = x.grad
L = []⏎with ag.graph.saved_tensors_hooks(lambda t: (L.append(tuple(t.shape)), t)[1], lambda t: t): x = torch.ones(2, 3, requires_grad=True); w = torch.ones(3, 2, requires_grad=True); y = (x @ w).log_softmax(1)⏎y.sum().backward(); out = sorted(L), x.grad, w.grad
with torch.no_grad():⏎  with ag.graph.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t): out = leaf() * leaf()
x = leaf(); y = x * x; y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t * 2); y.sum().backward(); out = x.grad
x = leaf(); y = x * x; y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t); y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
x = leaf(); y = x * x; y.sum().backward(); y.grad_fn._saved_self
x = leaf(); y = x * x; y.sum().backward(); y.grad_fn._raw_saved_self
x = leaf(); y = x * x; y.sum().backward(); y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
x = leaf(); y = x.exp(); y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t * 2); y.sum().backward(); out = x.grad
x = leaf(); y = x.exp(); y.grad_fn._raw_saved_result.register_hooks(lambda t: 1 / 0, lambda t: t * 2)
x = leaf(); y = x.exp(); y.grad_fn._raw_saved_result.register_hooks(lambda t: t.add_(1), lambda t: t * 2)
x = leaf(); y = x * T([1.0, 2.0]); y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
with ag.graph.saved_tensors_hooks(lambda t: t, lambda t: t): x = leaf(); y = x * x⏎y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
with ag.graph.allow_mutation_on_saved_tensors(): x = leaf(); y = x * 1; z = y * y; y.zero_(); z.sum().backward(); out = x.grad
with ag.graph.allow_mutation_on_saved_tensors(): x = leaf(); y = x.exp(); y.mul_(3); y.sum().backward(); out = x.grad
with ag.graph.allow_mutation_on_saved_tensors(): x = leaf(); y = x * 1; z = y * y; y[:1].zero_(); z.sum().backward(); out = x.grad
with ag.graph.allow_mutation_on_saved_tensors(): x = leaf(); y = x * 1; z = y * y; y.zero_()⏎z.sum().backward()
with ag.graph.allow_mutation_on_saved_tensors():⏎  with ag.graph.allow_mutation_on_saved_tensors(): pass
with ag.graph.allow_mutation_on_saved_tensors(): x = leaf(); y = x * 1; z = y * y; y.zero_(); w = y * y; y.fill_(7.0); (z + w).sum().backward(); out = x.grad
"""

HANDLES = """
import pickle⏎x = leaf(); x.register_hook(print); pickle.dumps(x)
import pickle⏎from REL.utils.hooks import unserializable_hook⏎@unserializable_hook⏎def f(g): pass⏎x = leaf(); x.register_hook(f); out = pickle.loads(pickle.dumps(x))
x = leaf()⏎with x.register_hook(lambda g: g * 10): x.sum().backward()⏎x.sum().backward(); out = x.grad
from REL.utils.hooks import RemovableHandle⏎h = leaf().register_hook(lambda g: g); out = isinstance(h, RemovableHandle), type(h).__name__
M⏎with m.register_forward_hook(lambda m, i, o: o * 0): a = m(torch.ones(2))⏎out = a, m(torch.ones(2))
import pickle⏎M h = m.register_forward_hook(print); h2 = pickle.loads(pickle.dumps(h)); h2.remove(); out = h2.id == h.id
from REL.utils.hooks import RemovableHandle⏎from collections import OrderedDict⏎d, e = OrderedDict(), OrderedDict(); h = RemovableHandle(d, extra_dict=e); d[h.id] = 1; e[h.id] = 2; h.remove(); out = d, e
from REL.utils.hooks import RemovableHandle⏎from collections import OrderedDict⏎d, e, f = OrderedDict(), OrderedDict(), OrderedDict(); h = RemovableHandle(d, extra_dict=[e, f]); d[h.id] = e[h.id] = f[h.id] = 1; h.remove(); out = d, e, f
"""

MODULE = "m = nn.Linear(2, 1); m.weight.data.fill_(3.0); m.bias.data.fill_(1.0); L = []; "
MODULES = """
M h = m.register_full_backward_hook(lambda m, gi, go: L.append((gi, go))); x = leaf(); m(x).sum().backward(); out = L, x.grad
M m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,)); x = leaf(); m(x).sum().backward(); out = x.grad, m.weight.grad
M m.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0])); x = leaf(); m(x).sum().backward()
M m.register_full_backward_hook(lambda m, gi, go: None); m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,)); m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 5,)); x = leaf(); m(x).sum().backward(); out = x.grad
M m.register_full_backward_hook(lambda m, gi, go: L.append("a")); m.register_full_backward_hook(lambda m, gi, go: L.append("b"), prepend=True); m(leaf()).sum().backward(); out = L
M m.register_full_backward_pre_hook(lambda m, go: (go[0] * 10,)); x = leaf(); m(x).sum().backward(); out = m.bias.grad, x.grad
M m.register_full_backward_pre_hook(lambda m, go: (go[0], go[0])); m(leaf()).sum().backward()
M m.register_full_backward_pre_hook(lambda m, go: L.append("pre")); m.register_full_backward_hook(lambda m, gi, go: L.append("post")); m.register_full_backward_pre_hook(lambda m, go: L.append("first"), prepend=True); m(leaf()).sum().backward(); out = L
M m.register_full_backward_hook(lambda m, gi, go: L.append((gi, go))); m(torch.ones(2)).sum().backward(); out = L, m.weight.grad
M m.register_full_backward_hook(lambda m, gi, go: (torch.ones(2),)); m(torch.ones(2)).sum().backward()
M m.register_full_backward_hook(lambda m, gi, go: L.append(1))⏎with torch.no_grad(): out = m(leaf()), L
M m.register_full_backward_hook(lambda m, gi, go: L.append(1)); h = m.register_full_backward_hook(lambda m, gi, go: L.append(2)); h.remove(); m(leaf()).sum().backward(); out = L
M m.register_full_backward_hook(lambda m, gi, go: L.append(1)); m.register_backward_hook(lambda m, gi, go: 0)
M m.register_backward_hook(lambda m, gi, go: 0); m.register_full_backward_hook(lambda m, gi, go: 0)
M m.register_backward_hook(lambda m, gi, go: L.append((len(gi), go))); m(leaf()).sum().backward(); out = L
m = nn.ReLU(); L = []; m.register_backward_hook(lambda m, gi, go: L.append((gi, go))); x = leaf(); m(x * 1).sum().backward(); out = L
m = nn.ReLU(inplace=True); m.register_full_backward_hook(lambda m, gi, go: None); x = leaf(); y = m(x * 1); y.sum().backward()
m = nn.ReLU(); m.register_full_backward_hook(lambda m, gi, go: None); x = leaf(); y = m(x * 1); y.add_(1)
M m.register_full_backward_hook(lambda m, gi, go: None); y = m(leaf()); out = y, y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()
class Two(nn.Module):⏎  def forward(self, a, b): return a * b, a + 1⏎m = Two(); L = []; m.register_full_backward_hook(lambda m, gi, go: L.append((gi, go))); a, b = leaf(), leaf(3.0, 4.0); p, q = m(a, b); p.sum().backward(); out = L, a.grad, b.grad
class Two(nn.Module):⏎  def forward(self, a, b): return a * b, a + 1⏎m = Two(); L = []; m.register_full_backward_hook(lambda m, gi, go: L.append((gi, go))); a = leaf(); p, q = m(a, T([1.0, 1.0])); (p + q).sum().backward(); out = L, a.grad
class D(nn.Module):⏎  def forward(self, a): return {"a": a * 2}⏎m = D(); m.register_full_backward_hook(lambda m, gi, go: 1 / 0); out = m(leaf())["a"]
class D(nn.Module):⏎  def forward(self): return T([1.0], requires_grad=True) * 2⏎m = D(); m.register_full_backward_hook(lambda m, gi, go: 1 / 0); m()
M m.register_full_backward_hook(lambda m, gi, go: L.append(1)); x = leaf(); y = m(x).sum(); g, = ag.grad(y, x, create_graph=True); out = g, L
M m.register_forward_hook(lambda m, a, o: o * 2); x = leaf(); out = m(x)
M m.register_forward_pre_hook(lambda m, a: a[0] * 2); out = m(T([1.0, 1.0]))
M m.register_forward_pre_hook(lambda m, a, k: ((a[0] * 2,), k), with_kwargs=True); out = m(T([1.0, 1.0]))
M m.register_forward_pre_hook(lambda m, a, k: 5, with_kwargs=True); out = m(T([1.0, 1.0]))
M m.register_forward_hook(lambda m, a, k, o: (a, k, o), with_kwargs=True); out = m(input=T([1.0, 1.0]))
M m.register_forward_hook(lambda m, a, o: L.append(o), always_call=True)⏎try: m(torch.ones(5))⏎except RuntimeError: pass⏎out = L
M m.register_forward_hook(lambda m, a, o: 1 / 0, always_call=True)⏎m(torch.ones(5, 3, 1, 1))
M m.register_forward_hook(lambda m, a, o: L.append(1)); m.register_forward_hook(lambda m, a, o: L.append(2), prepend=True); m(torch.ones(2)); out = L
import copy⏎M m.register_forward_hook(lambda m, a, o: o * 0); out = copy.deepcopy(m)(torch.ones(2))
"""

STATE = """
M m.register_state_dict_pre_hook(lambda m, p, k: L.append((p, k))); m.state_dict(prefix="a."); out = L
M m.register_state_dict_post_hook(lambda m, s, p, meta: s.pop("bias") and None); out = list(m.state_dict())
M m.register_state_dict_post_hook(lambda m, s, p, meta: s); m.state_dict()
M m.register_state_dict_post_hook(lambda m, s, p, meta: L.append((sorted(s), p, meta))); m.state_dict(); out = L
M m._register_state_dict_hook(lambda m, s, p, meta: {"k": 1}); out = m.state_dict()
M f = lambda m, s, p, meta: None; m.register_state_dict_post_hook(f); m._register_state_dict_hook(f)
M m.register_load_state_dict_pre_hook(lambda m, s, p, meta, strict, a, b, c: L.append((sorted(s), p, strict, a, b, c))); m.load_state_dict(m.state_dict()); out = L
M m.register_load_state_dict_pre_hook(lambda m, s, *a: s.pop("bias") and None); m.load_state_dict(m.state_dict())
M m._register_load_state_dict_pre_hook(lambda s, p, *a: L.append(p)); m.load_state_dict(m.state_dict()); out = L
M m.register_load_state_dict_post_hook(lambda m, keys: L.append(tuple(keys))); m.load_state_dict({}, strict=False); out = L
M m.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear()); out = m.load_state_dict({})
M m.register_load_state_dict_post_hook(lambda m, keys: 1); m.load_state_dict(m.state_dict())
M s = nn.Sequential(m); m.register_state_dict_pre_hook(lambda m, p, k: L.append(p)); m.register_load_state_dict_post_hook(lambda m, k: L.append("post")); s.load_state_dict(s.state_dict()); out = L
M h = m.register_load_state_dict_pre_hook(lambda *a: 1 / 0); h.remove(); m.register_state_dict_pre_hook(lambda *a: 1 / 0).remove(); out = m.load_state_dict(m.state_dict())
"""

GLOBAL = """
from REL.nn.modules import module as g⏎M⏎with g.register_module_forward_hook(lambda m, a, o: o * 0): out = m(torch.ones(2))
from REL.nn.modules import module as g⏎M⏎with g.register_module_forward_pre_hook(lambda m, a: (a[0] * 0,)): out = m(torch.ones(2))
from REL.nn.modules import module as g⏎M⏎with g.register_module_full_backward_hook(lambda m, gi, go: L.append((gi, go))): m(leaf()).sum().backward()⏎out = L
from REL.nn.modules import module as g⏎M⏎with g.register_module_full_backward_pre_hook(lambda m, go: (go[0] * 3,)): m(leaf()).sum().backward()⏎out = m.bias.grad
from REL.nn.modules import module as g⏎M m.register_forward_hook(lambda m, a, o: L.append("own"))⏎with g.register_module_forward_hook(lambda m, a, o: L.append("global")): m(torch.ones(2))⏎out = L
from REL.nn.modules import module as g⏎M⏎with g.register_module_parameter_registration_hook(lambda m, n, p: L.append(n)): nn.Linear(2, 1)⏎out = L
from REL.nn.modules import module as g⏎M⏎with g.register_module_buffer_registration_hook(lambda m, n, b: L.append(n)): m.register_buffer("b", torch.ones(2))⏎out = L
from REL.nn.modules import module as g⏎M⏎with g.register_module_module_registration_hook(lambda m, n, c: L.append(n)): nn.Sequential(m); m.child = nn.ReLU()⏎out = L
from REL.nn.modules import module as g⏎M⏎with g.register_module_forward_hook(lambda m, a, k, o: (k, o), with_kwargs=True): out = m(input=torch.ones(2))
from REL.nn.modules import module as g⏎M⏎with g.register_module_forward_hook(lambda m, a, o: 1 / 0, always_call=True): m(torch.ones(5, 3, 1, 1))
"""


@pytest.fixture(autouse=True)
def every_warning() -> Iterator[None]:
    """PyTorch's own warnings each time, not once in a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


def prepared(snippet: str, library: str) -> str:
    """`REL` is the library's name, a line that begins with `M` has the module `m` before it."""
    lines = [MODULE + line[2:] if line == "M" or line.startswith("M ") else line for line in snippet.split("⏎")]
    return "⏎".join(lines).replace("REL", library)


@pytest.mark.parametrize("snippet", snippets(LEAVES + NODES + SEVERAL + SAVED + HANDLES + MODULES + STATE + GLOBAL))
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, prepared(snippet, "numgrad")) == shown(torch, prepared(snippet, "torch"))
