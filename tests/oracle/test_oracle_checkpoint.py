"""`utils.checkpoint` against PyTorch's: the same lines must show, raise and warn the same in both libraries."""

import importlib
import sys
from types import ModuleType

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")
importlib.import_module("torch.utils.checkpoint")  # which `import torch` does not bring along

PRELUDE = """
C = torch.utils.checkpoint
checkpoint, checkpoint_sequential = C.checkpoint, C.checkpoint_sequential
x = leaf()
n = [0]
def counted(t):
    n[0] += 1
    return (t * t).sin()
def changing(first, then):
    def f(t):
        n[0] += 1
        return first(t) if n[0] == 1 else then(t)
    return f
"""

CHECKPOINT = """
checkpoint(lambda t: t * t, x).sum().backward(); out = x.grad
checkpoint(lambda t: t * t, x, use_reentrant=False).sum().backward(); out = x.grad
checkpoint(lambda t: t * t, x, use_reentrant=True).sum().backward(); out = x.grad
y = checkpoint(counted, x, use_reentrant=False); y.sum().backward(); out = n, x.grad
y = checkpoint(counted, x, use_reentrant=True); y.sum().backward(); out = n, x.grad
y = checkpoint(counted, x, use_reentrant=False); y.sum().backward(retain_graph=True); y.sum().backward(); out = n, x.grad
y = checkpoint(counted, x, use_reentrant=False); g, = ag.grad(y.sum(), x, create_graph=True); out = g, ag.grad(g.sum(), x)
y = checkpoint(counted, x, use_reentrant=True); ag.grad(y.sum(), x)
y = checkpoint(counted, x, use_reentrant=True); y.sum().backward(inputs=[x])
y = checkpoint(counted, x, use_reentrant=False); y.sum().backward(inputs=[x]); out = x.grad
y = checkpoint(counted, T([1.0, 2.0]), use_reentrant=True); out = y.requires_grad
y = checkpoint(counted, T([1.0, 2.0]), use_reentrant=False); out = y.requires_grad
checkpoint(lambda t: t.detach(), x, use_reentrant=True).sum().backward()
out = checkpoint(lambda t: (t * 2, 3, t + 1), x, use_reentrant=True)
out = checkpoint(lambda t: (t * 2, 3, t + 1), x, use_reentrant=False)
out = checkpoint(lambda t, k: t * k, x, k=3, use_reentrant=False)
out = checkpoint(lambda t, k: t * k, x, 3, use_reentrant=True)
checkpoint(lambda t, k: t * k, x, k=3, use_reentrant=True)
checkpoint(lambda t: t, x, use_reentrant=True, debug=True)
checkpoint(lambda t: t, x, use_reentrant=True, context_fn=lambda: None)
checkpoint(lambda t: t, x, use_reentrant=False, determinism_check="strict")
checkpoint(lambda t: t, x, use_reentrant=False, debug=True, context_fn=lambda: None)
with C.set_checkpoint_debug_enabled(True): checkpoint(lambda t: t, x, use_reentrant=False, context_fn=lambda: None)
checkpoint(changing(lambda t: t * t * t, lambda t: t * t), x, use_reentrant=False).sum().backward()
checkpoint(changing(lambda t: t * t, lambda t: t * t * t), x, use_reentrant=False, early_stop=False).sum().backward()
checkpoint(changing(lambda t: t * t, lambda t: t * t * t), x, use_reentrant=False).sum().backward(); out = x.grad
with C.set_checkpoint_early_stop(False): y = checkpoint(changing(lambda t: t * t, lambda t: t * t * t), x, use_reentrant=False)⏎y.sum().backward()
checkpoint(changing(lambda t: t * t, lambda t: t.double() * t.double()), x, use_reentrant=False).sum().backward()
checkpoint(changing(lambda t: t * t, lambda t: (t * t) * t), x, use_reentrant=False, determinism_check="none").sum().backward(); out = x.grad
checkpoint(counted, x, use_reentrant=False, early_stop=False).sum().backward(); out = n, x.grad
def f(t): h = (t * t).sin(); n[0] += 1; return h * 1⏎checkpoint(f, x, use_reentrant=False).sum().backward(); out = n, x.grad
def f(t): h = (t * t).sin(); n[0] += 1; return h * 1⏎checkpoint(f, x, use_reentrant=False, early_stop=False).sum().backward(); out = n, x.grad
f = lambda t: checkpoint(counted, checkpoint(counted, t, use_reentrant=False), use_reentrant=False) * t⏎f(x).sum().backward(); out = x.grad, n
f = lambda t: checkpoint(counted, checkpoint(counted, t, use_reentrant=False), use_reentrant=False) * t⏎checkpoint(f, x, use_reentrant=False).sum().backward(); out = x.grad
f = lambda t: checkpoint(counted, t, use_reentrant=True) * t⏎checkpoint(f, x, use_reentrant=True).sum().backward(); out = x.grad
w = leaf(3.0, 4.0); checkpoint(lambda t: t * w * w, x, use_reentrant=False).sum().backward(); out = x.grad, w.grad
w = leaf(3.0, 4.0); checkpoint(lambda t: t * w * w, x, use_reentrant=True).sum().backward(); out = x.grad, w.grad
with torch.no_grad(): y = checkpoint(counted, x, use_reentrant=False)⏎out = y, n
with torch.no_grad(): y = checkpoint(counted, x, use_reentrant=True)⏎out = y, n
checkpoint(lambda t: 1 / 0, x, use_reentrant=False)
checkpoint(lambda t: 1 / 0, x, use_reentrant=True)
z = x * 1; y = checkpoint(lambda t: (t * t).sin(), z, use_reentrant=False); z.mul_(2); y.sum().backward()
y = checkpoint(lambda t: (t * t).sin(), x, use_reentrant=False); s = y.sum(); s.backward(); s.backward()
L = []⏎import contextlib⏎@contextlib.contextmanager⏎def c(name): L.append(name); yield; L.append(name + " end")⏎y = checkpoint(counted, x, use_reentrant=False, context_fn=lambda: (c("first"), c("again"))); y.sum().backward(); out = L, x.grad
import contextlib⏎checkpoint(lambda t: 1 / 0, x, use_reentrant=False, context_fn=lambda: (contextlib.suppress(ZeroDivisionError), contextlib.nullcontext()))
m = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)); y = checkpoint(m, x, use_reentrant=False); y.sum().backward(); a = [p.grad.clone() for p in m.parameters()]; m.zero_grad(); m(x).sum().backward(); out = [(p.grad - g).abs().max() for p, g in zip(m.parameters(), a)]
"""

