"""`autograd.Function` against PyTorch's: the same lines in both libraries.

`F1(forward; backward)` in a snippet stands for a Function `F1` whose forward and backward have these bodies.
"""

import re
from collections.abc import Iterator

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

FORMS = """
F1(return x * 2; return g[0] * 2) x = leaf(); y = F1.apply(x); y.sum().backward(); out = y, y.grad_fn, type(y.grad_fn).__name__, y.grad_fn.name(), x.grad
F1(return x * 2; return g[0] * 2) y = F1.apply(T([1.0, 2.0])); out = y, y.requires_grad, y.grad_fn
F1(return x * 2; return g[0] * 2)⏎with torch.no_grad(): y = F1.apply(leaf())⏎out = y
F1(return x * 2; return g[0] * 2) F1()(leaf())
F1(return x * 2; return g[0] * 2) f = F1(); out = type(f).__name__
F1(return x * 2; return g[0] * 2) out = F1.apply(x=leaf())
class G(Function):⏎  def forward(self, x): return x⏎  def backward(self, g): return g⏎G()(leaf())
class G(Function):⏎  def forward(self, x): return x⏎  def backward(self, g): return g⏎out = G.apply(leaf())
class G(Function): pass⏎G()
class G(Function): pass⏎G.apply(leaf())
class G(Function):⏎  @staticmethod⏎  def forward(ctx, x): return x * 2⏎y = G.apply(leaf()); out = y.grad_fn.name(), y.requires_grad; y.sum().backward()
class G(Function):⏎  @staticmethod⏎  def forward(x): return x * 2⏎  @staticmethod⏎  def setup_context(ctx, inputs, output): ctx.save_for_backward(inputs[0])⏎  @staticmethod⏎  def backward(ctx, g): return g * 2⏎x = leaf(); G.apply(x).sum().backward(); out = x.grad
class G(Function):⏎  @staticmethod⏎  def forward(x, n=3): return x * n⏎  @staticmethod⏎  def setup_context(ctx, inputs, output): ctx.n = inputs⏎  @staticmethod⏎  def backward(ctx, g): return g * ctx.n[1], None⏎x = leaf(); y = G.apply(x); y.sum().backward(); out = x.grad, len(y.grad_fn.n)
class G(Function):⏎  @staticmethod⏎  def forward(x, n=3): return x * n⏎  @staticmethod⏎  def setup_context(ctx, inputs, output): ctx.n = inputs[1]⏎  @staticmethod⏎  def backward(ctx, g): return g * ctx.n, None⏎x = leaf(); y = G.apply(x, n=5); y.sum().backward(); out = x.grad
class G(Function):⏎  @staticmethod⏎  def forward(x): return x⏎  @staticmethod⏎  def setup_context(ctx, inputs, output): ctx.save_for_backward(inputs[0])⏎  @staticmethod⏎  def backward(ctx, g): return g⏎G.apply(leaf())
class G(Function):⏎  @staticmethod⏎  def forward(x): return x⏎  @staticmethod⏎  def setup_context(ctx, inputs, output): pass⏎  @staticmethod⏎  def backward(ctx, g): return g⏎out = G.apply(leaf())
class G(Function):⏎  @staticmethod⏎  def forward(ctx, x): return x * 2⏎  @staticmethod⏎  def vjp(ctx, g): return g * 2⏎x = leaf(); G.apply(x).sum().backward(); out = x.grad
class G(Function):⏎  @staticmethod⏎  def forward(ctx, x): return x * 2⏎  @staticmethod⏎  def vjp(ctx, g): return g * 2⏎  @staticmethod⏎  def backward(ctx, g): return g * 2⏎x = leaf(); G.apply(x).sum().backward(); out = x.grad
class G(Function):⏎  @staticmethod⏎  def forward(ctx, x): return x * 2⏎  def backward(ctx, g): return g⏎x = leaf(); G.apply(x).sum().backward(); out = x.grad
class G(Function):⏎  @staticmethod⏎  def forward(ctx): return T([1.0])⏎  @staticmethod⏎  def backward(ctx, g): return None⏎out = G.apply().requires_grad
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, b=2): return a * b⏎  @staticmethod⏎  def backward(ctx, g): return g * 2, None⏎x = leaf(); G.apply(x, b=3).sum().backward()
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, *, k=2): return a * k⏎  @staticmethod⏎  def backward(ctx, g): return g * 2⏎x = leaf(); y = G.apply(x, k=3); y.sum().backward(); out = y, x.grad
class G(Function):⏎  generate_vmap_rule = True⏎  @staticmethod⏎  def forward(ctx, a): return a * 2⏎out = G.generate_vmap_rule, Function.generate_vmap_rule
out = Function.vjp is Function.backward, Function.clear_saved_tensors_on_access
class A(Function):⏎  @staticmethod⏎  def forward(ctx, a): return a * 2⏎  @staticmethod⏎  def backward(ctx, g): return g * 2⏎class B(A): pass⏎x = leaf(); y = B.apply(x); y.sum().backward(); out = y.grad_fn.name(), x.grad
class G(Function):⏎  boxed_grads_call = True⏎  @staticmethod⏎  def forward(ctx, a, b): return a * 2, b * 3⏎  @staticmethod⏎  def backward(ctx, grads): return grads.pop(0) * 2, grads.pop(0) * 3⏎x = leaf(); p, q = G.apply(x, x); (p + q).sum().backward(); out = x.grad
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, b=2, c=3): return a * b * c⏎x = leaf(); G.apply(x, c=5)
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, b=2, c=3): out.append(ctx.needs_input_grad); return a * b * c⏎x = leaf(); out = []; G.apply(x); G.apply(a=x, b=1); G.apply(b=x, a=x)
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, b=2): return a * b⏎G.apply(leaf(), a=1)
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, b=2): return a * b⏎G.apply(leaf(), d=1)
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, b=2): return a * b⏎G.apply(b=1)
class G(Function):⏎  @staticmethod⏎  def forward(ctx, *a): return a[0]⏎G.apply(leaf(), b=1)
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, **k): return a⏎G.apply(leaf(), b=1)
Function.forward(1)
Function.backward(1)
Function.jvp(1)
Function.vmap(1, 2)
Function.setup_context(1, 2, 3)
F1(raise ValueError("boom"); return g[0]) F1.apply(leaf())
F1(return x * 2; raise ValueError("boom")) F1.apply(leaf()).sum().backward()
"""

