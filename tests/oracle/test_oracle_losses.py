"""Losses, softmax, distances, dropout, embeddings: what PyTorch's table of samples leaves out. Names of nodes, dtypes, texts, edge values.

The same expressions run in both libraries; values and gradients of their samples are compared in `test_oracle_op_db.py`
and `test_oracle_module_db.py`.
"""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import pytest
from side_by_side import neutral, snippets

import numgrad

torch = pytest.importorskip("torch")

PRELUDE = """
nan = float("nan")
x = torch.tensor([[0.5, 0.25, 0.75], [0.125, 0.625, 0.375]], requires_grad=True)
y = torch.tensor([[0.75, 0.5, 0.25], [0.25, 0.875, 0.5]])
Y = y.clone().requires_grad_()
w, W = torch.tensor([1.0, 0.5, 2.0]), torch.tensor([[1.0, 0.5, 2.0], [3.0, 1.5, 0.25]], requires_grad=True)
i, d, h = torch.ones(2, 3, dtype=torch.int64), y.double(), y.half()
t, none = torch.tensor([0, 1]), torch.tensor([], dtype=torch.int64)
image, places = torch.arange(24.0).reshape(2, 3, 4) / 24, torch.tensor([[0, 1, 2, -100], [2, 1, 0, 0]])
b, o = torch.tensor([0, 1, 1]), torch.tensor([0, 2])
signs = torch.tensor([[1.0, -1, 1], [-1, -1, 1]])
def grads(loss, *leaves):
    return torch.autograd.grad(loss, leaves)
"""

