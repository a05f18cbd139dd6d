"""`nn.init` and `nn.utils` against PyTorch's: texts, signatures, and values where nothing is random."""

from __future__ import annotations

import inspect

import pytest
import side_by_side

import numgrad
import numgrad.nn

torch = pytest.importorskip("torch")

PRELUDE = """
import math
U = nn.utils
init = nn.init

def with_grads(*grads):
    found = []
    for g in grads:
        p = torch.zeros(g.shape, dtype=g.dtype, requires_grad=True)
        p.grad = g.clone()
        found.append(p)
    return found

g1, g2 = torch.tensor([3.0, 4.0]), torch.tensor([[12.0]])
"""

INIT = """
init.eye_(torch.ones(3))
out = init.eye_(torch.ones(3, 5)), init.eye_(torch.ones(3, 2, dtype=torch.float64, requires_grad=True))
init.dirac_(torch.ones(3, 3))
init.dirac_(torch.ones(3, 2, 2), groups=2)
out = init.dirac_(torch.ones(3, 2, 3)), init.dirac_(torch.ones(4, 3, 2), 2)
out = init.dirac_(torch.ones(2, 3, 3, 2)), init.dirac_(torch.ones(2, 1, 2, 3, 1))
init.orthogonal_(torch.ones(3))
out = init.orthogonal_(torch.ones(0, 3))
init.sparse_(torch.ones(3), 0.1)
init.sparse_(torch.ones(3, 2, 2), 0.1)
init.xavier_normal_(torch.ones(()))
init.xavier_uniform_(torch.ones(0, 3)); out = 1
init.kaiming_uniform_(torch.ones(0, 3)); out = 1
init.kaiming_normal_(torch.ones(3, 0)); out = 1
init.kaiming_normal_(torch.ones(3))
init.kaiming_uniform_(torch.ones(2, 2), nonlinearity="gelu")
init.kaiming_uniform_(torch.ones(2, 2), mode="FAN_OUT"); out = 1
init.kaiming_uniform_(torch.ones(2, 2), mode="fan")
init.calculate_gain("leaky_relu", True)
init.calculate_gain("nope")
out = [init.calculate_gain(n) for n in ("linear", "conv1d", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu")], init.calculate_gain("leaky_relu", 3)
init.trunc_normal_(torch.ones(2), mean=9.0); out = 1
out = init.trunc_normal_(torch.empty(4), 0.0, 1.0, 0.0, 0.0)
out = init.constant_(torch.ones(2), 3), init.ones_(torch.zeros(2)), init.zeros_(torch.ones(2)), init.constant_(torch.ones(2, requires_grad=True), 0.5)
t = torch.ones(2, requires_grad=True); out = init.uniform_(t) is t, t.requires_grad, t.is_leaf, t._version
init.uniform_(3)
init.uniform_(torch.ones(2), 3, 1)
init.normal_(torch.ones(2), 0, -1)
init.constant(torch.ones(1), 2.0)
out = [getattr(init, n)(torch.ones(3, 3, 3)).shape for n in ("uniform", "normal", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal")]
out = init.eye(torch.ones(2, 2)), init.sparse(torch.ones(3, 3), 0.5).shape
out = init._calculate_fan_in_and_fan_out(torch.ones(3, 4, 5, 6)), init._calculate_correct_fan(torch.ones(3, 4), "fan_out")
init._calculate_correct_fan(torch.ones(3, 4), "x")
"""