GRADIENTS = """
F1(return x * 2; return g[0], g[0]) F1.apply(leaf()).sum().backward()
F1(return x * 2; return ()) F1.apply(leaf()).sum().backward()
F1(return x * 2; return 5) F1.apply(leaf()).sum().backward()
F1(return x * 2; return "a") F1.apply(leaf()).sum().backward()
F1(return x * 2; return [g[0]]) F1.apply(leaf()).sum().backward()
F1(return x * 2; return None) x = leaf(); F1.apply(x).sum().backward(); out = x.grad
F1(return x * 2; pass) x = leaf(); F1.apply(x).sum().backward(); out = x.grad
F1(return x * 2; return g[0], None, None) x = leaf(); F1.apply(x).sum().backward(); out = x.grad
F1(return x * 2; return g[0][:1]) x = leaf(); F1.apply(x).sum().backward(); out = x.grad
F1(return x * 2; return torch.ones(3)) F1.apply(leaf()).sum().backward()
F1(return x * 2; return g[0].sum()) F1.apply(leaf()).sum().backward()
F1(return x * 2; return torch.ones(3, 2)) x = leaf(); F1.apply(x).sum().backward(); out = x.grad
F1(return x * 2; return torch.ones(3, 1)) x = leaf(); F1.apply(x).sum().backward(); out = x.grad
F1(return x * 2; return g[0].double()) x = leaf(); F1.apply(x).sum().backward(); out = x.grad, x.grad.dtype
F1(return x * 2; return g[0].long()) x = leaf(); F1.apply(x).sum().backward(); out = x.grad, x.grad.dtype
F1(return x * 2; return g[0]) x = leaf(); out = ag.grad(F1.apply(x).sum(), x)
class G(Function):⏎  @staticmethod⏎  def forward(ctx, x, n, s): return x * n⏎  @staticmethod⏎  def backward(ctx, g): return g * 2⏎G.apply(leaf(), 2, "a").sum().backward()
class G(Function):⏎  @staticmethod⏎  def forward(ctx, x, n, s): return x * n⏎  @staticmethod⏎  def backward(ctx, g): return g * 2, None, None, None, None⏎x = leaf(); G.apply(x, 2, "a").sum().backward(); out = x.grad
class G(Function):⏎  @staticmethod⏎  def forward(ctx, x, n): return x * n⏎  @staticmethod⏎  def backward(ctx, g): return g * 2, g⏎G.apply(leaf(), 2).sum().backward()
class G(Function):⏎  @staticmethod⏎  def forward(ctx, x, n): return x * 2⏎  @staticmethod⏎  def backward(ctx, g): return g * 2, g⏎x = leaf(); G.apply(x, None).sum().backward()
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, b, n): ctx.save_for_backward(a, b); ctx.n = n; return a * b * n⏎  @staticmethod⏎  def backward(ctx, g): a, b = ctx.saved_tensors; L.append(ctx.needs_input_grad); return g * b * ctx.n, g * a * ctx.n, None⏎L = []; x, y = leaf(), leaf(3.0, 4.0); G.apply(x, y, 2).sum().backward(); G.apply(x, T([1.0, 1.0]), 2).sum().backward(); out = x.grad, y.grad, L
F1(out.append(ctx.needs_input_grad); return x * 2; return g[0]) out = []; F1.apply(leaf()); F1.apply(T([1.0]))⏎with torch.no_grad(): F1.apply(leaf())
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, b): return a * b⏎  @staticmethod⏎  def backward(ctx, g): return g, None⏎y = G.apply(leaf(), T([1.0, 1.0])); out = y.grad_fn.next_functions, y.grad_fn.needs_input_grad
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, n, b): return a * b * n⏎  @staticmethod⏎  def backward(ctx, g): return g, None, g * 3⏎x, y = leaf(), leaf(); z = G.apply(x, 2, y); z.sum().backward(); out = z.grad_fn.next_functions, x.grad, y.grad
F1(return x * 2; return g[0]) x = leaf(); a = F1.apply(x); L = []; a.grad_fn.register_hook(lambda gi, go: L.append((gi, go))); a.grad_fn.register_prehook(lambda go: (go[0] * 3,)); a.register_hook(lambda g: g * 2); a.sum().backward(); out = L, x.grad
F1(return x * 2; return g[0]) n = F1.apply(leaf()).grad_fn; n.metadata["k"] = 1; out = n.metadata
F1(return x * 2; g[0].mul_(5); return g[0]) x = leaf(); y = x * 1; F1.apply(y).backward(torch.ones(2)); out = x.grad
F1(return x * 2; return g[0] * 2) x = leaf(); y = F1.apply(x); y.sum().backward(); y.sum().backward(); out = x.grad
"""

