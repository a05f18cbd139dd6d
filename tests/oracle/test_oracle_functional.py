"""`autograd.functional` against PyTorch's: the same lines must show and raise the same in both libraries."""

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

PRELUDE = "AF = ag.functional; "

JACOBIAN = """
out = AF.jacobian(lambda x: x * x, T([1.0, 2.0]))
AF.jacobian(lambda x: 5, T([1.0, 2.0]))
AF.jacobian(lambda x: x * x, 5)
AF.jacobian(lambda x: x * x, (T([1.0]), 5))
AF.jacobian(lambda x: [x], T([1.0]))
AF.jacobian(lambda x: x * x, [T([1.0])])
out = AF.jacobian(lambda x: T([1.0]), T([1.0, 2.0]))
AF.jacobian(lambda x, y: x * 2, (T([1.0]), T([1.0])), strict=True)
AF.jacobian(lambda x: T([1.0]), T([1.0, 2.0]), strict=True)
AF.jacobian(lambda x: x * x, T([1.0, 2.0]), vectorize=True, strict=True)
AF.jacobian(lambda x: x * x, T([1.0, 2.0]), strategy="forward-mode")
AF.jacobian(lambda x: x * x, T([1.0, 2.0]), strategy="forward-mode", create_graph=True)
AF.jacobian(lambda x: x * x, T([1.0, 2.0]), strategy="forward-mode", strict=True)
AF.jacobian(lambda x: x * x, T([1.0, 2.0]), strategy="sideways")
AF.jacobian(lambda x: x * x, T([1, 2]))
out = AF.jacobian(lambda x, y: (x * y, x.sum() + y), (T([1.0, 2.0]), T([3.0, 4.0])))
out = AF.jacobian(lambda x, y: x * y.exp(), (T([1.0, 2.0]), T([[0.0], [1.0]])))
out = AF.jacobian(lambda x: (x.sum(), x * 2), T([1.0, 2.0]))
out = AF.jacobian(lambda x: (x.sum(),), (T([1.0, 2.0]),))
out = AF.jacobian(lambda x, y: x * 2, (T([1.0]), T([1.0])))
out = AF.jacobian(lambda x: x.sum(), T(3.0))
x = leaf(); j = AF.jacobian(lambda t: t**3, x, create_graph=True); out = j.requires_grad, ag.grad(j.sum(), x)
x = leaf(); j = AF.jacobian(lambda t: t**3, x); out = j.requires_grad, j.grad_fn
x = leaf(); AF.jacobian(lambda t: (t * x).sum(), x * 2); out = x.grad
AF.jacobian(lambda x: 2 * x, leaf(), strict=True, create_graph=True)
out = AF.jacobian(lambda x: x**2, leaf(), strict=True, create_graph=True)
with torch.no_grad(): out = AF.jacobian(lambda x: x**2, T([1.0, 2.0]))
with torch.no_grad(): out = AF.jacobian(lambda x: x**2, T([1.0, 2.0]), create_graph=True)
L = []; AF.jacobian(lambda x: (L.append((x.requires_grad, x.is_leaf)), x)[1], T([1.0])); out = L
out = AF.jacobian(lambda x: x.double(), T([1.0, 2.0]))
out = AF.jacobian(lambda x: x[0], T([[1.0, 2.0], [3.0, 4.0]]))
out = AF.jacobian(lambda x: x * 2, T([1.0, 2.0], dtype=torch.float64))
"""

HESSIAN = """
out = AF.hessian(lambda x: (x**3).sum(), T([1.0, 2.0]))
AF.hessian(lambda x: x**3, T([1.0, 2.0]))
AF.hessian(lambda x: (x.sum(),), T([1.0, 2.0]))
AF.hessian(lambda x: 3.0, T([1.0, 2.0]))
AF.hessian(lambda x: x.sum(), 3.0)
AF.hessian(lambda x: x.sum(), T([1.0, 2.0]), outer_jacobian_strategy="sideways")
AF.hessian(lambda x: x.sum(), T([1.0, 2.0]), strict=True)
AF.hessian(lambda x: (x**2).sum(), T([1.0, 2.0]), strict=True, create_graph=True)
out = AF.hessian(lambda x: (x**2).sum(), T([1.0, 2.0]), strict=True)
AF.hessian(lambda x, y: (x**2).sum(), (T([1.0]), T([1.0])), strict=True)
out = AF.hessian(lambda x: x.sum(), T([1.0, 2.0]))
out = AF.hessian(lambda x, y: (x**2 * y).sum(), (T([1.0, 2.0]), T([3.0, 4.0])))
out = AF.hessian(lambda x: (x**3).sum().reshape(1, 1), T([1.0, 2.0]))
x = leaf(); h = AF.hessian(lambda t: (t**4).sum(), x, create_graph=True); out = h.requires_grad, ag.grad(h.sum(), x)
out = AF.hessian(lambda x: x.prod(), T([2.0, 3.0, 4.0]))
"""

