"""Recurrent layers, cells and packed sequences against PyTorch's: values, gradients twice, texts and warnings."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's table of ops needs it")

import op_db  # noqa: E402

LIBRARIES = (numgrad, torch)


def values(library: ModuleType, *shape: int, seed: int = 0) -> Any:
    """The same items in both libraries."""
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(shape, generator=generator, dtype=torch.float64)
    return made if library is torch else numgrad.from_numpy(made.numpy())


def leaf(library: ModuleType, *shape: int, seed: int = 0) -> Any:
    return values(library, *shape, seed=seed).requires_grad_()


def with_state(library: ModuleType, module: Any) -> Any:
    """The module with the same parameters in both libraries, in float64."""
    module = module.to(library.float64)
    with library.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(values(library, *parameter.shape, seed=number) / 2)
    return module


def compare(run: Any, twice: bool = True) -> None:
    """What `run(library)` gives, results and leaves, agrees with gradients and second gradients."""
    (got, mine), (expected, theirs) = (run(library) for library in LIBRARIES)
    op_db.compare(got, expected, "forward")
    op_db.check_gradients(got, expected, mine, theirs, twice)


# ---------------------------------------------------------------------------------------------------- layers
LAYERS = {
    "plain": {},
    "two layers, both directions": {"num_layers": 2, "bidirectional": True},
    "batch first, no bias": {"batch_first": True, "bias": False},
    "all zeros between layers": {"num_layers": 2, "dropout": 1.0},
}


def layer_case(library: ModuleType, kind: str, options: dict[str, Any], form: str) -> tuple[Any, list[Any]]:
    """A layer on an input of some form: its results, and the leaves."""
    module = with_state(library, getattr(library.nn, kind)(2, 3, **options))
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    if form == "unbatched":
        x, states = leaf(library, 4, 2), (leaf(library, count, 3, seed=8), leaf(library, count, 3, seed=9))
    else:
        shape = (2, 4, 2) if options.get("batch_first") and form == "batch" else (4, 2, 2)
        x, states = leaf(library, *shape), (leaf(library, count, 2, 3, seed=8), leaf(library, count, 2, 3, seed=9))
    if options.get("proj_size"):
        states = (states[0][..., : options["proj_size"]].detach().clone().requires_grad_(), states[1])
    leaves = [x, *(states if kind == "LSTM" else states[:1]), *module.parameters()]
    given = x
    if form == "packed":
        given = library.nn.utils.rnn.pack_padded_sequence(x, [2, 4], enforce_sorted=False)
    output, last = module(given, states if kind == "LSTM" else states[0])
    return (output.data if form == "packed" else output, last), leaves


@pytest.mark.parametrize("form", ["batch", "unbatched", "packed"])
@pytest.mark.parametrize("options", LAYERS)
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_layers(kind: str, options: str, form: str) -> None:
    compare(lambda library: layer_case(library, kind, LAYERS[options], form), twice=options != "two layers, both directions")


@pytest.mark.parametrize("form", ["batch", "unbatched", "packed"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True, "bias": False}])
def test_lstm_with_projections(options: dict[str, Any], form: str) -> None:
    compare(lambda library: layer_case(library, "LSTM", {**options, "proj_size": 2}, form), twice=not options)


def test_relu_network() -> None:
    compare(lambda library: layer_case(library, "RNN", {"nonlinearity": "relu", "num_layers": 2}, "batch"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_layers_of_other_dtypes(kind: str, dtype: str) -> None:
    def run(library: ModuleType) -> Any:
        module = with_state(library, getattr(library.nn, kind)(2, 3)).to(getattr(library, dtype))
        output, states = module(values(library, 4, 2, 2).to(getattr(library, dtype)))
        return output, states

    op_db.compare(*(run(library) for library in LIBRARIES), "forward", 3)


# ---------------------------------------------------------------------------------------------------- cells
def cell_case(library: ModuleType, kind: str, options: dict[str, Any], is_batched: bool) -> tuple[Any, list[Any]]:
    """Two steps of a cell, the first of which begins with zeros."""
    module = with_state(library, getattr(library.nn, kind)(2, 3, **options))
    lead = (2,) if is_batched else ()
    x, y = leaf(library, *lead, 2), leaf(library, *lead, 2, seed=1)
    return module(y, module(x)), [x, y, *module.parameters()]


@pytest.mark.parametrize("is_batched", [True, False])
@pytest.mark.parametrize("options", [{}, {"bias": False}], ids=str)
@pytest.mark.parametrize("kind", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cells(kind: str, options: dict[str, Any], is_batched: bool) -> None:
    compare(lambda library: cell_case(library, kind, options, is_batched))


def test_relu_cell() -> None:
    compare(lambda library: cell_case(library, "RNNCell", {"nonlinearity": "relu"}, True))


FUNCTIONS = {"lstm_cell": 4, "gru_cell": 3, "rnn_tanh_cell": 1, "rnn_relu_cell": 1}


@pytest.mark.parametrize("biases", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_cell_functions(name: str, biases: tuple[int, ...]) -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        rows = FUNCTIONS[name] * 3
        leaves = [leaf(library, *shape, seed=k) for k, shape in enumerate([(2, 2), (2, 3), (2, 3), (rows, 2), (rows, 3)])]
        x, h, c, *weights = leaves
        given = [leaf(library, rows, seed=7 + k) if k in biases else None for k in (0, 1)]
        leaves += [b for b in given if b is not None]
        states = (h, c) if name == "lstm_cell" else h
        found = getattr(library, name)(x, states, *weights, *given)
        return found, [x for x in leaves if x is not c or name == "lstm_cell"]

    compare(run)


def test_cell_states_of_another_dtype_promote() -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        x, h = values(library, 2, 2).float(), values(library, 2, 3).float()
        weights = [values(library, 12, n).float() for n in (2, 3)]
        c = leaf(library, 2, 3)
        return library.lstm_cell(x, (h, c), *weights), [c]

    compare(run, twice=False)


def test_functions_over_sequences() -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        x, h = leaf(library, 4, 2, 2), leaf(library, 2, 2, 3)
        params = [leaf(library, *shape, seed=k) for k, shape in enumerate([(9, 2), (9, 3), (9,), (9,)] * 2)]
        padded = library.gru(x, h, params, True, 1, 0.0, False, True, False)
        packed = library.gru(
            data=x[:3].flatten(0, 1), batch_sizes=library.tensor([2, 2, 2]), hx=h, params=params, has_biases=True,
            num_layers=1, dropout=0.0, train=False, bidirectional=True,
        )  # fmt: skip
        return (padded, packed), [x, h, *params]

    compare(run, twice=False)


# ---------------------------------------------------------------------------------------------------- packing
def test_packing_and_padding() -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        rnn = library.nn.utils.rnn
        a, b, c = (leaf(library, n, 2, seed=n) for n in (2, 4, 1))
        padded = rnn.pad_sequence([a, b, c], padding_value=0.5)
        left = rnn.pad_sequence([a, b, c], batch_first=True, padding_side="left")
        packed = rnn.pack_sequence([a, b, c], enforce_sorted=False)
        again = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=5)
        whole = rnn.pack_padded_sequence(left, [4, 2, 1], batch_first=True)
        return (padded, left, tuple(packed), again, rnn.unpack_sequence(packed), tuple(whole)), [a, b, c]

    compare(run)


RNN = """
P = nn.utils.rnn
R = torch.ones
z = R(1, 3, 6)
def tensors(*lengths):
    return [torch.arange(float(n)) for n in lengths]
