"""Grad modes and inference mode against PyTorch's: the same lines in both libraries."""

from collections.abc import Iterator

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

GRAD_MODES = """
with torch.no_grad: pass
with torch.enable_grad: pass
with torch.inference_mode: pass
with torch.no_grad():⏎  y = leaf() * 2; p = leaf()⏎out = y.requires_grad, y.is_leaf, p.requires_grad
@torch.no_grad⏎def f(x): return x * 2⏎out = f(leaf()).requires_grad, f.__name__
@torch.enable_grad⏎def f(x): return x * 2⏎with torch.no_grad(): out = f(leaf()).requires_grad
@torch.no_grad()⏎def f(x, *, k=1):⏎  "doc"⏎  return x * k⏎out = f(leaf(), k=2), f.__doc__, f.__wrapped__.__name__
@torch.no_grad()⏎class A:⏎  def __init__(self, x): self.y = x * 2⏎out = A(leaf()).y.requires_grad, type(A).__name__
@torch.no_grad⏎class A:⏎  def __init__(self, x): self.y = x * 2⏎out = A(leaf()).y.requires_grad
class A:⏎  @torch.no_grad()⏎  def f(self, x): return x * 2⏎out = A().f(leaf())
class A:⏎  @staticmethod⏎  @torch.no_grad()⏎  def f(x): return x * 2⏎out = A.f(leaf())
torch.set_grad_enabled(False); r = torch.is_grad_enabled(); torch.set_grad_enabled(True); out = r, torch.is_grad_enabled()
with torch.set_grad_enabled(False): r = torch.is_grad_enabled()⏎out = r, torch.is_grad_enabled()
with torch.no_grad():⏎  with torch.set_grad_enabled(True): r = torch.is_grad_enabled()⏎  s = torch.is_grad_enabled()⏎out = r, s, torch.is_grad_enabled()
g = torch.set_grad_enabled(False); r = torch.is_grad_enabled()⏎with g: pass⏎out = r, torch.is_grad_enabled()
@torch.set_grad_enabled(False)⏎def f(x): return x * 2⏎out = torch.is_grad_enabled(), f(leaf())
torch.set_grad_enabled("no")
torch.set_grad_enabled(1)
out = str(torch.autograd.grad_mode.set_grad_enabled(True))
with torch.no_grad():⏎  with torch.enable_grad(): y = leaf() * 2⏎out = y.requires_grad
g = torch.no_grad()⏎with g: pass⏎with g: r = torch.is_grad_enabled()⏎out = r, torch.is_grad_enabled()
try:⏎  with torch.no_grad(): 1 / 0⏎except ZeroDivisionError: out = torch.is_grad_enabled()
r = []; t = threading.Thread(target=lambda: r.append(torch.is_grad_enabled()))⏎with torch.no_grad(): t.start(); t.join()⏎out = r
r = []; t = threading.Thread(target=lambda: r.append(torch.is_inference_mode_enabled()))⏎with torch.inference_mode(): t.start(); t.join()⏎out = r
@torch.no_grad()⏎def g():⏎  yield torch.is_grad_enabled()⏎  yield torch.is_grad_enabled()⏎out = [(v, torch.is_grad_enabled()) for v in g()]
@torch.no_grad⏎def g():⏎  yield torch.is_grad_enabled()⏎out = [(v, torch.is_grad_enabled()) for v in g()]
@torch.inference_mode()⏎def g():⏎  yield torch.is_inference_mode_enabled()⏎  yield torch.is_inference_mode_enabled()⏎out = [(v, torch.is_inference_mode_enabled()) for v in g()]
@torch.enable_grad()⏎def g():⏎  got = yield torch.is_grad_enabled()⏎  out.append((got, torch.is_grad_enabled()))⏎out = []⏎with torch.no_grad():⏎  i = g(); out.append(next(i)); out.append(torch.is_grad_enabled())⏎  try: i.send(5)⏎  except StopIteration: pass⏎  out.append(torch.is_grad_enabled())
@torch.no_grad()⏎def g():⏎  try: yield 1⏎  except ValueError: yield torch.is_grad_enabled()⏎i = g(); next(i); out = i.throw(ValueError("x")), torch.is_grad_enabled()
@torch.no_grad()⏎def g():⏎  try: yield 1⏎  finally: out.append(torch.is_grad_enabled())⏎out = []; i = g(); next(i); i.close(); out.append(torch.is_grad_enabled())
@torch.no_grad()⏎def g():⏎  yield 1⏎  return 7⏎def h(): return (yield from g())⏎i = h(); next(i)⏎try: next(i)⏎except StopIteration as e: out = e.value
@torch.no_grad()⏎def f(n): return torch.is_grad_enabled() if n == 0 else (f(n - 1), torch.is_grad_enabled())⏎out = f(2), torch.is_grad_enabled()
x = leaf(); y = (x * x).sum()⏎with torch.no_grad(): y.backward()⏎out = x.grad
x = leaf(); y = x * x⏎with torch.no_grad(): g, = ag.grad(y.sum(), x, create_graph=True)⏎out = g.requires_grad
x = leaf()⏎with torch.no_grad(): x.grad = torch.ones(2); x.sub_(x.grad)⏎out = x, x._version
x = leaf()⏎with torch.no_grad(): v = x[:1]; v.add_(1)⏎out = x
x = leaf(); y = x * 2⏎with torch.no_grad(): y.requires_grad_(); z = x.requires_grad_(False)⏎out = y.requires_grad, x.requires_grad
out = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()
with torch.autograd.grad_mode.set_multithreading_enabled(False): out = leaf().sum().backward()
with torch.autograd.set_multithreading_enabled(False): out = 1
from contextlib import ExitStack⏎with ExitStack() as s: s.enter_context(torch.no_grad()); r = torch.is_grad_enabled()⏎out = r, torch.is_grad_enabled()
"""