POINTWISE = """
F.mse_loss(x, y) ; F.mse_loss(x, y, reduction='none') ; F.mse_loss(i, i) ; F.mse_loss(x, d) ; F.mse_loss(x, y, weight=W)
F.mse_loss(x[:0], y[:0]) ; F.mse_loss(x[:0], y[:0], reduction='sum') ; F.mse_loss(x, y[0]) ; F.mse_loss(x.half(), h)
F.l1_loss(x, y) ; F.l1_loss(x, y[0]) ; F.l1_loss(i, i, reduction='sum') ; F.l1_loss(x, y, reduction='x')
F.l1_loss(x, d).dtype ; F.l1_loss(x, y, weight=W) ; F.l1_loss(x, y, weight=w) ; F.l1_loss(x.cfloat(), y) ; F.l1_loss(i, i)
F.smooth_l1_loss(x, y) ; F.smooth_l1_loss(x, y, beta=0.) ; F.smooth_l1_loss(x, y, beta=0.2) ; F.smooth_l1_loss(x, y, beta=-1)
F.smooth_l1_loss(x, y, beta='x') ; F.smooth_l1_loss(x, d).dtype ; F.smooth_l1_loss(x, i).dtype ; F.smooth_l1_loss(i, i)
F.smooth_l1_loss(x, y[0]) ; F.smooth_l1_loss(x, torch.ones(4)) ; F.smooth_l1_loss(x, y, reduction='x')
F.smooth_l1_loss(x, y, size_average=False) ; F.smooth_l1_loss(x.cfloat(), y) ; F.smooth_l1_loss(x * nan, y)
F.smooth_l1_loss(i, i, beta=0) ; F.smooth_l1_loss(x, y, beta=True) ; F.smooth_l1_loss(x[:0], y[:0])
F.huber_loss(x, y) ; F.huber_loss(x, y, delta=0.2, reduction='none') ; F.huber_loss(x, y, delta=0) ; F.huber_loss(x, d).dtype
F.huber_loss(x, i).dtype ; F.huber_loss(i, i) ; F.huber_loss(x, y[0]) ; F.huber_loss(x, y, reduction='x')
F.huber_loss(x, y, weight=W) ; F.huber_loss(x, y, weight=w) ; F.huber_loss(x, y, weight=W, reduction='x')
F.binary_cross_entropy(x, y) ; F.binary_cross_entropy(x, y, W) ; F.binary_cross_entropy(x, y, w) ; F.binary_cross_entropy(x, d)
F.binary_cross_entropy(x, Y, w, reduction='none') ; F.binary_cross_entropy(x, i) ; F.binary_cross_entropy(x, y[0])
F.binary_cross_entropy(x, y, w.double()) ; F.binary_cross_entropy(x + 1, y) ; F.binary_cross_entropy(x, y - 2)
F.binary_cross_entropy(x, y * nan) ; F.binary_cross_entropy(x * nan, y) ; F.binary_cross_entropy(x, y, reduction='x')
F.binary_cross_entropy(x[:0], y[:0]) ; F.binary_cross_entropy(x[:0], y[:0], reduction='none') ; F.binary_cross_entropy(x, y, w * nan)
F.binary_cross_entropy(torch.tensor([0., 1.]), torch.tensor([1., 1.])) ; F.binary_cross_entropy(3, y) ; F.binary_cross_entropy(x, 3)
F.binary_cross_entropy_with_logits(x, y) ; F.binary_cross_entropy_with_logits(x, d) ; F.binary_cross_entropy_with_logits(x, i)
F.binary_cross_entropy_with_logits(i, y) ; F.binary_cross_entropy_with_logits(x, y[0]) ; F.binary_cross_entropy_with_logits(x, y, W)
F.binary_cross_entropy_with_logits(x, Y, w, pos_weight=w) ; F.binary_cross_entropy_with_logits(x, y, pos_weight=W)
F.binary_cross_entropy_with_logits(x, y, w.double()) ; F.binary_cross_entropy_with_logits(x[:0], y[:0])
F.binary_cross_entropy_with_logits(x, y, torch.ones(4, 2, 3)) ; F.binary_cross_entropy_with_logits(x, y, reduction='x')
F.binary_cross_entropy_with_logits(torch.tensor([1e4, -1e4, 0.]), torch.tensor([0., 1., 1.]), reduction='none')
F.soft_margin_loss(x, signs) ; F.soft_margin_loss(x, y[0]) ; F.soft_margin_loss(i, i) ; F.soft_margin_loss(x, Y)
F.soft_margin_loss(x, d).dtype ; F.soft_margin_loss(x, signs, reduction='none') ; F.soft_margin_loss(x, torch.ones(4))
F.kl_div(x, y) ; F.kl_div(x, y, reduction='batchmean') ; F.kl_div(x, y, reduction='batchmean', log_target=True)
F.kl_div(x, y, reduction='x') ; F.kl_div(x, y, size_average=True) ; F.kl_div(x, i) ; F.kl_div(x, d, reduction='sum').dtype
F.kl_div(x[:0], y[:0], reduction='batchmean') ; F.kl_div(x[0, 0], y[0, 0], reduction='batchmean') ; F.kl_div(x, -y, reduction='sum')
F.poisson_nll_loss(x, y) ; F.poisson_nll_loss(x, i * 3, full=True) ; F.poisson_nll_loss(x, y, log_input=False) ; F.poisson_nll_loss(x, y, reduction='x')
F.gaussian_nll_loss(x, y, 1.) ; F.gaussian_nll_loss(x, y, -1.) ; F.gaussian_nll_loss(x, y, torch.ones(2)) ; F.gaussian_nll_loss(x, y, torch.ones(3))
F.gaussian_nll_loss(x, y, torch.ones(2, 1), full=True) ; F.gaussian_nll_loss(x, y, W) ; F.gaussian_nll_loss(x, y, 1., reduction='x')
"""