PRODUCTS = """
AF.vjp(lambda x: x * x, T([1.0, 2.0]))
out = AF.vjp(lambda x: x * x, T([1.0, 2.0]), torch.ones(2))
out = AF.vjp(lambda x: (x * x).sum(), T([1.0, 2.0]))
AF.vjp(lambda x: x * x, T([1.0, 2.0]), torch.ones(3))
AF.vjp(lambda x: x * x, T([1.0, 2.0]), (torch.ones(2), torch.ones(2)))
AF.vjp(lambda x: (x * x, x), T([1.0, 2.0]), torch.ones(2))
AF.vjp(lambda x: (x * x, x), T([1.0, 2.0]), (torch.ones(2), torch.ones(3)))
AF.vjp(lambda x: (x * x, 5), T([1.0, 2.0]), (torch.ones(2), torch.ones(3)))
AF.vjp(lambda x: x * x, T([1.0, 2.0]), 3)
AF.vjp(lambda x: x * x, T([1.0, 2.0]), "v")
AF.vjp(lambda x: x, 3)
out = AF.vjp(lambda x, y: (x * y, y), (T([1.0, 2.0]), T([3.0, 4.0])), (torch.ones(2), torch.ones(2)))
out = AF.vjp(lambda x, y: x, (T([1.0, 2.0]), T([3.0, 4.0])), torch.ones(2))
AF.vjp(lambda x, y: x, (T([1.0, 2.0]), T([3.0, 4.0])), torch.ones(2), strict=True)
AF.vjp(lambda x: T([1.0]), T([1.0, 2.0]), strict=True)
AF.vjp(lambda x: x * 2, T([1.0, 2.0]), torch.ones(2), strict=True, create_graph=True)
x = leaf(); o, v = AF.vjp(lambda t: t**3, x, torch.ones(2), create_graph=True); out = o, v, ag.grad(v.sum(), x)
x = leaf(); o, v = AF.vjp(lambda t: t**3, x, torch.ones(2)); out = o.requires_grad, v.requires_grad
x = leaf(); w = leaf(); o, v = AF.vjp(lambda t: t**3, x, w, create_graph=True); out = ag.grad(v.sum(), (x, w))
with torch.no_grad(): out = AF.vjp(lambda x: x**3, T([1.0, 2.0]), torch.ones(2), create_graph=True)
AF.jvp(lambda x: x * x, T([1.0, 2.0]))
out = AF.jvp(lambda x: x * x, T([1.0, 2.0]), torch.ones(2))
out = AF.jvp(lambda x: x * x, T(3.0))
AF.jvp(lambda x: x * x, T([1.0, 2.0]), torch.ones(3))
AF.jvp(lambda x, y: x * y, (T([1.0]), T([1.0])), (torch.ones(1), torch.ones(2)))
AF.jvp(lambda x, y: x * y, (T([1.0]), T([1.0])), torch.ones(1))
out = AF.jvp(lambda x, y: (x * y, y.sum()), (T([1.0, 2.0]), T([3.0, 4.0])), (torch.ones(2), torch.ones(2)))
out = AF.jvp(lambda x: T([1.0, 1.0]), T([1.0, 2.0]), torch.ones(2))
AF.jvp(lambda x: T([1.0, 1.0]), T([1.0, 2.0]), torch.ones(2), strict=True)
AF.jvp(lambda x: 3, T([1.0, 2.0]), torch.ones(2))
x = leaf(); o, j = AF.jvp(lambda t: t**3, x, torch.ones(2), create_graph=True); out = o, j, ag.grad(j.sum(), x)
x = leaf(); o, j = AF.jvp(lambda t: t**3, x, torch.ones(2)); out = o.requires_grad, j.requires_grad
AF.jvp(lambda x: x * 2, leaf(), torch.ones(2), strict=True, create_graph=True)
out = AF.vhp(lambda x: (x**3).sum(), T([1.0, 2.0]), torch.ones(2))
AF.vhp(lambda x: x**3, T([1.0, 2.0]), torch.ones(2))
AF.vhp(lambda x: (x.sum(),), T([1.0, 2.0]), torch.ones(2))
AF.vhp(lambda x: (x**3).sum(), T([1.0, 2.0]))
out = AF.vhp(lambda x: x**3, T(2.0))
out = AF.vhp(lambda x: x.sum(), T([1.0, 2.0]), torch.ones(2))
AF.vhp(lambda x: x.sum(), T([1.0, 2.0]), torch.ones(2), strict=True)
out = AF.vhp(lambda x, y: (x**2 * y).sum(), (T([1.0, 2.0]), T([3.0, 4.0])), (torch.ones(2), torch.ones(2)))
x = leaf(); o, h = AF.vhp(lambda t: (t**4).sum(), x, torch.ones(2), create_graph=True); out = o, h, ag.grad(h.sum(), x)
out = AF.hvp(lambda x: (x**3).sum(), T([1.0, 2.0]), torch.ones(2))
AF.hvp(lambda x: x * x, T([1.0, 2.0]), torch.ones(2))
AF.hvp(lambda x: (x * x).sum(), T([1.0, 2.0]), torch.ones(3))
AF.hvp(lambda x: (x * x).sum(), T([1.0, 2.0]))
AF.hvp(lambda x: (x.sum(), x), T([1.0, 2.0]), torch.ones(2))
out = AF.hvp(lambda x: x.sum(), T([1.0, 2.0]), torch.ones(2))
AF.hvp(lambda x: x.sum(), T([1.0, 2.0]), torch.ones(2), strict=True)
out = AF.hvp(lambda x, y: (x**2 * y).sum(), (T([1.0, 2.0]), T([3.0, 4.0])), (torch.ones(2), torch.ones(2)))
x = leaf(); o, h = AF.hvp(lambda t: (t**4).sum(), x, torch.ones(2), create_graph=True); out = o, h, ag.grad(h.sum(), x)
"""

