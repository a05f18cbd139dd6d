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
""")


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, snippet) == shown(torch, snippet)