SAVING = """
F1(ctx.save_for_backward(3); return x * 2; return g[0]) F1.apply(leaf())
F1(ctx.save_for_backward(3); return x * 2; return g[0]) out = F1.apply(T([1.0]))
F1(ctx.save_for_backward(x, "a"); return x * 2; return g[0]) F1.apply(leaf())
F1(ctx.save_for_backward(x); ctx.save_for_backward(x, x); return x * 2; L.append(len(ctx.saved_tensors)); return g[0]) L = []; F1.apply(leaf()).sum().backward(); out = L
F1(ctx.save_for_backward(x, None); return x * 2; L.append(ctx.saved_tensors); return g[0]) L = []; F1.apply(leaf()).sum().backward(); out = L
F1(ctx.save_for_backward(x); return x * 2; return g[0] * ctx.saved_tensors[0]) x = leaf(); y = F1.apply(x); y.sum().backward(); y.sum().backward()
F1(ctx.save_for_backward(x); return x * 2; return g[0] * ctx.saved_tensors[0]) x = leaf(); y = F1.apply(x); y.sum().backward(retain_graph=True); y.sum().backward(); out = x.grad
F1(ctx.save_for_backward(x); return x * 2; a = ctx.saved_tensors; return g[0]) y = F1.apply(leaf()); y.sum().backward(); y.grad_fn.saved_tensors
F1(ctx.save_for_backward(x); ctx.n = 5; return x * 2; return g[0] * ctx.n) x = leaf(); y = F1.apply(x); out = type(y.grad_fn).__name__, y.grad_fn.n, y.grad_fn.saved_tensors, y.grad_fn.saved_tensors[0] is x; y.sum().backward(); out = out, x.grad
F1(ctx.save_for_backward(x); return x * 2; return g[0]) F1.apply(leaf()).grad_fn.nothing
F1(y = x.exp(); ctx.save_for_backward(y); return y; y, = ctx.saved_tensors; L.append(y.grad_fn.name()); return g[0] * y) L = []; x = leaf(); g, = ag.grad(F1.apply(x).sum(), x, create_graph=True); out = ag.grad(g.sum(), x), L
F1(m = x * 3; ctx.save_for_backward(m); return m * m; m, = ctx.saved_tensors; L.append(m.requires_grad); return g[0] * 6 * m) L = []; x = leaf(); g, = ag.grad(F1.apply(x).sum(), x, create_graph=True); L.append(g.requires_grad); ag.grad(g.sum(), x)
F1(ctx.save_for_backward(x); return x * x; x, = ctx.saved_tensors; return g[0] * 2 * x) x = leaf(); g, = ag.grad(F1.apply(x).sum(), x, create_graph=True); out = g, ag.grad(g.sum(), x)
F1(ctx.save_for_backward(x); return x * x * x; x, = ctx.saved_tensors; return g[0] * F1.apply(x) / x * 3) x = leaf(); g, = ag.grad(F1.apply(x).sum(), x, create_graph=True); h, = ag.grad(g.sum(), x, create_graph=True); out = g, h, ag.grad(h.sum(), x)
F1(ctx.save_for_backward(x); return x * 2; ctx.save_for_backward(g[0]); return g[0]) x = leaf(); F1.apply(x).sum().backward(); out = x.grad
F1(ctx.save_for_backward(x); return x * 2; return g[0] * ctx.saved_tensors[0]) x = leaf(); y = x * 1; z = F1.apply(y); y.add_(1); z.sum().backward()
F1(y = x.exp(); ctx.save_for_backward(y); return y; return g[0] * ctx.saved_tensors[0]) x = leaf(); z = F1.apply(x); z.add_(1); z.sum().backward()
F1(y = x.exp(); ctx.save_for_backward(y); return y; return g[0] * ctx.saved_tensors[0]) x = leaf(); z = F1.apply(x); r = weakref.ref(z.grad_fn); del z; out = r() is None
F1(ctx.m = x * 3; return ctx.m * 1; return g[0] * ctx.m) x = leaf(); y = F1.apply(x); y.sum().backward(); y.sum().backward(); out = x.grad
F1(ctx.save_for_backward(x); return x * 2; L.append(ctx); return g[0]) L = []; F1.apply(leaf()).sum().backward(); L[0].saved_tensors
class E(Function):⏎  clear_saved_tensors_on_access = True⏎  @staticmethod⏎  def forward(ctx, x): ctx.save_for_backward(x); return x * 2⏎  @staticmethod⏎  def backward(ctx, g): a = ctx.saved_tensors; b = ctx.saved_tensors; return g⏎E.apply(leaf()).sum().backward()
class E(Function):⏎  clear_saved_tensors_on_access = True⏎  @staticmethod⏎  def forward(ctx, x): ctx.save_for_backward(x); return x * 2⏎  @staticmethod⏎  def backward(ctx, g): a, = ctx.saved_tensors; return g * a⏎x = leaf(); E.apply(x).sum().backward(); out = x.grad
F1(ctx.save_for_forward(3); return x * 2; return g[0]) F1.apply(leaf())
F1(ctx.save_for_forward(x); return x * 2; return g[0]) out = F1.apply(leaf())
F1(ctx.save_for_backward(x); return x * 2; return g[0] * ctx.saved_tensors[0])⏎with ag.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t * 10): x = leaf(); y = F1.apply(x)⏎y.sum().backward(); out = x.grad
F1(ctx.save_for_backward(x); return x * 2; return g[0] * ctx.saved_tensors[0]) x = leaf(); y = F1.apply(x); y.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: t, lambda t: t * 7); y.sum().backward(); out = x.grad
F1(ctx.save_for_backward(x, None); return x * 2; return g[0]) y = F1.apply(leaf()); y.grad_fn._raw_saved_tensors[1].register_hooks(lambda t: t, lambda t: t * 7)
"""

