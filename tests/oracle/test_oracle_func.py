"""`torch.func` against PyTorch's: the same lines must show, raise and warn the same in both libraries."""

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

PRELUDE = """
tf = torch.func
t = T([1.0, 2.0])
X = T([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64)
V = T([0.5, -1.0, 2.0], dtype=torch.float64)
W = T([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]], dtype=torch.float64)
f = lambda w, x: torch.tanh(x @ w).sum()
"""

# Arguments, structures and errors.
SURFACE = """
out = tf.grad(lambda x: x.mul_(2).sum())(T([1.,2.]))
out = tf.vmap(lambda a: a+torch.rand(()))(torch.ones(2))
out = tf.vmap(lambda a: a+torch.rand(()), randomness='x')(torch.ones(2)).shape
out = tf.vmap(lambda a: torch.rand_like(a))(torch.ones(2))
out = tf.vmap(lambda a: a.numpy())(torch.ones(2))
out = tf.vmap(lambda a: a.tolist())(torch.ones(2))
out = tf.vmap(lambda a: float(a))(torch.ones(2))
out = tf.vmap(lambda a: a.requires_grad_())(torch.ones(2))
out = tf.vmap(lambda a: (a,{'b':a*2}))(torch.ones(2))
out = tf.vmap(lambda a: [a])(torch.ones(2))
out = tf.vmap(lambda a: None)(torch.ones(2))
out = tf.vmap(lambda a: 3, out_dims=None)(torch.ones(2))
out = tf.vmap(lambda a: T(3.))(torch.ones(2))
out = tf.vmap(lambda a: T(3.), out_dims=None)(torch.ones(2))
out = tf.vmap(lambda a: a, out_dims=None)(torch.ones(2))
out = tf.vmap(lambda a: a, out_dims=(0,0))(torch.ones(2))
out = tf.vmap(lambda a: (a,a), out_dims=0.5)(torch.ones(2))
out = tf.vmap(lambda a,b: a, in_dims=(0,'x'))(torch.ones(2),torch.ones(2))
out = tf.vmap(lambda a,b: a, in_dims=0.5)(torch.ones(2),torch.ones(2))
out = tf.vmap(lambda a,b: a)(torch.ones(2),torch.ones(3))
out = tf.vmap(lambda a,b: a, in_dims=None)(torch.ones(2),torch.ones(3))
out = tf.vmap(lambda a,b: a, in_dims=(None,None))(torch.ones(2),torch.ones(3))
out = tf.vmap(lambda: 3)()
out = tf.vmap(lambda a: a, chunk_size=0)(torch.ones(2))
out = tf.vmap(lambda a: a)(T(3.))
out = tf.vmap(lambda a: a.backward())(T([3.],requires_grad=True))
out = tf.vmap(lambda a: a.sum(),in_dims=-1,out_dims=-1)(torch.ones(2,3))
out = tf.vmap(lambda d: d['a']*d['b'], in_dims=({'a':0,'b':None},))({'a':torch.ones(3),'b':torch.ones(2)})
out = tf.vmap(lambda d: d['a']*d['b'], in_dims=({'a':0},))({'a':torch.ones(3),'b':torch.ones(2)})
out = tf.grad(lambda x: x.sum())(5.)
out = tf.grad(lambda x,y: x.sum(), argnums=(0,1))(t,t)
out = tf.grad(lambda x,y: x.sum(), argnums=(0,0))(t,t)
out = tf.grad(lambda x,y: x.sum(), argnums=-1)(t,t)
out = tf.grad(lambda x,y: x.sum(), argnums=-3)(t,t)
out = tf.grad(lambda x,y: x.sum(), argnums='a')(t,t)
out = tf.grad(lambda d: (d['a']*d['b']).sum())({'a':t,'b':t})
out = tf.grad(lambda x: (x.sum(),1), has_aux=True)(t)
out = tf.grad(lambda x: x.sum(), has_aux=True)(t)
out = tf.grad(lambda x: (x.sum(),), has_aux=True)(t)
out = tf.grad(lambda x: x)(T([1.]))
out = tf.vjp(lambda x: (x,(x*2,)), t)[0]
out = tf.vjp(lambda x: (x,(x*2,)), t)[1]((t,(t,)))
out = tf.vjp(lambda x: (x,(x*2,)), t)[1]((t,t))
out = tf.vjp(lambda x: x, t, has_aux=True)
out = tf.vjp(lambda x: (x,'a'), t)
out = tf.vjp(lambda x: x)
out = tf.vjp(lambda x: x, 3)
out = tf.jvp(lambda x: x,(t,),t)
out = tf.jvp(lambda x: x,(t,),(t,t))
out = tf.jvp(lambda x: x,(t,),(torch.ones(3),))
out = tf.jvp(lambda x: 3,(t,),(t,))
out = tf.jvp(lambda x: x,(),())
out = tf.jvp(lambda x: T(1.),(t,),(t,))
out = tf.jvp(lambda x: T(1.),(t,),(t,),strict=True)
out = tf.jvp(lambda x: (x,x*2),(t,),(t,), has_aux=True)
out = tf.jvp(lambda x: {'a':x,'b':(x*2,)},(t,),(t,))
out = tf.jacrev(lambda x: (x,x*2))(t)
out = tf.jacrev(lambda x: {'a':x,'b':x*2})(t)
out = tf.jacrev(lambda x,y: x*y, argnums=(0,1))(t,t)
out = tf.jacrev(lambda x: (x*2,x), has_aux=True)(t)
out = tf.jacrev(lambda x: x*2, chunk_size=1)(t)
out = tf.jacrev(lambda x: x*2, chunk_size=0)(t)
out = tf.jacrev(lambda x: x*2, argnums='a')(t)
out = tf.jacrev(lambda x: x*2, argnums=2)(t)
out = tf.jacfwd(lambda x: (x,x*2))(t)
out = tf.jacfwd(lambda x: {'a':x,'b':x*2})(t)
out = tf.jacfwd(lambda x,y: x*y, argnums=(0,1))(t,t)
out = tf.jacfwd(lambda x: (x*2,x), has_aux=True)(t)
out = tf.jacfwd(lambda x: 3)(t)
out = tf.jacfwd(lambda x: x*2, argnums='a')(t)
out = tf.hessian(lambda x: (x**3).sum())(t)
out = tf.hessian(lambda x,y: (x**3*y).sum(), argnums=(0,1))(t,t)
out = tf.grad_and_value(lambda x: ((x*x).sum(), x), has_aux=True)(t)
out = tf.linearize(lambda x: x*x, t)[1](T([1.]))
out = tf.linearize(lambda x: x*x, t)[1](t,t)
out = tf.linearize(lambda x: (x*x,{'a':x}), t)[1](t)
out = tf.linearize(lambda x: x*x)
out = tf.grad(lambda x: x.detach().sum())(t)
out = tf.grad(lambda x: (x*2).sum().to(torch.int64))(t)
out = tf.grad(tf.grad(lambda x: (x**3).sum()))(T(2.))
out = tf.functionalize(lambda x: x.add_(1))(t)
def f(a):⏎  b = torch.zeros(1); b.add_(a); return b⏎tf.vmap(f)(torch.ones(2, 1))
def f(a):⏎  b = torch.zeros(1); b.copy_(a); return b⏎tf.vmap(f)(torch.ones(2, 1))
def f(a):⏎  b = torch.zeros(()); b.mul_(a); return b⏎tf.vmap(f)(torch.ones(2))
def f(a):⏎  b = torch.zeros(2); b[0] = a; return b⏎tf.vmap(f)(torch.ones(2))
def f(a):⏎  b = torch.zeros(2); b.pow_(a); return b⏎tf.vmap(f)(torch.ones(2))
def f(a):⏎  b = torch.zeros(2); b.exp_(); return a + b.sum()⏎out = tf.vmap(f)(torch.ones(2))
tf.vmap(lambda a: a * 2 if a > 0 else a)(torch.ones(2))
tf.vmap(lambda a: a if (a > 0).any() else a)(torch.ones(2, 2))
g = []⏎def f(x):⏎  g.append(x); return x.sum()⏎tf.grad(f)(t); out = g[0] + 1
def f(x):⏎  with torch.no_grad(): return (x * x).sum()⏎out = tf.grad(f)(t)
with torch.no_grad(): out = tf.grad(lambda x: (x * x).sum())(t)
x = leaf(); out = tf.grad(lambda y: (x * y * y).sum())(t)
x = leaf(); out = ag.grad(tf.grad(lambda y: (x * y * y).sum())(t).sum(), x)
x = leaf(); out = tf.grad(lambda y: (y * y).sum())(x)
x = leaf(); out = ag.grad(tf.grad(lambda y: (y**3).sum())(x).sum(), x)
x = leaf(); tf.grad(lambda y: (y**3).sum())(x); out = x.grad
x = leaf(); out = tf.vjp(lambda y: y**3, x)[0]
x = leaf(); o, f = tf.vjp(lambda y: y**3, x); out = f(t), ag.grad(f(t)[0].sum(), x)
with torch.no_grad(): out = tf.grad(lambda y: (y**3).sum())(leaf())
out = tf.grad(lambda x: x.detach() * x)(T(3.0))
out = tf.grad(lambda x: tf.grad(lambda y: x.detach() * y * y)(x))(T(3.0))
out = tf.vmap(lambda a: a, out_dims=2)(torch.ones(2))
out = tf.vmap(lambda a: a + torch.rand(3), randomness="different")(torch.ones(2)).shape
r = tf.vmap(lambda a: a + torch.rand(3), randomness="same")(torch.ones(2)); out = (r[0] == r[1]).all()
r = tf.vmap(lambda a: a + torch.rand(3), randomness="different")(torch.ones(2)); out = (r[0] == r[1]).any()
out = tf.vmap(lambda a: a, in_dims=0, chunk_size=2)(torch.ones(5, 2)).shape
out = tf.vmap(lambda a: (a, a.sum()), out_dims=(1, 0), chunk_size=2)(torch.ones(5, 2))
out = tf.vmap(lambda a, b: a + b, in_dims=(0, None), chunk_size=3)(torch.ones(5), T(1.0))
out = tf.vmap(lambda a: a * 2)(torch.ones(0, 3))
m = nn.Linear(2, 1); out = tf.functional_call(m, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, (torch.ones(2),))
m = nn.Linear(2, 1); out = tf.functional_call(m, ({"weight": torch.ones(1, 2)}, {"bias": torch.zeros(1)}), torch.ones(2))
m = nn.Linear(2, 1); tf.functional_call(m, ({"weight": torch.ones(1, 2)}, {"weight": torch.zeros(1)}), torch.ones(2))
m = nn.Linear(2, 1); tf.functional_call(m, {"weight": torch.ones(1, 2)}, torch.ones(2), strict=True)
m = nn.Linear(2, 1); tf.functional_call(m, {"weight": torch.ones(1, 2), "w": t}, torch.ones(2), strict=True)
m = nn.Linear(2, 1); tf.functional_call(m, 3, torch.ones(2))
m = nn.Linear(2, 1); tf.functional_call(m, (3,), torch.ones(2))
m = nn.Linear(2, 1); w = m.weight; tf.functional_call(m, {"weight": torch.ones(1, 2)}, torch.ones(2)); out = m.weight is w
m = nn.Linear(2, 1); out = nn.utils.stateless.functional_call(m, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, torch.ones(2))
m = nn.Sequential(nn.Linear(2, 2), nn.Tanh()); p = {"0.weight": torch.ones(2, 2), "0.bias": torch.zeros(2)}; out = tf.grad(lambda p, x: tf.functional_call(m, p, x).sum())(p, t)
m = nn.Linear(2, 2); m.other = m.weight; p = {"weight": torch.ones(2, 2)}; out = tf.functional_call(m, p, t).shape, m.other is m.weight
m = nn.Linear(2, 2); m.register_parameter("other", m.weight); tf.functional_call(m, {"weight": torch.ones(2, 2), "other": torch.zeros(2, 2)}, t)
ms = [nn.Linear(2, 1) for _ in range(3)]; p, b = tf.stack_module_state(ms); out = p["weight"].shape, p["weight"].is_leaf, p["weight"].requires_grad, b
ms = [nn.Linear(2, 1) for _ in range(3)]; p, b = tf.stack_module_state(ms); out = tf.vmap(lambda p, x: tf.functional_call(ms[0], p, x), (0, None))(p, torch.ones(4, 2)).shape
tf.stack_module_state([])
tf.stack_module_state([nn.Linear(2, 1), nn.Tanh()])
tf.stack_module_state([nn.Linear(2, 1), nn.Linear(2, 1).eval()])
tf.functionalize(lambda x: x, remove="all")
"""

