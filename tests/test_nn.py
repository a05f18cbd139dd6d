"""Modules, parameters and losses. The expected texts and numbers are what PyTorch 2.13 gives for the same lines.
"""

import copy
import math
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import numgrad as ng
from numgrad import nn

F = nn.functional


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(2, 3)
        self.b = nn.Sequential(nn.Tanh(), nn.Linear(3, 1, bias=False))
        self.register_buffer("c", ng.zeros(2))
        self.register_buffer("d", ng.ones(1), persistent=False)

    def forward(self, x: ng.Tensor) -> Any:
        return self.b(self.a(x))


class Uninitialised(nn.Module):
    def __init__(self) -> None:  # forgets super().__init__()
        pass


def assert_raises(kind: type[Exception], text: str, action: Callable[[], object]) -> None:
    with pytest.raises(kind) as caught:
        action()
    assert caught.value.args == (text,)


def set_attribute(module: nn.Module, name: str, value: object) -> Callable[[], None]:
    return lambda: setattr(module, name, value)


# Text


def test_repr_nests_children() -> None:
    assert repr(Net()) == (
        "Net(\n"
        "  (a): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (b): Sequential(\n"
        "    (0): Tanh()\n"
        "    (1): Linear(in_features=3, out_features=1, bias=False)\n"
        "  )\n"
        ")"
    )


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.Module(), "Module()"),
        (nn.Sequential(), "Sequential()"),
        (nn.ModuleList(), "ModuleList()"),
        (nn.ReLU(inplace=True), "ReLU(inplace=True)"),
        (nn.Sigmoid(), "Sigmoid()"),
        (nn.Identity(54, anything=1), "Identity()"),
        (nn.Flatten(), "Flatten(start_dim=1, end_dim=-1)"),
        (nn.MSELoss(), "MSELoss()"),
        (nn.CrossEntropyLoss(), "CrossEntropyLoss()"),
    ],
)
def test_repr_of_small_modules(module: nn.Module, expected: str) -> None:
    assert repr(module) == expected


def test_repr_with_several_extra_lines() -> None:
    class Extra(nn.Module):
        def extra_repr(self) -> str:
            return "a=1\nb=2"

    outer = Extra()
    outer.x = Extra()
    outer.y = nn.Tanh()
    outer.y = None
    assert repr(outer) == "Extra(\n  a=1\n  b=2\n  (x): Extra(\n    a=1\n    b=2\n  )\n  (y): None\n)"


def test_module_list_shows_equal_neighbours_once() -> None:
    modules = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(1, 1), nn.ReLU()])
    assert repr(modules) == (
        "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Linear(in_features=1, out_features=1, bias=True)\n  (3): ReLU()\n)"
    )


# Parameters


def test_parameter_is_a_leaf_that_shares_memory() -> None:
    data = ng.ones(2)
    with ng.no_grad():
        parameter = nn.Parameter(data)
    data.add_(1)
    assert isinstance(parameter, ng.Tensor)
    assert parameter.requires_grad
    assert parameter.is_leaf
    assert parameter.tolist() == [2.0, 2.0]
    assert type(parameter * 1) is ng.Tensor
    assert repr(parameter) == "Parameter containing:\ntensor([2., 2.], requires_grad=True)"


def test_parameter_of_integers() -> None:
    text = "Only Tensors of floating point and complex dtype can require gradients"
    assert_raises(RuntimeError, text, lambda: nn.Parameter(ng.tensor([1, 2])))
    assert not nn.Parameter(ng.tensor([1, 2]), requires_grad=False).requires_grad


def test_deepcopy_copies_parameters() -> None:
    module = Net()
    twin = copy.deepcopy(module)
    with ng.no_grad():
        twin.a.weight.fill_(7.0)
    assert isinstance(twin.a.weight, nn.Parameter)
    assert twin.a.weight.requires_grad
    assert 7.0 not in module.a.weight.reshape(-1).tolist()


# Attributes and registration


