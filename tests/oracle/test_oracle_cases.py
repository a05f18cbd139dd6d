"""Small programs from every corner of autograd: what the last line gives, what is printed, raised and warned of, beside PyTorch.

The numbers are those of a survey of PyTorch 2.13: A flags, B backward and grad, C writes and views, D conversions, E hooks, F and
N custom functions, G forward mode, H `functional` and `func`, I checks and checkpoints, J modes, K the graph, L threads and
dtypes, M modules, O and P what remained. Those that stand in docs/differences.md are not here: E20, E36, I24, N2, P32.
"""

import ast
import contextlib
import copy
import io
import pickle
import re
import threading
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from side_by_side import OF_ITS_INSIDE, leaf_of, neutral

import numgrad

torch = pytest.importorskip("torch")
pytest.importorskip("torch.utils.checkpoint")

CASES = r"""
A1: torch.tensor([1,2], requires_grad=True)
A2: torch.ones(2,dtype=torch.int64).requires_grad_()
A4: torch.tensor([True]).requires_grad_()
A5: torch.arange(3, requires_grad=True)
A7: nn.Parameter(torch.tensor([1,2]))
A8: y=leaf()*2; y.requires_grad_(False)
A10: y=leaf()*2; y.requires_grad=True; (y.requires_grad,y.is_leaf)
A11: t=leaf(); t.requires_grad='yes'
A13: leaf().requires_grad_('yes')
A14: t=leaf(); t.is_leaf=False
A17: T([1.]).retain_grad()
A20: x=leaf(); x.grad=3
A22: x=leaf(); x.grad=torch.ones(2,dtype=torch.float64)
A25: x=leaf(); x.data=torch.zeros(2,dtype=torch.int64)
A27: x=leaf(); v=x.view(2); v.detach_()
A32: torch.ones(2,requires_grad=True,dtype=torch.bool)
B1: (T([1.])*2).sum().backward()
B3: (leaf()*2).backward()
B4: (leaf()*2).backward(torch.ones(3))
B6: (leaf()*2).backward([1.,1.])
B7: (leaf()*2).backward(2.0)
B11: x=leaf(); y=(x*x).sum(); y.backward(); y.backward()
B13: x=leaf(); s=x*x; s.sum().backward(); (s*3).sum().backward()
B17: x=leaf(); z=leaf(); ag.grad((x*2).sum(), [x,z], allow_unused=False, materialize_grads=True)
B18: x=leaf(); ag.grad((x*2).sum(), T([1.]))
B20: x=leaf(); ag.grad([x.sum(),x.sum()], x, grad_outputs=[T(1.)])
B21: x=leaf(); ag.grad(x*2, x)
B24: x=leaf(); ag.grad((x*2).sum(), [])
B25: x=leaf(); (x*2).sum().backward(inputs=[])
B31: x=leaf(); ag.backward((x*2).sum(), grad_tensors=T(1.), grad_variables=T(1.))
B32: x=T([1.+1j],requires_grad=True); (x*x).sum().backward()
B36: x=leaf()⏎with torch.no_grad(): y=(x*x).sum()⏎y.backward()
B38: x=leaf(); y=x*x; ag.grad(y, x, grad_outputs=torch.ones(2), is_grads_batched=True)
B41: ag.grad(5, leaf())
B42: x=leaf(); ag.grad((x*2).sum(), 'x')
B44: x=leaf(); (x*2).sum().backward(foo=1)
B49: x=leaf(); y=x.detach().sum(); y.backward()
B51: x=leaf(); (x>1).sum().backward()
B54: x=leaf(); y=x.sum(); y.backward(torch.tensor([1.])) ; x.grad
C1: x=leaf(); x.add_(1)
C2: x=leaf(); x+=1
C4: x=leaf(); x[:1].add_(1)
C5: x=leaf(); x.view(2).mul_(2)
C8: x=leaf(); y=x.exp(); y.add_(1); y.sum().backward()
C9: x=leaf(); y=x.sigmoid(); y.mul_(2); y.sum().backward()
C12: x=leaf(); y=x*2; a,b=y.unbind(0); a.add_(1)
C13: x=leaf(); y=x*2; a,b=y.split(1); a.add_(1)
C15: x=leaf(); y=x*2⏎with torch.no_grad(): v=y[:1]⏎v.add_(1)
C16: x=leaf()⏎with torch.no_grad(): v=x[:1]⏎v.add_(1)
C18: x=torch.ones(1).expand(3); x.add_(1)
C19: t=torch.ones(2,dtype=torch.int64); t.add_(0.5)
C21: x=leaf(); torch.add(x,1,out=torch.empty(2))
C22: x=T([1.,2.]); torch.add(x,1,out=leaf())
C25: with torch.inference_mode(): t=torch.ones(2)⏎t.add_(1)
C26: with torch.inference_mode(): t=torch.ones(2)⏎(leaf()*t).sum().backward()
C28: x=leaf(); x.resize_(3)
C29: x=leaf(); x.set_(torch.ones(3))
C46: x=leaf(); x.unsqueeze_(0)
C48: x=torch.ones(2,2); x[:1].copy_(x[1:]); x.t().add_(x); x
E1: T([1.]).register_hook(lambda g:g)
E2: x=leaf(); x.register_hook(lambda g: 5); x.sum().backward()
E4: x=leaf(); x.register_hook(lambda g: g.double()); x.sum().backward()
E8: (leaf()*2).register_post_accumulate_grad_hook(lambda p: None)
E11: x=leaf(); x.register_post_accumulate_grad_hook(lambda p: 1); x.sum().backward()
E14: x=leaf(); y=x*2; y.grad_fn.register_hook(lambda gi,go: (torch.zeros(2),)); y.sum().backward()
E23: from torch.autograd.graph import register_multi_grad_hook as r⏎r([leaf()],lambda g:0,mode='foo')
E25: with ag.graph.saved_tensors_hooks(lambda t:t.add_(1), lambda t:t): y=T([1.,2.])*leaf()
E27: with ag.graph.disable_saved_tensors_hooks('no hooks please'):⏎  with ag.graph.saved_tensors_hooks(lambda t:t, lambda t:t): pass
E30: x=leaf(); y=x*x; y.sum().backward(); y.grad_fn._saved_self
E31: x=leaf(); y=x*x; y.grad_fn._raw_saved_self.register_hooks(lambda t:t, lambda t:t); y.grad_fn._raw_saved_self.register_hooks(lambda t:t, lambda t:t)
E38: m=nn.ReLU(inplace=True); m.register_full_backward_hook(lambda m,gi,go: None); x=leaf(); y=m(x*1); y.sum().backward()
F1: class G(Function):⏎  def forward(self,x): return x⏎  def backward(self,g): return g⏎G()(leaf())
F5: class G(Function):⏎  @staticmethod⏎  def forward(ctx,x): return x*2⏎y=G.apply(leaf()); print(y.grad_fn.name(), y.requires_grad); y.sum().backward()
F6: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0],g[0]⏎F1.apply(leaf()).sum().backward()
F8: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return 5⏎F1.apply(leaf()).sum().backward()
F11: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    ctx.save_for_backward(3); return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]⏎F1.apply(leaf())
F14: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    ctx.save_for_backward(x); return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]*ctx.saved_tensors[0]⏎x=leaf(); y=F1.apply(x); y.sum().backward(); y.sum().backward()
F16: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    ctx.mark_dirty(T([1.])); return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]⏎F1.apply(leaf())
F18: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    x.mul_(2); ctx.mark_dirty(x); return x*1⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]⏎F1.apply(leaf()*1)
F19: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    x.mul_(2); ctx.mark_dirty(x); return x⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]*2⏎F1.apply(leaf())
F25: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return x.view(2)⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]⏎x=leaf(); y=x*1; z=F1.apply(y); z.add_(1)
F27: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return x⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]*3⏎x=leaf(); y=F1.apply(x*1); y.add_(1)
F47: class G(Function):⏎  @staticmethod⏎  def forward(ctx,x,n,s): return x*n⏎  @staticmethod⏎  def backward(ctx,g): print(ctx.needs_input_grad); return g*2⏎x=leaf(); G.apply(x,2,'a').sum().backward()
F51: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    raise ValueError('boom')⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]*2⏎F1.apply(leaf())
F54: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0].sum()⏎x=leaf(); F1.apply(x).sum().backward(); x.grad
J1: with torch.no_grad: pass
J12: with torch.inference_mode(): y=leaf()*2⏎y.backward(torch.ones(2))
K4: x=leaf(); n=(x*x).grad_fn; n(torch.ones(2),torch.ones(2))
K5: x=leaf(); n=(x*x).grad_fn; n('a')
K9: x=leaf(); y=(x*2); e=ag.graph.get_gradient_edge(y); ag.backward(e)
N5: class E(Function):⏎  @staticmethod⏎  def forward(ctx,x):⏎    m=x*3; ctx.save_for_backward(m); return m*m⏎  @staticmethod⏎  def backward(ctx,g): m,=ctx.saved_tensors; print(m.requires_grad); return g*6*m⏎x=leaf(); g,=ag.grad(E.apply(x).sum(),x,create_graph=True); print(g.requires_grad); ag.grad(g.sum(),x)
N6: class E(Function):⏎  @staticmethod⏎  def forward(ctx,x): ctx.save_for_backward(x); return x*2⏎  @staticmethod⏎  def backward(ctx,g):⏎    a=ctx.saved_tensors; return g⏎y=E.apply(leaf()); s=y.sum(); s.backward(); y.grad_fn.saved_tensors
N13: class E(Function):⏎  clear_saved_tensors_on_access=True⏎  @staticmethod⏎  def forward(ctx,x): ctx.save_for_backward(x); return x*2⏎  @staticmethod⏎  def backward(ctx,g): a=ctx.saved_tensors; b=ctx.saved_tensors; return g⏎E.apply(leaf()).sum().backward()
N15: class E(Function):⏎  @staticmethod⏎  def forward(ctx,x): return x[:1]⏎  @staticmethod⏎  def backward(ctx,g): return torch.cat([g,g*0])⏎x=leaf(); y=E.apply(x*1); print(y._is_view()); y.mul_(2)
O7: x=leaf(); x.grad_dtype, (x*2).grad_dtype
O10: x=leaf(); y=x*2; y.grad_dtype=torch.float64
O27: x=T([1.,2.]); y=x*2; x.requires_grad_(); y.sum().backward()
O52: x=leaf(); y=x.tanh(); yy=y.detach(); yy.zero_(); y.sum().backward()
O65: x=leaf(); y=(x*x).sum(); y.backward(); (y*2).backward()
O67: x=leaf(); y=x.exp(); z=y*2; z.sum().backward(); (y*3).sum().backward()
P1: from torch.autograd.function import once_differentiable⏎class G(Function):⏎  @staticmethod⏎  def forward(ctx,x): ctx.save_for_backward(x); return x*x⏎  @staticmethod⏎  @once_differentiable⏎  def backward(ctx,g): x,=ctx.saved_tensors; return 2*x*g⏎x=leaf(); g,=ag.grad((G.apply(x)*x).sum(),x,create_graph=True); g.sum().backward()
P21: x=leaf(); y=(x*x); y.sum().backward(); y.grad_fn.saved_tensors
A16: y=leaf()*2; y.grad
A18: x=leaf(); x.retain_grad(); x.retains_grad
A26: x=leaf(); x.data=torch.zeros(5); (x.shape,x.requires_grad)
A28: x=leaf(); y=x*2; y.detach_(); (y.requires_grad,y.is_leaf,y.grad_fn)
A31: with torch.inference_mode(): t=torch.ones(2,requires_grad=True)⏎(t.requires_grad,t.is_inference())
A33: a=T([1.,2.]); aa=a*a; aa.requires_grad_(); (aa.requires_grad, aa.is_leaf, aa.grad_fn)
A35: torch.tensor([1,2]).is_leaf, torch.tensor([1,2]).requires_grad
B9: x=leaf(); (x*2).backward(torch.ones(2,dtype=torch.float64)); (x.grad, x.grad.dtype)
B12: x=leaf(); y=(x+1).sum(); y.backward(); y.backward(); x.grad
B15: x=leaf(); z=leaf(); ag.grad((x*2).sum(), [x,z], allow_unused=True)
B23: x=leaf(); ag.grad((x*2).sum(), x, only_inputs=False)
B26: x=leaf(); y=x*2; y.sum().backward(inputs=[y]); (y.grad, x.grad)
B28: x=leaf(); ag.backward([], None)
B30: x=leaf(); ag.backward([x*2, x.sum()],[torch.ones(2),None]); x.grad
B35: x=leaf(); g,=ag.grad((x*x).sum(), x, create_graph=True); ag.grad(g.sum(), x)
B37: x=leaf(); y=x*x; ag.grad(y, x, grad_outputs=torch.eye(2), is_grads_batched=True)
B45: x=leaf(); x.sum().backward(); x.sum().backward(); x.grad
B46: x=leaf(); x.grad=torch.zeros(2); g=x.grad; x.sum().backward(); (g is x.grad, g)
B48: x=leaf(); (x*x).sum().backward(); g=x.grad; (x*x).sum().backward(create_graph=True); (g is x.grad, x.grad)
B52: x=leaf(3.); x.backward(); x.grad
B55: x=leaf(); y=(x*2)[:1]; y.backward(); x.grad
B57: x=leaf(); ag.grad((x*2).sum(),x,grad_outputs=T(3.))
B59: x=leaf(); ag.grad((x*2).sum(),x); x.grad
C6: x=leaf()⏎with torch.no_grad(): x.add_(1)⏎(x, x._version)
C23: x=leaf(); y=x*2; z=y*y; y.data.add_(1); z.sum().backward(); x.grad
C30: x=leaf(); y=x*2; v=y[:1]; v.mul_(10); (v.grad_fn.name(), y.grad_fn.name(), y)
C32: x=leaf(); y=x*2; v=y[:1]; v.mul_(10); y.sum().backward(); x.grad
C33: x=leaf(); y=x*1; y[0]=0.; y.sum().backward(); x.grad
C35: y=T([1.,2.]); v=y[:1]; x=leaf(5.); v.mul_(x); (y.requires_grad, y.grad_fn.name(), v.grad_fn.name(), y._version, v._version)
C36: t=torch.ones(2); v0=t._version; t.add_(1); v=t[:1]; v.add_(1); d=t.detach(); (v0,t._version,v._version,d._version,t.data._version)
C38: x=leaf(); y=x*2; y.zero_(); y.sum().backward(); x.grad
C39: x=leaf(); y=x*2; y.copy_(T([7.,7.])); y.sum().backward(); x.grad
C41: x=leaf(); y=x*2; z=F.relu(y,inplace=True); (z is y, y.grad_fn.name())
C42: x=leaf(); y=x**2; x.data.mul_(100); y.sum().backward(); x.grad
C45: x=leaf(); y=x.clone(); y.t_()
C47: x=leaf(); y=x.clone(); y.unsqueeze_(0); (y.shape, y.grad_fn.name())
E6: x=leaf(); h=x.register_hook(lambda g: g*10); h.remove(); x.sum().backward(); x.grad
E7: x=leaf(); h=x.register_hook(lambda g: g*10); h.remove(); h.remove()
E12: x=leaf(); y=x*2; y.grad_fn.register_hook(lambda gi,go: print('gi',gi,'go',go)); y.sum().backward()
E13: x=leaf(); y=x*2; y.grad_fn.register_hook(lambda gi,go: (torch.zeros(2),None)); y.sum().backward(); x.grad
E17: x=leaf(); y=x*2; L=[]; y.register_hook(lambda g:L.append('tensor')); y.grad_fn.register_prehook(lambda go:L.append('prehook')); y.grad_fn.register_hook(lambda a,b:L.append('posthook')); y.sum().backward(); L
E18: x=leaf(); y=x*2; L=[]; y.register_hook(lambda g:L.append(('before retain',g.tolist())) or g*2); y.retain_grad(); y.register_hook(lambda g:L.append(('after retain',g.tolist())) or g*5); y.sum().backward(); (L,y.grad)
E21: from torch.autograd.graph import register_multi_grad_hook as r⏎a,b=leaf(),leaf(); L=[]; r([a,b],lambda gs:L.append([None if g is None else g.tolist() for g in gs])); (a*2).sum().backward(); L
E22: from torch.autograd.graph import register_multi_grad_hook as r⏎a,b=leaf(),leaf(); L=[]; r([a,b],lambda g:L.append(g.tolist()),mode='any'); (a*2+b).sum().backward(); L
E28: x=leaf(); y=x*x; y.grad_fn._raw_saved_self.register_hooks(lambda t:t, lambda t:t*2); y.sum().backward(); x.grad
E32: with ag.graph.save_on_cpu(): x=leaf(); y=x*x⏎y.sum().backward(); x.grad
E35: x=leaf(); y=x*2; y.sum().backward(); y.register_hook(lambda g: print('late')) ; y.requires_grad
F2: class G(Function):⏎  def forward(self,x): return x⏎  def backward(self,g): return g⏎G.apply(leaf())
F3: class G(Function): pass⏎G()
F10: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0].double()⏎x=leaf(); F1.apply(x).sum().backward(); (x.grad,x.grad.dtype)
F12: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    ctx.save_for_backward(x); ctx.save_for_backward(x,x); return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    print(len(ctx.saved_tensors)); return g[0]⏎F1.apply(leaf()).sum().backward()
F20: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    x.mul_(2); ctx.mark_dirty(x); return x⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]*2⏎x=leaf(); y=x*1; z=F1.apply(y); print(z is y, y.grad_fn.name(), y._version); z.sum().backward(); x.grad
F21: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    x.mul_(2); return x⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]*2⏎x=leaf(); y=x*1; z=F1.apply(y); print(z is y, z.grad_fn.name(), y.grad_fn.name()); z.sum().backward(); x.grad
F23: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    ctx.mark_non_differentiable(T([1.])); return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]⏎F1.apply(leaf())
F26: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return x⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]*3⏎x=leaf(); y=F1.apply(x); print(y is x, y.grad_fn.name(), y._is_view()); y.sum().backward(); x.grad
F29: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return {'a':x*2}⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]⏎F1.apply(leaf())
F30: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return [x*2]⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]⏎F1.apply(leaf())
F32: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return x*2, x*3⏎  @staticmethod⏎  def backward(ctx, *g):⏎    print(g); return g[0]⏎a,b=F1.apply(leaf()); a.sum().backward()
F33: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    ctx.set_materialize_grads(False); return x*2, x*3⏎  @staticmethod⏎  def backward(ctx, *g):⏎    print(g); return g[0]⏎a,b=F1.apply(leaf()); a.sum().backward()
F46: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    print(ctx.needs_input_grad); return g[0]*2⏎F1.apply(leaf()).sum().backward()
F48: class G(Function):⏎  @staticmethod⏎  def forward(ctx,x,n,s): return x*n⏎  @staticmethod⏎  def backward(ctx,g): return g*2,None,None,None,None⏎x=leaf(); G.apply(x,2,'a').sum().backward(); x.grad
F50: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]*2⏎y=F1.apply(T([1.,2.])); (y.requires_grad, y.grad_fn)
F53: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    ctx.save_for_backward(x); ctx.n=5; return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]*ctx.n⏎y=F1.apply(leaf()); print(type(y.grad_fn).__name__, y.grad_fn.n, y.grad_fn.saved_tensors); y.sum().backward()
F56: class G(Function):⏎  @staticmethod⏎  def forward(ctx,x): return x*2⏎  def backward(ctx,g): return g⏎G.apply(leaf()).sum().backward()
F57: class G(Function):⏎  @staticmethod⏎  def forward(ctx): return T([1.])⏎  @staticmethod⏎  def backward(ctx,g): return None⏎G.apply().requires_grad
I14: with ag.detect_anomaly(check_nan=False): x=T([0.],requires_grad=True); y=(x.sqrt()*0).sum(); y.backward(); print(x.grad)
J2: with torch.no_grad():⏎  y=leaf()*2; p=leaf()⏎(y.requires_grad,y.is_leaf,p.requires_grad)
J4: @torch.no_grad⏎def f(x): return x*2⏎f(leaf()).requires_grad
J5: @torch.no_grad()⏎class A: pass
J7: torch.set_grad_enabled(False); r=torch.is_grad_enabled(); torch.set_grad_enabled(True); (r,torch.is_grad_enabled())
J8: with torch.no_grad():⏎  with torch.enable_grad(): y=leaf()*2⏎y.requires_grad
J10: with torch.inference_mode(False): y=leaf()*2⏎(y.requires_grad)
J11: with torch.inference_mode(): r=(torch.is_grad_enabled(),torch.is_inference_mode_enabled())⏎r
J15: x=leaf(); y=(x*x).sum()⏎with torch.inference_mode(): y.backward()⏎(x.grad, x.grad.is_inference())
J16: with torch.inference_mode(): t=torch.ones(2)⏎c=t.clone(); (c.is_inference(), c.add_(1))
J18: r=[]⏎t=threading.Thread(target=lambda: r.append(torch.is_grad_enabled()))⏎with torch.no_grad(): t.start(); t.join()⏎r
J19: with torch.autograd.grad_mode.set_multithreading_enabled(False): leaf().sum().backward()
K1: x=leaf(); w=leaf(); y=(x*w).sum(); n=y.grad_fn; print(n, n.name(), n.next_functions); m=n.next_functions[0][0]; print(m.next_functions); a=m.next_functions[0][0]; (a.name(), a.variable is x, a.next_functions)
K2: x=leaf(); (x*T([1.,1.])).grad_fn.next_functions
K7: x=leaf(); y=x*2; e=ag.graph.get_gradient_edge(y); print(type(e).__name__, e.node.name(), e.output_nr); ag.grad(y.sum(), e), ag.grad((x*x).sum(), ag.graph.get_gradient_edge(x))
K8: x=leaf(); y=(x*2).sum(); e=ag.graph.get_gradient_edge(y); ag.backward(e); x.grad
K11: x=leaf(); n=(x*x).grad_fn; sorted(a for a in dir(n) if a.startswith('_saved') or a.startswith('_raw'))
K12: x=leaf(); y=x*x; s=y.grad_fn._saved_self; (s is x)
K14: x=leaf(); y=x.pow(2); (y.grad_fn._saved_exponent, y.grad_fn.name())
K16: x=leaf(); a=(x*2).grad_fn; b=(x*3).grad_fn; a.next_functions[0][0] is b.next_functions[0][0]
K18: x=torch.rand(2,3,requires_grad=True); (x.t().grad_fn.name(), x.reshape(6).grad_fn.name(), x.permute(1,0).grad_fn.name(), (x@x.t()).grad_fn.name(), torch.stack([x,x]).grad_fn.name(), x.unsqueeze(0).grad_fn.name(), x[:1].grad_fn.name(), x.transpose(0,1).grad_fn.name(), F.linear(x,x).grad_fn.name(), F.linear(x,x,torch.ones(2)).grad_fn.name(), torch.nn.functional.mse_loss(x,x*0).grad_fn.name(), F.cross_entropy(x,T([0,1])).grad_fn.name())
K20: x=leaf(); y=x*2; str(y), repr(y.sum()), str(x), str(y.detach())
K22: x=leaf(); a=ag.graph.get_gradient_edge(x); (a.node.name(), a.node.variable is x)
L10: x=torch.rand(2,dtype=torch.float16,requires_grad=True); (x*2.0).sum().backward(); x.grad.dtype
L12: x=T([1+2j,3-1j],requires_grad=True); x.abs().sum().backward(); x.grad
L13: x=T([1+2j],requires_grad=True); y=(x*x.conj()).real.sum(); y.backward(); x.grad
L15: x=T([0.,0.],requires_grad=True); x.abs().sum().backward(); x.grad
L16: x=T([0.],requires_grad=True); x.sqrt().backward(); x.grad
L18: x=T([0.,1.],requires_grad=True); torch.where(x>0, x.log(), torch.zeros(2)).sum().backward(); x.grad
L19: x=T([1.,1.,0.],requires_grad=True); x.max().backward(); a=x.grad.clone(); x.grad=None; x.max(0)[0].backward(); b=x.grad.clone(); x.grad=None; x.amax().backward(); (a,b,x.grad)
L21: x=T([1.,2.],requires_grad=True); x.clamp(1.,1.5).sum().backward(); x.grad
L22: x=T([0.,2.],requires_grad=True); x.prod().backward(); x.grad
L24: x=T([3.,1.,2.],requires_grad=True); v,i=x.sort(); (v*T([1.,10.,100.])).sum().backward(); (x.grad, i.requires_grad)
L25: x=T([1.5,2.5],requires_grad=True); (x.round().sum()+x.floor().sum()+x.sign().sum()).backward(); x.grad
N3: class E(Function):⏎  @staticmethod⏎  def forward(ctx,x): y=x.exp(); ctx.save_for_backward(y); return y⏎  @staticmethod⏎  def backward(ctx,g): y,=ctx.saved_tensors; print(y.grad_fn); return g*y⏎x=leaf(); g,=ag.grad(E.apply(x).sum(),x,create_graph=True); ag.grad(g.sum(),x)
N7: class E(Function):⏎  @staticmethod⏎  def forward(ctx,x): ctx.save_for_backward(x,None); return x*2⏎  @staticmethod⏎  def backward(ctx,g): print(ctx.saved_tensors); return g⏎E.apply(leaf()).sum().backward()
N8: class E(Function):⏎  @staticmethod⏎  def forward(ctx,x): ctx.save_for_backward(x); return x*2⏎  @staticmethod⏎  def backward(ctx,g): ctx.save_for_backward(g); return g⏎E.apply(leaf()).sum().backward()
N10: class E(Function):⏎  @staticmethod⏎  def forward(ctx,a): return a.max(0)⏎  @staticmethod⏎  def backward(ctx,*g): return g[0].expand(2)⏎r=E.apply(leaf()); (type(r), [t.requires_grad for t in r])
N11: class E(Function):⏎  @staticmethod⏎  def forward(ctx,a): ctx.foo=1; return a*2⏎  @staticmethod⏎  def backward(ctx,g): return g*ctx.foo⏎f=E();
O1: x=leaf(); x.sum().backward(); g1=x.grad; x.grad=None; x.sum().backward(); g1 is x.grad
O2: x=leaf(); y=x*2; y.sum().backward(retain_graph=True); g=x.grad.clone(); y.sum().backward(); (g,x.grad)
O4: x=leaf(); y=(x**2).sum(); ag.grad(y,x,create_graph=True); ag.grad(y,x); 1
O6: x=leaf(); ag.grad((x*2).sum(), {'x':x})
O9: x=leaf(); x.grad_dtype=None; x.grad=torch.ones(2,dtype=torch.float64); x.grad.dtype
O11: x=leaf(); v=x._version; ag.graph.increment_version(x); (v,x._version)
O15: x=leaf(); L=[]; a=x*2; b=x*3; a.register_hook(lambda g:L.append('a')); b.register_hook(lambda g:L.append('b')); (a+b).sum().backward(); L
O17: x=leaf(); L=[]⏎x.register_hook(lambda g:L.append(('h',g.tolist())))⏎y=x*2+x*3; y.sum().backward(); (L,x.grad)
O18: x=leaf(); a=(x*2).grad_fn.next_functions[0][0]; L=[]; a.register_prehook(lambda g:L.append('acc pre')); a.register_hook(lambda gi,go:L.append(('acc post',gi,x.grad.tolist()))); x.register_hook(lambda g:L.append('tensor')); x.register_post_accumulate_grad_hook(lambda p:L.append('post_acc')); (x*2).sum().backward(); L
O20: x=leaf(); y=x*2; y.retain_grad(); ag.grad(y.sum(),x); y.grad
O21: x=leaf(); y=x*2; y.retain_grad(); ag.grad(y.sum(),y); y.grad
O23: x=leaf(); (x*2).sum().backward(inputs=x); x.grad
O24: x=leaf(); z=leaf(); (x*z).sum().backward(inputs=[x]); (x.grad,z.grad)
O26: x=T([1.,2.]); w=leaf(3.,4.); used=x*w; x.requires_grad_(); used.sum().backward(); (x.grad,w.grad)
O28: x=leaf(); y=x*2; x.requires_grad_(False); y.sum().backward(); (x.grad, x.requires_grad)
O30: x=leaf(); x.data.fill_(9.); (x, x._version)
O31: x=leaf(); y=x.detach(); y.fill_(9.); (x, x._version, y._version)
O33: x=leaf(); y=x.clone().detach().requires_grad_(True); (y.is_leaf,y.requires_grad)
O34: x=leaf(); x.grad=torch.ones(2); x.grad.zero_(); x.grad
O36: x=leaf(); x.sum().backward(); del x.grad; x.grad
O37: x=leaf(); y=x.sum(); y.grad_fn; del x; import gc; gc.collect(); y.backward(); y.grad_fn.next_functions[0][0].variable.grad
O39: x=leaf(); y=x.view(1,2); (y._base is x, y[0]._base is x, y.grad_fn.name())
O40: x=leaf(); y=x*1; v=y.view(1,2); y.mul_(3); (v, v.grad_fn.name()); v.sum().backward(); x.grad
O42: x=leaf(); y=x*1; d=y.diagonal(0) if y.dim()>1 else y[0:1]; d.zero_(); y.sum().backward(); x.grad
O43: x=leaf(); y=x.expand(3,2); y.sum().backward(); x.grad
O45: x=leaf(); y=x[torch.tensor([0,0,1])]; y.sum().backward(); x.grad
O46: x=leaf(); y=torch.zeros(3); y.index_add_(0,T([0,2]),x); y.sum().backward(); x.grad
O48: x=leaf(); y=x*2; y.backward(torch.ones(2),retain_graph=True); y.backward(torch.ones(2)); x.grad
O49: x=leaf(); y=(x*x).sum(); y.backward(retain_graph=True,create_graph=False); y.backward(); x.grad
O51: x=leaf(); y=x*2; z=y.detach(); z.requires_grad_(); (z*z).sum().backward(); y.backward(z.grad); x.grad
O54: x=leaf(); w=weak=None⏎import weakref⏎y=x*2; r=weakref.ref(y); z=y*3; del y; r() is None
O56: x=T(3.,requires_grad=True); y=x*x; y.backward(T(2.)); x.grad
O57: x=T(3.,requires_grad=True); (x>2, x.int().requires_grad, (x>2).requires_grad)
O59: x=leaf(); x2=x; (x is x2, torch.equal(x,x2)); ag.grad((x*x).sum(), (x,))
O60: x=leaf(); y=x*T(float('nan')); y.sum().backward(); x.grad
O66: x=leaf(); y=x+1; z=y*2; z.sum().backward(); z2=(y*3).sum(); z2.backward(); x.grad
O68: m=nn.Linear(2,2); c=copy.deepcopy(m); (c.weight is m.weight, c.weight.requires_grad)
O70: m=nn.Linear(2,2); m.zero_grad(); m(torch.ones(2)).sum().backward(); m.zero_grad(); m.weight.grad
O71: m=nn.Linear(2,2); sd=m.state_dict(); (sd['weight'].requires_grad, sd['weight'].data_ptr()==m.weight.data_ptr())
O74: x=leaf(); y=(x*2).sum(); y.backward(torch.tensor(1.),True); y.backward(); x.grad
O75: torch.autograd.Variable(T([1.]),requires_grad=True)
O78: x=T([1.,2.]); x.requires_grad=True; x.requires_grad=False; (x.requires_grad,x.is_leaf)
O79: with torch.inference_mode(): t=torch.ones(2)⏎t[0].item(), (t+1).is_inference()
P2: x=leaf(); v=torch.ones(2,requires_grad=True); gx,=ag.grad(x*x,x,v,create_graph=True); ag.grad(gx.sum(),v)
P3: x=leaf(); y=x*2; torch.autograd.grad(y.sum(), x, retain_graph=True); y.grad_fn.next_functions
P6: x=leaf(); L=[]; y=x*2; y.register_hook(lambda g:L.append(1)); y2=y.detach(); L2=len(L); ag.grad(y.sum(),x,create_graph=True); L
P7: x=leaf(); y=x*2; y.register_hook(lambda g: None); y.sum().backward(); x.grad
P9: m=nn.Linear(2,1); h=m.register_full_backward_pre_hook(lambda m,go: (go[0]*10,)); x=leaf(); m(x).sum().backward(); m.bias.grad
P11: x=leaf(); y=x.exp(); y.backward(torch.ones(2)); (y, y.grad_fn.name(), y.requires_grad)
P13: x=leaf(); y=x*2; gg=torch.ones(2,requires_grad=True); y.backward(gg,create_graph=True); x.grad.requires_grad
P14: torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()
P16: x=leaf(); y=x*2⏎with torch.no_grad():⏎  y.requires_grad_(); z=x.requires_grad_(False)⏎(y.requires_grad,x.requires_grad)
P20: x=leaf(); (x*2).register_hook(lambda g:g); ag.graph.Node in type((x*2).grad_fn).__mro__, isinstance((x*2).grad_fn, ag.graph.Node)
P22: with torch.autograd.graph.saved_tensors_hooks(lambda t: ('p',t.detach().numpy().tobytes(),t.shape), lambda p: torch.frombuffer(bytearray(p[1]),dtype=torch.float32).reshape(p[2])):⏎  x=leaf(); y=x*x⏎y.sum().backward(); x.grad
P24: x=leaf(); y=x*2; x2=x.detach(); x2.mul_(3); y.sum().backward(); x.grad
P27: a=leaf(); b=a; b=b*1; b+=1; (a, b)
P29: x=leaf(); s=x.sum(); s.backward(gradient=None,retain_graph=None,create_graph=False,inputs=None); x.grad
P30: x=leaf(); y=x*2; y.is_leaf, y.detach().is_leaf, y.data.is_leaf, y.clone().is_leaf, y.detach().requires_grad_().is_leaf
D1: leaf().numpy()
D2: (leaf()*2).numpy()
D4: np.asarray(leaf()*1)
D6: leaf().item()
D10: bool(leaf())
D11: bool(torch.ones(0))
D22: iter(T(1.))
D23: len(T(1.))
F38: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]*2⏎fgrad(lambda t:F1.apply(t).sum())(T([1.,2.]))
F39: class G(Function):⏎  @staticmethod⏎  def forward(x): return x*2⏎  @staticmethod⏎  def setup_context(ctx,inputs,output): pass⏎  @staticmethod⏎  def backward(ctx,g): return g*2⏎vmap(G.apply)(torch.ones(3,2))
F41: class F1(Function):⏎  @staticmethod⏎  def forward(ctx, x):⏎    return x*2⏎  @staticmethod⏎  def backward(ctx, *g):⏎    return g[0]*2⏎with fwAD.dual_level(): F1.apply(fwAD.make_dual(T([1.]),T([1.])))
F42: class G(Function):⏎  @staticmethod⏎  def forward(ctx,x): return x*2⏎  @staticmethod⏎  def jvp(ctx,t): return t,t⏎with fwAD.dual_level(): G.apply(fwAD.make_dual(T([1.]),T([1.])))
G1: fwAD.make_dual(T([1.]),T([1.]))
G4: with fwAD.dual_level():⏎  with fwAD.dual_level(): pass
G5: with fwAD.dual_level(): fwAD.make_dual(T([1.]),torch.ones(2))
G12: with fwAD.dual_level(): d=fwAD.make_dual(T([2.]),T([1.])); fwAD.make_dual(d,T([1.]))
G14: with fwAD.dual_level(): fwAD.make_dual(5.,T([1.]))
H2: AF.jacobian(lambda x:5, T([1.,2.]))
H3: AF.jacobian(lambda x:x*x, 5)
H6: AF.jacobian(lambda x,y:x*2, (T([1.]),T([1.])), strict=True)
H7: AF.jacobian(lambda x:x*x, T([1.,2.]), vectorize=True, strict=True)
H11: AF.hessian(lambda x:x**3, T([1.,2.]))
H12: AF.vjp(lambda x:x*x, T([1.,2.]))
H15: AF.jvp(lambda x:x*x, T([1.,2.]))
H18: AF.hvp(lambda x:x*x, T([1.,2.]), torch.ones(2))
H20: fgrad(lambda x:x*x)(T([1.,2.]))
H21: fgrad(lambda x:5.)(T(1.))
H23: fgrad(lambda x:x*2, argnums=1)(T(1.))
H24: fgrad(lambda x:(x*x).sum())(T([1,2]))
H28: x=leaf(3.)⏎def f(t):⏎  (t*2).sum().backward(); return t.sum()⏎fgrad(f)(T([1.]))
H29: fgrad(lambda t:(t.requires_grad_()*2).sum())(T([1.]))
H31: vmap(lambda a:a)(5)
H32: vmap(lambda a:a*2, in_dims=3)(torch.ones(2))
H34: vmap(lambda a:a.item())(torch.ones(2))
H35: vmap(lambda a:a*2 if a>0 else a)(torch.ones(2))
H38: def f(a):⏎  b=torch.zeros(1); b.add_(a); return b⏎vmap(f)(torch.ones(2,1))
H39: vmap(lambda a:'x')(torch.ones(2))
H43: vmap(lambda a:a, out_dims=2)(torch.ones(2))
H44: vmap(lambda a:a, in_dims=(0,0))(torch.ones(2))
H47: jacrev(lambda x:5)(T([1.]))
H48: vjp(lambda x:x*x, T([1.,2.]))[1](torch.ones(3))
H52: jvp(lambda x:x*x,T([1.,2.]),torch.ones(2))
I4: class B(Function):⏎  @staticmethod⏎  def forward(ctx,x): return x*2⏎  @staticmethod⏎  def backward(ctx,g): return g⏎torch.manual_seed(0); ag.gradcheck(B.apply,(torch.ones(2,dtype=torch.float64,requires_grad=True),))
I6: ag.gradcheck(lambda x:x*x, (torch.ones(1,dtype=torch.float64).expand(3).requires_grad_(),))
I11: ag.gradcheck(lambda x:x.detach(), (torch.rand(3,dtype=torch.float64,requires_grad=True),))
I13: with ag.detect_anomaly(): x=T([0.],requires_grad=True); y=(x.sqrt()*0).sum(); y.backward()
I20: n=[0]⏎def f(t):⏎  n[0]+=1; return (t*t*t) if n[0]==1 else (t*t)⏎x=leaf(); checkpoint(f,x,use_reentrant=False).sum().backward()
I21: n=[0]⏎def f(t):⏎  n[0]+=1; return (t*t) if n[0]==1 else (t.double()*t.double())⏎x=leaf(); checkpoint(f,x,use_reentrant=False).sum().backward()
K15: ag.graph.Node()
L6: leaf().cuda()
M1: torch.optim.SGD([leaf()*2],lr=.1)
M2: torch.optim.SGD([],lr=.1)
M4: torch.optim.SGD([leaf(),leaf()],lr=-1)
M6: p=leaf(); torch.optim.SGD([{'params':[p]},{'params':[p]}],lr=.1)
M9: m=nn.Module(); m.register_parameter('w',leaf())
M10: m=nn.Module(); m.register_parameter('w',nn.Parameter(leaf())*1)
M15: class M(nn.Module):⏎  def __init__(s): s.w=nn.Parameter(torch.ones(1))⏎M()
M17: m=nn.Linear(2,2); m.load_state_dict({'weight':torch.ones(3,2),'bias':torch.ones(2)})
M22: p=leaf(); torch.optim.LBFGS([p]).step()
M23: p=leaf(); p.grad=T([float('nan'),1.]); nn.utils.clip_grad_norm_([p],1.,error_if_nonfinite=True)
M25: torch.ones(2)+torch.ones(3)
M26: torch.ones(2,3).t().view(6)
M28: torch.ones(2)[5]
M29: torch.ones(2).sum(3)
M31: torch.cat([])
M32: torch.stack([torch.ones(2),torch.ones(3)])
M34: torch.dot(torch.ones(2),torch.ones(3))
M35: torch.dot(torch.ones(2,2),torch.ones(2))
M37: torch.ones(2,2).index_select(0,T([5]))
M38: torch.ones(2,2).gather(0,T([[5]]))
M40: torch.ones(2,2)[[5]]
M41: nn.Linear(2,2)(torch.ones(2,dtype=torch.int64))
M43: torch.tensor([[1.],[1.,2.]])
M44: torch.ones(2).squeeze(5)
M46: torch.zeros(2,2).transpose(0,3)
M47: torch.ones(2,3).permute(0,0)
M49: torch.bmm(torch.ones(2,2),torch.ones(2,2))
M50: torch.ones(2).masked_fill(T([1.,0.]),0)
D5: leaf().numpy(force=True)
D8: float(leaf(3.))
D13: d=copy.deepcopy(leaf()); (d.requires_grad,d.is_leaf)
D14: x=leaf(); x.sum().backward(); d=copy.deepcopy(x); (d.grad, d.grad is x.grad)
D16: p=pickle.loads(pickle.dumps(leaf()*2)); (p.requires_grad,p.is_leaf,p.grad_fn)
D17: x=leaf(); x.sum().backward(); p=pickle.loads(pickle.dumps(x)); (p.requires_grad, p.grad)
D19: torch.tensor(leaf())
D20: torch.as_tensor(leaf()).requires_grad
D24: leaf().tolist()
D25: int(leaf(3.))
D27: x=leaf(); x.clone().grad_fn.name(), x.to(torch.float64).grad_fn.name(), x.to(torch.float32) is x, x.contiguous() is x
D28: x=leaf(); y=x.to(torch.int64); (y.requires_grad, y.grad_fn)
D30: format(leaf(3.)[0], '.2f')
D31: '%f' % leaf(3.)
D33: x=leaf(); {x:1}[x], x==x
D34: x=leaf(); x in [x]
F37: class G(Function):⏎  @staticmethod⏎  def forward(x): return x*2⏎  @staticmethod⏎  def setup_context(ctx,inputs,output): ctx.save_for_backward(inputs[0])⏎  @staticmethod⏎  def backward(ctx,g): return g*2⏎x=leaf(); G.apply(x).sum().backward(); print(x.grad); fgrad(lambda t:G.apply(t).sum())(T([1.,2.]))
F44: class G(Function):⏎  @staticmethod⏎  def forward(ctx,x): ctx.save_for_forward(x); return x*x⏎  @staticmethod⏎  def jvp(ctx,t): return 2*ctx.saved_tensors[0]*t⏎with fwAD.dual_level(): print(fwAD.unpack_dual(G.apply(fwAD.make_dual(T([3.]),T([1.])))))
G7: with fwAD.dual_level(): fwAD.make_dual(T([1.]),T([1.],dtype=torch.float64))
G8: with fwAD.dual_level(): print(fwAD.unpack_dual(T([1.])))
G10: with fwAD.dual_level(): d=fwAD.make_dual(T([2.]),T([1.])); o=d*d⏎fwAD.unpack_dual(o)
G11: with fwAD.dual_level(): d=fwAD.make_dual(T([2.]),T([1.])); d.add_(1); print(fwAD.unpack_dual(d)); e=d.detach(); print(fwAD.unpack_dual(e))
G16: with torch.no_grad():⏎  with fwAD.dual_level(): o=fwAD.make_dual(T([2.]),T([1.]))*3; print(fwAD.unpack_dual(o))
G17: with fwAD.dual_level():⏎  d=fwAD.make_dual(T([2.]),T([1.]))⏎  with fwAD.set_forward_grad_enabled(False) if hasattr(fwAD,'set_forward_grad_enabled') else fwAD._set_fwd_grad_enabled(False): o=d*3⏎  print(fwAD.unpack_dual(o))
H5: AF.jacobian(lambda x:T([1.]), T([1.,2.]))
H9: AF.jacobian(lambda x:x*x, T([1.,2.]), strategy='forward-mode', vectorize=True)
H14: AF.vjp(lambda x:x*x, T([1.,2.]), torch.ones(2))
H16: AF.jvp(lambda x:x*x, T([1.,2.]), torch.ones(2))
H25: fgrad(lambda x:((x*x).sum(),x), has_aux=True)(T([1.,2.]))
H27: fgrad(fgrad(lambda x:x**3))(T(2.))
H41: vmap(lambda a:a.sum(), chunk_size=1)(torch.ones(2,2))
H42: vmap(lambda a,b:a*b, in_dims=(0,None), out_dims=0)(torch.arange(3.),T(2.))
H49: out,f=vjp(lambda x:x*x, T([1.,2.])); (out, f(torch.ones(2)), f(torch.ones(2)))
H50: jvp(lambda x:x*x,(T([1.,2.]),),(torch.ones(2),))
H54: out,f=torch.func.linearize(lambda x:x*x, T([1.,2.])); (out,f(torch.ones(2)))
H55: m=nn.Linear(2,1); torch.func.functional_call(m,{'weight':torch.ones(1,2),'bias':torch.zeros(1)},(torch.ones(2),))
H57: def f(x):⏎  with torch.no_grad(): return (x*x).sum()⏎fgrad(f)(T([1.,2.]))
H58: g=[]⏎def f(x):⏎  g.append(x); return x.sum()⏎fgrad(f)(T([1.,2.])); g[0]+1
H60: torch.func.grad_and_value(lambda x:(x*x).sum())(T([1.,2.]))
I1: ag.gradcheck(lambda x:x*x, (torch.rand(3,dtype=torch.float64,requires_grad=True),))
I8: ag.gradgradcheck(lambda x:x*x*x, (torch.rand(3,dtype=torch.float64,requires_grad=True),))
I9: ag.gradcheck(lambda x:x*x, (torch.rand(2,dtype=torch.complex128,requires_grad=True),), check_forward_ad=True)
I12: ag.gradcheck(lambda x:x.round(), (torch.rand(2,dtype=torch.float64,requires_grad=True),))
I16: x=leaf(); checkpoint(lambda t:t*t, x).sum().backward(); x.grad
I17: x=leaf(); checkpoint(lambda t:t*t, x, use_reentrant=False).sum().backward(); x.grad
I23: from torch.utils.checkpoint import checkpoint_sequential⏎x=leaf(); checkpoint_sequential([lambda t:t*2,lambda t:t*3],2,x,use_reentrant=False).sum().backward(); x.grad
I26: n=[0]⏎def f(t):⏎  n[0]+=1; return (t*t)⏎x=leaf(); y=checkpoint(f,x,use_reentrant=False); y.sum().backward(); n
M5: p=leaf(); torch.optim.SGD([p,p],lr=.1)
M8: torch.optim.SGD([T([1,2])],lr=.1)
M13: p=nn.Parameter(torch.ones(2)); (repr(p), p.is_leaf, (p*2).__class__.__name__)
M14: p=nn.Parameter(torch.ones(2),requires_grad=False); p.requires_grad
M19: p=leaf(); o=torch.optim.SGD([p],lr=.5); (p*p).sum().backward(); o.step(); o.zero_grad(); (p, p.grad)
M20: p=leaf(); o=torch.optim.SGD([p],lr=.5); (p*p).sum().backward(); o.zero_grad(set_to_none=False); p.grad
O14: x=leaf(1.)⏎y=x⏎for i in range(100000): y=y*1.0⏎del y⏎'deleted without stack overflow'
O62: x=leaf(); out=F.dropout(x,0.5,training=False); out is x
O63: x=torch.rand(3,2,requires_grad=True); nn.BatchNorm1d(2)(x).sum().backward(); x.grad.abs().max()<1e-5
P17: x=T([1.,2.],requires_grad=True,dtype=torch.float64); ag.gradcheck(lambda t:(t*t).sum(), x)
P33: import torch.func as tf; tf.functionalize(lambda x: x.add_(1) if False else x.clone().add_(1))(T([1.]))
I2: ag.gradcheck(lambda x:x*x, (T([.5,.25],requires_grad=True),), atol=1e-9)
"""