CLASSES = """
F.nll_loss(x, t) ; F.nll_loss(x, t, reduction='none') ; F.nll_loss(x, torch.tensor([0, 5])) ; F.nll_loss(x, torch.tensor([0, -4]))
F.nll_loss(x, t, w.double()) ; F.nll_loss(x.double(), t, w) ; F.nll_loss(x, t, torch.ones(4)) ; F.nll_loss(x, t, torch.ones(1, 3))
F.nll_loss(x, t, W[0]) ; F.nll_loss(x, torch.tensor([0., 1])) ; F.nll_loss(x, t.int()) ; F.nll_loss(x, torch.tensor([0, 1, 1]))
F.nll_loss(x, i) ; F.nll_loss(x[0], t) ; F.nll_loss(x[0], t[:1], reduction='none') ; F.nll_loss(x[0], t[0], w, reduction='none')
F.nll_loss(x[0, 0], t[0]) ; F.nll_loss(x, t[0]) ; F.nll_loss(x[:0], none) ; F.nll_loss(x[:0], none, reduction='sum')
F.nll_loss(x[:0], none, w) ; F.nll_loss(x, torch.tensor([-100, -100])) ; F.nll_loss(i, t) ; F.nll_loss(x.half(), t)
F.nll_loss(x, t, ignore_index=1) ; F.nll_loss(x, t, w, ignore_index=1, reduction='none') ; F.nll_loss(x, t, ignore_index='a')
F.nll_loss(image[..., None], places) ; F.nll_loss(image[..., None], places[..., None].int()) ; F.nll_loss(image, places)
F.nll_loss(image[..., None], places[..., None], w) ; F.nll_loss(image[..., None], places[:, :3, None]) ; F.nll_loss(image, t)
F.nll_loss(image[..., None], places[..., None], torch.ones(4)) ; F.nll_loss(image, places, w, reduction='none')
F.nll_loss(image, places * 0 + 9) ; F.nll_loss(image, places * 0 - 100) ; F.nll_loss(image[..., None, None], places[..., None, None])
F.nll_loss(image[:, :, :0], places[:, :0]) ; F.nll_loss(image[:0], places[:0], reduction='none') ; F.nll_loss(x, t.to(torch.uint8))
F.nll_loss(x, 3) ; F.nll_loss(3, x) ; F.nll_loss(x, t, 3) ; F.nll_loss(x, t, reduction='x') ; F.nll_loss(x.cfloat(), t)
F.cross_entropy(x, t) ; F.cross_entropy(x, t, w) ; F.cross_entropy(x, t, label_smoothing=0.1) ; F.cross_entropy(x, t, w, label_smoothing=0.1)
F.cross_entropy(x, torch.tensor([0, 5])) ; F.cross_entropy(x, torch.tensor([0, -4])) ; F.cross_entropy(x, t, W[0])
F.cross_entropy(x, t, label_smoothing=-0.1) ; F.cross_entropy(x, t, label_smoothing=1.1) ; F.cross_entropy(x, t, label_smoothing='a')
F.cross_entropy(x, t, label_smoothing=1) ; F.cross_entropy(x, i) ; F.cross_entropy(x, y) ; F.cross_entropy(x, y, w)
F.cross_entropy(x, y, ignore_index=1) ; F.cross_entropy(x, y, ignore_index=-5) ; F.cross_entropy(x, y, torch.ones(4))
F.cross_entropy(x, y, W[0]) ; F.cross_entropy(x, d) ; F.cross_entropy(x, h) ; F.cross_entropy(x[:0], y[:0]) ; F.cross_entropy(x[:0], y[:0], w)
F.cross_entropy(x[:0], none, label_smoothing=0.1) ; F.cross_entropy(x[0], y[0]) ; F.cross_entropy(x[0], y[0], reduction='none')
F.cross_entropy(x, y, w, reduction='none') ; F.cross_entropy(x, y, w, reduction='sum', label_smoothing=0.2) ; F.cross_entropy(x[0, 0], y[0, 0])
F.cross_entropy(i, t) ; F.cross_entropy(x, t, reduction='x', label_smoothing=-1) ; F.cross_entropy(x, Y)
F.cross_entropy(x, torch.tensor([0, -100]), w, label_smoothing=0.1, reduction='none')
F.cross_entropy(x, torch.tensor([-100, -100]), w, label_smoothing=0.1) ; F.cross_entropy(image, places, w, label_smoothing=0.1)
F.cross_entropy(image, places, w, label_smoothing=0.1, reduction='none') ; F.cross_entropy(image, image, w, label_smoothing=0.1, reduction='none')
F.cross_entropy(x.cfloat(), t) ; F.cross_entropy(x[0], t[0], label_smoothing=0.1)
grads(F.cross_entropy(x, torch.tensor([0, -100]), w, label_smoothing=0.1), x) ; grads(F.nll_loss(x, torch.tensor([-100, -100])), x)
grads(F.cross_entropy(x, Y, w), x, Y) ; grads(F.binary_cross_entropy(torch.zeros_like(x).requires_grad_() * x, y), x)
"""

