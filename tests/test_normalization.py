"""Normalization where peers failed: running statistics, single items, modes. Values are from the definitions.

PyTorch's own samples are in tests/oracle/test_oracle_op_db.py and test_oracle_module_db.py.
"""

from __future__ import annotations

import pytest

import numgrad as ng
from numgrad import nn


def test_the_running_variance_is_unbiased_and_the_batchs_is_not():
    layer = nn.BatchNorm1d(1)
    y = layer(ng.tensor([[0.0], [2.0]]))
    ng.testing.assert_close(layer.running_mean, ng.tensor([0.1]))
    ng.testing.assert_close(layer.running_var, ng.tensor([0.9 + 0.1 * 2]))
    ng.testing.assert_close(y, ng.tensor([[-1.0], [1.0]]), atol=1e-4, rtol=0)
    assert layer.num_batches_tracked.item() == 1


def test_a_single_item_per_channel_is_refused_and_several_positions_are_not():
    with pytest.raises(ValueError, match=r"Expected more than 1 value per channel when training, got input size"):
        nn.BatchNorm1d(2)(ng.ones(1, 2))
    assert nn.BatchNorm2d(3)(ng.rand(1, 3, 2, 2)).isfinite().all()
    assert nn.BatchNorm1d(2).eval()(ng.ones(1, 2)).isfinite().all()


def test_evaluation_uses_what_was_tracked_and_changes_nothing():
    layer = nn.BatchNorm1d(2, momentum=None)
    for scale in (1.0, 3.0):
        layer(ng.tensor([[0.0, 1.0], [2.0, 5.0]]) * scale)
    ng.testing.assert_close(layer.running_mean, ng.tensor([2.0, 6.0]))  # the mean of both batches
    before = {k: v.clone() for k, v in layer.state_dict().items()}
    x = ng.tensor([[2.0, 6.0]], requires_grad=True)
    y = layer.eval()(x)
    ng.testing.assert_close(y.detach(), ng.zeros(1, 2))
    y.sum().backward()
    ng.testing.assert_close(x.grad[0], (layer.running_var + layer.eps).rsqrt())
    assert all(ng.equal(v, before[k]) for k, v in layer.state_dict().items())


def test_a_state_of_before_batches_were_counted():
    state = nn.BatchNorm1d(2).state_dict()
    del state["num_batches_tracked"]
    state._metadata[""]["version"] = 1
    assert not nn.BatchNorm1d(2).load_state_dict(state).missing_keys


@pytest.mark.parametrize("dtype", [ng.float16, ng.bfloat16])
def test_statistics_of_halves_do_not_overflow(dtype):
    """Squares of 1000 are beyond float16; statistics are computed in float32."""
    x = ng.tensor([[[-1000.0, 1000.0]]], dtype=dtype).repeat(2, 2, 1)
    for found in (
        nn.functional.batch_norm(x, None, None, training=True),
        nn.functional.group_norm(x, 1),
        nn.functional.layer_norm(x, (2,)),
        nn.functional.rms_norm(x, (2,)),
        nn.functional.instance_norm(x),
    ):
        assert found.dtype is dtype
        ng.testing.assert_close(found.abs().float(), ng.ones(2, 2, 2), atol=1e-2, rtol=0)


def test_lazy_channels():
    layer = nn.LazyBatchNorm2d()
    layer(ng.rand(2, 3, 4, 4))
    assert type(layer) is nn.BatchNorm2d
    assert layer.num_features == 3
    assert layer.weight.tolist() == [1, 1, 1]