SEQUENTIAL = """
checkpoint_sequential([lambda t: t * 2, lambda t: t * 3], 2, x, use_reentrant=False).sum().backward(); out = x.grad
checkpoint_sequential([lambda t: t * 2, lambda t: t * 3], 2, x).sum().backward(); out = x.grad
checkpoint_sequential([counted] * 5, 2, x, use_reentrant=False).sum().backward(); out = x.grad, n
checkpoint_sequential([counted] * 5, 3, x, use_reentrant=True).sum().backward(); out = x.grad, n
checkpoint_sequential([counted] * 5, 1, x, use_reentrant=False).sum().backward(); out = x.grad, n
checkpoint_sequential([counted], 2, x, use_reentrant=False, debug=True)
checkpoint_sequential([counted], 2, x, use_reentrant=False)
m = nn.Sequential(nn.Tanh(), nn.Sigmoid()); checkpoint_sequential(m, 2, x, use_reentrant=False).sum().backward(); out = x.grad
C.detach_variable([x])
a, b = C.detach_variable((x, 3)); out = a.requires_grad, a.is_leaf, a is x, b
C.check_backward_validity([T([1.0])])
"""


@pytest.mark.parametrize("snippet", snippets(CHECKPOINT + SEQUENTIAL))
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, PRELUDE + snippet) == shown(torch, PRELUDE + snippet)


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("library", [numgrad, torch], ids=["numgrad", "torch"])
def test_random_numbers_are_drawn_again(library: ModuleType, reentrant: bool) -> None:
    """The gradient of `x * mask` is the mask: the second call must draw the first one's, and disturb no later draws."""
    checkpoint = sys.modules[f"{library.__name__}.utils.checkpoint"].checkpoint
    x = library.ones(50, requires_grad=True)
    masks = []

    def f(t):
        masks.append(library.rand(50))
        return t * masks[-1]

    library.manual_seed(0)
    library.rand(50)
    library.rand(50)
    third = library.rand(3).tolist()
    library.manual_seed(0)
    y = checkpoint(f, x, use_reentrant=reentrant)
    library.rand(50)
    y.sum().backward()
    assert x.grad.tolist() == masks[0].tolist()
    assert masks[1].tolist() == masks[0].tolist()
    assert library.rand(3).tolist() == third
    y = checkpoint(f, x, use_reentrant=reentrant, preserve_rng_state=False)
    y.sum().backward()
    assert masks[3].tolist() != masks[2].tolist()


def test_debug_names_what_both_calls_saved() -> None:
    """PyTorch lists the ops of its dispatcher instead: see docs/differences.md."""
    x = numgrad.ones(2, requires_grad=True)
    calls = []

    def f(t):
        calls.append(t)
        return t * t * t if len(calls) == 1 else t * t

    y = numgrad.utils.checkpoint.checkpoint(f, x, use_reentrant=False, debug=True)
    with pytest.raises(numgrad.utils.checkpoint.CheckpointError, match=r"(?s)\(4 of 4 in original\).*\(2 of 2 in recompute\)") as caught:
        y.sum().backward()
    assert f"{__file__.rsplit('/', 1)[-1]}" in str(caught.value)