MARGINS = """
F.hinge_embedding_loss(x, signs) ; F.hinge_embedding_loss(x, y[0]) ; F.hinge_embedding_loss(x, i) ; F.margin_ranking_loss(x, y, y[0])
F.margin_ranking_loss(x, y, signs, 0.5) ; F.cosine_embedding_loss(x, y, torch.tensor([1, -1])) ; F.cosine_embedding_loss(x, y, signs)
F.cosine_embedding_loss(x[0], y[0], torch.ones(2)) ; F.cosine_embedding_loss(x, y, torch.tensor(1.)) ; F.cosine_embedding_loss(x, y, torch.ones(3))
F.triplet_margin_loss(x, y, y + 1) ; F.triplet_margin_loss(x, y, y[0]) ; F.triplet_margin_loss(x, y, y, margin=0)
F.triplet_margin_loss(x, y, -y, swap=True, p=1) ; F.triplet_margin_with_distance_loss(x, y, -y, distance_function=lambda a, b: (a - b).abs().sum(-1))
F.triplet_margin_with_distance_loss(x, y, -y, reduction='x') ; F.triplet_margin_with_distance_loss(x, y, -y, margin=-1)
F.multi_margin_loss(x, torch.tensor([0])) ; F.multi_margin_loss(x, torch.tensor([0, 5])) ; F.multi_margin_loss(x, t, weight=torch.ones(4))
F.multi_margin_loss(x, t, p=3) ; F.multi_margin_loss(x, t, weight=W) ; F.multi_margin_loss(x[:, :0], t) ; F.multi_margin_loss(x, t.float())
F.multi_margin_loss(x[None], t) ; F.multi_margin_loss(i, t) ; F.multilabel_margin_loss(x, i[0]) ; F.multilabel_margin_loss(x, i * 7)
F.multilabel_margin_loss(x, y) ; F.multilabel_margin_loss(i, i) ; F.multilabel_margin_loss(x, i - 3) ; F.multilabel_margin_loss(x[None], i[None])
F.multilabel_soft_margin_loss(x, i) ; F.multilabel_soft_margin_loss(x, y, w) ; F.multilabel_soft_margin_loss(x, y, reduction='x')
F.cosine_similarity(i, i) ; F.cosine_similarity(x, y, dim=5) ; F.cosine_similarity(x, y, dim=0) ; F.cosine_similarity(x, torch.ones(4))
F.cosine_similarity(x * 0, y) ; torch.cosine_similarity(x[None], y[0], -1) ; F.pairwise_distance(x, y[0]) ; F.pairwise_distance(i, i)
F.pairwise_distance(x[0, 0], y[0, 0]) ; torch.pairwise_distance(x, y, 1, 0, True) ; F.pdist(i) ; F.pdist(x[0]) ; F.pdist(x, -1)
"""

PROBABILITIES = """
torch.softmax(x, 1.5) ; torch.softmax(x, 1, dtype=torch.int64) ; torch.softmax(x, 1, dtype=torch.float64).dtype ; torch.softmax(3, 1)
torch.softmax(x, 5) ; torch.softmax(i.bool(), 0) ; torch.softmax(x[:0], 0) ; torch.softmax(x.cfloat(), 0) ; x.log_softmax(-1) ; x.softmax(0)
F.softmax(x) ; F.log_softmax(x) ; F.softmin(x) ; F.softmin(x, 1) ; F.softmin(x, 0, dtype=torch.float64) ; F.softmax(i, 1, dtype=torch.float32)
torch.softmax(torch.tensor([[nan, 1.], [float('inf'), 1.], [-float('inf'), -float('inf')], [-nan, 2.]]), 1)
torch.log_softmax(torch.tensor([[nan, 1., -float('inf'), -0.0]]).t(), 0) ; torch.softmax(torch.tensor([[1e4, 1e4 + 1], [-1e38, 1e38]]), 1)
torch.softmax(torch.tensor(3.), 0) ; F.log_softmax(image, 1)[0, 0] ; torch.softmax(image.half(), 1)[0, 0] ; F.softmax(image, -2)[1, :, 2]
nn.Softmax() ; nn.LogSoftmax(1) ; nn.Softmin(-1) ; nn.Softmax2d() ; nn.Softmax2d()(x) ; nn.Softmax2d()(image).sum(0) ; nn.Softmin(0)(x)
"""