CLIPPING = """
p = with_grads(g1, g2); out = U.clip_grad_norm_(p, 1.0), [x.grad for x in p]
p = with_grads(g1, g2); out = U.clip_grad_norm_(p, 100.0), [x.grad for x in p]
p = with_grads(g1, g2); out = [U.clip_grad_norm_(p, 1.0, norm_type=n) for n in (1, 2, 3.5, "inf", float("inf"), -1, 0, 0.5)]
p = with_grads(g1); out = U.clip_grad_norm_(p[0], 1), p[0].grad
p = with_grads(g1); g = p[0].grad; U.clip_grad_norm_(p, 1); out = p[0].grad is g, g._version
out = U.clip_grad_norm_([], 1.0), U.clip_grad_norm_([torch.ones(2)], 1.0)
out = U.clip_grad_norm_((x for x in []), 1.0)
out = U.clip_grad_norm_(iter([]), 1.0)
p = with_grads(torch.tensor([float("inf"), 1.0])); out = U.clip_grad_norm_(p, 1.0), p[0].grad
p = with_grads(torch.tensor([float("nan"), 1.0])); out = U.clip_grad_norm_(p, 1.0), p[0].grad
p = with_grads(torch.tensor([float("inf"), 1.0])); U.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
p = with_grads(torch.tensor([float("nan"), 1.0])); U.clip_grad_norm_(p, 1.0, 1, True)
p = with_grads(torch.zeros(2)); out = U.clip_grad_norm_(p, 1.0), p[0].grad
p = with_grads(g1.double(), g2.half()); out = [x.grad.dtype for x in p], U.clip_grad_norm_(p[:1], 1.0), U.clip_grad_norm_(p[1:], 1.0), p[1].grad
p = with_grads(g1, g2); out = U.clip_grad_value_(p, 3.5), [x.grad for x in p]
p = with_grads(g1); out = U.clip_grad_value_(p[0], 3), p[0].grad
p = with_grads(g1); U.clip_grad_value_(p, "x")
p = with_grads(g1); U.clip_grad_norm_(p, "x")
p = with_grads(g1); U.clip_grad_norm_(p, 1.0, "x")
p = with_grads(g1); U.clip_grad_norm(p, 1.0)
out = U.get_total_norm([g1, g2]), U.get_total_norm(g1, 1), U.get_total_norm([]), U.get_total_norm(iter([g1]), float("inf"))
p = with_grads(g1, g2); out = U.clip_grads_with_norm_(p, 1.0, torch.tensor(26.0)), [x.grad for x in p]
p = with_grads(g1); out = U.clip_grad_norm_(p, 0.0), p[0].grad
l = nn.Linear(2, 2); l(torch.ones(1, 2)).sum().backward(); out = U.clip_grad_norm_(l.parameters(), 1.0), l.weight.grad, l.bias.grad
l = nn.Linear(2, 2); out = U.clip_grad_norm_(l.parameters(), 1.0)
p = with_grads(torch.ones(2, 3).t()); out = U.clip_grad_norm_(p, 1.0), p[0].grad
t = torch.ones(2, requires_grad=True); (t * t).sum().backward(create_graph=True); U.clip_grad_norm_([t], 1.0); out = t.grad
"""

VECTORS = """
out = U.parameters_to_vector([torch.ones(2, 1), torch.zeros(())])
p = [torch.ones(2, 2, requires_grad=True), torch.ones(3, requires_grad=True)]; v = U.parameters_to_vector(p); (v * torch.arange(7.0)).sum().backward(); out = v, p[0].grad, p[1].grad
U.parameters_to_vector([])
U.parameters_to_vector([torch.ones(2, 3).t()])
U.vector_to_parameters(3, [])
U.vector_to_parameters([1.0], [torch.ones(1)])
v = torch.arange(6.0); p = [torch.ones(2, 2), torch.ones(1)]; out = U.vector_to_parameters(v, p), p; v.fill_(9); out = out, p
U.vector_to_parameters(torch.ones(2), [torch.ones(3)])
l = nn.Linear(2, 1); w = l.weight; U.vector_to_parameters(torch.arange(3.0), l.parameters()); out = l.weight, l.bias, l.weight is w, l(torch.ones(1, 2))
l = nn.Linear(2, 1); U.vector_to_parameters(U.parameters_to_vector(l.parameters()) * 0 + 1, l.parameters()); out = l.weight
out = U.skip_init(nn.Linear, 2, 3), U.skip_init(nn.Linear, in_features=2, out_features=1, dtype=torch.float64).weight.dtype
U.skip_init(nn.ReLU)
U.skip_init(int)
"""

SNIPPETS = [line for text in (INIT, CLIPPING, VECTORS) for line in side_by_side.snippets(text)]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_same_lines_show_the_same(snippet: str) -> None:
    text = PRELUDE.replace("\n", "⏎") + "⏎" + snippet
    assert side_by_side.shown(numgrad, text) == side_by_side.shown(torch, text)


@pytest.mark.parametrize("name", torch.nn.init.__all__)
def test_signatures_of_init(name: str) -> None:
    mine, theirs = (list(inspect.signature(getattr(lib.nn.init, name)).parameters.values()) for lib in (numgrad, torch))
    if not name.endswith("_") and name != "calculate_gain":
        return  # the deprecated ones take whatever the new ones do
    assert [(p.name, p.default) for p in mine] == [(p.name, p.default) for p in theirs]
