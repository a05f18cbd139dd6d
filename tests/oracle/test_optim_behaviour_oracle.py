"""What optimizers do beside stepping, in both libraries: hooks, subclasses, flags, halves, recorded steps, copies, texts."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

import pytest
from side_by_side import neutral, snippets

import numgrad

torch = pytest.importorskip("torch")

PRELUDE = """
import copy, io
optim = torch.optim
def leaf(*values, grad=None, dtype=None):
    made = torch.tensor(list(values) or [1.0, 2.0], dtype=dtype or torch.float64, requires_grad=True)
    if grad is not None:
        made.grad = torch.tensor(grad, dtype=made.dtype)
    return made
def descent(optimizer, *params, steps=3):
    for _ in range(steps):
        optimizer.zero_grad()
        sum((p ** 3).sum() for p in params).backward()
        optimizer.step()
    return [p.tolist() for p in params]
seen = []
"""

SNIPPETS = snippets("""
p = leaf(grad=[1., 1.]); o = optim.SGD([p], 0.1); h = o.register_step_pre_hook(lambda o, a, k: seen.append(('pre', len(a), k))); o.step(); h.remove(); o.step(); out = seen
p = leaf(grad=[1., 1.]); o = optim.SGD([p], 0.1); o.register_step_post_hook(lambda o, a, k: seen.append((p.tolist(), len(a)))); o.step(None); o.step(closure=None); out = seen
p = leaf(grad=[1., 1.]); o = optim.SGD([p], 0.1); o.register_step_pre_hook(lambda o, a, k: ((o, lambda: seen.append(1) or 5), {})); out = (o.step(), seen)
p = leaf(grad=[1., 1.]); o = optim.SGD([p], 0.1); from torch.optim.optimizer import register_optimizer_step_pre_hook as before, register_optimizer_step_post_hook as after; h = before(lambda o, a, k: seen.append('all before')); g = after(lambda o, a, k: seen.append('all after')); o.register_step_pre_hook(lambda o, a, k: seen.append('before')); o.register_step_post_hook(lambda o, a, k: seen.append('after')); o.step(); h.remove(); g.remove(); o.step(); out = seen
p = leaf(); o = optim.SGD([p], 0.1); o.register_state_dict_pre_hook(lambda o: seen.append('first')); o.register_state_dict_pre_hook(lambda o: seen.append('second'), prepend=True); o.state_dict(); out = seen
p = leaf(); o = optim.SGD([p], 0.1); o.register_state_dict_post_hook(lambda o, s: s.update(more=1)); o.register_state_dict_post_hook(lambda o, s: {'more': s['more'] + 1}); out = o.state_dict()
p = leaf(); o = optim.SGD([p], 0.1); s = o.state_dict(); o.register_load_state_dict_pre_hook(lambda o, s: s['param_groups'][0].update(lr=7.0)); o.register_load_state_dict_post_hook(lambda o: seen.append(o.param_groups[0]['lr'])); o.load_state_dict(s); out = (seen, s)
p = leaf(); o = optim.SGD([p], 0.1); o.register_load_state_dict_pre_hook(lambda o, s: {'state': {}, 'param_groups': [{**s['param_groups'][0], 'lr': 3.0}]}); o.load_state_dict(o.state_dict()); out = o
from torch.optim.optimizer import Optimizer, required; out = required
from torch.optim.optimizer import required⏎class O(optim.Optimizer):⏎    def __init__(self, params, lr=required):⏎        super().__init__(params, {'lr': lr})⏎O([leaf()])
from torch.optim.optimizer import required⏎class O(optim.Optimizer):⏎    def __init__(self, params, lr=required):⏎        super().__init__(params, {'lr': lr})⏎out = O([{'params': leaf(), 'lr': 2}])
class O(optim.SGD):⏎    def step(self, closure=None):⏎        seen.append('mine')⏎        return super().step(closure)⏎p = leaf(); out = (descent(O([p], 0.1), p), seen)
class O(optim.Adam):⏎    pass⏎p = leaf(); o = O([p], 0.1); o.register_step_post_hook(lambda *a: seen.append(1)); out = (descent(o, p), seen)
class Lion(optim.Optimizer):⏎    def __init__(self, params, lr=1e-2, betas=(0.9, 0.99)):⏎        super().__init__(params, dict(lr=lr, betas=betas))⏎    @torch.no_grad()⏎    def step(self, closure=None):⏎        loss = None⏎        if closure is not None:⏎            with torch.enable_grad():⏎                loss = closure()⏎        for group in self.param_groups:⏎            b1, b2 = group['betas']⏎            for p in group['params']:⏎                if p.grad is None: continue⏎                state = self.state[p]⏎                if len(state) == 0:⏎                    state['exp_avg'] = torch.zeros_like(p, memory_format=torch.preserve_format)⏎                m = state['exp_avg']⏎                p.add_(torch.sign(m.mul(b1).add(p.grad, alpha=1 - b1)), alpha=-group['lr'])⏎                m.mul_(b2).add_(p.grad, alpha=1 - b2)⏎        return loss⏎p, q = leaf(), leaf(3.0); o = Lion([p, q]); out = (descent(o, p, q), o.state_dict(), o)
p = leaf(); o = optim.Adam([p], 0.1); descent(o, p); c = copy.deepcopy(o); q = c.param_groups[0]['params'][0]; out = (descent(c, q), p.tolist(), c.state_dict())
p = leaf(); o = optim.SGD([p], 0.1, momentum=0.9); s = optim.lr_scheduler.StepLR(o, 1, 0.5); descent(o, p); s.step(); c = copy.deepcopy(o); q = c.param_groups[0]['params'][0]; out = descent(c, q)
p = leaf(); o = optim.Adam([p], 0.1, amsgrad=True); out = (descent(o, p), list(o.state[p]))
p = leaf(); o = optim.Adam([p], torch.tensor(0.1, dtype=torch.float64)); descent(o, p); o.param_groups[0]['lr'].fill_(0.5); out = descent(o, p)
p = leaf(); o = optim.Adam([p], 0.1, fused=True); out = (descent(o, p), o.state_dict())
p = leaf(); o = optim.Adam([p], 0.1, foreach=True); out = descent(o, p)
p = leaf(); o = optim.SGD([p], 0.1, fused=True, momentum=0.5); out = (descent(o, p), o.state_dict())
p = leaf(); o = optim.Adagrad([p], 0.1, fused=True); out = (descent(o, p), o.state_dict())
p = leaf(grad=[1., 1.]); optim.Adam([p], capturable=True).step()
p = leaf(grad=[1., 1.]); optim.Adadelta([p], capturable=True).step()
p = leaf(grad=[1., 1.]); optim.ASGD([p], capturable=True).step()
p = leaf(grad=[1., 1.]); optim.NAdam([p], capturable=True).step()
p = torch.ones(2, dtype=torch.complex64, requires_grad=True); p.grad = torch.ones_like(p); optim.Adam([p], fused=True).step()
p = torch.ones(2, dtype=torch.complex64, requires_grad=True); p.grad = torch.ones_like(p); optim.SGD([p], fused=True).step()
optim.Adam([leaf()], torch.tensor(0.1), foreach=True)
optim.Adam([leaf()], betas=(torch.tensor(0.9), torch.tensor(0.99)), foreach=True)
optim.SparseAdam([leaf()], lr=0.0)
optim.SparseAdam([leaf(grad=[1., 1.])]).step()
out = optim.SparseAdam([leaf()]).step(lambda: 3)
optim.LBFGS([{'params': [leaf()]}, {'params': [leaf()]}])
optim.LBFGS([leaf()]).step()
p = leaf(); optim.LBFGS([p], line_search_fn='x').step(lambda: [(p * p).sum().backward(), (p * p).sum()][1])
p = leaf(); o = optim.LBFGS([p]); o.step(lambda: [o.zero_grad(), (p * p).sum().backward(), 0.5][2]); out = p
p = leaf(); optim.LBFGS([p]).register_step_post_hook(lambda *a: seen.append(len(a[1]))); out = seen
p = leaf(); o = optim.Adam([p], 0.1); out = o.add_param_group({'params': [leaf(3.0)], 'lr': 5}), o
o = optim.Adam([leaf()]); o.zero_grad(); out = o.param_groups[0]['params'][0].grad
p = leaf(grad=[3., 3.]); o = optim.Adam([p]); o.zero_grad(set_to_none=False); out = p.grad
out = [n for n in ('Adafactor', 'Adadelta', 'Adagrad', 'Adam', 'Adamax', 'AdamW', 'ASGD', 'LBFGS', 'lr_scheduler', 'Muon', 'NAdam', 'Optimizer', 'RAdam', 'RMSprop', 'Rprop', 'SGD', 'SparseAdam', 'swa_utils') if not hasattr(optim, n)]
from torch.optim.adam import Adam; from torch.optim.adamw import AdamW; from torch.optim.sgd import SGD; from torch.optim.lr_scheduler import _LRScheduler, LRScheduler; from torch.optim.swa_utils import AveragedModel, SWALR, update_bn; out = (Adam is optim.Adam, AdamW is optim.AdamW, SGD is optim.SGD)
p = leaf(1.0, 2.0, dtype=torch.bfloat16); o = optim.SGD([p], 0.5, momentum=0.9); descent(o, p, steps=1); out = (p, o.state[p])
p = leaf(1.0, 2.0, dtype=torch.float16); o = optim.Adam([p], 0.125); descent(o, p, steps=1); out = (p, {k: v.dtype for k, v in o.state[p].items()})
p = leaf(1.0, dtype=torch.float16); o = optim.Adam([p]); descent(o, p, steps=1); q = leaf(1.0); r = optim.Adam([q]); r.load_state_dict(o.state_dict()); out = {k: v.dtype for k, v in r.state[q].items()}
p = leaf(1.0); o = optim.Adam([p]); descent(o, p, steps=1); q = leaf(1.0, dtype=torch.bfloat16); r = optim.Adam([q], fused=True); r.load_state_dict(o.state_dict()); out = {k: v.dtype for k, v in r.state[q].items()}
""")


def shown(library: ModuleType, snippet: str) -> str:
    scope: dict[str, Any] = {"torch": library}
    text = snippet.replace("⏎", "\n")
    if library is numgrad:
        text = text.replace("from torch.", "from numgrad.")
    exec(PRELUDE, scope)
    try:
        exec(text, scope)
        return neutral(repr(rounded(scope.get("out"))))
    except Exception as error:
        return neutral(f"{type(error).__name__}: {error}").replace("LBFGS.step()", "step()")


def rounded(value: Any) -> Any:
    """Numbers to 12 digits: sums are made in another order."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(rounded(v) for v in value)
    return value


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_the_same_lines(snippet: str) -> None:
    assert shown(numgrad, snippet) == shown(torch, snippet)


