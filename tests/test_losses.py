"""Losses and embeddings: what mathematics says of them, where other libraries were found wrong."""

from __future__ import annotations

import math

import pytest

import numgrad as ng
from numgrad import nn

F = nn.functional


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_ignored_rows_count_for_nothing_with_label_smoothing(weighted: bool, reduction: str) -> None:
    ng.manual_seed(0)
    scores = ng.randn(6, 4, dtype=ng.float64, requires_grad=True)
    targets = ng.tensor([0, -100, 3, 1, -100, 2])
    weight = ng.tensor([1.0, 0.5, 2.0, 3.0], dtype=ng.float64) if weighted else None
    kept = targets != -100
    options = {"weight": weight, "label_smoothing": 0.1, "reduction": reduction}
    loss = F.cross_entropy(scores, targets, **options)
    alone = F.cross_entropy(scores[kept], targets[kept], **options)
    assert loss.item() == pytest.approx(alone.item(), rel=1e-12)
    first, second = (ng.autograd.grad(x, scores)[0] for x in (loss, alone))
    assert ng.allclose(first, second)
    assert (first[~kept] == 0).all()


def test_label_smoothing_is_a_mixture_of_targets() -> None:
    scores = ng.tensor([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]], dtype=ng.float64)
    mixed = ng.tensor([[0.8 + 0.2 / 3, 0.2 / 3, 0.2 / 3], [0.2 / 3, 0.2 / 3, 0.8 + 0.2 / 3]], dtype=ng.float64)
    smooth = F.cross_entropy(scores, ng.tensor([0, 2]), label_smoothing=0.2)
    assert smooth.item() == pytest.approx(F.cross_entropy(scores, mixed).item(), rel=1e-12)


@pytest.mark.parametrize("target", [-4, -1, 3, 2**40])
def test_a_target_that_is_no_class_raises(target: int) -> None:
    with pytest.raises(IndexError, match=rf"Target {target} is out of bounds\."):
        F.cross_entropy(ng.zeros(2, 3), ng.tensor([0, target]))
    with pytest.raises(IndexError, match="out of bounds"):
        F.nll_loss(ng.zeros(1, 3, 2, 1), ng.tensor([[[0], [target]]]))


def test_binary_cross_entropy_of_certain_predictions_is_finite() -> None:
    p = ng.tensor([0.0, 1.0], requires_grad=True)
    loss = F.binary_cross_entropy(p, ng.tensor([1.0, 1.0]))
    assert loss.item() == 50  # the logarithm is at least -100
    loss.backward()
    assert p.grad.isfinite().all()


def test_cross_entropy_of_large_scores() -> None:
    scores = ng.tensor([[1e4, 1e4 + 1.0, -1e4]])
    expected = math.log(1 + math.exp(-1))
    assert F.cross_entropy(scores, ng.tensor([1])).item() == pytest.approx(expected, rel=1e-6)
    assert F.log_softmax(scores, 1)[0, 1].item() == pytest.approx(-expected, rel=1e-6)


def test_soft_margin_loss_does_not_overflow() -> None:
    x = ng.tensor([-1000.0], requires_grad=True)
    loss = F.soft_margin_loss(x, ng.tensor([1.0]))
    loss.backward()
    assert (loss.item(), x.grad.item()) == (1000.0, -1.0)


@pytest.mark.parametrize("size", [1000, 300_000])  # by one thread, and by several
@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy"])
def test_reductions_of_a_loss_agree(name: str, size: int) -> None:
    ng.manual_seed(0)
    x, y = ng.rand(size, dtype=ng.float64, requires_grad=True), ng.rand(size, dtype=ng.float64)
    function = getattr(F, name)
    each = function(x, y, reduction="none")
    for reduction in ("mean", "sum"):
        loss = function(x, y, reduction=reduction)
        wanted = getattr(each, reduction)()
        assert loss.item() == pytest.approx(wanted.item(), rel=1e-12)
        first, second = (ng.autograd.grad(value, x, retain_graph=True)[0] for value in (loss, wanted))
        assert ng.allclose(first, second, rtol=1e-12, atol=0)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("shape", [(3, 4, 5), (40, 70, 60)])
def test_softmax_along_any_dimension(shape: tuple[int, ...], dim: int) -> None:
    ng.manual_seed(0)
    x = ng.randn(*shape, requires_grad=True)
    g = ng.randn(*shape)
    probabilities = ng.softmax(x, dim)
    assert ng.allclose(probabilities.sum(dim), ng.ones(()), atol=1e-6)
    assert ng.allclose(probabilities.log(), ng.log_softmax(x, dim), atol=1e-5)
    (found,) = ng.autograd.grad(probabilities, x, g)
    (logarithmic,) = ng.autograd.grad(ng.log_softmax(x, dim), x, g * probabilities.detach())
    assert ng.allclose(found, logarithmic, atol=1e-6)


def test_the_padding_row_has_no_gradient_but_decays() -> None:
    table = nn.Embedding(4, 2, padding_idx=1)
    with ng.no_grad():
        table.weight[1] = 1.0
    optimizer = ng.optim.SGD(table.parameters(), lr=0.5, weight_decay=0.1)
    for step in range(3):
        optimizer.zero_grad()
        table(ng.tensor([0, 1, 1])).sum().backward()
        assert (table.weight.grad[1] == 0).all()
        optimizer.step()
        assert table.weight[1].tolist() == pytest.approx([0.95 ** (step + 1)] * 2)


def test_rows_looked_up_several_times_add_up() -> None:
    table = nn.Embedding(3, 2)
    table(ng.tensor([[2, 0], [2, 2]])).sum().backward()
    assert table.weight.grad[:, 0].tolist() == [1.0, 0.0, 3.0]
    by_frequency = nn.Embedding(3, 2, scale_grad_by_freq=True)
    by_frequency(ng.tensor([[2, 0], [2, 2]])).sum().backward()
    assert by_frequency.weight.grad[:, 0].tolist() == [1.0, 0.0, 1.0]
