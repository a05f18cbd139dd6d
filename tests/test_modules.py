"""What numgrad's modules do beyond PyTorch's: messages that name the layer, and clear refusals."""

from __future__ import annotations

import pytest

import numgrad as ng
from numgrad import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(9, 2))

    def forward(self, x: ng.Tensor) -> ng.Tensor:
        return self.encoder(x)


def notes_of(call: object) -> list[str]:
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied") as caught:
        call()  # type: ignore[operator]
    return caught.value.__notes__


def test_a_wrong_width_names_the_layer() -> None:
    expected = (
        "encoder.2: Linear(in_features=9, out_features=2, bias=True) expects 9 features in the last dimension, the input of "
        "shape (5, 8) has 8."
    )
    assert notes_of(lambda: Net()(ng.ones(5, 4))) == [expected]


def test_a_wrong_width_of_a_layer_alone() -> None:
    layer = nn.Linear(3, 1)
    (note,) = notes_of(lambda: layer(ng.ones(2, 7)))
    assert note.startswith("Linear(in_features=3, out_features=1, bias=True) expects 3 features")


def test_other_errors_have_no_note() -> None:
    with pytest.raises(RuntimeError, match="must have the same dtype") as caught:
        nn.Linear(3, 1)(ng.ones(2, 3, dtype=ng.float64))
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("method", ["compile", "share_memory"])
def test_what_is_not_there_says_so(method: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"Module\.{method}\(\) is not supported"):
        getattr(nn.Linear(1, 1), method)()


def test_an_uninitialized_parameter_refuses_to_be_used() -> None:
    layer = nn.LazyLinear(3)
    linear = nn.functional.linear
    for use in (lambda: layer.weight + 1, lambda: layer.weight.numel(), lambda: linear(ng.ones(2, 2), layer.weight)):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            use()


def test_bilinear_in_any_order() -> None:
    layer = nn.Bilinear(3, 2, 4, dtype=ng.float64)
    x, y = (ng.randn(5, n, dtype=ng.float64, requires_grad=True) for n in (3, 2))
    assert ng.autograd.gradgradcheck(nn.functional.bilinear, (x, y, layer.weight, layer.bias))
    assert layer(x, y)[1, 2].item() == pytest.approx((x[1] @ layer.weight[2] @ y[1] + layer.bias[2]).item())


def test_classes_live_where_pytorch_keeps_them() -> None:
    import numgrad.nn.modules.linear

    assert nn.Linear.__module__ == "numgrad.nn.modules.linear"
    assert numgrad.nn.modules.linear.Linear is nn.Linear
    assert nn.modules.container.ParameterDict is nn.ParameterDict
    public = {name: getattr(nn, name) for name in nn.__all__}
    classes = {name for name, value in public.items() if isinstance(value, type) and issubclass(value, nn.Module)}
    assert classes <= set(nn.modules.__all__)


def test_layers_in_a_plain_list_are_not_registered() -> None:
    """Behaviours 148: as in PyTorch, and without a warning, since scripts keep such lists on purpose."""
    module = nn.Module()
    module.layers = [nn.Linear(1, 1)]
    assert list(module.parameters()) == []
    module.layers = nn.ModuleList(module.layers)
    assert len(list(module.parameters())) == 2
