"""Modules against PyTorch's: the same lines run in both libraries and must show, raise and warn the same.

The second half trains the same network in both, from the same weights, and compares outputs and gradients.
"""

import warnings
from types import ModuleType
from typing import Any

import pytest

import numgrad
import numgrad.nn

torch = pytest.importorskip("torch")

PRELUDE = """
from collections import OrderedDict
F = nn.functional

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

class Raw(nn.Module):
    def __init__(self):
        pass

def names(pairs):
    return [name for name, _ in pairs]

m = Net()
"""

# Each snippet leaves what is compared in `out`, or raises.
ATTRIBUTES = """
out = m
out = list(m.state_dict()), names(m.named_parameters()), names(m.named_buffers()), names(m.named_modules())
out = names(m.named_children()), names(m.named_parameters("p", recurse=False)), names(m.named_modules(prefix="q"))
Raw().p = nn.Parameter(torch.ones(1))
Raw().p = nn.ReLU()
Raw().register_buffer("x", None)
Raw().register_parameter("x", None)
r = Raw(); r.x = 1; out = r.x
Raw().foo
m.x
del m.x
m.a.weight = torch.ones(2)
m.a.weight = 3
m.a = torch.ones(2)
m.a = 3
m.c = 3
m.c = None; out = list(m.state_dict())
m.d = torch.zeros(4); out = list(m.state_dict()), m.d
m.a.bias = None; out = list(m.state_dict()), m
m.a = None; out = m, list(m.state_dict())
m.c = nn.Parameter(torch.ones(1)); out = list(m.state_dict())
m.d = nn.Parameter(torch.ones(1)); out = list(m.state_dict())
m.c = nn.Tanh(); out = m
m.e = nn.Parameter(torch.ones(1)); del m.e; m.e
del m.d; m.register_buffer("d", torch.ones(1)); out = list(m.state_dict())
m.register_parameter("w", torch.ones(1))
m.register_parameter("w", nn.Parameter(torch.ones(1)) * 1)
m.register_parameter("a.b", None)
m.register_parameter("", None)
m.register_parameter("forward", None)
m.register_parameter(3, None)
m.register_parameter("w", int)
m.register_buffer("w", 3)
m.register_buffer("a", torch.ones(1))
m.register_buffer(None, 3)
m.add_module("w", 3)
m.add_module("w", torch.ones(1))
m.add_module("a.b", None)
m.add_module("", None)
m.add_module("train", None)
m.add_module(2, None)
nn.Module(3)
nn.Tanh(3)
nn.Module(a=3)
nn.Module()(3)
m(torch.ones(1, 2), 3)
m.train(1)
m.get_submodule("b.7")
m.get_submodule("a.weight.x")
m.get_parameter("c")
m.get_parameter("a.nope")
m.get_buffer("a.weight")
out = m.get_submodule("b.0"), m.get_submodule("") is m, m.get_buffer("c"), m.get_parameter("a.bias").shape
l = nn.Linear(1, 1); m = nn.Module(); m.x = l; m.y = l; out = names(m.named_modules()), names(m.named_parameters())
l = nn.Linear(1, 1); m = nn.Module(); m.x = l; m.y = l; out = names(m.named_modules(remove_duplicate=False))
out = [name in dir(m) for name in ("a", "c", "training", "0")], "0" in dir(m.b)
nn.Parameter(torch.tensor([1, 2]))
out = nn.Parameter(torch.tensor([1, 2]), requires_grad=False), nn.Parameter()
out = nn.Parameter(torch.tensor([[1.5, 2.0], [3.0, 4.0]]))
"""

STATE = """
m.a.load_state_dict({"weight": torch.ones(4, 2), "bias": torch.ones(3)})
m.a.load_state_dict({"weight": torch.ones(3, 2), "b": torch.ones(2), "c.d": 1})
out = m.a.load_state_dict({"weight": torch.ones(3, 2), "b": torch.ones(2), "c.d": 1}, strict=False)
m.a.load_state_dict({"weight": 3, "bias": torch.ones(1)})
m.a.load_state_dict(3)
m.load_state_dict({"c": torch.ones(2), "a.weight": torch.ones(1), "b.1": torch.ones(1), "b.0.x": torch.ones(1)})
m.load_state_dict({})
out = m.load_state_dict(Net().state_dict())
m.load_state_dict({"c": torch.full((2,), 3.0)}, strict=False); out = m.c
m.load_state_dict({"c": torch.full((2,), 3.0)}, strict=False, assign=True); out = m.c
out = m.state_dict()._metadata, list(m.state_dict(prefix="p.")), m.state_dict()["c"]
n = nn.Module(); n.register_buffer("s", torch.tensor(1.0)); n.load_state_dict({"s": torch.ones(1) * 2}); out = n.s
"""