"""

SNIPPETS = snippets("""
nn.LSTM(4, 6)(R(5, 3, 5))
nn.LSTM(4, 6)(R(5, 3, 4, 1))
nn.GRU(4, 6)(R(5))
nn.RNN(4, 6)(R(5))
nn.GRU(4, 6)(R(5, 3, 4), R(1, 3, 5))
nn.GRU(4, 6)(R(5, 3, 4), R(3, 5))
nn.GRU(4, 6)(R(5, 4), z)
nn.LSTM(4, 6)(R(5, 3, 4), (R(1, 3, 5), z))
nn.LSTM(4, 6)(R(5, 3, 4), (z, R(1, 2, 6)))
nn.LSTM(4, 6)(R(5, 3, 4), (R(3, 5), z))
nn.LSTM(4, 6)(R(5, 4), (z, z))
nn.LSTM(4, 6)(R(5, 3, 4, dtype=torch.int64))
nn.GRU(4, 6)(R(5, 3, 4).double())
nn.GRU(4, 6)(R(5, 3, 4), z.double())
nn.RNN(4, 6)(R(0, 3, 4))
out = [x.shape for x in nn.GRU(4, 6)(R(5, 0, 4))]
nn.LSTM(4, 6)(3)
nn.LSTM(4, 6)(R(5, 3, 4), 3)
nn.GRU(4, 6)(R(5, 3, 4), (z, z))
nn.GRU(4, 6)(P.pack_padded_sequence(R(4, 2, 3), [2, 1]))
nn.GRU(4, 6)(P.pack_padded_sequence(R(4, 2, 4), [2, 1]), R(1, 3, 6))
nn.GRU(4, 6)(P.pack_padded_sequence(R(4, 2, 4, 1), [2, 1]))
nn.LSTM(4, 6, dropout=1.5)
nn.LSTM(4, 6, dropout=True)
out = nn.LSTM(4, 6, dropout=0.5)
nn.LSTM(4, 6, bias=3)
nn.LSTM(4, 6, batch_first=1)
nn.LSTM(4.0, 6)
nn.LSTM(4, "6")
nn.LSTM(0, 6)
nn.LSTM(4, 0)
nn.LSTM(4, 6, 0)
nn.LSTM(4, 6, proj_size=-1)
nn.LSTM(4, 6, proj_size=6)
nn.RNN(4, 6, proj_size=2)
nn.GRU(4, 6, proj_size=2)
nn.RNN(4, 6, 2, "sigmoid")
nn.RNNBase("X", 4, 6)
nn.LSTM(4)
nn.LSTM(4, 6, nonlinearity="tanh")
out = nn.RNN(4, 6, 2, "relu", True), nn.LSTM(4, 6, 2, False, True, 0.5, True, 3), nn.GRU(4, 6, bidirectional=True)
m = nn.LSTM(4, 6, 2, bidirectional=True, proj_size=2); out = list(m.state_dict()), [len(w) for w in m.all_weights]
m = nn.GRU(4, 6, bias=False); out = [p.shape for p in m.parameters()], m._flat_weights_names, m.flatten_parameters()
m = nn.LSTM(4, 6); m.weight_hh_l0 = nn.Parameter(R(24, 6) * 0); out = m(R(2, 1, 4))[0].shape, m.all_weights[0][1].sum()
m = nn.RNN(4, 6).double(); out = m(R(2, 1, 4).double())[0].dtype, [p.dtype for p in m.parameters()]
m = nn.LSTM(4, 16); out = all(p.abs().max() <= 0.25 for p in m.parameters()), all(p.abs().max() > 0.1 for p in m.parameters())
out = nn.RNNCell(4, 6), nn.RNNCell(4, 6, False, "relu"), nn.LSTMCell(4, 6, bias=False), nn.GRUCell(4, 6)
out = [n for c in (nn.RNNCell, nn.LSTMCell, nn.GRUCell) for n, p in c(4, 6).named_parameters()], list(nn.GRUCell(4, 6, False).state_dict())
m = nn.GRUCell(4, 6, False); out = m.bias_ih, m.weight_ih.shape
nn.RNNCell(4, 6)(R(3, 5))
nn.LSTMCell(4, 6)(R(3, 5))
nn.GRUCell(4, 6)(R(3, 4), R(2, 6))
nn.GRUCell(4, 6)(R(3, 4), R(3, 7))
nn.LSTMCell(4, 6)(R(3, 4), (R(3, 6), R(3, 7)))
nn.LSTMCell(4, 6)(R(3, 4), (R(3, 6),))
nn.LSTMCell(4, 6)(R(3, 4), (R(3, 6, 1), R(3, 7)))
nn.GRUCell(4, 6)(R(3, 4, 1))
nn.GRUCell(4, 6)(R(3, 4), R(3, 6, 1))
nn.RNNCell(4, 6)(R(3, 4), R(6))
nn.GRUCell(4, 6)(R(3, 4).double())
nn.RNNCell(4, 6)(R(3, 4), R(3, 6).double())
nn.LSTMCell(4, 6)(R(3, 4), (R(3, 6).double(), R(3, 6)))
nn.RNNCell(4, 6, nonlinearity="x")(R(3, 4))
torch.lstm_cell(R(3, 4), R(3, 6), R(24, 4), R(24, 6))
torch.lstm_cell(R(3, 4), (R(3, 6),), R(24, 4), R(24, 6))
torch.lstm_cell(R(3, 4), (R(3, 6), R(3, 6)), R(24, 4), R(25, 6))
torch.gru_cell(R(3, 4), R(3, 6), R(24, 4), R(18, 6))
torch.gru_cell(R(3, 4), 3, R(18, 4), R(18, 6))
torch.rnn_tanh_cell(3, R(3, 6), R(6, 4), R(6, 6))
torch.rnn_tanh_cell(R(4), R(3, 6), R(6, 4), R(6, 6))
torch.lstm(R(5, 3, 4), (z,), [R(24, 4), R(24, 6)], False, 1, 0.0, False, False, False)
torch.gru(R(5, 3, 4), z, [R(18, 4)], False, 1, 0.0, False, False, False)
torch.gru(R(5, 3, 4), z, [R(18, 4), R(18, 6)], False, 2, 0.0, False, False, False)
torch.gru(R(5, 3, 4), R(2, 3, 6), [R(18, 4), R(18, 6)], False, 2, 0.0, False, False, False)
torch.gru(R(0, 3, 4), z, [R(18, 4), R(18, 6)], False, 1, 0.0, False, False, False)
torch.gru()
torch.lstm()
x = R(3, 4); m = nn.RNNCell(4, 6); out = m(x).grad_fn.name()
m = nn.LSTM(4, 6); o, (h, c) = m(R(5, 3, 4)); out = o.grad_fn.name(), h.grad_fn.name(), c.grad_fn.name(), o.stride()
m = nn.LSTM(4, 6, batch_first=True); o, (h, c) = m(R(3, 5, 4)); out = h.grad_fn.name(), o.stride(), h.stride()
out = P.pack_sequence(tensors(3, 2, 2))
out = P.pack_sequence(tensors(1, 3, 2), enforce_sorted=False)
P.pack_sequence(tensors(1, 3))
out = P.pack_padded_sequence(R(4, 3), [3, 2, 1], enforce_sorted=False)
out = P.pack_padded_sequence(R(4, 3, 1, requires_grad=True), torch.tensor([3.0, 2, 1]))
P.pack_padded_sequence(R(4, 3, 2), [4, 2, 3])
P.pack_padded_sequence(R(4, 3, 2), [4, 2, 0])
P.pack_padded_sequence(R(4, 3, 2), [4, 2])
P.pack_padded_sequence(R(4, 3, 2), [[3, 2, 1]])
P.pack_padded_sequence(R(0, 3, 2), [0, 0, 0])
P.pack_padded_sequence(R(4), [1])
out = P.pad_packed_sequence(P.pack_sequence(tensors(3, 1)), padding_value=7, total_length=4)
out = P.pad_packed_sequence(P.pack_sequence(tensors(3, 1)), True)[0].stride()
P.pad_packed_sequence(P.pack_sequence(tensors(3, 1)), total_length=2)
x = R(4, 2, requires_grad=True); out = P.pad_packed_sequence(P.pack_padded_sequence(x, [3, 1]))
out = P.pad_sequence(tensors(1, 3)), P.pad_sequence(tensors(1, 3), True, 9, "left"), P.pad_sequence(R(2, 3)).shape
out = P.pad_sequence([R(2, requires_grad=True), R(1)])
out = P.pad_sequence([R(2), R(1).double()]), P.pad_sequence([R(2).long(), R(1)]), P.pad_sequence([R(0), R(2)])
P.pad_sequence([R(2, 3), R(4, 2)])
P.pad_sequence([])
P.pad_sequence([R(2), 3])
P.pad_sequence(3)
P.pad_sequence(tensors(1, 2), padding_side="x")
out = P.unpad_sequence(P.pad_sequence(tensors(1, 3)), torch.tensor([1, 3]))
out = P.unpad_sequence(P.pad_sequence(tensors(1, 3), True), torch.tensor([1, 3]), batch_first=True)
out = P.unpack_sequence(P.pack_sequence(tensors(1, 3), enforce_sorted=False))
out = P.invert_permutation(torch.tensor([2, 0, 1])), P.invert_permutation(None)
out = P.PackedSequence((R(2), torch.tensor([1, 1])))
P.PackedSequence(R(2))
s = P.PackedSequence(R(2), torch.tensor([1, 1]), torch.tensor([0])); out = s.double(), s.to(torch.int64), s.float() is s, s.cpu() is s
s = P.pack_sequence(tensors(1)); out = s.half(), s.long(), s.int(), s.short(), s.char(), s.byte(), s.is_cuda, s.to("cpu", torch.float64)
data, batch_sizes, order, inverse = P.pack_sequence(tensors(2, 1)); out = data, batch_sizes, order, inverse
""")


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_same_lines_show_the_same(snippet: str) -> None:
    line = RNN.strip().replace("\n", "⏎") + "⏎" + snippet
    assert shown(numgrad, line) == shown(torch, line)


def test_the_public_names() -> None:
    theirs = torch.nn.utils.rnn
    for name in theirs.__all__:
        mine = getattr(numgrad.nn.utils.rnn, name)
        if inspect.isfunction(mine):
            assert list(inspect.signature(mine).parameters) == list(inspect.signature(getattr(theirs, name)).parameters)
