"""Recurrent networks as functions: cells, which take one step, and stacks of layers over whole sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..kernels import recurrent as kernels
from ..kernels import rnn_cells
from ..kernels.recurrent import previous, time_steps
from ..kernels.registry import KernelOp
from .checks import check_tensor, invalid_combination
from .dropout import dropout
from .linalg import linear
from .shaping import cat, stack


# ---------------------------------------------------------------------------------------------------- cells
def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> tuple[Any, Any]:
    """A step of an LSTM: the next hidden and cell states.

    `input` (batch, input_size), `hx` a pair of (batch, hidden_size), weights (4 * hidden_size, ...) for the input, forget,
    cell and output gates.

    Raises TypeError unless `hx` is a tuple of tensors, RuntimeError for sizes that do not fit.
    """
    if not isinstance(hx, (tuple, list)):
        raise TypeError(f"lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not {type(hx).__name__}")
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    _check_cell("lstm_cell", 4, input, hx, w_ih, w_hh)
    sums = linear(input, w_ih, _total_bias(b_ih, b_hh))
    if hx[1].dtype is not sums.dtype:
        return _lstm_step(sums, hx, w_hh, None)
    hidden, cells, _ = dispatch(kernels.lstm, (sums, *hx, w_hh), (sums.shape[:1], False))
    return hidden, cells


def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """A step of a GRU: the next hidden state. Weights (3 * hidden_size, ...) are for reset, update and new gates.

    Shapes and errors as for `lstm_cell`, but `hx` is one tensor.
    """
    _check_cell("gru_cell", 3, input, (hx,), w_ih, w_hh)
    sums = linear(input, w_ih, b_ih)
    bias = w_hh.new_zeros(w_hh.shape[0]) if b_hh is None else b_hh
    return dispatch(kernels.gru, (sums, hx, w_hh, bias), (sums.shape[:1], False))[0]


def rnn_tanh_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh). Shapes and errors as for `gru_cell`."""
    return _rnn_cell(rnn_cells.rnn_tanh_cell, input, hx, w_ih, w_hh, b_ih, b_hh)


def rnn_relu_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """relu(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh). Shapes and errors as for `gru_cell`."""
    return _rnn_cell(rnn_cells.rnn_relu_cell, input, hx, w_ih, w_hh, b_ih, b_hh)


