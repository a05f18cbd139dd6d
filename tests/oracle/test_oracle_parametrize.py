"""`nn.utils.parametrize` and the parametrizations against PyTorch's: the same lines show and raise the same."""

from __future__ import annotations

import pytest
import side_by_side

import numgrad
import numgrad.nn

torch = pytest.importorskip("torch")

PRELUDE = """
import copy, pickle
U = nn.utils
P = nn.utils.parametrize
R = nn.utils.parametrizations

def lin(n, m):
    l = nn.Linear(n, m)
    with torch.no_grad():
        l.weight.copy_((torch.arange(n * m).reshape(m, n) + 1) / 10)
        l.bias.fill_(0.5)
    return l

class Sym(nn.Module):
    def forward(self, x): return x.triu() + x.triu(1).mT
class Inv(Sym):
    def right_inverse(self, x): return x.triu()
class Two(nn.Module):
    def forward(self, a, b): return a * b
    def right_inverse(self, x): return x * 0 + 2, x / 2
class Twice(nn.Module):
    def forward(self, x): return 2 * x
    def right_inverse(self, x): return x / 2
class Wrong(nn.Module):
    def __init__(self, f, b=None):
        super().__init__()
        self.f = f
        if b: self.right_inverse = b
    def forward(self, *x): return self.f(*x)

def facts(m):
    return [(n, tuple(p.shape), type(p).__name__) for n, p in m.named_parameters()], list(m.state_dict()), type(m).__name__

l = lin(3, 3)
"""

