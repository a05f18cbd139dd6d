"""The module machinery against PyTorch's: the same lines in both libraries show, raise and warn the same."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import side_by_side

import numgrad
import numgrad.nn

torch = pytest.importorskip("torch")

PRELUDE = """
import copy, pickle, warnings
from collections import OrderedDict

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 3)
        self.b = nn.Sequential(nn.Tanh(), nn.Linear(3, 1, bias=False))
        self.register_buffer("c", torch.zeros(2))
        self.register_buffer("d", torch.ones(1), persistent=False)
        self.e = None
    def forward(self, x):
        return self.b(self.a(x))

class Extra(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(1))
        self.seen = None
    def get_extra_state(self):
        return {"step": 3}
    def set_extra_state(self, state):
        self.seen = state

def names(pairs):
    return [name for name, _ in pairs]

def lin(n, m, bias=True):
    l = nn.Linear(n, m, bias)
    with torch.no_grad():
        l.weight.copy_(torch.arange(n * m).reshape(m, n) / 10)
        if bias:
            l.bias.fill_(0.5)
    return l

m = Net()
"""

SUBMODULES = """
m.set_submodule("b.0", nn.ReLU()); out = m
m.set_submodule("b.9", nn.ReLU()); out = m
m.set_submodule("b.9", nn.ReLU(), strict=True)
m.set_submodule("x", nn.ReLU()); out = m
m.set_submodule("", nn.ReLU())
m.set_submodule("a", 3)
m.set_submodule("a.weight", nn.ReLU())
m.set_submodule("a.nope.x", nn.ReLU())
m.set_submodule("b.0", nn.ReLU(), True); out = m
m.set_submodule("e", nn.ReLU())
m.set_submodule("forward", nn.ReLU())
m.get_submodule("a.weight")
m.get_buffer("d.x")
m.get_buffer("c")
m.get_buffer("e")
m.get_parameter("e")
m.get_parameter("")
m.compile_me
m.call_super_init
out = m.call_super_init, m.dump_patches, m._version, m.training
m.register_module("z", nn.ReLU()); out = m
m.register_module("z.y", nn.ReLU())
out = [type(x).__name__ for x in m.modules()], [type(x).__name__ for x in m.children()]
m.f = m.a; out = names(m.named_modules()), len(list(m.modules())), len(list(m.modules(remove_duplicate=False)))
m.f = m.a; out = names(m.named_parameters(remove_duplicate=False)), names(m.named_parameters())
m.f = m.c; m.register_buffer("g", m.c); out = names(m.named_buffers()), names(m.named_buffers(remove_duplicate=False))
out = names(m.named_modules(memo={m.a})), names(m.named_modules(prefix="p", remove_duplicate=False))
out = names(m.named_buffers("q")), names(m.named_buffers("q", False)), names(m.named_parameters(prefix="q", recurse=False))
class A:⏎    def __init__(self, x): self.x = x⏎class B(nn.Module, A):⏎    call_super_init = True⏎    def __init__(self): super().__init__(x=3)⏎out = B().x
class A:⏎    def __init__(self, x): self.x = x⏎class B(nn.Module, A):⏎    def __init__(self): super().__init__(x=3)⏎B()
out = sorted(k for k in vars(nn.Module()) if "hook" not in k)
out = sorted(k for k in vars(nn.Module()) if "hook" in k)
"""

EXTRA_STATE = """
out = Extra().state_dict()
m = nn.Sequential(Extra(), nn.ReLU()); out = m.state_dict(), m.load_state_dict(m.state_dict()), m[0].seen
Extra().load_state_dict({"w": torch.ones(1)})
Extra().load_state_dict({"w": torch.ones(1), "_extra_state": 3, "x": 3})
out = Extra().load_state_dict({"w": torch.ones(1)}, strict=False)
nn.Linear(1, 1).load_state_dict({"_extra_state": 3})
nn.Sequential(nn.Linear(1, 1)).load_state_dict({"0.weight": torch.ones(1, 1), "0.bias": torch.ones(1), "0._extra_state": 3})
nn.Module().get_extra_state()
nn.Module().set_extra_state(3)
"""

STATE = """
out = list(m.state_dict(None, "p.", False))
out = m.a.state_dict({}, "p.", True).keys()
d = OrderedDict(); out = m.state_dict(destination=d, prefix="x.") is d, list(d), hasattr(d, "_metadata")
out = [type(v).__name__ for v in m.state_dict(keep_vars=True).values()], [v.requires_grad for v in m.state_dict().values()]
out = type(m.state_dict()).__name__, m.state_dict()._metadata
m.a.weight = None; out = list(m.state_dict()), m.load_state_dict(m.state_dict())
m.load_state_dict({"a.weight": torch.ones(2, 2), "a.bias": torch.ones(1), "b.1.weight": torch.ones(1, 3), "z": torch.ones(1)})
m.load_state_dict({"a.weight": torch.ones(2, 2), "a.bias": torch.ones(3), "b.1.w": torch.ones(1, 3), "b": torch.ones(1), "e": 3, "d": torch.ones(1)})
m.load_state_dict({"a.weight": torch.ones(3, 2), "a": torch.ones(1)}, strict=False)
out = m.load_state_dict({"a.weight": torch.ones(3, 2), "a": torch.ones(1)}, strict=False)
m.load_state_dict({"a.weight": torch.ones(3, 3), "a": torch.ones(1)}, strict=False)
m.load_state_dict(None)
m.load_state_dict([("a", 1)])
m.load_state_dict({"a.weight": "text", "a.bias": None, "c": [1, 2], "b.1.weight": torch.ones(1, 3)})
w = m.a.weight; s = Net().state_dict(); m.load_state_dict(s, assign=True); out = m.a.weight is w, type(m.a.weight).__name__, m.a.weight.data_ptr() == s["a.weight"].data_ptr()
m.a.weight.requires_grad_(False); m.load_state_dict(Net().state_dict(keep_vars=True), assign=True); out = [p.requires_grad for p in m.parameters()]
m.load_state_dict({k: v.double() for k, v in m.state_dict().items()}, assign=True); out = [p.dtype for p in m.parameters()], m.c
m.load_state_dict({k: v.double() for k, v in m.state_dict().items()}); out = [p.dtype for p in m.parameters()], m.c
m.load_state_dict({k: torch.zeros(v.shape, dtype=torch.int64) for k, v in m.state_dict().items()}); out = m.a.weight
m.load_state_dict({k: torch.zeros(v.shape, dtype=torch.int64) for k, v in m.state_dict().items()}, assign=True)
m.load_state_dict({k: torch.ones(v.shape, dtype=torch.complex64) for k, v in m.state_dict().items()})
class S(dict): pass⏎out = m.load_state_dict(S(m.state_dict()))
out = repr(m.load_state_dict(m.state_dict())), m.load_state_dict(m.state_dict()) == ([], []), str(m.load_state_dict({}, strict=False))
r = m.load_state_dict({}, strict=False); out = r.missing_keys, r.unexpected_keys, tuple(r)
n = nn.Module(); n.register_parameter("p", nn.Parameter(torch.tensor(1.0))); n.load_state_dict({"p": torch.full((1,), 3.0)}); out = n.p
n = nn.Module(); n.register_parameter("p", nn.Parameter(torch.tensor([1.0]))); n.load_state_dict({"p": torch.tensor(3.0)})
m.a.register_buffer("late", torch.ones(1)); m.load_state_dict(Net().state_dict())
m.register_buffer("c", torch.ones(3), persistent=False); m.load_state_dict(Net().state_dict())
m.a.weight.data.fill_(2); s = m.state_dict(); m.a.weight.data.fill_(3); out = s["a.weight"]
m.x = m.a; out = list(m.state_dict()), m.load_state_dict(m.state_dict())
m.x = m.a; m.load_state_dict({k: v for k, v in m.state_dict().items() if "x." not in k})
"""

STATE_HOOKS = """
h = m.register_state_dict_pre_hook(lambda mod, prefix, keep: print(prefix)); h.remove(); out = list(m.state_dict())
seen = []; m.b.register_state_dict_pre_hook(lambda mod, prefix, keep: seen.append((type(mod).__name__, prefix, keep))); m.state_dict(); out = seen
def hook(mod, d, prefix, meta): d[prefix + "new"] = 3; meta["k"] = 1⏎m.a.register_state_dict_post_hook(hook); s = m.state_dict(); out = list(s), s._metadata
m.register_state_dict_post_hook(lambda mod, d, prefix, meta: d); m.state_dict()
m._register_state_dict_hook(lambda mod, d, prefix, meta: {"only": 1}); out = m.state_dict()
f = lambda mod, d, prefix, meta: None; m.register_state_dict_post_hook(f); m._register_state_dict_hook(f)
def hook(mod, s, prefix, meta, strict, missing, unexpected, errors): s[prefix + "weight"] = s.pop(prefix + "w"); errors.append("mine") if prefix == "x." else None⏎m.a.register_load_state_dict_pre_hook(hook); s = m.state_dict(); s["a.w"] = s.pop("a.weight"); out = m.load_state_dict(s), list(s)
m._register_load_state_dict_pre_hook(lambda s, prefix, meta, strict, missing, unexpected, errors: errors.append("oops")); m.load_state_dict(m.state_dict())
m.a._register_load_state_dict_pre_hook(lambda mod, s, prefix, *rest: print(type(mod)) or rest[-1].append(prefix), with_module=True); m.load_state_dict(m.state_dict())
m.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.clear()); out = m.load_state_dict({})
m.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.append("mine")); m.load_state_dict(m.state_dict())
m.register_load_state_dict_post_hook(lambda mod, keys: 3); m.load_state_dict(m.state_dict())
seen = []; m.a.register_load_state_dict_post_hook(lambda mod, keys: seen.append(list(keys.missing_keys))); m.load_state_dict({}, strict=False); out = seen
class V(nn.Linear):⏎    _version = 7⏎    def _load_from_state_dict(self, s, prefix, meta, strict, missing, unexpected, errors):⏎        self.found = meta.get("version"), meta.get("assign_to_params_buffers"), strict⏎        super()._load_from_state_dict(s, prefix, meta, strict, missing, unexpected, errors)⏎v = V(1, 1); v.load_state_dict(v.state_dict()); a = v.found; v.load_state_dict(dict(v.state_dict()), strict=False, assign=True); out = a, v.found, v.state_dict()._metadata
class V(nn.Linear):⏎    def _save_to_state_dict(self, d, prefix, keep): d[prefix + "all"] = 3⏎out = nn.Sequential(V(1, 1)).state_dict()
h = m.register_load_state_dict_post_hook(lambda mod, keys: 1 / 0); h.remove(); out = m.load_state_dict(m.state_dict())
n = copy.deepcopy(m); n.load_state_dict(m.state_dict()); out = n
"""

CONVERSION = """
m.to(3.5, 1)
m.to(3, 1)
m.to(0.5, foo=1)
m.to(foo=1)
m.to(other=torch.ones(1))
m.to(copy=True)
m.to("cpu", torch.float64, True, True)
m.to(torch.float64, "cpu")
m.to("xyz")
m.to(torch.bool)
m.to(torch.channels_last)
m.to(int)
m.to(float); out = m.c
m.to(); out = m.c
m.to(None); out = m.c
m.to(None, torch.float64); out = m.c
m.to(dtype=torch.float64); out = m.c
m.to(torch.float64, True); out = m.c
m.to(tensor=torch.ones(1, dtype=torch.float64)); out = m.c
m.to(torch.ones(1, dtype=torch.float64), non_blocking=True); out = m.c
m.to(torch.ones(1, dtype=torch.int64))
m.to(torch.complex64); out = m.c.dtype
n = nn.Module(); n.w = nn.Parameter(torch.ones(2, 3, 4, 5)); n.to(memory_format=torch.channels_last); out = n.w.stride()
n = nn.Module(); n.w = nn.Parameter(torch.ones(2, 3)); n.to(torch.float64, memory_format=torch.channels_last); out = n.w
n = nn.Module(); n.register_buffer("i", torch.tensor([1])); out = [n.double().i.dtype, n.half().i.dtype, n.bfloat16().i.dtype, n.type(torch.float32).i.dtype]
n = nn.Module(); n.register_buffer("i", torch.tensor([True])); out = n.type("torch.DoubleTensor").i.dtype
m.type(torch.float16); out = m.c
m.type("float64")
m.type(3)
m.half(); out = [p.dtype for p in m.parameters()], m.c
m.bfloat16(); out = [p.dtype for p in m.parameters()], m.c
m.to_empty("cpu")
out = [p.shape for p in m.double().to_empty(device="cpu").parameters()], m.c.dtype
m.to_empty(device="cpu", recurse=False); out = m.c.shape
w = m.a.weight; m.double(); out = m.a.weight is w, w.dtype, w.is_leaf, w.requires_grad
o = m.c; m.double(); out = o.dtype, m.c.dtype
out = m.cpu() is m, m.float() is m, m.train() is m, m.requires_grad_() is m, m.apply(lambda x: None) is m
m.train("x")
m.train(0)
m.eval(); out = m.training, m.b[0].training, m.train().b[0].training
m.requires_grad_(False); m.a.requires_grad_(); out = [p.requires_grad for p in m.parameters()]
m(torch.ones(1, 2)).sum().backward(); m.zero_grad(); out = [p.grad for p in m.parameters()]
m.a.weight.grad = torch.ones(3, 2); g = m.a.weight.grad; m.zero_grad(False); out = g, m.a.weight.grad is g, m.a.bias.grad
m.a.weight.grad = torch.ones(3, 2); m.double(); out = m.a.weight.grad.dtype
m.apply(lambda x: x.weight.data.fill_(1) if isinstance(x, nn.Linear) else None); out = m.a.weight
out = m._apply(lambda t: t * 0 + 1) is m, m.a.weight, m.c
"""

PARAMETERS = """
nn.Parameter([1.0])
nn.Parameter(3)
nn.Parameter(torch.tensor([1]))
nn.Parameter(torch.ones(2), requires_grad=None)
out = nn.Parameter(), nn.Parameter(torch.ones(2), False), nn.Parameter(torch.ones(2), requires_grad=False).requires_grad
out = nn.Parameter(nn.Parameter(torch.ones(1)))
p = nn.Parameter(torch.ones(2, requires_grad=True) * 2); out = p.is_leaf, p.grad_fn, p.requires_grad, p
p = nn.Parameter(torch.ones(2)); out = type(p.data).__name__, type(p.detach()).__name__, type(p + 1).__name__, type(p.clone()).__name__, isinstance(p, torch.Tensor)
p = nn.Parameter(torch.ones(2)); p.grad = torch.ones(2); q = copy.deepcopy(p); out = q, q.grad, type(q).__name__, q is p
p = nn.Parameter(torch.ones(2), False); q = copy.copy(p); out = q, type(q).__name__, q.requires_grad
p = nn.Parameter(torch.ones(2)); p.mine = 3; q = pickle.loads(pickle.dumps(p)); out = q, type(q).__name__, q.requires_grad, q.mine
p = nn.Parameter(torch.ones(2)); p.data = torch.zeros(3); out = p
p = nn.Parameter(torch.ones(2)); p.data.fill_(5); out = p, p._version
with torch.no_grad(): p = nn.Parameter(torch.ones(2))⏎out = p
p = nn.Parameter(torch.ones(2)); out = p in {p}, p is p, {p: 1}[p]
b = nn.Buffer(torch.ones(2)); out = b, type(b).__name__, isinstance(b, nn.Buffer), isinstance(torch.ones(2), nn.Buffer), b.persistent
b = nn.Buffer(); out = b, b.persistent
b = nn.Buffer(torch.ones(2), persistent=False); n = nn.Module(); n.b = b; out = list(n.state_dict()), names(n.named_buffers()), n.b
n = nn.Module(); n.b = nn.Buffer(torch.ones(2)); out = list(n.state_dict()), isinstance(n.b, nn.Buffer); n.b = torch.zeros(1); out = out, list(n.state_dict()), isinstance(n.b, nn.Buffer)
n = nn.Module(); n.b = torch.ones(1); n.b = nn.Buffer(torch.ones(2))
n = nn.Module(); n.b = nn.Buffer(torch.ones(2)); n.b = nn.Parameter(torch.ones(1)); out = names(n.named_buffers()), names(n.named_parameters())
n = nn.Module(); n.b = nn.Buffer(torch.ones(2), persistent=False); n.b = nn.Buffer(torch.ones(2)); out = list(n.state_dict())
class R(nn.Module):⏎    def __init__(self): pass⏎R().b = nn.Buffer(torch.ones(1))
u = nn.UninitializedParameter(); out = u, u.dtype, u.device, u.requires_grad, u.is_leaf, u.data, u.size()
u = nn.UninitializedParameter(); u.shape
u = nn.UninitializedParameter(requires_grad=False, dtype=torch.float64); out = u.dtype, u.requires_grad
u = nn.UninitializedParameter(); u.materialize((2, 3)); out = type(u).__name__, u.shape, u.requires_grad, u.dtype
u = nn.UninitializedParameter(); u.materialize((2, 3), dtype=torch.float64); out = u.dtype
out = pickle.loads(pickle.dumps(nn.UninitializedParameter())), copy.deepcopy(nn.UninitializedParameter(dtype=torch.float64)).dtype
u = nn.UninitializedBuffer(); out = repr(u), u.persistent, u.requires_grad; u.materialize((2,)); out = out, type(u).__name__, u.shape
out = nn.parameter.is_lazy(nn.UninitializedParameter()), nn.parameter.is_lazy(torch.ones(1)), nn.parameter.is_lazy(3)
"""

LAZY = """
l = nn.LazyLinear(3); out = l, l.weight, l.bias, list(l.state_dict()), l.state_dict(), l.has_uninitialized_params()
l = nn.LazyLinear(3); o = l(torch.ones(5, 2)); out = l, type(l).__name__, l.weight.shape, o.shape, type(l.weight).__name__, sorted(k for k in vars(l) if k.startswith("_") and "ook" in k)
l = nn.LazyLinear(3, bias=False, dtype=torch.float64); l(torch.ones(5, 2).double()); out = l, l.weight.dtype
l = nn.LazyLinear(3); l.double(); out = l.weight.dtype, l(torch.ones(5, 2).double()).dtype
l = nn.LazyLinear(3); r = l.load_state_dict(lin(2, 3).state_dict()); out = r, l, type(l).__name__, l(torch.ones(1, 2)), l
l = nn.LazyLinear(3); l.load_state_dict(lin(2, 3).state_dict()); l(torch.ones(1, 4))
lin(2, 3).load_state_dict(nn.LazyLinear(3).state_dict())
l = nn.LazyLinear(3); out = l.load_state_dict(nn.LazyLinear(3).state_dict())
n = nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(1)); n(torch.ones(4, 7)); out = n
l = pickle.loads(pickle.dumps(nn.LazyLinear(3))); out = l, l.weight
class L(nn.modules.lazy.LazyModuleMixin, nn.Module): pass⏎L()(3)
class L(nn.modules.lazy.LazyModuleMixin, nn.Module):⏎    def __init__(self): super().__init__(); self.w = nn.UninitializedParameter()⏎    def initialize_parameters(self, x): pass⏎L()(3)
"""

CONTAINERS = """
m = nn.Sequential(lin(1, 1), nn.ReLU()); out = m * 2, 2 * m, (m * 2)[0] is (m * 2)[2]
m = nn.Sequential(nn.ReLU()); m *= 3; out = m
nn.Sequential() * 0
nn.Sequential() * 1.5
m = nn.Sequential(); m *= -1
m = nn.Sequential(); m *= "x"
m = nn.Sequential(nn.ReLU()); m += 3
m = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid()); out = m[::2], m[-2:], m[5:], m[[0]] if False else None
m = nn.Sequential(nn.ReLU()); m["x"]
m = nn.Sequential(nn.ReLU()); m[1.5]
m = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh())); m.append(nn.Sigmoid()); out = m, [type(x).__name__ for x in m]
m = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh(), c=nn.Sigmoid())); del m[0]; out = m
m = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh(), c=nn.Sigmoid())); del m[:2]; out = m, len(m)
m = nn.Sequential(nn.ReLU(), nn.Tanh()); m[-1] = nn.Sigmoid(); out = m
m = nn.Sequential(nn.ReLU()); m[0] = 3
m = nn.Sequential(nn.ReLU()); m[4] = nn.ReLU()
m = nn.Sequential(nn.ReLU()); m.insert(0, 3)
m = nn.Sequential(nn.ReLU()); m.insert(-9, nn.ReLU())
m = nn.Sequential(nn.ReLU()); m.extend(nn.Sequential(nn.Tanh(), nn.Sigmoid())); out = m, nn.Sequential(*m) is m
m = nn.Sequential(nn.ReLU(), nn.Tanh()); out = m.pop(-1), m, m.pop(slice(0, 1)), m
nn.Sequential({"a": nn.ReLU()})
nn.Sequential(nn.ReLU)
nn.Sequential(nn.ReLU(), 3)
nn.Sequential(lambda x: x)
nn.Sequential(x=nn.ReLU())
nn.Sequential()(3)
out = nn.Sequential()(3)
nn.Sequential(nn.ReLU())(torch.ones(1), 3)
out = nn.Sequential(nn.ReLU()).forward(torch.ones(1))
m = nn.ModuleList([nn.ReLU(), nn.Tanh()]); out = m + nn.ModuleList([nn.ReLU()]), m[::-1], nn.ReLU in m, m[0] in m, list(reversed(m)), [type(x).__name__ for x in m]
m = nn.ModuleList(); m += [nn.ReLU()]; m.insert(0, nn.Tanh()); m.insert(5, nn.Tanh()); out = m
m = nn.ModuleList([nn.ReLU()]); m[3]
m = nn.ModuleList([nn.ReLU()]); m[-2] = nn.ReLU()
m = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.ReLU()]); del m[1]; out = m, m.pop(1), m
m = nn.ModuleList([lin(1, 1), lin(1, 1)]); out = m, list(m.state_dict()), m[:1]
m = nn.ModuleList([None])
m = nn.ModuleList(nn.ReLU() for _ in range(3)); out = m, len(m)
nn.ModuleList(3)
nn.ModuleList([nn.ReLU()]) + 3
nn.ModuleList()(1, 2)
m = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()}); out = m, list(m), list(m.keys()), list(m.items()), list(m.values()), len(m), "a" in m, "z" in m
m = nn.ModuleDict([["b", nn.ReLU()], ("a", nn.Tanh())]); out = m, m["a"], m.pop("b"), m
m = nn.ModuleDict(); m["x"] = lin(1, 1); m.update({"y": nn.ReLU()}); del m["x"]; out = m; m.clear(); out = out, m
m = nn.ModuleDict({"b": nn.ReLU()}); n = nn.ModuleDict({"c": nn.Tanh()}); n.update(m); n.update(OrderedDict(d=nn.ReLU())); out = n
nn.ModuleDict({"b": 3})
nn.ModuleDict(3)
nn.ModuleDict([3])
nn.ModuleDict([[1, 2, 3]])
nn.ModuleDict([["a"]])
nn.ModuleDict({3: nn.ReLU()})
nn.ModuleDict({"a.b": nn.ReLU()})
nn.ModuleDict({"": nn.ReLU()})
nn.ModuleDict({"keys": nn.ReLU()})
nn.ModuleDict()["x"]
nn.ModuleDict().pop("x")
m = nn.ModuleDict(); del m["x"]
nn.ModuleDict()(3)
out = nn.ModuleDict({"a": None})
l = nn.ParameterList([torch.ones(2), nn.Parameter(torch.ones(1, 3)), torch.tensor([1.5], dtype=torch.float64)]); out = l, len(l), l[0], names(l.named_parameters()), list(l.state_dict())
l = nn.ParameterList([torch.ones(2), 3, None, "x"]); out = l, l[1], l[3], names(l.named_parameters())
l = nn.ParameterList(); l.append(torch.ones(1)); l += [torch.ones(2)]; l.extend([torch.ones(3)]); out = l, l[1:], l[-1], [x.shape for x in l], l[::2]
l = nn.ParameterList([torch.ones(1)]); l[0] = torch.ones(4); out = l, type(l[0]).__name__
l = nn.ParameterList([torch.ones(1)]); l[0] = 3
l = nn.ParameterList([torch.ones(1)]); l[5]
l = nn.ParameterList([torch.ones(1)]); l[5] = 3
nn.ParameterList(3)
nn.ParameterList(torch.ones(3))
nn.ParameterList([torch.tensor([1])])
nn.ParameterList()(3)
out = nn.ParameterList(), "0" in dir(nn.ParameterList([torch.ones(1)]))
m = nn.Module(); m.l = nn.ParameterList([torch.ones(1)]); out = m, list(m.state_dict())
d = nn.ParameterDict({"b": torch.ones(2), "a": nn.Parameter(torch.ones(1, 3))}); out = d, list(d), list(d.keys()), [k for k, v in d.items()], [v.shape for v in d.values()], len(d), "a" in d
d = nn.ParameterDict(OrderedDict(b=torch.ones(2), a=3)); out = d, list(reversed(d)), d["a"], names(d.named_parameters())
d = nn.ParameterDict([("x", torch.ones(1)), ("y", torch.ones(2, dtype=torch.float64))]); out = d, d.get("x"), d.get("z", 3), d.get("z")
d = nn.ParameterDict(x=torch.ones(1))
d = nn.ParameterDict(); d["x"] = torch.ones(1); del d["x"]; out = d, len(d)
d = nn.ParameterDict({"a": torch.ones(1)}); out = d.setdefault("a", 3), d.setdefault("b", torch.ones(2)), d.setdefault("c"), d
d = nn.ParameterDict({"a": torch.ones(1), "b": torch.ones(2)}); out = d.popitem(), d, d.pop("a"), d
nn.ParameterDict().popitem()
nn.ParameterDict().pop("x")
nn.ParameterDict()["x"]
d = nn.ParameterDict(); del d["x"]
d = nn.ParameterDict({"a": torch.ones(1)}); e = nn.ParameterDict({"b": torch.ones(2)}); out = d | e, d.copy(), d.copy()["a"] is d["a"]; d |= e; out = out, d
d = nn.ParameterDict({"a": torch.ones(1)}); d.clear(); out = d, d.fromkeys(["x", "y"], torch.ones(1)), d.fromkeys(["x"])
nn.ParameterDict(3)
nn.ParameterDict([3])
nn.ParameterDict([[1, 2, 3]])
nn.ParameterDict({3: torch.ones(1)})
nn.ParameterDict({"a.b": torch.ones(1)})
nn.ParameterDict()(3)
nn.Container(a=nn.ReLU())
out = nn.Container(a=nn.ReLU())
"""

LAYERS = """
out = nn.Bilinear(2, 3, 4), nn.Bilinear(2, 3, 4, bias=False), list(nn.Bilinear(2, 3, 4).state_dict())
nn.Bilinear(0, 3, 4)
nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(4, 3))
nn.Bilinear(2, 3, 4)(torch.ones(5, 3), torch.ones(5, 3))
nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 2))
nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 1, 3))
nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 3).double())
out = nn.Bilinear(2, 3, 4)(torch.ones(0, 2), torch.ones(0, 3)).shape, nn.Bilinear(2, 3, 4)(torch.ones(2), torch.ones(3)).shape, nn.Bilinear(2, 3, 4)(torch.ones(6, 5, 2), torch.ones(6, 5, 3)).shape
F.bilinear(torch.ones(5, 2), torch.ones(5, 3), torch.ones(4, 2, 3), torch.ones(3))
F.bilinear(torch.ones(5, 2), torch.ones(5, 3), 3)
F.bilinear(torch.ones(5, 2), torch.ones(5, 3), torch.ones(4, 2, 3), 3)
out = torch.bilinear(torch.ones(5, 2), torch.ones(5, 3), torch.ones(4, 2, 3), torch.ones(4))
nn.Linear(3, 4)(torch.ones(2, 5))
nn.Linear(3, 4)(torch.ones(5))
nn.Linear(3, 4)(torch.ones(2, 2, 5))
nn.Linear(3, 4)(torch.ones(()))
nn.Linear(3, 4)(torch.ones(2, 3).double())
nn.Linear(3, 4)(torch.ones(2, 3, dtype=torch.int64))
nn.Linear(3, 4, bias=False)(torch.ones(2, 5))
nn.Linear(3, 4, bias=False)(torch.ones(2, 2, 5))
nn.Linear(3, 4)([1.0])
nn.Linear(3, 4)(None)
nn.Linear(3)
nn.Linear(3, 4, foo=1)
nn.Linear(3, -4)
nn.Linear(3.0, 4)
out = lin(3, 4)(torch.ones(0, 3)).shape, nn.Linear(3, 0)(torch.ones(2, 3)).shape, nn.Linear(3, 4, dtype=torch.float64).weight.dtype
out = nn.Linear(0, 4), nn.Linear(0, 4)(torch.ones(2, 0)).shape
out = lin(3, 2)(torch.arange(12.0).reshape(2, 2, 3)), lin(3, 2)(torch.ones(3)), lin(3, 2, False)(torch.ones(3))
F.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(5))
F.linear(torch.ones(2, 3), torch.ones(4, 3), 3)
F.linear(torch.ones(2, 3), torch.ones(4, 3, 2))
F.linear(torch.ones(2, 3), torch.ones(3), torch.ones(()))
out = F.linear(torch.ones(2, 2, 3), torch.ones(3), torch.ones(())), F.linear(torch.ones(3), torch.ones(3), torch.ones(()))
out = F.linear(torch.ones(2, 2, 3), torch.ones(4, 3), torch.ones(2, 2, 4)), F.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(2, 4))
out = nn.Unflatten(1, (2, 5)), nn.Unflatten(1, [2, 5]), nn.Unflatten(1, torch.Size([2, -1]))(torch.ones(3, 10)).shape
nn.Unflatten(1, 5)
nn.Unflatten(1, (2, 3.0))
nn.Unflatten(1, (2, 3))(torch.ones(3, 10))
nn.Unflatten(4, (2, 5))(torch.ones(3, 10))
out = nn.Flatten(0, 1)(torch.ones(2, 3, 4)).shape, nn.Flatten()(torch.ones(3)).shape if False else None
nn.Flatten(2, 1)(torch.ones(2, 3, 4))
nn.Flatten()(torch.ones(3))
out = nn.Flatten(0)(torch.tensor(3.0)).shape
out = nn.Identity(3, a=1), nn.Identity()(3)
"""

COPIES = """
n = copy.deepcopy(m); n.a.weight.data.fill_(9); out = bool((m.a.weight == 9).any()), n, [p.requires_grad for p in n.parameters()], n.c is m.c
m.x = m.a; n = copy.deepcopy(m); out = n.x is n.a, n.x.weight is n.a.weight
m.b[1].weight = m.a.bias; n = copy.deepcopy(m); out = n.b[1].weight is n.a.bias
n = copy.copy(m); n.a = None; out = m.a is None, m
l = pickle.loads(pickle.dumps(nn.Sequential(lin(2, 3), nn.ReLU()))); out = l, l[0].weight, l(torch.ones(1, 2))
l = nn.Sequential(lin(2, 3)); l.eval(); out = pickle.loads(pickle.dumps(l)).training, pickle.loads(pickle.dumps(l))[0].bias
l = lin(1, 1); n = nn.Module.__new__(nn.Linear); n.__setstate__({k: v for k, v in vars(l).items() if k not in ("_state_dict_pre_hooks", "_forward_hooks_with_kwargs", "_backward_pre_hooks", "_is_full_backward_hook")}); out = n(torch.ones(1, 1)), n
l = lin(1, 1); l.register_forward_hook(lambda mod, a, o: o * 2); n = copy.deepcopy(l); out = n(torch.ones(1, 1)), l(torch.ones(1, 1))
l = lin(1, 1); l.weight.grad = torch.ones(1, 1); out = copy.deepcopy(l).weight.grad
"""

PATHS = """
import importlib; out = [hasattr(importlib.import_module(torch.__name__ + ".nn.modules." + f), c) for f, c in (("linear", "Linear"), ("container", "Sequential"), ("activation", "ReLU"), ("flatten", "Flatten"), ("module", "Module"), ("loss", "MSELoss"), ("lazy", "LazyModuleMixin"))]
out = nn.modules.linear.Linear is nn.Linear, nn.modules.Linear is nn.Linear, nn.modules.container.ParameterList is nn.ParameterList, nn.parameter.Parameter is nn.Parameter, nn.modules.Module is nn.Module
out = nn.functional is F, nn.init.xavier_uniform_.__name__, nn.modules.module.register_module_forward_hook.__name__
nn.modules.nope
nn.nope
"""

GROUPS: dict[str, str] = {
    "submodules": SUBMODULES, "extra state": EXTRA_STATE, "state": STATE, "state hooks": STATE_HOOKS,
    "conversion": CONVERSION, "parameters": PARAMETERS, "lazy": LAZY, "containers": CONTAINERS, "layers": LAYERS,
    "copies": COPIES, "paths": PATHS,
}  # fmt: skip
KNOWN: dict[str, str] = {
    'm.to("xyz")': "the text lists the types of devices",
    'm.to_empty("cpu")': "Python's text names the class that has the method, which is a part of Module here",
}
"""Snippets whose texts differ, and why."""

SNIPPETS = [line for text in GROUPS.values() for line in side_by_side.snippets(text)]


def shown(library: ModuleType, snippet: str) -> Any:
    return side_by_side.shown(library, PRELUDE.replace("\n", "⏎") + "⏎" + snippet)


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_same_lines_show_the_same(snippet: str) -> None:
    if snippet not in KNOWN:
        assert shown(numgrad, snippet) == shown(torch, snippet)