CONVERSION = """
m.double(); out = [p.dtype for p in m.parameters()], m.c
w = m.a.weight; m(torch.ones(1, 2)).sum().backward(); g = w.grad; m.to(torch.float64); out = w.grad.dtype, g is w.grad
m.to(torch.int64)
m.to("cpu", torch.float64); out = m.c; m.to(torch.ones(1)); out = out, m.c
m.to(device="cpu", dtype=torch.float64); out = m.c
m(torch.ones(1, 2)).sum().backward(); m.zero_grad(set_to_none=False); out = m.a.bias.grad
m.requires_grad_(False); out = [p.requires_grad for p in m.parameters()], m(torch.ones(1, 2)).requires_grad
m.eval(); m.b.train(); out = [n.training for n in m.modules()]
out = []; m.apply(lambda n: out.append(type(n).__name__))
import copy; n = copy.deepcopy(m); out = n, n.a.weight is m.a.weight, type(n.a.weight).__name__
"""

CONTAINERS = """
m.b[5]
m.b["0"]
m = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid()); del m[0]; out = m, m[-1], m[:1], len(m)
m = nn.Sequential(OrderedDict(x=nn.ReLU(), y=nn.Tanh())); m[0] = nn.Sigmoid(); out = m, m.x, m[1:]
m = nn.Sequential(nn.ReLU()).append(nn.Tanh()); m.insert(0, nn.Sigmoid()).extend([nn.Identity()]); out = m
m.b.insert(5, nn.Tanh())
m.b.insert(-1, nn.ReLU()); out = m, m.b.pop(0), m
m = m.b + nn.Sequential(nn.ReLU()); m += nn.Sequential(nn.Sigmoid()); out = m
m.b + 3
nn.Sequential(3)
nn.Sequential(nn.ReLU(), None)[1](3)
out = nn.Sequential(), nn.ModuleList(), nn.Module(), nn.Flatten(), nn.ReLU(True), nn.Identity(3, x=1), nn.MSELoss()
m = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(1, 1), nn.ReLU()]); out = m, m[1:], len(m), m[-1]
m = nn.ModuleList([nn.ReLU()]); m.append(nn.Tanh()); m.insert(0, nn.Sigmoid()); m += [nn.Tanh()]; del m[1:3]; out = m
m = nn.ModuleList([nn.ReLU()]); m[0] = nn.Tanh(); out = m + [nn.ReLU()], m.pop(0), m
nn.ModuleList()(3)
nn.ModuleList([nn.ReLU()])[1]
nn.ModuleList().extend(3)
nn.ModuleList([3])
out = nn.Sequential(nn.ModuleList([nn.Linear(1, 2), nn.Linear(1, 2)]))
"""

HOOKS = """
m = nn.ReLU(); m.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True); m(torch.ones(1))
m = nn.ReLU(); m.register_forward_pre_hook(lambda m, a: -a[0]); out = m(torch.ones(1))
h = m.a.register_forward_hook(lambda m, a, o: (a, o)); x = m.a(torch.zeros(1, 2))[0]; h.remove(); out = x, m(*x).shape
m = nn.Module(); m.register_forward_hook(lambda m, a, o: 1 / 0, always_call=True); m(3)
m = nn.Module(); m.register_forward_hook(lambda m, a, k, o: print(1), with_kwargs=True, always_call=True); m(3)
"""