DROPOUT = """
F.dropout(x, 1.5) ; F.dropout(x, -.1) ; F.dropout(x, 'a') ; F.dropout(3, .5) ; F.dropout(x, 0.) is x ; F.dropout(x, .5, False) is x
F.dropout(x, 1.) ; F.dropout(x * nan, 1.) ; F.dropout(i, .5) ; F.dropout(i, 0.) ; F.dropout(x, .5, inplace=True) ; F.dropout(x, None)
F.dropout(x * 1, 1., inplace=True) ; F.dropout(x * 1, .5, inplace=True).grad_fn.name() ; F.dropout(x[:0], .5) ; F.dropout(x.cfloat(), .5)
torch.dropout(x, .5, True).grad_fn.name() ; torch.dropout(x, 1.5, True) ; torch.dropout_(y.clone(), 1., True) ; torch.dropout(x, p=.5, train=False)
F.alpha_dropout(x, 1.5) ; F.alpha_dropout(x) is x ; F.alpha_dropout(x, .5, True).grad_fn.name() ; F.alpha_dropout(x, 1., True)
F.alpha_dropout(i, .5, True) ; F.feature_alpha_dropout(x[0], .5, True) ; F.feature_alpha_dropout(x, 1.5, True) ; F.dropout1d(x[0])
F.dropout1d(x[None], 1.) ; F.dropout1d(x[None, None]) ; F.dropout1d(x, 1.) ; F.dropout1d(x, .5, False) is x ; F.dropout2d(x, 1.)
F.dropout2d(x[None], 1.) ; F.dropout2d(x[None, None], 1.5) ; F.dropout2d(x[None, None, None], 1.) ; F.dropout3d(x[None, None], 1.)
F.dropout3d(x, 1.) ; F.dropout3d(x[None, None, None, None], 1.) ; torch.feature_dropout(x[0], .5, True)
torch.native_dropout(x, 1., True) ; torch.native_dropout(x, .5, False) ; torch.native_dropout(x, 1.5, True) ; torch.native_dropout(i, .5, True)
torch.native_dropout(x, 0., None) ; nn.Dropout(1.5) ; nn.Dropout(-1) ; nn.Dropout(.3, True) ; nn.AlphaDropout() ; nn.FeatureAlphaDropout(.2)
nn.Dropout1d() ; nn.Dropout2d(.1) ; nn.Dropout3d() ; nn.Dropout(.5).eval()(x) is x
"""