# Values: every transform, nested in every other, and the ops that have rules of their own under `vmap`.
VALUES = """
out = tf.vmap(tf.grad(f),(None,0))(W,X)
out = tf.vmap(tf.grad(f),(0,None))(torch.stack([W,W*2]),V)
out = tf.grad(lambda w: tf.vmap(f,(None,0))(w,X).sum())(W)
out = tf.jacrev(tf.jacrev(f))(W,V)
out = tf.jacfwd(tf.jacrev(f))(W,V)
out = tf.jacrev(tf.jacfwd(f))(W,V)
out = tf.jacfwd(tf.jacfwd(f))(W,V)
out = tf.hessian(f,argnums=1)(W,V)
out = tf.hessian(f,argnums=(0,1))(W,V)
out = tf.vmap(tf.hessian(f,argnums=1),(None,0))(W,X)
out = tf.vmap(tf.vmap(torch.dot,(None,0)),(0,None))(X,X)
out = tf.vmap(tf.vmap(lambda a,b:a*b),(0,1))(X,X.t())
out = tf.jvp(tf.grad(f,argnums=1),(W,V),(W,V))
out = tf.grad(lambda x: tf.jvp(lambda y: (y**3).sum(),(x,),(x,))[1])(V)
out = tf.grad(lambda x: x*tf.grad(lambda y: x*y*y)(x))(T(3.))
out = tf.grad(lambda x: x*tf.grad(lambda y: x+y)(T(1.)))(T(3.))
out = tf.jvp(lambda x: x*tf.jvp(lambda y: x+y,(T(1.),),(T(1.),))[1],(T(3.),),(T(1.),))
out = tf.jvp(lambda x: tf.jvp(lambda y: x*y*y,(x,),(T(1.),))[1],(T(3.),),(T(1.),))
out = tf.vmap(lambda x: tf.jvp(lambda y: (y*y).sum(),(x,),(x,))[1])(X)
out = tf.vmap(lambda x,t: tf.jvp(lambda y: torch.sin(y).sum(),(V,),(t,))[1])(X,X)
out = tf.vmap(lambda t: tf.vjp(lambda y: torch.sin(y),V)[1](t)[0])(X)
out = tf.vmap(lambda x: tf.vmap(lambda v: tf.vjp(torch.sin,x)[1](v)[0])(torch.ones(2,3,dtype=torch.float64)))(X)
out = tf.vmap(lambda x: x.prod())(X)
out = tf.vmap(lambda x: x.std())(X)
out = tf.vmap(lambda x: x.norm())(X)
out = tf.vmap(lambda x: x.max())(X)
out = tf.vmap(lambda x: x.max(0))(X)
out = tf.vmap(lambda x: x.logsumexp(0))(X)
out = tf.vmap(lambda x: torch.log_softmax(x,0))(X)
out = tf.vmap(tf.grad(lambda x: x.prod()))(X)
out = tf.vmap(tf.grad(lambda x: x.std()))(X)
out = tf.vmap(tf.grad(lambda x: x.max(0)[0]))(X)
out = tf.vmap(tf.grad(lambda x: torch.log_softmax(x,0)[1]))(X)
out = tf.vmap(tf.grad(lambda x: x.logsumexp(0)))(X)
out = tf.vmap(tf.jacrev(lambda x: torch.log_softmax(x,0)))(X)
out = tf.vmap(tf.jacfwd(lambda x: torch.log_softmax(x,0)))(X)
out = tf.jacfwd(lambda x: x.prod())(V)
out = tf.jacfwd(lambda x: x.std())(V)
out = tf.jacfwd(lambda x: x.norm())(V)
out = tf.jacfwd(tf.jacfwd(lambda x: x.prod()))(V)
out = tf.jacfwd(tf.jacfwd(lambda x: x.logsumexp(0)))(V)
out = tf.jacfwd(tf.jacrev(lambda x: torch.log_softmax(x,0)[0]))(V)
out = tf.jacrev(tf.jacfwd(lambda x: torch.log_softmax(x,0)[0]))(V)
out = tf.vmap(lambda x: x[0])(X)
out = tf.vmap(lambda x: x[1:]*2)(X)
out = tf.vmap(lambda x: x.view(3,1))(X)
out = tf.vmap(lambda x: x.expand(2,3))(X)
out = tf.vmap(lambda x: x.unsqueeze(0).squeeze())(X)
out = tf.vmap(lambda x: x.t())(torch.stack([W,W]))
out = tf.vmap(tf.grad(lambda x: (x.t()@x).sum()))(torch.stack([W,W]))
out = tf.vmap(tf.grad(lambda x: (x[1:]*x[:-1]).sum()))(X)
out = tf.vmap(lambda x: x.mean(), in_dims=1)(X)
out = tf.vmap(lambda x: x*2, in_dims=1, out_dims=1)(X)
out = tf.vmap(lambda x: x.permute(1,0), in_dims=1)(torch.stack([W,W]))
out = tf.vmap(lambda a,b: torch.cat([a,b]), (0,None))(X,V)
out = tf.vmap(lambda a,b: torch.stack([a,b]), (0,None))(X,V)
out = tf.vmap(lambda a: a.to(torch.float32))(X)
out = tf.vmap(lambda a,b: a+b, (0,None))(T([1.,2.]),T(3.,dtype=torch.float64))
out = tf.vmap(lambda a,b: a+b, (0,0))(T([1.,2.]),T([[3.],[4.]],dtype=torch.float64))
out = tf.vmap(lambda a,b: a*b, (0,0))(T([1,2]),T([[3.],[4.]]))
out = tf.vmap(lambda a,b: torch.matmul(a,b))(torch.stack([W,W]),torch.stack([W.t(),W.t()]))
out = tf.vmap(lambda a,b: torch.matmul(a,b),(None,0))(W,torch.stack([W.t(),W.t()]))
out = tf.vmap(lambda a,b: torch.matmul(a,b),(0,None))(torch.stack([W,W]),V[:2])
out = tf.vmap(lambda a: a.add_(1))(X.clone())
out = tf.vmap(lambda a: a.mul_(a))(X.clone())
out = tf.vmap(lambda a: a[0].fill_(7.))(X.clone())
out = tf.vmap(lambda x: torch.where(x>2,x,x*0))(X)
out = tf.grad(lambda x: tf.vmap(lambda y: y.mul(2).sin().sum())(x).sum())(X)
out = tf.vmap(tf.vmap(tf.grad(lambda x: x**3)))(X)
out = tf.linearize(lambda x: torch.sin(x)*x, V)[1](V)
out = tf.jacrev(lambda x: x.double())(T([1.,2.]))
out = tf.jacfwd(lambda x: x.double())(T([1.,2.]))
out = tf.vmap(lambda x: x.sum(0,keepdim=True))(X)
out = tf.vmap(lambda x: x.argmax())(X)
out = tf.vmap(lambda x: x.any())(X)
out = tf.vmap(lambda x: F.mse_loss(x,V))(X)
out = tf.vmap(lambda x,t: F.cross_entropy(x,t))(X,T([0,2]))
out = tf.vmap(tf.grad(lambda x,t: F.cross_entropy(x,t)))(X,T([0,2]))
out = tf.jacfwd(lambda x: F.cross_entropy(x,T(1)))(V)
"""
# What functions do with batched tensors, dual numbers and variables.
INSIDE = """
X=torch.arange(6.).reshape(2,3); out=tf.vmap(lambda x: x.reshape(-1))(torch.ones(2,3,4).transpose(0,1)).shape
X=torch.arange(6.).reshape(2,3); out=tf.vmap(lambda x: x.flatten())(torch.ones(2,3,4)).shape
X=torch.arange(6.).reshape(2,3); out=tf.vmap(lambda x: len(x))(X)
X=torch.arange(6.).reshape(2,3); out=tf.vmap(lambda x: sum(x))(X)
X=torch.arange(6.).reshape(2,3); out=tf.vmap(lambda x: x.new_zeros(3)+x)(X)
X=torch.arange(6.).reshape(2,3); out=tf.vmap(lambda x: torch.zeros_like(x).add_(x))(X)
X=torch.arange(6.).reshape(2,3); out=tf.vmap(lambda x: torch.ones_like(x))(X)
X=torch.arange(6.).reshape(2,3); out=tf.vmap(lambda x: x.dtype == torch.float32 and x.shape == (3,) and x*1)(X)
X=torch.arange(6.).reshape(2,3); out=tf.vmap(lambda x: x.clone().fill_(2.))(X)
X=torch.arange(6.).reshape(2,3); out=tf.vmap(lambda x: x.contiguous())(X.t().contiguous().t())
X=torch.arange(6.).reshape(2,3); out=tf.vmap(lambda x: x.to(torch.float64).requires_grad)(X)
X=torch.arange(6.).reshape(2,3); out=tf.vmap(lambda x: x.sum().expand(4))(X)
X=torch.arange(6.).reshape(2,3); out=tf.vmap(nn.Linear(3,2))(X).shape
X=torch.arange(6.).reshape(2,3); m=nn.Sequential(nn.Linear(3,4),nn.Tanh(),nn.Linear(4,1)); p=dict(m.named_parameters()); out=[(k,v.shape) for k,v in tf.vmap(tf.grad(lambda p,x: tf.functional_call(m,p,x).sum()),(None,0))({k:v.detach() for k,v in p.items()},X).items()]
x=T([1.,2.],requires_grad=True); y=tf.vmap(lambda a: a**2)(x); y.sum().backward(); out=x.grad
x=T([1.,2.],requires_grad=True); y=tf.vmap(tf.grad(lambda a: a**3))(x); y.sum().backward(); out=x.grad
w=T([1.,2.],requires_grad=True); y=tf.vmap(lambda a: (a*w).sum())(torch.ones(3)); y.sum().backward(); out=w.grad
w=T([1.,2.],requires_grad=True); y=tf.jvp(lambda a: (a*w).sum(),(torch.ones(2),),(torch.ones(2),))[1]; y.backward(); out=w.grad
out=tf.vmap(lambda x: torch.where(x>1, x, T(0.)))(torch.arange(3.))
out=tf.vmap(lambda x: x.item if False else x)(torch.arange(3.))
out=tf.vmap(lambda x,y: x/y,(0,1),1)(torch.ones(2,3),torch.ones(3,2)).shape
out=tf.vmap(lambda x: x.max())(torch.arange(6).reshape(2,3))
out=tf.vmap(lambda x: (x>1).all())(torch.arange(6).reshape(2,3))
out=tf.vmap(lambda x: torch.dot(x,x))(torch.arange(6.).reshape(2,3))
out=tf.vmap(lambda x: x @ torch.ones(3,2))(torch.arange(6.).reshape(2,3))
out=tf.vmap(lambda x: x @ torch.ones(3,2))(torch.arange(12.).reshape(2,2,3))
out=tf.vmap(lambda x: torch.ones(4,2) @ x)(torch.arange(12.).reshape(2,2,3))
out=tf.vmap(lambda x: x.float() is x)(torch.ones(2))
out=tf.vmap(lambda x: torch.as_tensor(x)*2)(torch.ones(2))
out=tf.grad(lambda x: torch.as_tensor(x)**2)(T(3.))
out=tf.vmap(lambda x: x.detach()*x)(torch.ones(2))
out=tf.vmap(lambda x: x.data*x)(torch.ones(2)*3)
out=tf.vmap(lambda x: F.relu(x))(torch.ones(2)*3)
out=tf.vmap(lambda x: f'{x.shape}' and x)(torch.ones(2)*3)
out=tf.jacrev(lambda x: x**2)(T(3.)), tf.jacfwd(lambda x: x**2)(T(3.)), tf.hessian(lambda x: x**3)(T(3.))
out=tf.jacrev(tf.jacrev(tf.jacrev(lambda x: x**4)))(T(3.))
out=tf.jacfwd(tf.jacfwd(tf.jacrev(lambda x: x**4)))(T([3.,1.]))
out=tf.vmap(tf.jacfwd(tf.jacrev(lambda x: x.pow(3).sum())))(torch.ones(2,2))
out=tf.jacrev(tf.vmap(lambda x: x**2))(T([1.,2.]))
out=tf.jacfwd(tf.vmap(tf.grad(lambda x: x**3)))(T([1.,2.]))
out=tf.vmap(lambda x: tf.vmap(lambda y: x*y)(x))(torch.arange(6.).reshape(2,3))
out=tf.vmap(lambda x: tf.vmap(lambda y: tf.grad(lambda z: z*z*x.sum())(y))(x))(torch.arange(6.).reshape(2,3))
out=tf.grad(lambda x: tf.jvp(tf.grad(lambda y: y**4),(x,),(T(1.),))[1])(T(2.))
out=torch.vmap(lambda x: x*2)(torch.ones(2))
out=ag.functional.jvp(lambda x: torch.vmap(torch.sin)(x), T([1.,2.]), T([1.,2.]))
out=ag.functional.hessian(lambda x: torch.vmap(torch.sin)(x).sum(), T([1.,2.]))
out=tf.vmap(lambda x: x.__getitem__((None,0)))(torch.ones(2,3)).shape
out=tf.vmap(lambda x: x[..., None])(torch.ones(2,3)).shape
out=tf.vmap(lambda x: torch.cat([x,x]))(torch.ones(2,3)).shape
out=tf.vmap(lambda x: torch.stack([x,x],1))(torch.ones(2,3)).shape
out=tf.vmap(lambda x: x.view(-1))(torch.ones(2,3,2)).shape
out=tf.vmap(lambda x: x.var())(torch.arange(6.).reshape(2,3))
out=tf.vmap(lambda x: x.norm(dim=0))(torch.arange(12.).reshape(2,3,2))
out=tf.vmap(lambda x: int(x))(torch.ones(2))
out=tf.vmap(lambda x: x.as_strided((2,), (1,), 0))(torch.arange(6.).reshape(2, 3))
out=tf.grad(lambda x: x*x.item())(T(3.))
out=tf.grad(lambda x: x if x>0 else -x)(T(-3.))
out=tf.vjp(lambda x: x*2, T([1.,2.]))[1](T([1.,2.],dtype=torch.float64))
out=tf.grad(lambda x,*,k: (x*k).sum())(T([1.,2.]),k=3)
out=tf.vmap(lambda x,k: x*k)(T([1.,2.]),k=3)
"""