SNIPPETS = side_by_side.snippets(
    """
P.register_parametrization(l, "weight", Sym()); out = l, facts(l), l.weight, l.parametrizations.weight.original
out = P.register_parametrization(l, "weight", Inv()) is l, l.weight, l.parametrizations.weight.original, l.parametrizations.weight.is_tensor
P.register_parametrization(l, "weight", Inv()); l.weight = torch.ones(3, 3); out = l.weight, l.parametrizations.weight.original
P.register_parametrization(l, "weight", Sym()); l.weight = torch.ones(3, 3)
P.register_parametrization(l, "weight", Inv()); l.weight = nn.Parameter(torch.ones(3, 3))
P.register_parametrization(l, "weight", Two()); out = l, facts(l), l.weight, l.parametrizations.weight.original0, l.parametrizations.weight.ntensors
P.register_parametrization(l, "weight", Two()); l.weight = torch.ones(3, 3) * 6; out = l.weight, l.parametrizations.weight.original1
P.register_parametrization(l, "weight", Sym()); P.register_parametrization(l, "weight", Twice()); out = l, l.weight
P.register_parametrization(l, "weight", Sym()); P.register_parametrization(l, "bias", Twice()); out = l, l.bias, facts(l)
P.register_parametrization(l, "weight", Twice()); l(torch.ones(1, 3)).sum().backward(); out = l.parametrizations.weight.original.grad, l.bias.grad
P.register_parametrization(l, "nope", Sym())
l.register_buffer("b", torch.ones(2)); P.register_parametrization(l, "b", Twice()); out = l.b, facts(l), [n for n, _ in l.named_buffers()]
P.register_parametrization(l, "weight", Sym()); out = P.is_parametrized(l), P.is_parametrized(l, "weight"), P.is_parametrized(l, "bias"), P.is_parametrized(lin(1, 1)), P.type_before_parametrizations(l).__name__
P.register_parametrization(l, "weight", Sym()); w = l.parametrizations.weight.original; P.remove_parametrizations(l, "weight"); out = l, facts(l), l.weight, l.weight is w, type(l) is nn.Linear
P.register_parametrization(l, "weight", Sym()); P.remove_parametrizations(l, "weight", leave_parametrized=False); out = l, l.weight
P.register_parametrization(l, "weight", Two()); P.remove_parametrizations(l, "weight", leave_parametrized=False)
P.register_parametrization(l, "weight", Two()); P.remove_parametrizations(l, "weight"); out = facts(l), l.weight
P.register_parametrization(l, "weight", Sym()); P.register_parametrization(l, "bias", Twice()); P.remove_parametrizations(l, "bias"); out = l, facts(l); P.remove_parametrizations(l, "weight"); out = out, facts(l)
P.remove_parametrizations(l, "weight")
P.register_parametrization(l, "weight", Wrong(lambda x: 3))
P.register_parametrization(l, "weight", Wrong(lambda x: x.double()))
P.register_parametrization(l, "weight", Wrong(lambda x: x[0]))
P.register_parametrization(l, "weight", Wrong(lambda x: x[0]), unsafe=True); out = l.weight
P.register_parametrization(l, "weight", Wrong(lambda x: x, lambda x: 3))
P.register_parametrization(l, "weight", Wrong(lambda x: x, lambda x: [3]))
P.register_parametrization(l, "weight", Wrong(lambda x: x, lambda x: x.double()))
P.register_parametrization(l, "weight", Sym()); P.register_parametrization(l, "weight", Wrong(lambda x: x[0]))
P.register_parametrization(l, "weight", Sym()); P.register_parametrization(l, "weight", Wrong(lambda x: x.double()))
P.register_parametrization(l, "weight", Sym()); P.register_parametrization(l, "weight", Wrong(lambda x: 3))
P.register_parametrization(l, "weight", Sym()); P.register_parametrization(l, "weight", Wrong(lambda x: x, lambda x: 3))
P.register_parametrization(l, "weight", Sym()); P.register_parametrization(l, "weight", Wrong(lambda x: x, lambda x: x[0]))
P.register_parametrization(l, "weight", Sym()); P.register_parametrization(l, "weight", Wrong(lambda x: x, lambda x: x.double()))
P.register_parametrization(l, "weight", Two()); l.parametrizations.weight[0].right_inverse = lambda x: (x,); l.weight = torch.ones(3, 3)
P.register_parametrization(l, "weight", Two()); l.parametrizations.weight[0].right_inverse = lambda x: (x, 3); l.weight = torch.ones(3, 3)
P.register_parametrization(l, "weight", Two()); l.parametrizations.weight[0].right_inverse = lambda x: 3; l.weight = torch.ones(3, 3)
P.register_parametrization(l, "weight", Inv()); l.parametrizations.weight[0].right_inverse = lambda x: x.double(); l.weight = torch.ones(3, 3)
P.ParametrizationList([], torch.ones(1))
P.register_parametrization(l, "weight", Sym()); pickle.dumps(l)
P.register_parametrization(l, "weight", Sym()); n = copy.deepcopy(l); n.parametrizations.weight.original.data.fill_(7); out = n, l.weight, n.weight, type(n) is type(l)
P.register_parametrization(l, "weight", Sym()); n = P.register_parametrization(lin(3, 3), "weight", Sym()); out = n.load_state_dict(l.state_dict()), n.weight
l.eval(); s = Sym(); P.register_parametrization(l, "weight", s); out = s.training
P.register_parametrization(l, "weight", Sym()); a = l.weight is l.weight⏎with P.cached(): b = l.weight is l.weight⏎out = a, b, l.weight is l.weight
R.weight_norm(l); out = l, facts(l), l.weight.detach(), l.parametrizations.weight.original0, l(torch.ones(1, 3))
R.weight_norm(l, "weight", None); out = facts(l), l.weight.detach(), l.parametrizations.weight.original0
R.weight_norm(l, dim=1); out = facts(l), l.weight.detach(), l.parametrizations.weight.original0
R.weight_norm(l); l(torch.tensor([[1.0, 2.0, 3.0]])).pow(2).sum().backward(); out = [(p.grad * 1000).round() + 0.0 for p in l.parameters()]
R.weight_norm(l); out = l.load_state_dict({"weight_g": torch.ones(3, 1), "weight_v": torch.ones(3, 3), "bias": torch.ones(3)}), l.weight.detach()
R.weight_norm(l); out = P.remove_parametrizations(l, "weight"), l.weight
R.weight_norm(l, "nope")
U.weight_norm(l); out = l, facts(l), l.weight.detach(), l.weight_g, l(torch.ones(1, 3))
U.weight_norm(l, dim=None); out = facts(l), l.weight_g, l.weight.detach()
U.weight_norm(l); l(torch.ones(1, 3)).sum().backward(); out = l.weight_g.grad
U.weight_norm(l); U.weight_norm(l)
U.weight_norm(l); l.weight_g.data.fill_(2); l(torch.ones(1, 3)); out = U.remove_weight_norm(l), facts(l), l.weight, len(l._forward_pre_hooks)
U.remove_weight_norm(l)
U.remove_spectral_norm(l)
U.weight_norm(l); l.load_state_dict({"weight_g": torch.ones(3, 1), "weight_v": torch.ones(3, 3), "bias": torch.ones(3)}); out = l(torch.ones(1, 3))
U.spectral_norm(l, n_power_iterations=30); out = l, facts(l), l(torch.ones(1, 3)), l.weight, l.state_dict()._metadata
U.spectral_norm(l, n_power_iterations=30); l(torch.ones(1, 3)); l.eval(); l(torch.ones(1, 3)).sum().backward(); out = l.weight_orig.grad
U.spectral_norm(l); U.spectral_norm(l)
U.spectral_norm(l, n_power_iterations=0)
U.spectral_norm(nn.Linear(1, 1, bias=False), "bias")
U.spectral_norm(l, n_power_iterations=30); l(torch.ones(1, 3)); l.eval(); out = U.remove_spectral_norm(l), facts(l), l.weight, l.state_dict()._metadata
U.weight_norm(nn.LazyLinear(3))
U.spectral_norm(nn.LazyLinear(3))
R.spectral_norm(l, "nope")
R.spectral_norm(l, n_power_iterations=0)
R.spectral_norm(l, dim=5)
R.spectral_norm(l, n_power_iterations=30); out = l, facts(l), l.weight, l(torch.ones(1, 3))
R.spectral_norm(l, "bias"); out = l.bias
R.spectral_norm(l, n_power_iterations=30); l.eval(); u = l.parametrizations.weight[0]._u.clone(); l.weight; out = bool((u == l.parametrizations.weight[0]._u).all()), facts(l)
R.spectral_norm(l, n_power_iterations=30); (l(torch.ones(1, 3)) + l(torch.ones(2, 3)))[0].sum().backward(); out = l.parametrizations.weight.original.grad
"""
)


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_same_lines_show_the_same(snippet: str) -> None:
    text = PRELUDE.replace("\n", "⏎") + "⏎" + snippet
    assert side_by_side.shown(numgrad, text) == side_by_side.shown(torch, text)