def test_names_of_members() -> None:
    module = Net()
    assert list(module.state_dict()) == ["c", "a.weight", "a.bias", "b.1.weight"]
    assert [name for name, _ in module.named_parameters()] == ["a.weight", "a.bias", "b.1.weight"]
    assert next(name for name, _ in module.named_parameters(prefix="net")) == "net.a.weight"
    assert list(module.parameters(recurse=False)) == []
    assert [name for name, _ in module.named_buffers()] == ["c", "d"]
    assert [name for name, _ in module.named_children()] == ["a", "b"]
    assert [name for name, _ in module.named_modules()] == ["", "a", "b", "b.0", "b.1"]
    assert module.get_submodule("b.1") is module.b[1]
    assert module.get_parameter("a.bias") is module.a.bias
    assert module.get_buffer("c") is module.c
    assert {"a", "c", "training"} <= set(dir(module))


def test_shared_members_are_counted_once() -> None:
    module = nn.Module()
    module.x = module.y = nn.Linear(1, 1)
    assert [name for name, _ in module.named_parameters()] == ["x.weight", "x.bias"]
    assert [name for name, _ in module.named_parameters(remove_duplicate=False)][2:] == ["y.weight", "y.bias"]
    assert [name for name, _ in module.named_modules(remove_duplicate=False)] == ["", "x", "y"]
    assert len(list(module.children())) == 1
    assert list(module.state_dict()) == ["x.weight", "x.bias", "y.weight", "y.bias"]


def test_assignment_moves_a_name_between_kinds() -> None:
    module = Net()
    module.e = None
    module.e = nn.Parameter(ng.ones(1))
    module.d = nn.Parameter(ng.ones(1))  # was a buffer left out of the state
    assert list(module.state_dict()) == ["e", "d", "c", "a.weight", "a.bias", "b.1.weight"]
    module.c = nn.Tanh()
    assert [name for name, _ in module.named_buffers()] == []
    module.a.bias = None
    assert repr(module.a) == "Linear(in_features=2, out_features=3, bias=False)"
    del module.e, module.b
    assert list(module.state_dict()) == ["d", "a.weight"]
    assert_raises(AttributeError, "'Net' object has no attribute 'e'", lambda: module.e)


def test_buffers_keep_their_persistence() -> None:
    module = Net()
    module.c, module.d = ng.ones(4), ng.zeros(4)
    assert module.c.tolist() == [1.0, 1.0, 1.0, 1.0]
    assert "c" in module.state_dict()
    assert "d" not in module.state_dict()


def test_errors_before_init() -> None:
    module = Uninitialised()
    module.plain = 1
    assert module.plain == 1
    parameters = "cannot assign parameters before Module.__init__() call"
    assert_raises(AttributeError, parameters, set_attribute(module, "p", nn.Parameter(ng.ones(1))))
    child = "cannot assign module before Module.__init__() call"
    assert_raises(AttributeError, child, set_attribute(module, "m", nn.ReLU()))
    buffer = "cannot assign buffer before Module.__init__() call"
    assert_raises(AttributeError, buffer, lambda: module.register_buffer("b", None))
    assert_raises(AttributeError, "'Uninitialised' object has no attribute 'x'", lambda: module.x)


def test_errors_of_assignment() -> None:
    module = Net()
    assert_raises(
        TypeError,
        "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)",
        set_attribute(module.a, "weight", ng.ones(2)),
    )
    assert_raises(
        TypeError,
        "cannot assign 'int' as child module 'a' (torch.nn.Module or None expected)",
        set_attribute(module, "a", 3),
    )
    assert_raises(
        TypeError,
        "cannot assign 'int' as buffer 'c' (torch.nn.Buffer, torch.Tensor or None expected)",
        set_attribute(module, "c", 3),
    )


def test_errors_of_registration() -> None:
    module = nn.Module()
    leaf = nn.Parameter(ng.ones(1))
    assert_raises(
        TypeError,
        "cannot assign 'torch.FloatTensor' object to parameter 'w' (torch.nn.Parameter or None required)",
        lambda: module.register_parameter("w", leaf * 1),  # type: ignore[arg-type]
    )
    assert_raises(
        TypeError,
        "cannot assign 'list' object to buffer 'w' (torch Tensor or None required)",
        lambda: module.register_buffer("w", []),  # type: ignore[arg-type]
    )
    assert_raises(KeyError, 'parameter name can\'t contain "."', lambda: module.register_parameter("a.b", leaf))
    assert_raises(KeyError, 'buffer name can\'t be empty string ""', lambda: module.register_buffer("", None))
    assert_raises(KeyError, "attribute 'forward' already exists", lambda: module.register_parameter("forward", leaf))
    assert_raises(KeyError, 'module name can\'t contain ".", got: a.b', lambda: module.add_module("a.b", None))
    assert_raises(TypeError, "int is not a Module subclass", lambda: nn.Sequential(3))


