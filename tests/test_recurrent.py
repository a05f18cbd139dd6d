"""Recurrent ops against the formulas, written step by step in other ops; how they behave at the edges."""

from __future__ import annotations

import pytest

import numgrad as ng
from numgrad import nn
from numgrad.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def lstm_step(x, h, c, w, b):
    i, f, g, o = (x @ w[0].T + b[0] + h @ w[1].T + b[1]).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_step(x, h, c, w, b):
    (xr, xz, xn), (hr, hz, hn) = ((v @ m.T + a).chunk(3, 1) for v, m, a in zip((x, h), w, b, strict=True))
    z = (xz + hz).sigmoid()
    return (1 - z) * (xn + (xr + hr).sigmoid() * hn).tanh() + z * h, c


def rnn_step(x, h, c, w, b):
    return (x @ w[0].T + b[0] + h @ w[1].T + b[1]).tanh(), c


STEPS = {"LSTM": lstm_step, "GRU": gru_step, "RNN": rnn_step}


def by_steps(module, x):
    """All hidden states of a layer, one step after the other."""
    p = dict(module.named_parameters())
    w, b = [p["weight_ih_l0"], p["weight_hh_l0"]], [p["bias_ih_l0"], p["bias_hh_l0"]]
    h = c = x.new_zeros(x.shape[1], module.hidden_size)
    hidden = []
    for row in x:
        h, c = STEPS[type(module).__name__](row, h, c, w, b)
        hidden.append(h)
    return ng.stack(hidden)


def derivatives(output, leaves):
    """First and second gradients of something that bends."""
    first = ng.autograd.grad((output**3).sum(), leaves, create_graph=True)
    second = ng.autograd.grad(sum((g**2).sum() for g in first), leaves)
    return [*first, *second]


@pytest.mark.parametrize("kind", STEPS)
def test_one_op_is_the_same_as_its_formulas_step_by_step(kind):
    ng.manual_seed(0)
    module = getattr(nn, kind)(2, 3).double()
    x = ng.randn(4, 2, 2, dtype=ng.float64, requires_grad=True)
    leaves = [x, *module.parameters()]
    outputs = module(x)[0], by_steps(module, x)
    assert ng.allclose(*outputs, rtol=1e-12)
    for one, other in zip(*(derivatives(y, leaves) for y in outputs), strict=True):
        assert ng.allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", STEPS)
def test_each_sequence_of_a_packed_batch_is_computed_by_itself(kind):
    ng.manual_seed(0)
    module = getattr(nn, kind)(2, 3, bidirectional=True)
    x, lengths = ng.randn(5, 3, 2), [2, 5, 3]
    output, last = module(pack_padded_sequence(x, lengths, enforce_sorted=False))
    padded, _ = pad_packed_sequence(output)
    states = last if kind == "LSTM" else (last,)
    for k, length in enumerate(lengths):
        alone, own = module(x[:length, k])
        assert ng.allclose(padded[:length, k], alone, atol=1e-6)
        assert not padded[length:, k].any()
        for one, other in zip(states, own if kind == "LSTM" else (own,), strict=True):
            assert ng.allclose(one[:, k], other, atol=1e-6)


def test_gates_are_right_far_from_zero():
    module = nn.LSTM(1, 1)
    with ng.no_grad():
        for p in module.parameters():
            p.fill_(100.0)
    output, (_, cell) = module(ng.tensor([[[-50.0]], [[50.0]]]))
    assert (output.flatten().tolist(), cell.item()) == ([0.0, ng.tensor(1.0).tanh().item()], 1.0)


def test_operands_that_do_not_fit_are_refused_before_a_kernel_reads_them():
    op = ng.kernels.recurrent.lstm
    x, h, w = ng.ones(3, 2, 8), ng.ones(2, 2), ng.ones(8, 2)
    for given in [(x, h, h[:1], w), (x, h, h.double(), w), (x[..., :4], h, h, w), (x, h, h, w[:4])]:
        with pytest.raises(RuntimeError, match="operands that do not fit together"):
            op(*given)
    with pytest.raises(RuntimeError, match="operands that do not fit together"):
        op(x.flatten(0, 1), h, h, w, batch_sizes=(2, 2, 1))


def test_only_what_is_wanted_has_gradients():
    module = nn.GRU(2, 3).requires_grad_(False)
    module.weight_hh_l0.requires_grad_()
    output, _ = module(ng.ones(2, 1, 2))
    output.sum().backward()
    assert [p.grad is not None for p in module.parameters()] == [False, True, False, False]


def test_dropout_between_layers():
    ng.manual_seed(0)
    module = nn.RNN(2, 3, num_layers=2, dropout=0.5)
    x = ng.ones(2, 1, 2)
    assert not ng.equal(module(x)[0], module(x)[0])
    module.eval()
    assert ng.equal(module(x)[0], module(x)[0])


def test_a_length_beyond_the_input_is_refused():
    with pytest.raises(RuntimeError, match="a sequence of length 5 does not fit into an input of 4 steps"):
        pack_padded_sequence(ng.ones(4, 2, 1), [5, 1])