def _rnn_cell(op: KernelOp, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    _check_cell(op.name, 1, input, (hx,), w_ih, w_hh)
    if b_ih is None or b_hh is None:
        zeros = w_hh.new_zeros(w_hh.shape[0])
        b_ih, b_hh = zeros if b_ih is None else b_ih, zeros if b_hh is None else b_hh
    return dispatch(op, (input, hx, w_ih, w_hh, b_ih, b_hh))


def _total_bias(b_ih: Any, b_hh: Any) -> Any:
    if b_ih is None or b_hh is None:
        return b_hh if b_ih is None else b_ih
    return b_ih + b_hh


def _check_cell(name: str, gates: int, input: Any, states: Sequence[Any], w_ih: Any, w_hh: Any) -> None:
    for argument, value in (("input", input), *(("hx", h) for h in states), ("w_ih", w_ih), ("w_hh", w_hh)):
        if value.__class__ not in CLASSES:
            check_tensor(name, value, argument, {"input": 1, "hx": 2, "w_ih": 3, "w_hh": 4}[argument])
    shapes = [x._array.shape for x in (input, *states)]
    if len(w_ih._array.shape) == len(w_hh._array.shape) == 2 and all(len(shape) == 2 for shape in shapes):
        hidden_size = w_hh._array.shape[1]
        rows = gates * hidden_size
        fit = all(shape == (shapes[0][0], hidden_size) for shape in shapes[1:])
        if fit and w_hh._array.shape[0] == rows and w_ih._array.shape == (rows, shapes[0][1]):
            check_same_dtype(input, w_ih)
            check_same_dtype(states[0], w_hh)
            return
    raise _unfit_cell(gates, input, states, w_ih, w_hh)


def _unfit_cell(gates: int, input: Any, states: Sequence[Any], w_ih: Any, w_hh: Any) -> Exception:
    """PyTorch's error for operands of a cell that do not fit together."""
    if input.size(1) != w_ih.size(1):
        return RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {w_ih.size(1)}")
    hidden_size = w_hh.size(1)
    for k, h in enumerate(states):
        if h.size(0) != input.size(0):
            return RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{k} batch size {h.size(0)}")
        if h.size(1) != hidden_size:
            return RuntimeError(f"hidden{k} has inconsistent hidden_size: got {h.size(1)}, expected {hidden_size}")
    for argument, weight in (("weight_ih", w_ih), ("weight_hh", w_hh)):
        if weight.size(0) != gates * hidden_size:
            return RuntimeError(
                f"{argument} first dim must be {gates} * hidden_size = {gates * hidden_size}, but got {weight.size(0)}"
            )
    return RuntimeError("input, hidden states and weights of a cell must be matrices")


def check_same_dtype(one: Any, other: Any) -> None:
    """Raise RuntimeError for factors of two dtypes."""
    if one.dtype is not other.dtype:
        raise RuntimeError(
            "mat1 and mat2 must have the same dtype, but got "
            f"{one.dtype.scalar_name.removeprefix('torch.')} and {other.dtype.scalar_name}"
        )


# ---------------------------------------------------------------------------------------------------- layers
class Stack(NamedTuple):
    """What a stack of layers is called with. `batch_sizes` is None for input that is not packed."""

    input: Any
    batch_sizes: tuple[int, ...] | None
    states: tuple[Any, ...]
    params: Sequence[Any]
    has_biases: bool
    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool
    batch_first: bool


# A layer in one direction: (input, states, parameters, batch_sizes, reverse) -> hidden states of all steps, and last ones.
Layer = Callable[[Any, Sequence[Any], Sequence[Any], "tuple[int, ...] | None", bool], "tuple[Any, list[Any]]"]


def lstm(*args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
    """Layers of LSTMs over a sequence: the hidden states of the last one, and the last hidden and cell states of all.

    `lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)` or, for a packed
    sequence, `lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)`. `hx` is a pair of
    (num_layers * directions, batch, size); `params` holds for each layer and direction w_ih, w_hh, b_ih and b_hh, and w_hr
    where hidden states are projections.

    Raises RuntimeError for numbers of states and parameters that do not fit, and for an empty sequence.
    """
    given = _bound("lstm", "tuple of Tensors", args, kwargs)
    if len(given.states) != 2:
        raise RuntimeError("lstm expects two hidden states")
    has_projection = given.states[0].size(-1) != given.states[1].size(-1)
    output, (hidden, cells) = _layers(given, _lstm_layer, has_projection)
    return output, hidden, cells


def gru(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Layers of GRUs over a sequence, called as `lstm` is, with one tensor for `hx`: its outputs and last hidden states."""
    output, (hidden,) = _layers(_bound("gru", "Tensor", args, kwargs), _gru_layer)
    return output, hidden


def rnn_tanh(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Layers of Elman's networks with tanh over a sequence, called as `gru` is."""
    output, (hidden,) = _layers(_bound("rnn_tanh", "Tensor", args, kwargs), _rnn_layer("tanh"))
    return output, hidden


def rnn_relu(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Layers of Elman's networks with relu over a sequence, called as `gru` is."""
    output, (hidden,) = _layers(_bound("rnn_relu", "Tensor", args, kwargs), _rnn_layer("relu"))
    return output, hidden


_REST = ("hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional")
_PADDED = ("input", *_REST, "batch_first")
_PACKED = ("data", "batch_sizes", *_REST)


def _bound(name: str, states: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stack:
    """The arguments of either form."""
    is_packed = "batch_sizes" in kwargs or (len(args) > 3 and not isinstance(args[3], bool))
    names = _PACKED if is_packed else _PADDED
    given = dict(zip(names, args, strict=False)) | kwargs
    if set(given) != set(names) or len(args) + len(kwargs) != len(names):
        rest = f"{states} hx, tuple of Tensors params, bool has_biases, int num_layers, float dropout, bool train"
        rest = f"{rest}, bool bidirectional"
        forms = [f"(Tensor data, Tensor batch_sizes, {rest})", f"(Tensor input, {rest}, bool batch_first)"]
        raise invalid_combination(name, args, kwargs, forms)
    hx = given.pop("hx")
    input = given.pop("data" if is_packed else "input")
    check_tensor(name, input)
    sizes = tuple(given.pop("batch_sizes").tolist()) if is_packed else None
    return Stack(input, sizes, (hx,) if hx.__class__ in CLASSES else tuple(hx), **{"batch_first": False} | given)


def _layers(given: Stack, layer: Layer, has_projection: bool = False) -> tuple[Any, list[Any]]:
    """The hidden states of the last layer, and the stacked last states of all layers and directions."""
    directions = 2 if given.bidirectional else 1
    each = (4 if given.has_biases else 2) + has_projection
    if len(given.params) % each:
        raise RuntimeError("got an incorrect number of RNN parameters")
    count = given.num_layers * directions
    if any(len(h) != count for h in given.states):
        raise RuntimeError("Expected more hidden states in stacked_rnn")
    if len(given.params) != count * each:
        raise RuntimeError("Expected more weights in stacked_rnn")
    x = given.input.transpose(0, 1) if given.batch_first else given.input
    if not len(x):
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    last: list[list[Any]] = []
    for number in range(given.num_layers):
        outputs = []
        for direction in range(directions):
            k = number * directions + direction
            params = given.params[k * each : (k + 1) * each]
            if not given.has_biases:
                params = [*params[:2], None, None, *params[2:]]
            states = [h[k] for h in given.states]
            _check_layer(x, states, params)
            output, final = layer(x, states, params, given.batch_sizes, direction == 1)
            outputs.append(output)
            last.append(final)
        x = outputs[0] if directions == 1 else cat(outputs, -1)
        if given.dropout and given.train and number < given.num_layers - 1:
            x = dropout(x, given.dropout, True)
    output = x.transpose(0, 1) if given.batch_first else x
    return output, [stack(states) for states in zip(*last, strict=True)]


def _check_layer(x: Any, states: Sequence[Any], params: Sequence[Any]) -> None:
    check_same_dtype(x, params[0])
    for h in states:
        check_same_dtype(h, params[1])


def _last(values: Any, batch_sizes: tuple[int, ...] | None, reverse: bool) -> Any:
    """The state of each sequence after its last step in the order of computation."""
    if batch_sizes is None:
        return values[0 if reverse else -1]
    if reverse:
        return values[: batch_sizes[0]]
    ends, stop, longer = [], len(values), 0
    for size in reversed(batch_sizes):
        ends.append(values[stop - size + longer : stop])
        stop, longer = stop - size, size
    return cat(ends)


def _lstm_layer(
    x: Any, states: Sequence[Any], params: Sequence[Any], batch_sizes: tuple[int, ...] | None, reverse: bool
) -> tuple[Any, list[Any]]:
    w_ih, w_hh, b_ih, b_hh, *projection = params
    sums = linear(x, w_ih, _total_bias(b_ih, b_hh))
    if projection:
        hidden, cells = _projected_lstm(sums, states, w_hh, projection[0], batch_sizes, reverse)
    else:
        hidden, cells, _ = dispatch(kernels.lstm, (sums, *states, w_hh), (batch_sizes, reverse))
    return hidden, [_last(hidden, batch_sizes, reverse), _last(cells, batch_sizes, reverse)]


def _gru_layer(
    x: Any, states: Sequence[Any], params: Sequence[Any], batch_sizes: tuple[int, ...] | None, reverse: bool
) -> tuple[Any, list[Any]]:
    w_ih, w_hh, b_ih, b_hh = params
    bias = w_hh.new_zeros(w_hh.shape[0]) if b_hh is None else b_hh
    hidden, _ = dispatch(kernels.gru, (linear(x, w_ih, b_ih), states[0], w_hh, bias), (batch_sizes, reverse))
    return hidden, [_last(hidden, batch_sizes, reverse)]


def _rnn_layer(activation: str) -> Layer:
    def layer(
        x: Any, states: Sequence[Any], params: Sequence[Any], batch_sizes: tuple[int, ...] | None, reverse: bool
    ) -> tuple[Any, list[Any]]:
        w_ih, w_hh, b_ih, b_hh = params
        sums = linear(x, w_ih, _total_bias(b_ih, b_hh))
        hidden = dispatch(kernels.rnn, (sums, states[0], w_hh), (activation, batch_sizes, reverse))
        return hidden, [_last(hidden, batch_sizes, reverse)]

    return layer


# ---------------------------------------------------------------------------------------------------- step by step
def _projected_lstm(
    sums: Any, states: Sequence[Any], w_hh: Any, w_hr: Any, batch_sizes: tuple[int, ...] | None, reverse: bool
) -> tuple[Any, Any]:
    """Projected hidden states, and cells, of an LSTM over a sequence (Sak et al., 2014)."""
    rows = sums.flatten(0, 1) if batch_sizes is None else sums
    found: dict[int, tuple[Any, Any]] = {}
    last = states
    for step in time_steps(sums.shape[:2], batch_sizes, reverse):
        own = step._replace(before=0)
        last = [previous(values, initial, own, cat) for values, initial in zip(last, states, strict=True)]
        last = found[step.start] = _lstm_step(rows[step.rows], last, w_hh, w_hr)
    hidden, cells = (cat([found[start][k] for start in sorted(found)]) for k in (0, 1))
    if batch_sizes is None:
        return hidden.unflatten(0, sums.shape[:2]), cells.unflatten(0, sums.shape[:2])
    return hidden, cells


def _lstm_step(sums: Any, states: Sequence[Any], w_hh: Any, w_hr: Any) -> tuple[Any, Any]:
    i, f, g, o = (sums + linear(states[0], w_hh)).chunk(4, 1)
    cells = f.sigmoid() * states[1] + i.sigmoid() * g.tanh()
    hidden = o.sigmoid() * cells.tanh()
    return hidden if w_hr is None else linear(hidden, w_hr), cells