def test_errors_of_paths() -> None:
    module = Net()
    assert_raises(AttributeError, "Sequential has no attribute `7`", lambda: module.get_submodule("b.7"))
    assert_raises(AttributeError, "`weight` is not an nn.Module", lambda: module.get_submodule("a.weight.x"))
    assert_raises(AttributeError, "`c` is not an nn.Parameter", lambda: module.get_parameter("c"))
    assert_raises(AttributeError, "`weight` is not a buffer", lambda: module.get_buffer("a.weight"))


def test_errors_of_calls() -> None:
    assert_raises(NotImplementedError, 'Module [Module] is missing the required "forward" function', nn.Module())
    assert_raises(TypeError, "Tanh.__init__() takes 1 positional argument but 2 were given", lambda: nn.Tanh(3))
    assert_raises(TypeError, "Module.__init__() got an unexpected keyword argument 'a'", lambda: nn.Module(a=3))
    assert_raises(ValueError, "training mode is expected to be boolean", lambda: nn.Module().train(1))  # type: ignore[arg-type]


# State


def test_state_dict_shares_memory_and_remembers_versions() -> None:
    module = nn.Linear(2, 2)
    state = module.state_dict()
    assert isinstance(state, OrderedDict)
    assert state._metadata == {"": {"version": 1}}  # type: ignore[attr-defined]
    assert type(state["weight"]) is ng.Tensor
    assert not state["weight"].requires_grad
    state["weight"].fill_(3.0)
    assert module.weight.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert module.state_dict(keep_vars=True)["weight"] is module.weight


def test_load_state_dict_copies_in_place() -> None:
    source, target = Net(), Net()
    weight = target.a.weight
    result = target.load_state_dict(source.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert target.a.weight is weight
    assert weight.tolist() == source.a.weight.tolist()
    assert weight.requires_grad


def test_load_state_dict_assigns() -> None:
    module = nn.Linear(1, 1)
    weight = ng.full((1, 1), 2.0)
    module.load_state_dict({"weight": weight, "bias": ng.ones(1)}, assign=True)
    weight.fill_(5.0)
    assert isinstance(module.weight, nn.Parameter)
    assert module.weight.tolist() == [[5.0]]


def test_load_state_dict_names_everything_that_does_not_fit() -> None:
    module = nn.Linear(2, 2)
    assert_raises(
        RuntimeError,
        "Error(s) in loading state_dict for Linear:\n"
        "\tsize mismatch for weight: copying a param with shape torch.Size([3, 2]) from checkpoint, "
        "the shape in current model is torch.Size([2, 2]).",
        lambda: module.load_state_dict({"weight": ng.ones(3, 2), "bias": ng.ones(2)}),
    )
    wrong = {"weight": ng.ones(2, 2), "b": ng.ones(2), "c.d": 1}
    assert_raises(
        RuntimeError,
        "Error(s) in loading state_dict for Linear:\n"
        '\tMissing key(s) in state_dict: "bias". \n\tUnexpected key(s) in state_dict: "b", "c.d". ',
        lambda: module.load_state_dict(wrong),
    )
    result = module.load_state_dict(wrong, strict=False)
    assert repr(result) == "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=['b', 'c.d'])"
    assert result == (["bias"], ["b", "c.d"])
    assert_raises(
        RuntimeError,
        "Error(s) in loading state_dict for Linear:\n"
        '\tWhile copying the parameter named "weight", expected torch.Tensor or Tensor-like object from checkpoint '
        "but received <class 'int'>",
        lambda: module.load_state_dict({"weight": 3, "bias": ng.ones(2)}),
    )
    assert_raises(
        TypeError,
        "Expected state_dict to be dict-like, got <class 'int'>.",
        lambda: module.load_state_dict(3),  # type: ignore[arg-type]
    )


# Changing all at once


def test_train_and_eval_reach_all_children() -> None:
    module = Net().eval()
    assert not module.training
    assert not module.b[0].training
    module.b.train()
    assert not module.training
    assert module.b[0].training


def test_apply_visits_children_first() -> None:
    visited: list[str] = []
    Net().apply(lambda module: visited.append(type(module).__name__))
    assert visited == ["Linear", "Tanh", "Linear", "Sequential", "Net"]


def test_zero_grad() -> None:
    module = Net()
    module(ng.ones(1, 2)).sum().backward()
    gradient = module.a.bias.grad
    module.zero_grad(set_to_none=False)
    assert module.a.bias.grad is gradient
    assert gradient.tolist() == [0.0, 0.0, 0.0]
    module.zero_grad()
    assert module.a.bias.grad is None


def test_requires_grad_freezes() -> None:
    module = Net().requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in module.parameters())


