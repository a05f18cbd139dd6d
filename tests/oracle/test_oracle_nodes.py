"""Names of nodes against PyTorch's: of each op, of the graph behind it, of the gradients of a recorded backward."""

from types import ModuleType
from typing import Any

import pytest

import numgrad

torch = pytest.importorskip("torch")

# x, y: (2, 2), z: (2,), all requiring gradients; t: class indices.
FORWARD = """
x + y; x - y; x * y; x / y; x + 2; 2 + x; x - 2; 2 - x; x * 2; 2 * x; x / 2; 2 / x; -x; +x; abs(x); x * x; x * z
x ** 2; x ** 3; x ** 1; x ** 0; x ** 0.5; x ** -1; x ** -2.0; 2 ** x; x ** y; x.pow(2)
x.exp(); x.log(); x.sqrt(); x.tanh(); x.sigmoid(); x.relu(); x.abs(); torch.exp(x)
torch.maximum(x, y); torch.minimum(x, y); x.max(y); torch.max(x, y)
torch.where(x > 0.5, x, y); torch.where(x > 0.5, x, 2.0); torch.where(x > 0.5, 1.0, x); x.where(x > 0.5, y)
x.sin(); x.cos(); x.tan(); x.asin(); x.acos(); x.atan(); x.atan2(y); x.sinh(); x.cosh(); x.asinh(); (x + 1).acosh(); (x / 2).atanh()
x.exp2(); x.expm1(); x.log2(); x.log10(); x.log1p(); x.rsqrt(); torch.arcsin(x); x.arctan2(y); x.absolute(); torch.negative(x)
x.erf(); x.erfc(); (x / 2).erfinv(); x.lgamma(); x.digamma(); torch.erf(x); x.clone().erf_(); x.clone().lgamma_()
F.gelu(x); F.gelu(x, approximate="tanh"); F.silu(x); F.softplus(x); F.softplus(x, 2, 10); x.clone().sin_(); x.multiply(y)
x.sum(); x.sum(0); x.sum((0, 1)); x.sum(1, True); x.mean(); x.mean(1); x.max(); x.max(1)[0]; x.max(1)[1]; x.argmax()
x @ y; x.mm(y); x[0] @ y[0]; x @ y[0]; x[0] @ y; x.mv(z); torch.dot(x[0], y[1]); torch.addmm(z, x, y)
torch.bmm(x[None], y[None]); x[None] @ y[None]; x[None] @ y; x[None] @ z
x.reshape(4); x.view(4); x.t(); x.transpose(0, 1); x.permute(1, 0); x.T; x.mT; x.flatten(); x.view_as(y)
x.unsqueeze(0); x.unsqueeze(0).squeeze(); x.unsqueeze(0).squeeze(0); x.squeeze(-1); x.expand(2, 2, 2); x.expand_as(y)
x[0]; x[:, 1]; x[0:1]; x[..., None]; x[0, 1]; x[::2]; x[None, 0]; x[:1, 0]; x[:]; x[...]; x.select(0, 1); x.narrow(0, 0, 1)
x.as_strided((2,), (1,)); x.t().reshape(4); x.t().reshape(2, 2); x[:, 0].reshape(2, 1); x.expand(1, 2, 2).reshape(4); x.t().contiguous(); x.contiguous(); x.clone(); x.float(); x.double(); x.detach()
torch.cat([x, y]); torch.stack([x, y]); torch.log_softmax(x, 1); F.log_softmax(x, 1)
F.cross_entropy(x, t); F.mse_loss(x, y); F.linear(x, y); F.linear(x, y, z); F.linear(x[0], y); F.linear(x[0], y, z)
F.linear(x[None], y); F.linear(x[None], y, z); x.add(y, alpha=2); x.sub(y, alpha=2); x > y; x == y
x.clone().add_(y); x.clone().sub_(y); x.clone().mul_(y); x.clone().div_(y); x.clone().add_(2); x.clone().mul_(2)
x.clone().zero_(); x.clone().fill_(2); x.clone().copy_(y); x.clone().exp_(); x.clone().relu_(); x.clone().neg_()
"""

