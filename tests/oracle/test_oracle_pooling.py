"""Pooling, padding and resampling against PyTorch's: the same lines must show, raise and warn the same."""

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

PRELUDE = """
from math import prod, inf, nan
one = torch.ones
def grid(*shape):
    return (torch.arange(float(prod(shape))) * 5 % 17 - 8).reshape(shape).requires_grad_()
def all_of(out, *leaves):
    weights = (torch.arange(float(out.numel())) % 5 - 2).reshape(out.shape).requires_grad_()
    first = torch.autograd.grad(out, leaves, weights, create_graph=True)
    second = torch.autograd.grad(sum((g * g).sum() for g in first), weights)
    return type(out.grad_fn).__name__, out.detach(), [g.detach() for g in first], second
""".replace("\n", "⏎").removeprefix("⏎")

MAX_POOL = """
x = grid(2, 2, 5, 4); out = all_of(F.max_pool2d(x, 2), x)
x = grid(2, 5, 4); out = all_of(F.max_pool2d(x, (3, 2), 1, (1, 0), (1, 2), True), x)
x = grid(2, 2, 7); out = all_of(F.max_pool1d(x, 3, 2, 1, ceil_mode=True), x)
x = grid(2, 7); out = all_of(F.max_pool1d(x, 2, dilation=3), x)
x = grid(1, 2, 3, 5, 4); out = all_of(F.max_pool3d(x, 2, 1), x)
out = F.max_pool2d(grid(1, 2, 5, 4), 2, return_indices=True), F.max_pool1d(grid(2, 5), 2, return_indices=True)
out = F.max_pool2d(-one(1, 1, 3, 3), 3, padding=1), F.max_pool2d(one(1, 1, 6, 7), 1, 2, ceil_mode=True)
out = F.max_pool2d(torch.tensor([[[1.0, nan, 2.0, 3.0]]]), (1, 2)), F.max_pool2d(torch.full((1, 2, 2), -inf), 2)
x = one(1, 4, 4, requires_grad=True); F.max_pool2d(x, 2).sum().backward(); out = x.grad
out = F.max_pool2d(grid(1, 1, 4, 4).detach().long(), 2), F.max_pool2d(grid(1, 1, 4, 4).half(), 2)
x = one(0, 2, 4, 4, requires_grad=True); F.max_pool2d(x, 2).sum().backward(); out = x.grad.shape
F.max_pool2d(one(5, 5), 2)
F.max_pool2d(one(1, 1, 1, 5, 5), 2)
F.max_pool2d(one(1, 1, 5, 5), 6)
F.max_pool2d(one(1, 1, 5, 5), 2, padding=2)
F.max_pool2d(one(1, 1, 5, 5), 2, padding=-1)
F.max_pool2d(one(1, 1, 5, 5), 2, stride=0)
F.max_pool2d(one(1, 1, 5, 5), 2, stride=-1)
F.max_pool2d(one(1, 1, 5, 5), 0)
F.max_pool2d(one(1, 1, 5, 5), -1)
F.max_pool2d(one(1, 1, 5, 5), 2, dilation=0)
F.max_pool2d(one(1, 1, 5, 5), (2, 2, 2))
F.max_pool2d(one(1, 1, 5, 5), 2, stride=(1, 2, 3))
F.max_pool2d(one(1, 1, 5, 5), 2, padding=(1, 2, 3))
F.max_pool2d(one(1, 1, 5, 5), 2, dilation=(1, 2, 3))
F.max_pool2d(one(1, 1, 5, 5), 2.5)
F.max_pool2d(one(1, 1, 5, 5), (2.5, 2))
F.max_pool2d(one(1, 0, 5, 5), 2)
F.max_pool2d(one(1, 1, 5, 5).bool(), 2)
F.max_pool2d(3, 2)
F.max_pool1d(one(1, 1, 5).long(), 2)
F.max_pool1d(one(5), 2)
F.max_pool1d(one(5), 2, return_indices=True)
F.max_pool1d(one(1, 1, 5), 6)
F.max_pool1d(one(1, 1, 5), 2, padding=2)
F.max_pool1d(one(1, 1, 5), 2, padding=2, return_indices=True)
F.max_pool1d(one(1, 1, 5), 2, stride=0)
F.max_pool1d(one(1, 1, 5), (2, 2))
F.max_pool3d(one(1, 1, 5, 5, 5), (2, 2))
F.max_pool3d(one(5, 5), 2)
F.max_pool3d(one(1, 0, 5, 5, 5), 2)
F.max_pool3d(one(1, 1, 5, 5, 5), 7)
out = nn.MaxPool1d(3), nn.MaxPool2d((3, 2), stride=(2, 1), padding=1), nn.MaxPool3d(2, ceil_mode=True)
out = nn.MaxPool2d(2, return_indices=True)(grid(1, 1, 4, 4)), nn.MaxPool1d(2, 1)(grid(1, 4))
"""

PAD = """
x = grid(2, 3); out = all_of(F.pad(x, (1, 2), value=3.5), x)
x = grid(2, 3, 4); out = all_of(F.pad(x, (-1, 1, 2, -1)), x)
x = grid(1, 2, 3, 4); out = all_of(F.pad(x, (2, 1, 0, 2), "reflect"), x)
x = grid(1, 2, 3, 4); out = all_of(F.pad(x, (2, 1, 0, -1), "replicate"), x)
x = grid(1, 2, 3, 4); out = all_of(F.pad(x, (2, 1, 3, 2), "circular"), x)
x = grid(2, 6); out = all_of(F.pad(x, (-1, 2), "circular"), x), F.pad(x, (-1, 2), "reflect"), F.pad(x, (3, -4), "reflect")
x = grid(1, 2, 2, 3, 2); out = all_of(F.pad(x, (1, 1, 1, 1, 1, 1), "reflect"), x)
out = F.pad(one(2, 2).long(), (1, 1), value=2.5), F.pad(one(2).bool(), (1, 1)), F.pad(one(0, 2, 2), (1, 1), "reflect").shape
out = F.pad(grid(2, 2).half(), (1, 1), "replicate"), F.pad(one(2, 2).long(), (1, 1), "replicate")
F.pad(one(2, 2), (1, 1, 1))
F.pad(one(2, 2), (1, 1, 1, 1, 1, 1))
F.pad(one(2, 2), (-2, -1))
F.pad(one(2, 2), (1, 1), mode="foo")
F.pad(one(2, 2), (1, 1), mode="reflect", value=1)
F.pad(one(2, 2, 2, 2), (1, 1), mode="reflect")
F.pad(one(2, 2, 2), (2, 1), mode="reflect")
F.pad(one(2, 2, 2), (-1, -1), mode="reflect")
F.pad(one(1, 1, 6), (-4, -3), mode="circular")
F.pad(one(2, 2, 2), (3, 1), mode="circular")
F.pad(one(2, 0, 2), (1, 1), mode="replicate")
F.pad(one(2, 2, 2).bool(), (1, 1), mode="reflect")
F.pad(one(2, 2, 2), 2)
F.pad(one(2, 2, 2), (1.5, 2))
F.pad(3, (1, 2))
"""


@pytest.mark.parametrize("snippet", snippets(MAX_POOL + PAD))
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, PRELUDE + snippet) == shown(torch, PRELUDE + snippet)