def test_conversion_keeps_parameters_and_gradients() -> None:
    module = Net()
    module.register_buffer("index", ng.tensor([1, 2]))
    weight = module.a.weight
    module(ng.ones(1, 2)).sum().backward()
    assert module.to(ng.float64) is module
    assert module.a.weight is weight
    assert weight.is_leaf
    assert weight.dtype == weight.grad.dtype == module.c.dtype == ng.float64
    assert module.index.dtype == ng.int64
    assert module.float().c.dtype == ng.float32
    assert module.double().c.dtype == ng.float64
    assert module.to(ng.ones(1)).c.dtype == ng.float32
    assert module.to("cpu", ng.float64).c.dtype == ng.float64
    module(ng.ones(1, 2, dtype=ng.float64)).sum().backward()
    assert_raises(
        TypeError,
        "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64",
        lambda: module.to(ng.int64),
    )


# Hooks


def test_forward_hooks_see_and_replace() -> None:
    module = nn.ReLU()
    handle = module.register_forward_pre_hook(lambda module, args: -args[0])
    with module.register_forward_hook(lambda module, args, output: (args[0].tolist(), output.tolist())):
        assert module(ng.ones(1)) == ([-1.0], [0.0])
    handle.remove()
    handle.remove()
    assert module(ng.ones(1)).tolist() == [1.0]


def test_forward_hooks_run_in_order() -> None:
    calls: list[object] = []
    module = nn.Identity()
    module.register_forward_hook(lambda module, args, output: calls.append(1))
    module.register_forward_hook(lambda module, args, output: calls.append(2), prepend=True)
    module.register_forward_hook(lambda module, args, kwargs, output: calls.append(kwargs), with_kwargs=True)
    module.register_forward_pre_hook(lambda module, args, kwargs: (args, {"input": 4}), with_kwargs=True)
    assert module(input=3) == 4
    assert calls == [2, 1, {"input": 4}]


def test_forward_hook_called_always() -> None:
    module, calls = nn.Module(), []
    module.register_forward_hook(lambda module, args, output: calls.append("never"))
    module.register_forward_hook(lambda module, args, output: calls.append(output), always_call=True)
    with pytest.raises(NotImplementedError):
        module(3)
    assert calls == [None]


def test_forward_pre_hook_must_return_a_pair() -> None:
    module = nn.ReLU()
    module.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    text = "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got 3."
    assert_raises(RuntimeError, text, lambda: module(ng.ones(1)))


# Containers


def test_sequential_is_a_list() -> None:
    module = nn.Sequential(nn.ReLU()).append(nn.Tanh())
    module.insert(0, nn.Sigmoid()).extend([nn.Identity()])
    assert [type(child).__name__ for child in module] == ["Sigmoid", "ReLU", "Tanh", "Identity"]
    assert repr(module[1:3]) == "Sequential(\n  (1): ReLU()\n  (2): Tanh()\n)"
    del module[0]
    assert list(dict(module.named_children())) == ["0", "1", "2"]
    assert repr(module.pop(-1)) == "Identity()"
    assert len(module + module) == 4
    assert_raises(IndexError, "index 5 is out of range", lambda: module[5])
    assert_raises(IndexError, "Index out of range: 9", lambda: module.insert(9, nn.Tanh()))