# Gradients under create_graph whose node PyTorch names alike.
BACKWARD = """
x + y; x - y; x * y; x / y; x * 2; 2 / x; -x; abs(x); x * x; x * z; x ** 2; x ** 3; x ** 0; x ** 0.5; 2 ** x
x.exp(); x.log(); x.sqrt(); x.tanh(); x.sigmoid(); x.relu(); torch.where(x > 0.5, x, y)
x.sin(); x.cos(); x.tan(); x.asin(); x.acos(); x.atan(); x.sinh(); x.cosh(); x.asinh(); (x + 1).acosh(); (x / 2).atanh()
x.erf(); x.erfc(); (x / 2).erfinv(); x.lgamma()
x.expm1(); x.log2(); x.log10(); x.log1p(); x.rsqrt(); F.gelu(x); F.gelu(x, approximate="tanh"); F.silu(x); F.softplus(x)
x.sum(); x.sum(0); x.sum((0, 1)); x.sum(1, True); x @ y; x[None] @ y[None]; torch.addmm(z, x, y)
x.reshape(4); x.view(4); x.t(); x.transpose(0, 1); x.permute(1, 0); x.T; x.unsqueeze(0); x.unsqueeze(0).squeeze(0)
x.expand(2, 2, 2); torch.cat([x, y]); x.float(); x.clone(); x.mean() * x.sum(); x.clone().zero_()
x.clone().fill_(2); x.clone().copy_(y); x.clone().mul_(y); x * y.exp(); (x * y).sum() * x; F.linear(x, y, z).tanh()
"""


def expressions(text: str) -> list[str]:
    return [e.strip() for line in text.strip().splitlines() for e in line.split(";")]


def scope_of(library: ModuleType) -> dict[str, Any]:
    def leaf(values: Any) -> Any:
        return library.tensor(values, dtype=library.float64, requires_grad=True)

    return {
        "torch": library,
        "F": library.nn.functional,
        "x": leaf([[0.3, 0.9], [1.2, 0.7]]),
        "y": leaf([[0.4, 0.2], [1.1, 0.6]]),
        "z": leaf([0.4, 0.2]),
        "t": library.tensor([0, 1]),
    }


def chain(node: Any) -> Any:
    """The names of a node and of all behind it."""
    if node is None:
        return None
    return type(node).__name__, node.name(), [(chain(following), number) for following, number in node.next_functions]


@pytest.mark.parametrize("expression", expressions(FORWARD))
def test_the_graph_of_an_op(expression: str) -> None:
    ours, theirs = (eval(expression, scope_of(library)) for library in (numgrad, torch))
    assert chain(ours.grad_fn) == chain(theirs.grad_fn)
    assert repr(ours) == repr(theirs)
    assert (ours.is_leaf, ours.requires_grad, ours._is_view(), ours.stride()) == (
        theirs.is_leaf, theirs.requires_grad, theirs._is_view(), theirs.stride()
    )  # fmt: skip


def recorded_backward(library: ModuleType, expression: str) -> list[Any]:
    scope = scope_of(library)
    out = eval(expression, scope)
    g = library.full(tuple(out.shape), 0.5, dtype=out.dtype).requires_grad_()
    grads = library.autograd.grad(out, [scope[n] for n in "xyz"], g, create_graph=True, allow_unused=True)
    return [None if x is None else (None if x.grad_fn is None else type(x.grad_fn).__name__, repr(x.detach())) for x in grads]


@pytest.mark.parametrize("expression", expressions(BACKWARD))
def test_gradients_of_a_recorded_backward(expression: str) -> None:
    assert recorded_backward(numgrad, expression) == recorded_backward(torch, expression)