INFERENCE = """
with torch.inference_mode(): out = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
with torch.inference_mode(False): y = leaf() * 2⏎out = y.requires_grad
with torch.inference_mode():⏎  with torch.inference_mode(False): y = leaf() * 2; r = torch.is_inference_mode_enabled(), torch.is_grad_enabled()⏎  s = torch.is_inference_mode_enabled()⏎out = y.requires_grad, r, s, y.is_inference()
with torch.inference_mode():⏎  with torch.enable_grad(): y = leaf() * 2; r = torch.is_grad_enabled()⏎out = y.requires_grad, r
with torch.inference_mode(), torch.set_grad_enabled(True): y = leaf() * 2; r = torch.is_grad_enabled()⏎out = y.requires_grad, r, torch.is_grad_enabled()
with torch.no_grad():⏎  with torch.inference_mode(): pass⏎  out = torch.is_grad_enabled()
@torch.inference_mode⏎def f(x): return x * 2⏎out = f(leaf()).is_inference()
@torch.inference_mode()⏎def f(x): return x * 2⏎out = f(leaf()).is_inference(), f.__name__
@torch.inference_mode(mode=False)⏎def f(x): return x * 2⏎out = f(leaf()).is_inference()
with torch.inference_mode(): y = leaf() * 2⏎y.backward(torch.ones(2))
with torch.inference_mode(): t = torch.ones(2, requires_grad=True)⏎out = t.requires_grad, t.is_inference(), t.is_leaf
with torch.inference_mode(): t = torch.ones(2)⏎t.add_(1)
with torch.inference_mode(): t = torch.ones(2)⏎t[0] = 1
with torch.inference_mode(): t = torch.ones(2)⏎with torch.no_grad(): t.add_(1)
with torch.inference_mode(): t = torch.ones(2); t.add_(1); t.mul_(T([2.0, 3.0])); out = t
with torch.inference_mode(): t = torch.ones(2); t[0] = 5; t[1:].add_(1); out = t
with torch.inference_mode(): t = torch.ones(2)⏎(leaf() * t).sum().backward()
with torch.inference_mode(): t = torch.ones(2)⏎leaf() * t
with torch.inference_mode(): t = torch.ones(2)⏎t * leaf()
with torch.inference_mode(): t = torch.ones(2, 2)⏎torch.ones(2, 2, requires_grad=True) @ t
with torch.inference_mode(): t = torch.ones(2)⏎out = leaf() + t
with torch.inference_mode(): t = torch.ones(2)⏎x = leaf(); y = x + t; y.sum().backward(); out = x.grad
with torch.inference_mode(): t = torch.ones(2)⏎out = t + 1, (t + 1).is_inference(), t.sum().is_inference()
with torch.inference_mode(): t = torch.ones(2)⏎out = t[0].item(), t[0].is_inference(), t.view(2, 1).is_inference(), t.detach().is_inference()
with torch.inference_mode(): t = torch.ones(2)⏎c = t.clone(); out = c.is_inference(), c.add_(1)
with torch.inference_mode(): t = torch.ones(2)⏎x = leaf(); y = x * t.clone(); y.sum().backward(); out = x.grad
with torch.inference_mode(): t = torch.ones(2)⏎t.requires_grad_()
with torch.inference_mode(): t = torch.ones(2)⏎t.requires_grad = True
with torch.inference_mode(): t = torch.ones(2); t.requires_grad_(); out = t.requires_grad
with torch.inference_mode(): t = torch.ones(2)⏎t._version
with torch.inference_mode(): t = torch.ones(2); t._version
with torch.inference_mode(): t = torch.ones(2)⏎out = torch.is_inference(t), torch.is_inference(torch.ones(2))
x = leaf()⏎with torch.inference_mode(): v = x.view(2, 1)⏎out = v.is_inference(), v._is_view(), v.is_leaf
x = leaf()⏎with torch.inference_mode(): v = x.view(2)⏎v.add_(1)
y = leaf() * 1⏎with torch.inference_mode(): v = y.view(2)⏎v.add_(1)
y = leaf() * 1⏎with torch.inference_mode(): v = y.view(2)⏎y.add_(1); v.grad_fn
y = leaf() * 1⏎with torch.no_grad(): v = y.view(2)⏎y.add_(1); v.grad_fn
y = leaf() * 1⏎with torch.no_grad(): v = y.view(2)⏎y.add_(1); v + 1
t = torch.ones(2)⏎with torch.inference_mode(): v = t.view(2)⏎v.add_(1); out = v, t, v.is_inference()
t = torch.ones(2)⏎with torch.inference_mode(): t.add_(1)⏎out = t, t._version, t.is_inference()
x = leaf()⏎with torch.inference_mode(): x.add_(1)⏎out = x, x._version
x = leaf(); y = x * 1; z = y * y⏎with torch.inference_mode(): y.add_(1)⏎z.sum().backward()
x = leaf(); y = (x * x).sum()⏎with torch.inference_mode(): y.backward()⏎out = x.grad, x.grad.is_inference()
x = leaf(); y = (x * x).sum()⏎with torch.inference_mode(): y.backward(retain_graph=True)⏎y.backward()
x = leaf(); L = []⏎with torch.inference_mode(): L.append(x * 2); L.append(torch.tensor([1.0])); L.append(torch.zeros(2)); L.append(torch.rand(2)); L.append(x.detach()); L.append(x.data); L.append(torch.cat([x, x])); L.append(x.contiguous()); L.append(x.to(torch.float64)); L.append(torch.from_numpy(np.ones(2))); L.append(x.max(0)[1])⏎out = [t.is_inference() for t in L]
with torch.inference_mode(): m = nn.Linear(2, 1)⏎out = [p.is_inference() for p in m.parameters()], [p.requires_grad for p in m.parameters()]
m = nn.Linear(2, 1)⏎with torch.inference_mode(): y = m(torch.ones(2))⏎out = y.is_inference(), y.requires_grad
with torch.inference_mode(): t = torch.ones(2)⏎out = t
with torch.inference_mode(): t = torch.ones(2)⏎import copy⏎out = copy.deepcopy(t).is_inference()
with torch.inference_mode(): t = torch.ones(2)⏎x = torch.ones(2); x.add_(t); out = x
with torch.inference_mode(): t = torch.ones(2)⏎x = leaf() * 1; x.mul_(t)
with torch.inference_mode(): t = torch.ones(2)⏎x = leaf() * 1; x.add_(t); out = x
with torch.inference_mode(): t = torch.ones(2)⏎x = leaf() * 1; x.copy_(t); out = x
with torch.inference_mode(): t = torch.ones(2)⏎torch.add(torch.ones(2), 1, out=t)
with torch.inference_mode(): t = torch.ones(2); t.data.add_(1); out = t
with torch.inference_mode(): t = torch.ones(2)⏎out = t.numpy(), t.tolist(), bool(t[0])
"""


@pytest.fixture(autouse=True)
def every_warning() -> Iterator[None]:
    """PyTorch's own warnings each time, not once in a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


@pytest.fixture(autouse=True)
def modes_are_left_alone() -> Iterator[None]:
    yield
    for library in (numgrad, torch):
        was = library.is_grad_enabled()
        library.set_grad_enabled(True)
        assert was, f"{library.__name__} was left without recording"
        assert not library.is_inference_mode_enabled()


@pytest.mark.parametrize("snippet", snippets(GRAD_MODES + INFERENCE))
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, snippet) == shown(torch, snippet)