def test_sequential_with_names() -> None:
    module = nn.Sequential(OrderedDict(x=nn.Linear(1, 1), y=nn.Tanh()))
    assert list(module.state_dict()) == ["x.weight", "x.bias"]
    assert module.y is module[1]
    module[1] = nn.ReLU()
    assert repr(module[1:]) == "Sequential(\n  (y): ReLU()\n)"


def test_module_list_is_a_list() -> None:
    modules = nn.ModuleList([nn.ReLU()])
    modules.append(nn.Tanh())
    modules.insert(0, nn.Sigmoid())
    modules += [nn.Linear(1, 1)]
    del modules[1:3]
    assert repr(modules) == (
        "ModuleList(\n  (0): Sigmoid()\n  (1): Linear(in_features=1, out_features=1, bias=True)\n)"
    )
    assert list(modules.state_dict()) == ["1.weight", "1.bias"]
    assert repr(modules[1:]) == "ModuleList(\n  (0): Linear(in_features=1, out_features=1, bias=True)\n)"
    text = "ModuleList.extend should be called with an iterable, but got int"
    assert_raises(TypeError, text, lambda: modules.extend(3))  # type: ignore[arg-type]


# Layers, losses and initial values


def test_linear() -> None:
    module = nn.Linear(2, 1)
    nn.init.ones_(module.weight)
    nn.init.constant_(module.bias, 0.5)
    x = ng.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = module(x)
    y.sum().backward()
    assert y.tolist() == [[3.5], [7.5]]
    assert module.weight.grad.tolist() == [[4.0, 6.0]]
    assert module.bias.grad.tolist() == [2.0]
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert nn.Linear(3, 2, dtype=ng.float64).bias.dtype == ng.float64


def test_linear_starts_uniform_within_its_bound() -> None:
    module = nn.Linear(100, 50)
    for parameter in (module.weight, module.bias):
        values = parameter.reshape(-1).tolist()
        assert max(map(abs, values)) <= 0.1
        assert max(map(abs, values)) > 0.08
        assert min(values) < 0 < max(values)


def test_flatten() -> None:
    assert nn.Flatten()(ng.ones(2, 3, 4)).shape == (2, 12)
    assert nn.Flatten(0, 1)(ng.ones(2, 3, 4)).shape == (6, 4)


def test_losses() -> None:
    x, zeros = ng.tensor([1.0, 3.0]), ng.zeros(2)
    assert nn.MSELoss()(x, zeros).item() == 5.0
    assert nn.MSELoss(reduction="sum")(x, zeros).item() == 10.0
    assert F.mse_loss(x, zeros, reduction="none").tolist() == [1.0, 9.0]
    assert F.mse_loss(x, zeros, weight=ng.tensor([3.0, 1.0])).item() == 3.0
    logits = ng.tensor([[0.0, 0.0], [0.0, math.log(3.0)]])
    target = ng.tensor([0, 1])
    assert nn.CrossEntropyLoss()(logits, target).item() == pytest.approx((math.log(2) + math.log(4 / 3)) / 2)
    losses = F.cross_entropy(logits, target, reduction="none").tolist()
    assert losses == pytest.approx([math.log(2), math.log(4 / 3)])
    assert list(nn.CrossEntropyLoss().state_dict()) == []


def test_losses_refuse() -> None:
    x, zeros = ng.ones(2), ng.zeros(2)
    text = "x is not a valid value for reduction"
    assert_raises(ValueError, text, lambda: F.mse_loss(x, zeros, reduction="x"))
    assert_raises(ValueError, text, lambda: F.cross_entropy(x, ng.tensor(0), reduction="x"))
    text = "Weights and input must have the same size."
    assert_raises(ValueError, text, lambda: F.mse_loss(x, zeros, weight=ng.ones(1)))