def test_a_hook_that_gives_nonsense() -> None:
    for library in (numgrad, torch):
        optimizer = library.optim.SGD([library.ones(1, requires_grad=True)])
        optimizer.register_step_pre_hook(lambda *given: 5)
        with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got 5\."):
            optimizer.step()


MODULES = ("optim", "optim.lr_scheduler", "optim.swa_utils")


@pytest.mark.parametrize("module", MODULES)
def test_names_and_arguments(module: str) -> None:
    """Every public class and function, and how it is called; what swaps an optimizer's tensors is not there."""
    theirs = importlib.import_module(f"torch.{module}")
    ours = importlib.import_module(f"numgrad.{module}")
    names = set(theirs.__all__) - {"swap_in_optimizer_params_and_state"}
    assert names <= set(dir(ours)) | {"swa_utils"}
    for name in names:
        a, b = getattr(ours, name), getattr(theirs, name)
        if callable(b):
            assert arguments(a) == arguments(b), name
            for method in ("step", "zero_grad", "state_dict", "load_state_dict", "add_param_group", "get_lr"):
                if hasattr(b, method):
                    assert list(arguments(getattr(a, method))) == list(arguments(getattr(b, method))), (name, method)


def arguments(function: Any) -> dict[str, tuple[str, str]]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name: (str(p.kind), str(p.default)) for p in parameters}