FUNCTIONS = """
out = F.mse_loss(torch.ones(2), torch.zeros(3, 2))
F.mse_loss(torch.ones(2), torch.ones(2), reduction="x")
out = F.mse_loss(torch.ones(2), torch.zeros(2), size_average=False)
out = F.mse_loss(torch.ones(2), torch.zeros(2), reduce=False)
out = F.mse_loss(torch.ones(2), torch.zeros(2), size_average=True)
out = nn.MSELoss(reduce=True)(torch.ones(2), torch.zeros(2))
w = torch.full((2,), 3.0); out = [F.mse_loss(w, w - 1, reduction=r, weight=w) for r in ("sum", "mean", "none")]
F.mse_loss(torch.ones(2), torch.zeros(2), weight=torch.ones(1))
F.mse_loss(torch.ones(2), torch.zeros(2), weight=torch.ones(2), reduction="x")
out = [nn.CrossEntropyLoss(reduction=r)(torch.tensor([[1.0, 2.0]]), torch.tensor([0])) for r in ("sum", "mean", "none")]
F.cross_entropy(torch.tensor([[1.0, 2.0]]), torch.tensor([0]), reduction="x")
out = F.log_softmax(torch.tensor([[1.0, 2.0], [3.0, 5.0]])), F.log_softmax(torch.tensor([1.0, 2.0]))
out = F.log_softmax(torch.tensor([[1.0, 2.0], [3.0, 5.0]]), 0, dtype=torch.float64)
out = F.relu(torch.tensor([-1.0, 1.0])), F.tanh(torch.tensor([1.0])), F.sigmoid(torch.tensor([1.0]))
out = nn.Flatten()(torch.ones(2, 3, 4)).shape, nn.Flatten(0)(torch.ones(2, 3)).shape
out = nn.Linear(0, 2)
nn.init.xavier_uniform_(torch.ones(2))
nn.init.kaiming_uniform_(torch.ones(2, 2), mode="x")
nn.init.kaiming_normal_(torch.ones(2, 2), nonlinearity="x")
nn.init.calculate_gain("leaky_relu", "x")
out = [nn.init.calculate_gain(*given) for given in [("relu",), ("tanh",), ("linear",), ("leaky_relu", 0.2), ("selu",)]]
nn.init.ones_(m.a.weight); nn.init.zeros_(m.a.bias); nn.init.constant_(m.b[1].weight, 0.5); out = m(torch.ones(1, 2))
"""

SNIPPETS = [
    line
    for group in (ATTRIBUTES, STATE, CONVERSION, CONTAINERS, HOOKS, FUNCTIONS)
    for line in group.splitlines()
    if line
]


def shown(library: ModuleType, snippet: str) -> tuple[str, list[tuple[type, str]]]:
    """What a snippet shows or raises, and what it warns of."""
    scope: dict[str, Any] = {"torch": library, "nn": library.nn}
    exec(PRELUDE, scope)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(snippet, scope)
            text = repr(scope.get("out"))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
    return text, [(warning.category, str(warning.message)) for warning in caught]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, snippet) == shown(torch, snippet)


LOSSES = {
    "mse": lambda library, out, rows: library.nn.functional.mse_loss(out, library.tensor(rows) * 2),
    "cross_entropy": lambda library, out, rows: library.nn.CrossEntropyLoss()(
        out, library.tensor([index % 3 for index in range(len(rows))])
    ),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("activation", ["ReLU", "Tanh", "Sigmoid"])
def test_same_weights_give_the_same_gradients(activation: str, loss: str) -> None:
    generator = torch.Generator().manual_seed(0)
    sizes = {"0.weight": (5, 3), "0.bias": (5,), "2.weight": (3, 5), "2.bias": (3,)}
    weights = {name: torch.randn(size, generator=generator).tolist() for name, size in sizes.items()}
    rows = torch.randn((7, 3), generator=generator).tolist()

    results = []
    for library in (numgrad, torch):
        nn = library.nn
        module = nn.Sequential(nn.Linear(3, 5), getattr(nn, activation)(), nn.Linear(5, 3))
        module.load_state_dict({name: library.tensor(values) for name, values in weights.items()})
        value = LOSSES[loss](library, module(library.tensor(rows)), rows)
        value.backward()
        gradients = [gradient for parameter in module.parameters() for gradient in parameter.grad.reshape(-1).tolist()]
        results.append([value.item(), *gradients])
    assert results[0] == pytest.approx(results[1], rel=1e-5, abs=1e-7)