def test_functions_warn() -> None:
    text = r"Using a target size \(torch.Size\(\[3, 2\]\)\) that is different to the input size \(torch.Size\(\[2\]\)\)"
    with pytest.warns(UserWarning, match=text):
        assert F.mse_loss(ng.ones(2), ng.zeros(3, 2)).item() == 1.0
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert nn.MSELoss(size_average=False)(ng.ones(2), ng.zeros(2)).item() == 2.0
    with pytest.warns(UserWarning, match="Implicit dimension choice for log_softmax has been deprecated") as caught:
        F.log_softmax(ng.zeros(2, 2))
    assert caught[0].filename == __file__


def test_log_softmax_converts_first() -> None:
    result = F.log_softmax(ng.zeros(1, 4), dim=1, dtype=ng.float64)
    assert result.dtype == ng.float64
    assert result.tolist()[0] == pytest.approx([-math.log(4)] * 4, rel=1e-15)


def test_relu_in_place() -> None:
    x = ng.tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x
    assert x.tolist() == [0.0, 2.0]


def test_gains() -> None:
    assert nn.init.calculate_gain("relu") == math.sqrt(2)
    assert nn.init.calculate_gain("tanh") == 5 / 3
    assert nn.init.calculate_gain("leaky_relu", 0.2) == math.sqrt(2 / 1.04)
    assert_raises(ValueError, "Unsupported nonlinearity x", lambda: nn.init.calculate_gain("x"))
    text = "negative_slope x not a valid number"
    assert_raises(ValueError, text, lambda: nn.init.calculate_gain("leaky_relu", "x"))  # type: ignore[arg-type]


def test_init_bounds_and_errors() -> None:
    for fill, bound in (
        (nn.init.xavier_uniform_, math.sqrt(6 / 110)),
        (nn.init.kaiming_uniform_, math.sqrt(6 / 100)),
        (lambda tensor: nn.init.kaiming_uniform_(tensor, mode="fan_out", nonlinearity="relu"), math.sqrt(6 / 10)),
    ):
        values = fill(ng.empty(10, 100)).reshape(-1).tolist()
        assert 0.9 * bound < max(map(abs, values)) <= bound
    for fill, std in ((nn.init.xavier_normal_, math.sqrt(2 / 110)), (nn.init.kaiming_normal_, math.sqrt(2 / 100))):
        values = fill(ng.empty(10, 100)).reshape(-1).tolist()
        assert math.sqrt(sum(value**2 for value in values) / 1000) == pytest.approx(std, rel=0.2)
    text = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
    assert_raises(ValueError, text, lambda: nn.init.xavier_uniform_(ng.ones(2)))
    text = "Mode x not supported, please use one of ['fan_in', 'fan_out']"
    assert_raises(ValueError, text, lambda: nn.init.kaiming_uniform_(ng.ones(2, 2), mode="x"))


def test_init_without_elements_warns() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nn.Linear(0, 2)
    assert [str(warning.message) for warning in caught] == ["Initializing zero-element tensors is a no-op"]


def test_random_slopes_are_drawn_in_training_alone():
    """Slopes of `rrelu` lie in [lower, upper); outside of training the mean is taken."""
    ng.manual_seed(0)
    x = ng.full((1000,), -1.0, requires_grad=True)
    y = ng.nn.RReLU(0.1, 0.3)(x)
    slopes = -y.detach()
    assert slopes.min() >= 0.1 and slopes.max() < 0.3
    assert abs(slopes.mean().item() - 0.2) < 0.01
    y.sum().backward()
    ng.testing.assert_close(x.grad, slopes)
    assert ng.nn.RReLU(0.1, 0.3).eval()(ng.tensor([-1.0])).item() == pytest.approx(-0.2)


def test_gumbel_softmax_draws_one_hot_vectors_with_the_smooth_gradient():
    ng.manual_seed(0)
    logits = ng.tensor([[2.0, 0.0, -1.0]]).repeat(4000, 1).requires_grad_()
    drawn = ng.nn.functional.gumbel_softmax(logits, hard=True)
    assert ng.equal(drawn.detach().sum(1), ng.ones(4000))
    ng.testing.assert_close(drawn.detach().mean(0), logits.detach()[0].softmax(0), atol=0.03, rtol=0)
    (drawn * ng.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad.abs().max() > 0