# ------------------------------------------------------------------------------------------------- recorded steps
RECORDED: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "weight_decay": 0.05},
    "SGD with momentum": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "Adam": {"lr": 0.1, "weight_decay": 0.1},
    "Adam, amsgrad": {"lr": 0.1, "amsgrad": True, "maximize": True},
    "AdamW": {"lr": 0.1},
    "Adagrad": {"lr": 0.1, "weight_decay": 0.1},
    "Adadelta": {"lr": 0.9},
    "Adamax": {"lr": 0.1},
    "NAdam": {"lr": 0.1},
    "RAdam": {"lr": 0.1},
    "RMSprop": {"lr": 0.1},
    "RMSprop, centered": {"lr": 0.1, "centered": True, "momentum": 0.5},
    "Rprop": {"lr": 0.1},
    "ASGD": {"lr": 0.1},
}


ONE_STEP = ("Adam, amsgrad", "Adamax", "RMSprop, centered", "Rprop")
"""Those of which PyTorch raises for two: the second step writes what the first one's gradient needs."""


@pytest.fixture
def double() -> Any:
    """The number of steps is float32 by default, and so are the corrections that PyTorch computes of it."""
    for library in (numgrad, torch):
        library.set_default_dtype(library.float64)
    yield
    for library in (numgrad, torch):
        library.set_default_dtype(library.float32)


