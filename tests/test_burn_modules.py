"""Burn's modules: parameters with an identity, modules and optimizer steps as values. The rules are those of Burn 0.22.

Updates are compared with those of `numgrad.optim`, which the oracle tests compare with PyTorch's.
"""

import copy
import pickle

import pytest
from burn_handles import AD, ASSOCIATED, BALANCED, LEAF, NONE, PLAIN, TRACKED, flags, floats

import numgrad as ng
from numgrad import Device, burn
from numgrad.burn import GradientsAccumulator, GradientsParams, Layer, LinearConfig, Param


class Model(burn.Module):
    """Two layers and a parameter of its own."""

    def __init__(self, device):
        self.layers = [LinearConfig(3, 4).init(device), LinearConfig(4, 2).init(device)]
        self.scale = Param.from_tensor(floats([2.0], device))
        self.name = "model"

    def forward(self, x):
        return self.layers[1](burn.activation.tanh(self.layers[0](x))) * self.scale.val()


def values(module):
    return [param.value.tolist() for param in module.visit()]


def states(module):
    return {flags(param.val()) for param in module.visit()}


def gradients_of(module, x=None):
    x = floats([[1.0, 2.0, 3.0]]) if x is None else x
    return GradientsParams.from_grads(module(x).sum().backward(), module)


# ---------------------------------------------------------------------------------------------------- parameters
def test_a_parameter_is_a_leaf_where_there_is_autodiff():
    assert states(LinearConfig(2, 2).init(AD)) == {LEAF}
    assert states(LinearConfig(2, 2).init(PLAIN)) == {NONE}
    assert states(LinearConfig(2, 2).init(BALANCED)) == {LEAF}


def test_the_wish_to_train_is_noted_without_autodiff():
    param = LinearConfig(2, 2).init(PLAIN).weight
    assert flags(param.set_require_grad(True).val()) == NONE
    assert flags(param.train().val()) == LEAF
    assert flags(param.set_require_grad(False).train().val()) == ASSOCIATED
    assert param.train().id is param.id


def test_a_parameter_of_a_result_panics():
    with pytest.raises(burn.Panic) as caught:
        Param.from_tensor(floats([1.0]).require_grad() * 2.0)
    assert str(caught.value) == "Can't convert a non leaf tensor into a tracked tensor"
    with pytest.raises(TypeError, match=r"takes a burn\.Tensor, not Tensor"):
        Param.from_tensor(ng.ones(1))


# ---------------------------------------------------------------------------------------------------- modules
def test_parameters_are_found_in_lists_and_layers():
    model = Model(AD)
    assert [param.shape() for param in model.visit()] == [(4, 3), (4,), (2, 4), (2,), (1,)]
    assert model.num_params() == 12 + 4 + 8 + 2 + 1
    assert model(floats([[1.0, 2.0, 3.0]])).shape() == (1, 2)


def test_modules_freeze_evaluate_and_train():
    model = Model(AD)
    assert states(model.no_grad()) == {ASSOCIATED}
    assert states(model.valid()) == {NONE}
    assert states(model.valid().train()) == {LEAF}
    assert states(model.no_grad().valid().train()) == {ASSOCIATED}  # frozen stays frozen
    assert states(model) == {LEAF}
    assert [p.id for p in model.valid().train().visit()] == [p.id for p in model.visit()]
    assert values(model.valid()) == values(model)
    assert model.valid().name == "model"


def test_evaluation_records_nothing():
    model = Model(AD)
    assert flags(model.valid()(floats([[1.0, 2.0, 3.0]], PLAIN))) == NONE
    assert flags(model.valid()(floats([[1.0, 2.0, 3.0]]))) == ASSOCIATED
    assert flags(model(floats([[1.0, 2.0, 3.0]], PLAIN))) == TRACKED


def test_a_strategy_is_restored_by_train_and_by_a_step():
    model = Model(BALANCED)
    x = floats([[1.0, 2.0, 3.0]], PLAIN)
    stepped = burn.SgdConfig().init().step(0.1, model, gradients_of(model, x))
    for module in (model.valid().train(), stepped):
        assert {p.val().gradient_checkpointing_strategy() for p in module.visit()} == {"Balanced"}
        assert states(module) == {LEAF}


def test_a_layers_behaviour_follows_valid_and_train():
    layer = Layer.init(lambda: ng.nn.Sequential(ng.nn.Linear(2, 2), ng.nn.ReLU()), AD)
    assert layer.torch().training
    evaluated = layer.valid()
    assert not evaluated.torch().training
    assert layer.torch().training
    assert evaluated.train().torch().training


def test_forks_are_leaves_and_moves_are_not():
    model = Model(AD)
    fork = model.fork(Device.cpu())
    assert states(fork) == {LEAF}
    gradients = fork(floats([[1.0, 2.0, 3.0]])).sum().backward()
    assert len(GradientsParams.from_grads(gradients, fork)) == 5
    assert values(fork) == values(model)

    moved = model.to_device(Device.cpu())
    assert states(moved) == {TRACKED}
    gradients = moved(floats([[1.0, 2.0, 3.0]])).sum().backward()
    assert GradientsParams.from_grads(gradients, moved).is_empty()
    assert len(GradientsParams.from_grads(gradients, model)) == 5  # they flow to where the parameters came from