OUTPUTS = """
F1(return x; return g[0] * 3) x = leaf(); y = F1.apply(x); out = y is x, y.grad_fn.name(), y._is_view(), y._base is x; y.sum().backward(); out = out, x.grad
F1(return x; return g[0] * 3) x = leaf(); y = F1.apply(x * 1); y.add_(1)
F1(return x; return g[0] * 3) x = T([1.0, 2.0]); y = F1.apply(x); out = y is x, y._is_view(), y.requires_grad
F1(return x.view(2); return g[0]) x = leaf(); y = x * 1; z = F1.apply(y); z.add_(1)
F1(return x.view(2); return g[0]) x = leaf(); y = x * 1; z = F1.apply(y); y.add_(1); z.sum()
F1(return x.view(2); return g[0]) x = leaf(); y = x * 1; z = F1.apply(y); out = z._is_view(), z.grad_fn.name(), ag.grad(z.sum(), x)
F1(return x[:1]; return torch.cat([g[0], g[0] * 0])) x = leaf(); y = F1.apply(x * 1); out = y._is_view(); y.mul_(2)
F1(return {"a": x * 2}; return g[0]) out = F1.apply(leaf())
F1(return [x * 2]; return g[0]) out = F1.apply(leaf())
F1(return 5; return g[0]) out = F1.apply(leaf())
F1(return None; return g[0]) out = F1.apply(leaf())
F1(return x * 2, 5, "a", None; L.append(g); return g[0]) L = []; r = F1.apply(leaf()); r[0].sum().backward(); out = r, L
F1(return (x * 2,); return g[0]) out = F1.apply(leaf())
F1(return (); return g[0]) out = F1.apply(leaf())
F1(return x.max(0); return g[0].expand(2)) r = F1.apply(leaf()); out = type(r), [t.requires_grad for t in r]
F1(return x * 2, x * 3; L.append(g); return g[0]) L = []; a, b = F1.apply(leaf()); a.sum().backward(); out = L
F1(return x * 2, x * 3; L.append(g); return g[0]) L = []; a, b = F1.apply(leaf()); b.sum().backward(); out = L, a.output_nr, b.output_nr
F1(return x * 2, (x * 3).double(); L.append(g); return g[0]) L = []; a, b = F1.apply(leaf()); a.sum().backward(); out = L
F1(ctx.set_materialize_grads(False); return x * 2, x * 3; L.append(g); return g[0]) L = []; a, b = F1.apply(leaf()); a.sum().backward(); out = L
F1(ctx.set_materialize_grads(False); return x * 2, x * 3; return None) x = leaf(); a, b = F1.apply(x); a.sum().backward(); out = x.grad
F1(return x * 2, x * 3; return g[0] * 2 + g[1] * 3) x = leaf(); a, b = F1.apply(x); (a * b).sum().backward(); out = x.grad
F1(a = x * 2; return a, a; return g[0] * 2 + g[1] * 3) x = leaf(); a, b = F1.apply(x); (a + b * 5).sum().backward(); out = x.grad, a is b
F1(return (x > 1); return g[0]) y = F1.apply(leaf()); out = y, y.requires_grad, y.grad_fn
F1(return x.long(), x * 2; L.append(g); return g[1]) L = []; a, b = F1.apply(leaf()); b.sum().backward(); out = a, b, L
F1(y = x * 2; ctx.mark_non_differentiable(y); return y; return g[0]) y = F1.apply(leaf()); out = y, y.requires_grad, y.grad_fn
F1(y = x * 2; ctx.mark_non_differentiable(y); return x * 3, y; L.append(g); return g[0]) L = []; a, b = F1.apply(leaf()); a.sum().backward(); out = a, b, L
F1(ctx.mark_non_differentiable(T([1.0])); return x * 2; return g[0]) out = F1.apply(leaf())
F1(ctx.mark_non_differentiable(x); return x; return g[0]) x = leaf(); y = F1.apply(x); out = y.requires_grad, y is x, x.requires_grad
F1(ctx.mark_dirty(T([1.0])); return x * 2; return g[0]) F1.apply(leaf())
F1(x.mul_(2); ctx.mark_dirty(x); return x * 1; return g[0]) F1.apply(leaf() * 1)
F1(x.mul_(2); ctx.mark_dirty(x); return x; return g[0] * 2) F1.apply(leaf())
F1(x.mul_(2); ctx.mark_dirty(x); return x; return g[0] * 2) x = leaf(); y = x * 1; z = F1.apply(y); out = z is y, y.grad_fn.name(), y._version; z.sum().backward(); out = out, x.grad
F1(x.mul_(2); return x; return g[0] * 2) x = leaf(); y = x * 1; z = F1.apply(y); out = z is y, z.grad_fn.name(), y.grad_fn.name(); z.sum().backward(); out = out, x.grad
F1(x.mul_(2); ctx.mark_dirty(x); return x; return g[0] * 2) x = leaf(); y = x * 1; v = y[:1]; z = F1.apply(v); out = z is v, v.grad_fn.name(), y.grad_fn.name(); y.sum().backward(); out = out, x.grad
F1(x.mul_(2); ctx.mark_dirty(x); return x, x * 3; return g[0] * 2) x = leaf(); y = x * 1; F1.apply(y[:1])
F1(x.mul_(2); ctx.mark_dirty(x); return x; return g[0] * 2) t = T([1.0, 2.0]); out = F1.apply(t) is t, t, t._version
F1(x.mul_(2); ctx.mark_dirty(x); return x; return g[0] * 2) t = T([1.0, 2.0]); v = t[:1]; out = F1.apply(v) is v, t, t._version
F1(y = x * 2; ctx.mark_dirty(y); return y; return g[0] * 2) x = leaf(); out = F1.apply(x)
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, b): a.add_(b); ctx.mark_dirty(a); return a⏎  @staticmethod⏎  def backward(ctx, g): return g, g * 3⏎x = leaf(); t = T([1.0, 2.0]); r = G.apply(t, x); out = r is t, t.requires_grad, t.grad_fn.name(); t.sum().backward(); out = out, x.grad
class G(Function):⏎  @staticmethod⏎  def forward(ctx, a, b): a.add_(b); ctx.mark_dirty(a); return a⏎  @staticmethod⏎  def backward(ctx, g): return g, g * 3⏎x = leaf(); y = x * 1; z = y * y; r = G.apply(y, T([1.0, 1.0])); z.sum().backward()
F1(return x.double(); return g[0]) x = leaf(); y = F1.apply(x); y.sum().backward(); out = y.dtype, x.grad
F1(return x.sum(); return g[0].expand(2)) x = leaf(); y = F1.apply(x); y.backward(); out = x.grad
F1(x.requires_grad_(); return x * 2; return g[0]) out = F1.apply(leaf()).requires_grad
F1(out.append((x.requires_grad, torch.is_grad_enabled(), (x * 2).requires_grad)); return x * 2; out.append(torch.is_grad_enabled()); return g[0]) out = []; x = leaf(); F1.apply(x).sum().backward(); ag.grad(F1.apply(x).sum(), x, create_graph=True)
F1(ctx.name = "a"; ctx.device = "d"; ctx.edges = 1; ctx.saved = 2; ctx.hooks = 3; return x * 2; return g[0] * ctx.saved * ctx.edges * ctx.hooks) x = leaf(); F1.apply(x).sum().backward(); out = x.grad
"""