# All rows from one batched backward, all columns from one pass over dual numbers.
VECTORIZED = """
V = T([0.5, -1.0, 2.0], dtype=torch.float64); out = AF.jacobian(lambda x: x**3, V, vectorize=True)
V = T([0.5, -1.0, 2.0], dtype=torch.float64); out = AF.jacobian(lambda x: (x**3,x.sum()), V, vectorize=True)
V = T([0.5, -1.0, 2.0], dtype=torch.float64); out = AF.jacobian(lambda x,y: (x**3*y,x.sum()), (V,V), vectorize=True)
V = T([0.5, -1.0, 2.0], dtype=torch.float64); out = AF.jacobian(lambda x,y: (x**3*y,x.sum()), (V,V), vectorize=True, strategy='forward-mode')
V = T([0.5, -1.0, 2.0], dtype=torch.float64); out = AF.hessian(lambda x: (x**3).sum(), V, vectorize=True)
V = T([0.5, -1.0, 2.0], dtype=torch.float64); out = AF.hessian(lambda x: (x**3).prod(), V, vectorize=True, outer_jacobian_strategy='forward-mode')
V = T([0.5, -1.0, 2.0], dtype=torch.float64); out = AF.hessian(lambda x,y: (x**3*y).prod(), (V,V), vectorize=True, outer_jacobian_strategy='forward-mode')
V = T([0.5, -1.0, 2.0], dtype=torch.float64); out = AF.jacobian(lambda x: T([1.]), V, vectorize=True)
V = T([0.5, -1.0, 2.0], dtype=torch.float64); out = AF.jacobian(lambda x: T([1.]), V, vectorize=True, strategy='forward-mode')
x = leaf(); j = AF.jacobian(lambda t: t**3, x, create_graph=True, vectorize=True); out = j, ag.grad(j.sum(), x)
x = leaf(); h = AF.hessian(lambda t: (t**4).sum(), x, create_graph=True, vectorize=True); out = h, ag.grad(h.sum(), x)
x = leaf(); y = x * x; out = ag.grad(y, x, grad_outputs=T([[1.0, 0.0], [0.0, 1.0]]), is_grads_batched=True)
x = leaf(); y = x * x; ag.grad(y, x, grad_outputs=torch.ones(2), is_grads_batched=True)
x = leaf(); y = x * x; g = ag.grad(y, x, grad_outputs=torch.ones(3, 2), is_grads_batched=True, create_graph=True)[0]; out = ag.grad(g.sum(), x)
x = leaf(); z = leaf(); out = ag.grad((x * x).sum(), [x, z], grad_outputs=T([1.0, 2.0]), is_grads_batched=True, allow_unused=True)
"""


@pytest.mark.parametrize("snippet", snippets(JACOBIAN + HESSIAN + PRODUCTS + VECTORIZED))
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, PRELUDE + "\n" + snippet) == shown(torch, PRELUDE + "\n" + snippet)


def test_jacobian_of_nothing_is_empty() -> None:
    """PyTorch raises `stack expects a non-empty TensorList`: see docs/differences.md."""
    assert numgrad.autograd.functional.jacobian(lambda x: x * 2, numgrad.zeros(0)).shape == (0, 0)