def test_layers_of_the_engine():
    layer = Layer.init(lambda: ng.nn.Sequential(ng.nn.Linear(3, 4), ng.nn.ReLU(), ng.nn.Linear(4, 2)), AD)
    first = getattr(layer, "0")
    assert isinstance(first, Layer)
    assert first.in_features == 3
    assert isinstance(first.weight, Param)
    assert first.weight.id is next(layer.visit()).id
    assert burn.Tensor.wrap(layer.torch()[0].weight).to_list() == first.weight.val().to_list()
    with pytest.raises(TypeError, match="do not mix"):
        layer(ng.ones(1, 3))


def test_a_wrapped_module_shares_its_memory():
    linear = ng.nn.Linear(2, 2)
    assert Layer(linear).weight.val().torch() is linear.weight


def test_tied_parameters_stay_tied():
    def make():
        model = ng.nn.Sequential(ng.nn.Linear(2, 2), ng.nn.Linear(2, 2))
        model[1].weight = model[0].weight
        return model

    layer = Layer.init(make, AD)
    assert len(list(layer.visit())) == 3
    stepped = burn.SgdConfig().init().step(0.1, layer, gradients_of(layer, floats([[1.0, 2.0]])))
    assert stepped.torch()[0].weight is stepped.torch()[1].weight


# ---------------------------------------------------------------------------------------------------- gradients
def test_gradients_are_taken_out_of_their_container():
    model = Model(AD)
    gradients = model(floats([[1.0, 2.0, 3.0]])).sum().backward()
    by_param = GradientsParams.from_grads(gradients, model)
    assert len(by_param) == 5
    assert len(gradients) == 0
    assert by_param.get(model.scale.id).shape() == (1,)
    assert flags(by_param.get(model.scale.id)) == NONE
    assert by_param.remove(model.scale.id) is not None
    assert by_param.get(model.scale.id) is None


def test_gradients_of_some_parameters():
    model = Model(AD)
    gradients = model(floats([[1.0, 2.0, 3.0]])).sum().backward()
    assert len(GradientsParams.from_params(gradients, model, [model.scale.id])) == 1
    assert len(gradients) == 4


def test_frozen_parameters_have_no_gradients():
    model = Model(AD)
    model.layers[0] = model.layers[0].no_grad()
    by_param = gradients_of(model)
    assert len(by_param) == 3


def test_accumulated_gradients_are_sums():
    model = Model(AD)
    x, y = floats([[1.0, 2.0, 3.0]]), floats([[-1.0, 0.5, 0.0]])
    accumulator = GradientsAccumulator()
    for batch in (x, y):
        accumulator.accumulate(model, gradients_of(model, batch))
    found = accumulator.grads()
    both = gradients_of(model, burn.Tensor.cat([x, y], 0))
    for param in model.visit():
        ng.testing.assert_close(found.get(param.id).torch(), both.get(param.id).torch())
    assert accumulator.grads().is_empty()


# ---------------------------------------------------------------------------------------------------- optimizers
OPTIMIZERS = [
    (burn.SgdConfig(), lambda p: ng.optim.SGD(p, lr=0.1)),
    (burn.SgdConfig(momentum=0.9, nesterov=True), lambda p: ng.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True)),
    (burn.AdamConfig(), lambda p: ng.optim.Adam(p, lr=0.1, eps=1e-5)),
    (burn.AdamWConfig(), lambda p: ng.optim.AdamW(p, lr=0.1, eps=1e-5, weight_decay=1e-4)),
]


@pytest.mark.parametrize(("config", "make"), OPTIMIZERS, ids=["sgd", "momentum", "adam", "adamw"])
def test_steps_are_the_engines(config, make):
    reference = ng.nn.Sequential(ng.nn.Linear(3, 4), ng.nn.Tanh(), ng.nn.Linear(4, 2))
    layer = Layer(reference).fork(PLAIN)
    engine, optimizer = make(reference.parameters()), config.init()
    x = ng.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]])
    for _ in range(4):
        engine.zero_grad()
        (reference(x) ** 2).sum().backward()
        engine.step()
        loss = layer(burn.Tensor.wrap(x)).powf_scalar(2.0).sum()
        layer = optimizer.step(0.1, layer, GradientsParams.from_grads(loss.backward(), layer))
    for mine, theirs in zip(layer.visit(), reference.parameters(), strict=True):
        ng.testing.assert_close(mine.value, theirs)


def test_a_step_leaves_the_old_module_as_it_was():
    model = Model(AD)
    before = values(model)
    handle = model.scale.val()
    gradients = gradients_of(model)
    stepped = burn.SgdConfig(momentum=0.5).init().step(0.5, model, gradients)
    assert values(model) == before
    assert values(stepped) != before
    assert states(stepped) == {LEAF}
    assert gradients.is_empty()
    assert (handle * 1.0).to_list() == [2.0]  # its memory was not written


def test_parameters_without_a_gradient_stay_the_same():
    model = Model(AD)
    gradients = gradients_of(model)
    gradients.remove(model.scale.id)
    stepped = burn.AdamConfig().init().step(0.1, model, gradients)
    assert stepped.scale is model.scale
    assert burn.AdamConfig().init().step(0.1, model, GradientsParams()) is model
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        burn.AdamConfig().init().step(-1, model, gradients)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_copies_of_modules_keep_ids_and_train(duplicate):
    model = Model(AD)
    other = duplicate(model)
    assert values(other) == values(model)
    assert [p.id for p in other.visit()] == [p.id for p in model.visit()]
    assert states(other) == {LEAF}
    stepped = burn.SgdConfig().init().step(0.1, other, gradients_of(other))
    assert values(stepped) != values(model) == values(other)
