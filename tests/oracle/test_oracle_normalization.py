"""Normalization against PyTorch's: texts, and what is shown. Values and gradients are in the tables of ops and modules."""

from __future__ import annotations

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

SNIPPETS = snippets("""
F.layer_norm(torch.ones(2, 3, 4), [5])
F.layer_norm(torch.ones(2, 3, 4), (3,))
F.layer_norm(torch.ones(4), (3, 4))
F.layer_norm(torch.ones(2, 3, 4), 4)
F.layer_norm(torch.ones(2, 3, 4), [])
F.layer_norm(torch.ones(2, 3, 4), (4,), torch.ones(3))
F.layer_norm(torch.ones(2, 3, 4), (4,), torch.ones(4), torch.ones(5))
F.layer_norm(torch.ones(2, 3, 4), (4,), torch.ones(4).double())
F.layer_norm(torch.ones(2, 3, 4).double(), (4,), torch.ones(4))
out = F.layer_norm(torch.arange(4.0).half(), (4,), torch.ones(4)), F.layer_norm(torch.arange(4.0).bfloat16(), (4,))
F.layer_norm(torch.ones(2, 3, 4, dtype=torch.int64), (4,))
out = F.layer_norm(torch.ones(2, 0), (0,)), F.layer_norm(torch.ones(0, 4), (4,)), F.layer_norm(torch.ones(4), (4,))
x = torch.ones(0, 4, requires_grad=True); w = torch.ones(4, requires_grad=True); F.layer_norm(x, (4,), w).sum().backward(); out = x.grad, w.grad
out = F.layer_norm(torch.ones(2, 4, requires_grad=True), (4,)).grad_fn.name()
F.layer_norm(3, (4,))
F.layer_norm(torch.ones(4), (4.0,))
F.layer_norm(torch.ones(4), (4,), eps="x")
F.layer_norm(torch.ones(4), (4,), 3)
out = torch.layer_norm(torch.arange(4.0), (4,), cudnn_enable=False)
out = torch.native_layer_norm(torch.arange(8.0).reshape(2, 4), (4,), None, None, 1e-5)
out = torch.native_layer_norm(torch.arange(8.0).reshape(2, 2, 2), (2, 2), torch.ones(2, 2), torch.ones(2, 2), 1e-5)
out = nn.LayerNorm(4), nn.LayerNorm((3, 4), elementwise_affine=False), nn.LayerNorm([3, 4], 1e-3, bias=False)
out = list(nn.LayerNorm(2).state_dict().items()), nn.LayerNorm(2, bias=False).bias, nn.LayerNorm([3, 4]).normalized_shape
out = F.layer_norm(torch.tensor([[1.0, torch.nan, 2], [1, 2, 3]]), (3,))
nn.LayerNorm(4.0)
nn.LayerNorm(4)(torch.ones(3))
m, v = torch.tensor([100.3, -7.7]), torch.tensor([1.1, 0.3]); out = F.batch_norm(torch.tensor([[100.0, -8], [101, -7]]).bfloat16(), m, v, m, v)
out = F.batch_norm(torch.ones(1, 3), None, None, training=True)
out = F.batch_norm(torch.ones(2, 3, 1, 1)[:1], None, None, training=True)
out = F.batch_norm(torch.ones(2, 3), None, None)
out = F.batch_norm(torch.ones(2, 3), torch.ones(4), torch.ones(4))
out = F.batch_norm(torch.ones(2, 3), torch.ones(3), torch.ones(4))
out = F.batch_norm(torch.ones(2, 3), torch.ones(3), torch.ones(3), torch.ones(4))
out = F.batch_norm(torch.ones(2, 3), torch.ones(3), torch.ones(3), torch.ones(3), torch.ones(5))
out = F.batch_norm(torch.ones(2, 3), torch.ones(3), None)
out = F.batch_norm(torch.ones(2, 3), None, torch.ones(3), training=True)
out = F.batch_norm(torch.ones(2, 3), torch.ones(3), None, training=True)
out = F.batch_norm(torch.ones(3), None, None, training=True)
out = torch.batch_norm(torch.ones(3), None, None, torch.ones(3), torch.ones(3), False, 0.1, 1e-5, False)
out = torch.batch_norm(torch.ones(2, 3), None, None, None, None, True, 0.1, 1e-5, False).shape
out = F.batch_norm(torch.ones(2, 3, dtype=torch.int64), None, None, training=True)
out = F.batch_norm(torch.ones(2, 3, dtype=torch.int64), torch.ones(3), torch.ones(3))
out = F.batch_norm(torch.ones(2, 3).double(), torch.ones(3), torch.ones(3))
out = F.batch_norm(torch.ones(2, 3), torch.ones(3), torch.ones(3), torch.ones(3).double())
out = F.batch_norm(torch.ones(2, 3).half(), torch.ones(3), torch.ones(3)).dtype
out = torch.native_batch_norm(torch.arange(6.).reshape(2, 3), None, None, None, None, True, 0.1, 1e-5)
out = torch.native_batch_norm(torch.arange(6.).reshape(2, 3), None, None, torch.ones(3), torch.ones(3), False, 0.1, 1e-5)
out = F.batch_norm(torch.ones(0, 3), None, None, training=True)
out = F.batch_norm(torch.ones(2, 3, 0), None, None, training=True)
out = F.batch_norm(torch.ones(0, 3), torch.ones(3), torch.ones(3)).shape
out = F.batch_norm(torch.ones(2, 3, requires_grad=True), torch.ones(3), torch.ones(3)).grad_fn.name()
out = F.batch_norm(torch.ones(2, 3), torch.ones(3, requires_grad=True), torch.ones(3), training=True)
out = F.batch_norm(torch.ones(2, 3), torch.ones(3, requires_grad=True), torch.ones(3), training=False)
out = F.batch_norm(3, None, None)
out = F.group_norm(torch.ones(2, 4, 3, requires_grad=True), 2).grad_fn.name()
out = F.group_norm(torch.ones(2, 4, 3), 3)
out = F.group_norm(torch.ones(2, 4, 3), -2)
out = F.group_norm(torch.ones(1, 4), 4)
out = F.group_norm(torch.ones(4), 4)
out = torch.group_norm(torch.ones(4), 4)
out = F.group_norm(torch.ones(2, 4, 3), 2, torch.ones(3))
out = F.group_norm(torch.ones(2, 4, 3), 2, torch.ones(4, 1))
out = F.group_norm(torch.ones(2, 4, 3, dtype=torch.int64), 2)
out = F.group_norm(torch.ones(2, 4, 3).double(), 2, torch.ones(4))
out = F.group_norm(torch.ones(2, 4, 3), 2, torch.ones(4).double())
out = F.group_norm(torch.ones(2, 4, 3).half(), 2, torch.ones(4)).dtype
out = F.group_norm(torch.ones(0, 4, 3), 2).shape
out = F.group_norm(torch.ones(2, 4, 0), 2).shape
out = torch.native_group_norm(torch.arange(8.).reshape(1, 4, 2), None, None, 1, 4, 2, 2, 1e-5)
out = F.rms_norm(torch.ones(2, 4, 3), (4, ))
out = F.rms_norm(torch.ones(2, 4, 3), [])
out = F.rms_norm(torch.ones(2, 4, 3), (3, ), torch.ones(4))
out = F.rms_norm(torch.ones(2, 4, 3, dtype=torch.int64), (3, ))
out = F.rms_norm(torch.tensor([0., 1e-4]), (2, ))
out = F.rms_norm(torch.tensor([0., 1e-4]).double(), (2, ))
out = F.rms_norm(torch.tensor([0., 1e-4]).half(), (2, ))
out = F.rms_norm(torch.tensor([0., 1e-4]).bfloat16(), (2, ))
out = F.rms_norm(3, (2, ))
out = F.instance_norm(torch.ones(2, 3, 1))
out = F.instance_norm(torch.ones(2, 3))
out = F.instance_norm(torch.ones(3))
out = F.instance_norm(torch.ones(2, 3, 4), torch.ones(4))
out = F.instance_norm(torch.ones(2, 3, 4), use_input_stats=False)
out = F.instance_norm(torch.ones(2, 3, 4), torch.ones(3), torch.ones(4), use_input_stats=False)
out = F.instance_norm(torch.ones(2, 3, 4), weight=torch.ones(4))
out = F.instance_norm(torch.ones(2, 3, 4, requires_grad=True)).grad_fn.name()
out = torch.instance_norm(torch.ones(2, 3, 4), None, None, None, None, False, 0.1, 1e-5, False)
out = torch.instance_norm(torch.ones(2, 3, 4), None, None, None, None, True, 0.1, 1e-5, False).shape
out = F.local_response_norm(torch.ones(2, 3), 2)
out = F.local_response_norm(torch.ones(3), 2)
out = F.local_response_norm(torch.ones(2, 3, 4, requires_grad=True), 2).grad_fn.name()
out = F.local_response_norm(torch.ones(0, 3, 4), 2).shape
out = F.normalize(torch.arange(6., requires_grad=True).reshape(2, 3)).grad_fn.name()
out = F.normalize(torch.arange(6.).reshape(2, 3), p=1, dim=0)
out = nn.BatchNorm1d(3)(torch.ones(2, 3, 4, 5))
out = nn.BatchNorm2d(3)(torch.ones(2, 3, 4))
out = nn.BatchNorm3d(3)(torch.ones(2, 3, 4))
out = nn.InstanceNorm1d(3)(torch.ones(2, 3, 4, 5))
out = nn.InstanceNorm2d(3)(torch.ones(2, 3))
out = nn.InstanceNorm3d(3)(torch.ones(2, 3))
out = nn.InstanceNorm1d(3, affine=True)(torch.ones(2, 4, 5))
out = nn.InstanceNorm2d(3, track_running_stats=True), nn.BatchNorm2d(3, momentum=None), nn.GroupNorm(2, 4), nn.RMSNorm(3), nn.LocalResponseNorm(2), nn.BatchNorm1d(3, bias=False)
out = nn.BatchNorm2d(3).state_dict()._metadata
out = nn.GroupNorm(3, 4)
out = nn.RMSNorm([2, 3], eps=1e-3, elementwise_affine=False)
x = torch.arange(12.0).reshape(2, 3, 2).requires_grad_(); m, v = torch.zeros(3), torch.ones(3); F.batch_norm(x, m, v, training=True).square().sum().backward(); out = m, v, x.grad.shape
m = nn.BatchNorm1d(2, momentum=None); m(torch.arange(8.0).reshape(4, 2)); m(torch.ones(2, 2)); out = list(m.state_dict().items()); m.eval(); out = out, m(torch.ones(1, 2))
m = nn.InstanceNorm1d(2, affine=True, track_running_stats=True); m(torch.arange(12.0).reshape(2, 2, 3)); out = list(m.state_dict().items()), m.eval()(torch.ones(2, 3))
m = nn.BatchNorm1d(2, track_running_stats=False); out = m.eval()(torch.arange(4.0).reshape(2, 2)), list(m.state_dict())
s = nn.BatchNorm1d(2).state_dict(); del s["num_batches_tracked"], s._metadata; out = nn.BatchNorm1d(2).load_state_dict(s)
nn.InstanceNorm1d(2).load_state_dict({"running_mean": torch.zeros(2), "running_var": torch.ones(2)})
F.batch_norm(torch.ones(2, 3), None, None, training=True, eps=0.0)
F.batch_norm(torch.ones(2, 3), torch.ones(3), torch.ones(3), eps=-1.0)
out = F.batch_norm(torch.tensor([[1.0, torch.nan], [2, 3]]), None, None, training=True)
out = F.batch_norm(torch.arange(6.0).reshape(3, 2).bfloat16(), torch.ones(2), torch.ones(2), torch.ones(2), torch.ones(2))
out = F.group_norm(torch.arange(16.0).reshape(2, 4, 2).transpose(0, 2), 2), F.normalize(torch.zeros(2, 2))
t = torch.empty(2, 2); F.normalize(torch.ones(2, 2), out=t); out = t
""")


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, snippet) == shown(torch, snippet)
