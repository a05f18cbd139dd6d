"""Optimizers: first steps in closed form, what is skipped and what decays, groups, refusals, saving and loading."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest

import numgrad as ng
from numgrad.optim import SGD, Adam, AdamW, Optimizer


def leaf(*values: float, grad: list[float] | None = None) -> Any:
    made = ng.tensor(list(values), dtype=ng.float64, requires_grad=True)
    if grad is not None:
        made.grad = ng.tensor(grad, dtype=ng.float64)
    return made


def near(*values: float, rel: float = 1e-12) -> Any:
    return pytest.approx(list(values), rel=rel, abs=1e-14)


# ------------------------------------------------------------------------------------------------- closed forms
def test_sgd_subtracts_the_scaled_gradient() -> None:
    p = leaf(1.0, 2.0, grad=[0.5, -1.0])
    SGD([p], lr=0.1).step()
    assert p.tolist() == near(0.95, 2.1)


def test_sgd_maximize_climbs() -> None:
    p = leaf(1.0, grad=[0.5])
    SGD([p], lr=0.1, maximize=True).step()
    assert p.tolist() == near(1.05)


def test_momentum_sums_the_gradients() -> None:
    p = leaf(0.0, grad=[1.0])
    optimizer = SGD([p], lr=1.0, momentum=0.5)
    buffers = []
    for _ in range(3):
        optimizer.step()
        buffers.append(optimizer.state[p]["momentum_buffer"].item())
    assert buffers == near(1.0, 1.5, 1.75)
    assert p.tolist() == near(-4.25)


def test_dampening_spares_the_first_buffer() -> None:
    p = leaf(0.0, grad=[1.0])
    optimizer = SGD([p], lr=1.0, momentum=0.5, dampening=0.75)
    optimizer.step()
    assert p.tolist() == near(-1.0)
    optimizer.step()
    assert p.tolist() == near(-1.0 - (0.5 + 0.25))


def test_nesterov_looks_ahead() -> None:
    p = leaf(0.0, grad=[1.0])
    SGD([p], lr=1.0, momentum=0.5, nesterov=True).step()
    assert p.tolist() == near(-1.5)


def test_the_momentum_buffer_is_no_alias_of_the_gradient() -> None:
    p = leaf(0.0, grad=[1.0])
    optimizer = SGD([p], lr=1.0, momentum=0.5)
    optimizer.step()
    p.grad.zero_()
    assert optimizer.state[p]["momentum_buffer"].tolist() == [1.0]


def test_first_adam_step_is_lr_whatever_the_gradient() -> None:
    # m / (sqrt(v) + eps) = 1e-3 / (1e-3 + 1e-8) after the corrections
    p = leaf(1.0, grad=[1e-3])
    Adam([p], lr=0.1).step()
    assert p.tolist() == near(1 - 0.1 / (1 + 1e-5))
    assert p.item() == pytest.approx(0.9000010, abs=5e-8)


def test_second_adam_step() -> None:
    p = leaf(0.0, grad=[1.0])
    optimizer = Adam([p], lr=0.1, betas=(0.5, 0.75), eps=0.0)
    optimizer.step()
    p.grad.fill_(3.0)
    optimizer.step()
    m = (0.5 * 0.5 * 1 + 0.5 * 3) / (1 - 0.25)
    v = (0.75 * 0.25 * 1 + 0.25 * 9) / (1 - 0.5625)
    assert p.tolist() == near(-0.1 - 0.1 * m / v**0.5)
    assert optimizer.state[p]["step"].item() == 2.0


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda params: Adam(params, lr=0.1, weight_decay=0.1), 0.9),  # the decay is the whole gradient: a step of lr
        (lambda params: AdamW(params, lr=0.1, weight_decay=0.1), 0.99),  # 1 - lr * weight_decay
        (lambda params: SGD(params, lr=0.1, weight_decay=0.1), 0.99),
    ],
)
def test_decay_alone(make: Any, expected: float) -> None:
    p = leaf(1.0, grad=[0.0])
    make([p]).step()
    assert p.item() == pytest.approx(expected, rel=1e-6)


def test_without_decay_an_infinite_parameter_stays_infinite() -> None:
    for make in (SGD, lambda params: SGD(params, momentum=0.9), Adam):
        p = leaf(float("inf"), grad=[1.0])
        make([p]).step()
        assert p.tolist() == [float("inf")]


# ------------------------------------------------------------------------------------------------- gradients None
@pytest.mark.parametrize("make", [lambda p: SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1), lambda p: AdamW(p, lr=0.1)])
def test_none_is_skipped_and_zero_decays(make: Any) -> None:
    skipped, decayed = leaf(1.0), leaf(1.0, grad=[0.0])
    optimizer = make([skipped, decayed])
    optimizer.step()
    assert skipped.tolist() == [1.0]
    assert decayed.item() < 1.0
    assert skipped not in optimizer.state.keys() - {decayed}


@pytest.mark.parametrize("make", [SGD, lambda p: SGD(p, momentum=0.9), Adam, AdamW])
def test_all_gradients_none(make: Any) -> None:
    p = leaf(1.0, 2.0)
    optimizer = make([p])
    optimizer.step()
    assert p.tolist() == [1.0, 2.0]
    assert p._version == 0
    assert optimizer.state_dict()["state"] == {}


def test_zero_grad() -> None:
    p = leaf(1.0)
    optimizer = SGD([p])
    (p * p).sum().backward()
    kept = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is kept
    assert kept.tolist() == [0.0]
    optimizer.zero_grad()
    assert p.grad is None
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is None


def test_zero_grad_takes_a_recorded_gradient_out_of_its_graph() -> None:
    p = leaf(3.0)
    with pytest.warns(UserWarning, match="create a reference cycle"):
        (p * p * p).sum().backward(create_graph=True)
    assert p.grad.requires_grad
    SGD([p]).zero_grad(set_to_none=False)
    assert not p.grad.requires_grad
    assert p.grad.tolist() == [0.0]


# ------------------------------------------------------------------------------------------------- the graph
@pytest.mark.parametrize("make", [SGD, lambda p: SGD(p, momentum=0.9), Adam])
def test_a_step_writes_in_place_and_records_nothing(make: Any) -> None:
    p = leaf(1.0, grad=[1.0])
    optimizer = make([p])
    optimizer.step()
    assert p._version == 1
    assert p.is_leaf
    assert p.requires_grad
    assert all(not value.requires_grad for value in optimizer.state[p].values())
    assert ng.is_grad_enabled()


def test_a_step_between_forward_and_backward_is_noticed() -> None:
    p = leaf(1.0, grad=[1.0])
    y = p * p
    SGD([p]).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_closure_runs_with_gradients_and_its_loss_is_returned() -> None:
    p = leaf(2.0)
    optimizer = SGD([p], lr=0.25)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with ng.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 4.0
    assert p.tolist() == [1.0]
    assert optimizer.step() is None


@pytest.mark.parametrize("make", [SGD, lambda p: SGD(p, momentum=0.9), Adam])
def test_layouts(make: Any) -> None:
    rows = ng.arange(6, dtype=ng.float64).reshape(2, 3)
    plain = rows.clone().requires_grad_()
    transposed = rows.t().contiguous().t().detach().requires_grad_()
    strided = ng.zeros(2, 6, dtype=ng.float64)[:, ::2].detach()
    strided.copy_(rows)
    strided.requires_grad_()
    gradient = ng.arange(6, dtype=ng.float64).reshape(3, 2).t() + 1
    for p in (plain, transposed, strided):
        p.grad = gradient
        optimizer = make([p])
        optimizer.step()
        optimizer.step()
    assert not transposed.is_contiguous()
    assert not strided.is_contiguous()
    assert transposed.tolist() == plain.tolist() == strided.tolist()
    assert plain.tolist() != rows.tolist()


def test_float32_parameters() -> None:
    p = ng.tensor([1.0], requires_grad=True)
    p.grad = ng.tensor([1e-3])
    optimizer = Adam([p], lr=0.1)
    optimizer.step()
    assert p.item() == pytest.approx(0.9000010, abs=1e-6)
    assert {name: value.dtype for name, value in optimizer.state[p].items()} == {
        "step": ng.float32,
        "exp_avg": ng.float32,
        "exp_avg_sq": ng.float32,
    }


def test_scalar_and_empty_parameters() -> None:
    scalar = ng.tensor(1.0, dtype=ng.float64, requires_grad=True)
    scalar.grad = ng.tensor(1.0, dtype=ng.float64)
    nothing = leaf(grad=[])
    SGD([scalar, nothing], lr=0.5).step()
    assert scalar.item() == 0.5
    assert nothing.tolist() == []


# ------------------------------------------------------------------------------------------------- groups
def test_groups_have_their_own_options() -> None:
    fast, slow = leaf(1.0, grad=[1.0]), leaf(1.0, grad=[1.0])
    optimizer = SGD([{"params": [fast], "lr": 0.5}, {"params": slow}], lr=0.1)
    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 1]
    optimizer.step()
    assert (fast.item(), slow.item()) == (0.5, 0.9)
    optimizer.param_groups[1]["lr"] = 0.4
    optimizer.step()
    assert (fast.item(), slow.item()) == (0.0, 0.5)


def test_options_as_tensors() -> None:
    p = leaf(1.0, grad=[1.0])
    optimizer = SGD([p], lr=ng.tensor(0.5))
    optimizer.step()
    optimizer.param_groups[0]["lr"].mul_(0.5)
    optimizer.step()
    assert p.tolist() == [0.25]
    p = leaf(1.0, grad=[1.0])
    Adam([p], lr=0.5, betas=(ng.tensor(0.5), ng.tensor(0.5)), eps=0.0).step()
    assert p.tolist() == near(0.5)


def test_named_parameters() -> None:
    model = ng.nn.Linear(2, 1)
    optimizer = SGD(model.named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"] == list(model.parameters())
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="cannot add param group without names to the optimizer"):
        optimizer.add_param_group({"params": [leaf(1.0)]})
    with pytest.raises(ValueError, match="Some param names are missing"):
        SGD([("one", leaf(1.0)), leaf(1.0)])


def test_repr() -> None:
    assert repr(SGD([leaf(1.0)], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
        "    lr: 0.1\n    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)"
    )


# ------------------------------------------------------------------------------------------------- refusals
P = leaf(1.0)
REFUSED = [
    (lambda: SGD([]), ValueError, "optimizer got an empty parameter list"),
    (lambda: SGD([leaf(1.0) * 2]), ValueError, "can't optimize a non-leaf Tensor"),
    (lambda: SGD([P, 3]), TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
    (
        lambda: SGD(ng.ones(2)),
        TypeError,
        "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor",
    ),
    (
        lambda: SGD([{"params": {P}}]),
        TypeError,
        "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
        "change between runs. Please use a list instead.",
    ),
    (
        lambda: SGD([{"params": [P]}, {"params": [P]}]),
        ValueError,
        "some parameters appear in more than one parameter group",
    ),
    (lambda: SGD([P]).add_param_group([P]), TypeError, "param_group must be a dict, but got <class 'list'>"),
    (lambda: SGD([P], lr=-1), ValueError, "Invalid learning rate: -1"),
    (lambda: SGD([P], momentum=-1), ValueError, "Invalid momentum value: -1"),
    (lambda: SGD([P], weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
    (
        lambda: SGD([P], nesterov=True),
        ValueError,
        "Nesterov momentum requires a momentum and zero dampening",
    ),
    (lambda: SGD([P], lr=ng.ones(2)), ValueError, "Tensor lr must be 1-element"),
    (
        lambda: SGD([P], fused=True, foreach=True),
        RuntimeError,
        "`fused` and `foreach` cannot be `True` together.",
    ),
    (lambda: Adam([P], lr=-1), ValueError, "Invalid learning rate: -1"),
    (lambda: Adam([P], eps=-1), ValueError, "Invalid epsilon value: -1"),
    (lambda: Adam([P], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
    (lambda: Adam([P], betas=(0.9, -1.0)), ValueError, "Invalid beta parameter at index 1: -1.0"),
    (lambda: Adam([P], betas=(0, 0.9)), ValueError, "betas must be either both floats or both Tensors"),
    (lambda: Adam([P], weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
    (
        lambda: SGD([P], fused=True, differentiable=True),
        RuntimeError,
        "`fused` does not support `differentiable`",
    ),
]


@pytest.mark.parametrize(("attempt", "kind", "text"), REFUSED, ids=[text[:40] for _, _, text in REFUSED])
def test_refusals(attempt: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        attempt()
    assert str(caught.value) == text


def test_a_parameter_twice_in_a_group_warns() -> None:
    with pytest.warns(UserWarning, match="duplicate parameters; in future, this will cause an error"):
        SGD([P, P])


def test_the_base_class_does_not_step() -> None:
    with pytest.raises(NotImplementedError):
        Optimizer([P], {}).step()


def test_a_changed_shape_is_noticed() -> None:
    p = leaf(1.0, 2.0, grad=[1.0, 1.0])
    optimizer = SGD([p], momentum=0.9)
    optimizer.step()
    p.data = ng.ones(3, dtype=ng.float64)
    p.grad = ng.ones(3, dtype=ng.float64)
    with pytest.raises(RuntimeError, match=r"a parameter of shape \[3\] .* has momentum_buffer of shape \[2\]"):
        optimizer.step()


# ------------------------------------------------------------------------------------------------- saving
def trained(make: Any, steps: int) -> tuple[Any, Any]:
    params = [leaf(1.0, -2.0), leaf(0.5)]
    optimizer = make(params)
    train(params, optimizer, steps)
    return params, optimizer


def train(params: list[Any], optimizer: Any, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        ((params[0] * params[0]).sum() * params[1]).sum().backward()
        optimizer.step()


MAKERS = {
    "sgd": lambda params: SGD(params, lr=0.1, momentum=0.9),
    "adam": lambda params: Adam(params, lr=0.1),
    "adamw": lambda params: AdamW(params, lr=0.1),
}


def test_structure_of_the_state_dict() -> None:
    _, optimizer = trained(lambda params: SGD(params, lr=0.1, momentum=0.9), 1)
    saved = optimizer.state_dict()
    assert list(saved) == ["state", "param_groups"]
    assert {k: list(v) for k, v in saved["state"].items()} == {0: ["momentum_buffer"], 1: ["momentum_buffer"]}
    (group,) = saved["param_groups"]
    assert list(group.items()) == [
        ("lr", 0.1),
        ("momentum", 0.9),
        ("dampening", 0),
        ("weight_decay", 0),
        ("nesterov", False),
        ("maximize", False),
        ("foreach", None),
        ("differentiable", False),
        ("fused", None),
        ("params", [0, 1]),
    ]
    _, optimizer = trained(Adam, 3)
    assert list(optimizer.state_dict()["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    assert repr(optimizer.state_dict()["state"][0]["step"]) == "tensor(3.)"


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_training_goes_on_as_if_it_had_not_stopped(make: Any) -> None:
    whole, _ = trained(make, 5)
    params, optimizer = trained(make, 2)
    saved = optimizer.state_dict()
    resumed = make(params)
    resumed.load_state_dict(saved)
    train(params, resumed, 3)
    assert [p.tolist() for p in params] == [p.tolist() for p in whole]


def test_loading_copies_the_state() -> None:
    params, optimizer = trained(MAKERS["sgd"], 1)
    saved = optimizer.state_dict()
    before = saved["state"][0]["momentum_buffer"].tolist()
    resumed = MAKERS["sgd"](params)
    resumed.load_state_dict(saved)
    train(params, resumed, 2)
    assert saved["state"][0]["momentum_buffer"].tolist() == before


def test_saved_options_win_over_the_constructor() -> None:
    p = leaf(1.0, grad=[0.0])
    saved = SGD([leaf(1.0)], lr=0.1, weight_decay=0.5).state_dict()
    optimizer = SGD([p], lr=0.1, weight_decay=0.0)
    optimizer.load_state_dict(saved)
    optimizer.step()
    assert p.tolist() == near(0.95)


def test_state_takes_the_dtype_of_its_parameter_but_for_the_step() -> None:
    _, optimizer = trained(Adam, 1)
    single = [ng.ones(2, requires_grad=True), ng.ones(1, requires_grad=True)]
    other = Adam(single)
    other.load_state_dict(optimizer.state_dict())
    assert [other.state[p]["exp_avg"].dtype for p in single] == [ng.float32, ng.float32]
    assert other.state[single[0]]["step"].dtype is ng.float32


def test_a_plain_step_number_is_loaded() -> None:
    _, optimizer = trained(Adam, 2)
    saved = optimizer.state_dict()
    saved["state"] = {k: {**v, "step": 2} for k, v in saved["state"].items()}
    params = [leaf(1.0, -2.0), leaf(0.5)]
    other = Adam(params)
    other.load_state_dict(saved)
    assert repr(other.state[params[0]]["step"]) == "tensor(2.)"


def test_adamw_stays_decoupled_whatever_is_loaded() -> None:
    _, optimizer = trained(Adam, 1)
    other = AdamW([leaf(1.0, -2.0), leaf(0.5)])
    other.load_state_dict(optimizer.state_dict())
    assert other.param_groups[0]["decoupled_weight_decay"] is True


def test_state_that_does_not_fit_is_refused() -> None:
    _, optimizer = trained(MAKERS["sgd"], 1)
    saved = optimizer.state_dict()
    two = SGD([{"params": [leaf(1.0)]}, {"params": [leaf(1.0)]}])
    with pytest.raises(ValueError, match="loaded state dict has a different number of parameter groups"):
        two.load_state_dict(saved)
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group") as caught:
        SGD([leaf(1.0)]).load_state_dict(saved)
    assert caught.value.__notes__ == ["group 0 has 1 parameters in the optimizer and 2 in the state dict"]
    other = SGD([leaf(1.0, 2.0, 3.0), leaf(0.5)])
    with pytest.raises(ValueError, match=r"'momentum_buffer' of shape torch.Size\(\[2\]\) for parameter 0"):
        other.load_state_dict(saved)
    assert other.state == {}


def test_the_message_names_the_parameter() -> None:
    model, other = ng.nn.Linear(2, 1), ng.nn.Linear(3, 1)
    optimizer = Adam(model.named_parameters())
    model(ng.ones(1, 2)).sum().backward()
    optimizer.step()
    saved = optimizer.state_dict()
    with pytest.raises(ValueError, match=r"'exp_avg' of shape .*\[1, 2\].* for parameter 0 \('weight'\)"):
        Adam(other.named_parameters()).load_state_dict(saved)
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group") as caught:
        Adam([("only", leaf(1.0))]).load_state_dict(saved)
    assert caught.value.__notes__ == [
        "group 0 has 1 parameters in the optimizer and 2 in the state dict",
        "those of the state dict are weight, bias",
    ]


@pytest.mark.parametrize("dtype", [ng.float16, ng.bfloat16], ids=str)
def test_halves_are_computed_in_float32(dtype: Any) -> None:
    """The square of 1e-4 is 0 in float16, and so is the epsilon: the step is one of lr nevertheless."""
    p = ng.ones(2, dtype=dtype, requires_grad=True)
    p.grad = ng.full((2,), 1e-4, dtype=dtype)
    optimizer = Adam([p], lr=0.25)
    optimizer.step()
    assert p.tolist() == [0.75, 0.75]
    assert {name: value.dtype for name, value in optimizer.state[p].items()} == {
        "step": ng.float32,
        "exp_avg": dtype,
        "exp_avg_sq": dtype,
    }


def test_complex_parameters_are_pairs_of_real_ones() -> None:
    values, grads = [[1.0, 2.0], [-0.5, 0.25]], [[0.1, -0.4], [2.0, 0.3]]
    real = ng.tensor(values, dtype=ng.float64, requires_grad=True)
    real.grad = ng.tensor(grads, dtype=ng.float64)
    pairs = ng.view_as_complex(ng.tensor(values, dtype=ng.float64)).requires_grad_()
    pairs.grad = ng.view_as_complex(ng.tensor(grads, dtype=ng.float64))
    for p in (real, pairs):
        optimizer = Adam([p], lr=0.1, weight_decay=0.1, amsgrad=True)
        for _ in range(3):
            optimizer.step()
    assert ng.view_as_real(pairs.detach()).tolist() == real.tolist()


def test_one_kernel_call_updates_parameters_of_all_sizes() -> None:
    """Those with another dtype or layout, and those that join later, get the same steps."""
    start = [ng.arange(n, dtype=ng.float64) + 1 for n in (3, 1, 0, 5)]
    together = [x.clone().requires_grad_() for x in start]
    together.append(ng.zeros(4, 3, dtype=ng.float64)[:, ::2].detach().requires_grad_())
    alone = [p.detach().clone().requires_grad_() for p in together]
    optimizers = [Adam(together, lr=0.1), *[Adam([p], lr=0.1) for p in alone]]
    for i in range(4):
        for params in (together, alone):
            for n, p in enumerate(params):
                p.grad = None if n == 1 and i < 2 else ng.full(p.shape, float(n + i), dtype=ng.float64)
        for optimizer in optimizers:
            optimizer.step()
    assert [p.tolist() for p in together] == [p.tolist() for p in alone]
    assert [optimizers[0].state[p]["step"].item() for p in together] == [4.0, 2.0, 4.0, 4.0, 4.0]


def test_options_missing_in_old_state_dicts() -> None:
    saved = SGD([leaf(1.0)], lr=0.1).state_dict()
    for name in ("nesterov", "maximize", "foreach", "differentiable", "fused"):
        del saved["param_groups"][0][name]
    p = leaf(1.0, grad=[1.0])
    optimizer = SGD([p])
    optimizer.load_state_dict(saved)
    optimizer.step()
    assert p.tolist() == [0.9]


def test_no_warnings_in_ordinary_use() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for make in MAKERS.values():
            trained(make, 2)


def test_pickled_options_survive() -> None:
    saved = SGD([leaf(1.0)], lr=0.1, momentum=0.9).state_dict()
    assert pickle.loads(pickle.dumps(saved)) == saved