def gradients_through_steps(library: ModuleType, name: str, options: dict[str, Any]) -> list[list[float]]:
    """Of a function of the parameter after one or two steps, for the parameter and the gradients before them."""
    start = library.tensor([0.5, -1.5, 2.0], dtype=library.float64, requires_grad=True)
    grads = [library.tensor(g, dtype=library.float64, requires_grad=True) for g in ([1.0, 2.0, -0.5], [0.3, -1.0, 1.0])]
    param = start.clone()
    optimizer = getattr(library.optim, name.partition(" ")[0].rstrip(","))([param], differentiable=True, **options)
    if "momentum" in name:
        optimizer.state[param]["momentum_buffer"] = library.ones(3, dtype=library.float64)
    grads = grads[:1] if name in ONE_STEP else grads
    for grad in grads:
        param.grad = grad * 1.0
        optimizer.step()
    assert param.requires_grad
    (param**2 * library.tensor([1.0, 2.0, 3.0], dtype=library.float64)).sum().backward()
    return [start.grad.tolist(), *[g.grad.tolist() for g in grads], param.detach().tolist()]


@pytest.mark.parametrize("name", RECORDED)
def test_gradients_through_steps(double: None, name: str) -> None:
    ours, theirs = (gradients_through_steps(library, name, RECORDED[name]) for library in (numgrad, torch))
    for a, b in zip(ours, theirs, strict=True):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_gradients_of_the_learning_rate_and_the_decay(double: None, name: str) -> None:
    results = []
    for library in (numgrad, torch):
        lr = library.tensor(0.1, dtype=library.float64, requires_grad=True)
        decay = library.tensor(0.3, dtype=library.float64, requires_grad=True)
        param = library.tensor([0.5, -1.5], dtype=library.float64, requires_grad=True).clone()
        optimizer = getattr(library.optim, name)([param], lr=lr, weight_decay=decay, differentiable=True)
        for _ in range(2):
            param.grad = library.tensor([1.0, 2.0], dtype=library.float64)
            optimizer.step()
        (param**2).sum().backward()
        results.append([lr.grad.item(), decay.grad.item(), *param.tolist()])
    assert results[0] == pytest.approx(results[1], rel=1e-10)