ONCE = """
F1(ctx.save_for_backward(x); return x * x; x, = ctx.saved_tensors; return 2 * x * g[0]) F1.backward = staticmethod(once(F1.backward)); x = leaf(); g, = ag.grad((F1.apply(x) * x).sum(), x, create_graph=True); g.sum().backward()
F1(return x * 2; return g[0] * 2) F1.backward = staticmethod(once(F1.backward)); x = leaf(); F1.apply(x).sum().backward(); out = x.grad
F1(return x * 2; return g[0] * 2) F1.backward = staticmethod(once(F1.backward)); x = leaf(); g, = ag.grad(F1.apply(x).sum(), x, create_graph=True); out = g.requires_grad
F1(ctx.save_for_backward(x); return x * x; x, = ctx.saved_tensors; return 2 * x * g[0]) F1.backward = staticmethod(once(F1.backward)); x = leaf(); y = F1.apply(x * 1); g, = ag.grad((y * y).sum(), x, create_graph=True); out = g, g.requires_grad, g.grad_fn.name()
"""


@pytest.fixture(autouse=True)
def every_warning() -> Iterator[None]:
    """PyTorch's own warnings each time, not once in a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


def prepared(snippet: str, library: str) -> str:
    """The snippet with its Function written out, and the names it uses imported."""
    start = f"Function = {library}.autograd.Function⏎from {library}.autograd.function import once_differentiable as once⏎"
    found = re.match(r"F1\((.*?; ?)((?:(?!\) ).)*)\)(?: |⏎)", snippet)
    if not found:
        return start + snippet
    rest = snippet[found.end() :]
    bodies = split_bodies(found.group(1) + found.group(2))
    lines = ["class F1(Function):"]
    for name, body in zip(("forward(ctx, x)", "backward(ctx, *g)"), bodies, strict=True):
        lines += ["  @staticmethod", f"  def {name}:", *(f"    {statement}" for statement in body)]
    first, *following = rest.split("⏎")
    return start + "⏎".join([*lines, first, *following])


def split_bodies(text: str) -> tuple[list[str], list[str]]:
    """The statements of forward, which end with its `return` or `raise`, and those of backward."""
    statements = [s.strip() for s in text.split(";")]
    last = next(i for i, s in enumerate(statements) if s.startswith(("return", "raise")))
    return statements[: last + 1], statements[last + 1 :]


@pytest.mark.parametrize("mark", ["mark_dirty", "mark_non_differentiable"])
def test_marks_are_for_tensors(mark: str) -> None:
    """PyTorch's messages break off before they name the type; ours begin as they do."""
    snippet = f"F1(ctx.{mark}(3); return x * 2; return g[0]) F1.apply(leaf())"
    ours = shown(numgrad, f"import numgrad⏎{prepared(snippet, 'numgrad')}")[0]
    theirs = shown(torch, f"import torch⏎{prepared(snippet, 'torch')}")[0]
    assert ours.startswith(theirs)
    assert ours.endswith("int")


@pytest.mark.parametrize("snippet", snippets(FORMS + GRADIENTS + SAVING + OUTPUTS + ONCE))
def test_same_lines_show_the_same(snippet: str) -> None:
    scope = "out = None⏎L = []⏎"
    ours, theirs = prepared(snippet, "numgrad"), prepared(snippet, "torch")
    imports = {"numgrad": numgrad, "torch": torch}
    assert shown(imports["numgrad"], f"import numgrad⏎{scope}{ours}") == shown(torch, f"import torch⏎{scope}{theirs}")