EMBEDDING = """
F.embedding(t, x) ; F.embedding(torch.tensor([0, 5]), x) ; F.embedding(torch.tensor([0, -1]), x) ; F.embedding(torch.tensor([0., 1]), x)
F.embedding(t.int(), x) ; F.embedding(t.to(torch.uint8), x) ; F.embedding(t, x[0]) ; F.embedding(t[0], x) ; F.embedding(none, x) ; F.embedding(t, i)
F.embedding(t, x, padding_idx=5) ; F.embedding(t, x, padding_idx=-5) ; F.embedding(3, x) ; F.embedding(t, 3) ; F.embedding(t, y.half())
grads(F.embedding(torch.tensor([[0, 1, 1]]), x, padding_idx=-1).sum(), x) ; grads(F.embedding(torch.tensor([[0, 1, 1]]), x, padding_idx=0).sum(), x)
grads(F.embedding(torch.tensor([[0, 1, 1]]), x, scale_grad_by_freq=True).sum(), x) ; torch.embedding(x, t, 1, True)
F.embedding(t, y, max_norm=.5), y ; F.embedding(t[:1], y, max_norm=.5, norm_type=1), y ; F.embedding(t, y, max_norm=3), y
torch.embedding_renorm_(y, t[1:], .5, 2.) ; F.embedding(torch.tensor([0, 0, 0]), x.detach(), max_norm=.25)
F.embedding_bag(b, x, o) ; F.embedding_bag(b, x, o, mode='sum') ; F.embedding_bag(b, x, o, mode='max') ; F.embedding_bag(b, x, o, mode='x')
F.embedding_bag(b, x, o * 2) ; F.embedding_bag(b, x, torch.tensor([0, 2, 2])) ; F.embedding_bag(b, x)
F.embedding_bag(b, x, torch.tensor([0, 2, 2]), mode='max') ; F.embedding_bag(b[None], x) ; F.embedding_bag(b[None], x, o) ; F.embedding_bag(b[None, None], x)
F.embedding_bag(b, x, o, per_sample_weights=w) ; F.embedding_bag(b, x, o, per_sample_weights=w, mode='sum') ; F.embedding_bag(b, x, o[0])
F.embedding_bag(b, x, o, per_sample_weights=w[:2], mode='sum') ; F.embedding_bag(b, x, o, per_sample_weights=w.double(), mode='sum')
F.embedding_bag(b, x, torch.tensor([0, 2, 3]), include_last_offset=True) ; F.embedding_bag(b, x, o, padding_idx=1) ; F.embedding_bag(b, x, o, padding_idx=5)
F.embedding_bag(b, x, o, mode='max', padding_idx=-1) ; F.embedding_bag(b, x, o, scale_grad_by_freq=True, mode='max') ; F.embedding_bag(b, x[0], o)
F.embedding_bag(b, x, o, sparse=True, mode='max') ; F.embedding_bag(none, x, torch.tensor([0, 0])) ; F.embedding_bag(b.int(), x, o.int())
F.embedding_bag(x, b[None]) ; F.embedding_bag(b.float(), x, o) ; F.embedding_bag(b, y, o, max_norm=.5), y
grads(F.embedding_bag(b, x, o, padding_idx=1).sum(), x) ; grads(F.embedding_bag(b, x, o, mode='max').sum(), x)
grads(F.embedding_bag(b, x, o, scale_grad_by_freq=True, mode='sum').sum(), x) ; grads(F.embedding_bag(b, x, o, mode='sum', per_sample_weights=W[0]).sum(), x, W)
nn.Embedding(3, 2, padding_idx=5) ; nn.Embedding(3, 2, padding_idx=-5) ; nn.Embedding(3, 2, padding_idx=-1) ; nn.Embedding(3, 2, padding_idx=-1).weight[2]
nn.Embedding(3, 2, max_norm=1., norm_type=3., scale_grad_by_freq=True, sparse=True) ; nn.Embedding(3, 2, _weight=x) ; nn.Embedding.from_pretrained(y[0])
nn.Embedding.from_pretrained(y)(t) ; nn.Embedding.from_pretrained(y, freeze=False, padding_idx=0).weight ; nn.EmbeddingBag(3, 2) ; nn.EmbeddingBag(3, 2, padding_idx=7)
nn.EmbeddingBag(3, 2, max_norm=1., mode='sum', include_last_offset=True, padding_idx=1) ; nn.EmbeddingBag.from_pretrained(y, mode='max')(b, o)
"""

MODULES = """
nn.NLLLoss2d() ; nn.NLLLoss(w, ignore_index=3).state_dict() ; nn.BCEWithLogitsLoss(pos_weight=w).state_dict() ; nn.HuberLoss(delta=1j)
nn.TripletMarginLoss(margin=0) ; nn.TripletMarginWithDistanceLoss(margin=-1) ; nn.TripletMarginWithDistanceLoss() ; nn.MultiMarginLoss(p=3)
nn.MultiMarginLoss(weight=W) ; nn.L1Loss(size_average=False).reduction ; nn.CrossEntropyLoss(w)(x, t) ; nn.BCELoss(reduce=False)(x, y)
nn.CosineSimilarity(0)(x, y) ; nn.PairwiseDistance()(x, y) ; nn.PairwiseDistance(1, keepdim=True)(x, y) ; nn.KLDivLoss()(x, y)
"""

EXPRESSIONS = [
    part.strip()
    for text in (POINTWISE, CLASSES, MARGINS, PROBABILITIES, DROPOUT, EMBEDDING, MODULES)
    for line in snippets(text)
    for part in line.split(" ; ")
]


def result(library: ModuleType, expression: str) -> tuple[str, list[tuple[type, str]]]:
    """What an expression shows or raises, and what it warns of."""
    scope: dict[str, Any] = {"torch": library, "nn": library.nn, "F": library.nn.functional}
    exec(PRELUDE, scope)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            text = repr(eval(expression, scope))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
    return neutral(without_overloads(text)), [(w.category, neutral(str(w.message))) for w in caught]


def without_overloads(text: str) -> str:
    """What PyTorch does in C++ calls overloads that no Python code reaches."""
    return text.replace("DivBackward1", "DivBackward0").replace("NormBackward1", "LinalgVectorNormBackward0")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_same_expressions_show_the_same(expression: str) -> None:
    assert result(numgrad, expression) == result(torch, expression)