FUNCTIONS = """
Function = ag.Function
class Cube(Function):
    generate_vmap_rule=True
    @staticmethod
    def forward(x,y): return x**3*y
    @staticmethod
    def setup_context(ctx,inputs,output): ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx,g):
        x,y=ctx.saved_tensors
        return g*3*x**2*y, g*x**3
    @staticmethod
    def jvp(ctx,tx,ty):
        return tx*0
class V2(Function):
    @staticmethod
    def forward(x): return x*2
    @staticmethod
    def setup_context(ctx,inputs,output): pass
    @staticmethod
    def backward(ctx,g): return g*2
    @staticmethod
    def vmap(info,in_dims,x):
        return V2.apply(x), in_dims[0]
class NoS(Function):
    @staticmethod
    def forward(ctx,x): return x*2
    @staticmethod
    def backward(ctx,g): return g*2
    @staticmethod
    def jvp(ctx,t): return t*5
"""

# Custom functions under transforms.
CUSTOM = """
out = tf.vmap(Cube.apply)(t,t)
out = tf.vmap(Cube.apply,(0,None))(t,T(2.))
out = tf.vmap(tf.grad(Cube.apply),(0,None))(t,T(2.))
out = tf.vmap(tf.grad(tf.grad(Cube.apply)),(0,None))(t,T(2.))
out = tf.vmap(tf.grad(Cube.apply,argnums=1),(0,None))(t,T(2.))
out = tf.grad(lambda y: tf.vmap(Cube.apply,(0,None))(t,y).sum())(T(2.))
out = tf.jacrev(lambda x: Cube.apply(x,t))(t)
out = tf.jacrev(tf.jacrev(lambda x: Cube.apply(x,t).sum()))(t)
out = tf.vmap(V2.apply)(t)
out = tf.vmap(V2.apply,1)(torch.ones(2,3)).shape
out = tf.grad(lambda x: NoS.apply(x).sum())(t)
out = tf.vmap(NoS.apply)(t)
out = ag.functional.jacobian(NoS.apply,t,vectorize=True)
out = ag.functional.jacobian(NoS.apply,t,vectorize=True,strategy='forward-mode')
with ag.forward_ad.dual_level(): out = ag.forward_ad.unpack_dual(NoS.apply(ag.forward_ad.make_dual(t, t)))
out = tf.jvp(lambda x: tf.vmap(V2.apply)(x), (t,), (t,))
"""


@pytest.mark.parametrize("snippet", snippets(SURFACE + VALUES + INSIDE))
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, PRELUDE + snippet) == shown(torch, PRELUDE + snippet)


@pytest.mark.parametrize("snippet", snippets(CUSTOM))
def test_custom_functions_under_transforms(snippet: str) -> None:
    assert shown(numgrad, PRELUDE + FUNCTIONS + snippet) == shown(torch, PRELUDE + FUNCTIONS + snippet)