def outcome(library: ModuleType, case: str) -> tuple[str, str, list[tuple[str, str]]]:
    """What a case prints, the repr of its last expression or its error, and its warnings."""
    code = re.sub(r"(from|import) torch\b", rf"\1 {library.__name__}", case.replace("⏎", "\n"))
    func = library.func
    scope: dict[str, Any] = {
        "torch": library, "ag": library.autograd, "nn": library.nn, "F": library.nn.functional, "T": library.tensor,
        "Function": library.autograd.Function, "fwAD": library.autograd.forward_ad, "AF": library.autograd.functional,
        "checkpoint": library.utils.checkpoint.checkpoint, "fgrad": func.grad, "vmap": func.vmap, "vjp": func.vjp,
        "jvp": func.jvp, "jacrev": func.jacrev, "jacfwd": func.jacfwd, "hessian": func.hessian,
        "leaf": leaf_of(library), "np": np, "copy": copy, "threading": threading, "pickle": pickle,
    }  # fmt: skip
    program = ast.parse(code)
    last = ast.Expression(program.body.pop().value) if isinstance(program.body[-1], ast.Expr) else None
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()) as printed:
        warnings.simplefilter("always")
        try:
            exec(compile(program, "<case>", "exec"), scope)
            text = repr(None if last is None else eval(compile(last, "<case>", "eval"), scope))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
    told = [(w.category.__name__, neutral(str(w.message))) for w in caught]
    return neutral(printed.getvalue()), neutral(text), [w for w in told if not w[1].startswith(OF_ITS_INSIDE)]


@pytest.fixture(autouse=True)
def every_warning() -> Iterator[None]:
    """PyTorch's own warnings each time, not once in a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


@pytest.mark.parametrize(("number", "case"), [line.split(": ", 1) for line in CASES.strip().splitlines()])
def test_cases(number: str, case: str) -> None:
    assert outcome(numgrad, case) == outcome(torch, case)
