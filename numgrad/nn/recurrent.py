"""Recurrent networks: Elman's, LSTM and GRU, as layers over sequences and as cells that take one step."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from numbers import Number
from typing import Any

from .. import ops
from ..creation import empty, zeros
from ..tensor import Tensor
from . import init
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _start_uniformly(module: Module, hidden_size: int) -> None:
    """Draw all parameters uniformly from (-1/sqrt(hidden_size), 1/sqrt(hidden_size))."""
    bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0.0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


# ---------------------------------------------------------------------------------------------------- layers
class RNNBase(Module):
    """What recurrent layers share: parameters, their names, and the checks of inputs.

    For layer k the parameters are `weight_ih_l{k}`, `weight_hh_l{k}`, `bias_ih_l{k}`, `bias_hh_l{k}` and, with
    projections, `weight_hr_l{k}`; those of the backward direction end in `_reverse`. They start uniform in
    (-1/sqrt(hidden_size), 1/sqrt(hidden_size)).

    Raises ValueError and TypeError for sizes, flags and dropout that are none.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: self._directions]:
                self._all_weights.append(self._add_parameters(layer, suffix, device, dtype))
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        if not isinstance(dropout, Number) or isinstance(dropout, bool) or not 0 <= self.dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                f"greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name, kind in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
            if kind is int and value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _state_size(self) -> int:
        """The width of a hidden state."""
        return self.proj_size or self.hidden_size

    def _add_parameters(self, layer: int, suffix: str, device: Any, dtype: Any) -> list[str]:
        """Make the parameters of a layer in one direction; their names."""
        rows = _GATES[self.mode] * self.hidden_size
        width = self._state_size * self._directions if layer else self.input_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, self._state_size)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items()}
        for name, shape in names.items():
            setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
        return list(names)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        _start_uniformly(self, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Nothing: no kernel here wants the parameters next to each other in memory."""

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    # Checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise ValueError for another dtype than the weights', RuntimeError for another rank or width than expected."""
        dtype = getattr(self, self._flat_weights_names[0]).dtype
        if input.dtype is not dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). "
                f"Convert input: input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        rank = 3 if batch_sizes is None else 2
        if input.dim() != rank:
            raise RuntimeError(f"input must have {rank} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape that the initial hidden states have for an input."""
        return self.num_layers * self._directions, self._batch(input, batch_sizes), self._state_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise RuntimeError for states of another shape."""
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Check input and initial states."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def _batch(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        return input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])

    # Running

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The states of the sequences in another order."""
        return hx if permutation is None else self._of_states(hx, lambda h: h.index_select(1, permutation))

    def _of_states(self, hx: Any, function: Callable[[Tensor], Tensor]) -> Any:
        return function(hx)

    def _run(self, *arguments: Any) -> tuple[Any, Any]:
        """The outputs and the last states."""
        name = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}[self.mode]
        output, *states = getattr(ops, name)(*arguments)
        return output, states[0]

    def _initial_states(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        shape = self.get_expected_hidden_size(input, batch_sizes)
        return zeros(shape, dtype=input.dtype, device=input.device)

    def _check_ranks(self, hx: Any, is_batched: bool) -> None:
        rank = 3 if is_batched else 2
        if hx.dim() != rank:
            kind = "batched" if is_batched else "unbatched"
            raise RuntimeError(f"For {kind} {rank}-D input, hx should also be {rank}-D but got {hx.dim()}-D tensor")

    def _forward(self, input: Any, hx: Any) -> tuple[Any, Any]:
        """`forward` of the layers.

        Raises ValueError for an input of another rank, or of another dtype than the weights; RuntimeError for an input or
        states of another shape.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            kind = self.mode.partition("_")[0]
            raise ValueError(
                f"{kind}: Expected input to be 2D or 3D, got {input.dim()}D {'tensor ' if kind == 'RNN' else ''}instead"
            )
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if hx is not None:
            self._check_ranks(hx, is_batched)
        if not is_batched:
            input = input.unsqueeze(batch_dim)
            hx = None if hx is None else self._of_states(hx, lambda h: h.unsqueeze(1))
        if hx is None:
            hx = self._initial_states(input, None)
        self.check_forward_args(input, hx, None)
        output, states = self._run(
            input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
            self.batch_first,
        )  # fmt: skip
        if not is_batched:
            return output.squeeze(batch_dim), self._of_states(states, lambda h: h.squeeze(1))
        return output, states

    def _forward_packed(self, input: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        data, batch_sizes, sorted_indices, unsorted_indices = input
        if hx is None:
            hx = self._initial_states(data, batch_sizes)
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, states = self._run(
            data, batch_sizes, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional,
        )  # fmt: skip
        packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return packed, self.permute_hidden(states, unsorted_indices)

    def extra_repr(self) -> str:
        """The sizes, and what differs from the defaults."""
        defaults = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False,
        }  # fmt: skip
        given = [f"{name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value]
        return ", ".join([str(self.input_size), str(self.hidden_size), *given])


class RNN(RNNBase):
    """Elman's network: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu with `nonlinearity="relu"`.

    >>> RNN(10, 20, 2)
    RNN(10, 20, num_layers=2)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """The hidden states of the last layer for each step, and the last states of all layers.

        Args:
            input: (steps, batch, input_size), (batch, steps, input_size) with `batch_first`, (steps, input_size) for one
                sequence, or a `PackedSequence`.
            hx: initial states, (num_layers * directions, batch, hidden_size) or without batch; zeros by default.
        """
        return self._forward(input, hx)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997): gates i, f, o and g of sums of input and state.

    c' = f * c + i * g and h' = o * tanh(c'), with sigmoid for i, f and o and tanh for g. With `proj_size` hidden states
    are W_hr h' (Sak et al., 2014).

    >>> LSTM(10, 20, batch_first=True)
    LSTM(10, 20, batch_first=True)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape that the initial cell states have for an input."""
        return self.num_layers * self._directions, self._batch(input, batch_sizes), self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Check input and initial states."""
        self.check_input(input, batch_sizes)
        sizes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        for k, size in enumerate(sizes):
            self.check_hidden_size(hidden[k], size, f"Expected hidden[{k}] size {{}}, got {{}}")

    def _of_states(self, hx: Any, function: Callable[[Tensor], Tensor]) -> Any:
        return function(hx[0]), function(hx[1])

    def _run(self, *arguments: Any) -> tuple[Any, Any]:
        output, *states = ops.lstm(*arguments)
        return output, tuple(states)

    def _initial_states(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        sizes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        return tuple(zeros(size, dtype=input.dtype, device=input.device) for size in sizes)

    def _check_ranks(self, hx: Any, is_batched: bool) -> None:
        rank = 3 if is_batched else 2
        if hx[0].dim() != rank or hx[1].dim() != rank:
            kind = "batched" if is_batched else "unbatched"
            raise RuntimeError(
                f"For {kind} {rank}-D input, hx and cx should also be {rank}-D but got ({hx[0].dim()}-D, "
                f"{hx[1].dim()}-D) tensors"
            )

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        """The hidden states of the last layer for each step, and the last hidden and cell states of all layers.

        Args:
            input: (steps, batch, input_size), (batch, steps, input_size) with `batch_first`, (steps, input_size) for one
                sequence, or a `PackedSequence`.
            hx: initial hidden and cell states, a pair of (num_layers * directions, batch, hidden_size) or without batch;
                zeros by default.
        """
        return self._forward(input, hx)


class GRU(RNNBase):
    """Gated recurrent unit (Cho et al., 2014): reset gate r and update gate z, sigmoids of sums of input and state.

    n = tanh(W_in x + b_in + r * (W_hn h + b_hn)) and h' = (1 - z) * n + z * h.

    >>> GRU(10, 20, bidirectional=True)
    GRU(10, 20, bidirectional=True)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """The hidden states of the last layer for each step, and the last states of all layers.

        Args:
            input: (steps, batch, input_size), (batch, steps, input_size) with `batch_first`, (steps, input_size) for one
                sequence, or a `PackedSequence`.
            hx: initial states, (num_layers * directions, batch, hidden_size) or without batch; zeros by default.
        """
        return self._forward(input, hx)


# ---------------------------------------------------------------------------------------------------- cells
class RNNCellBase(Module):
    """What recurrent cells share: `weight_ih`, `weight_hh` and, with `bias`, `bias_ih` and `bias_hh`.

    They start uniform in (-1/sqrt(hidden_size), 1/sqrt(hidden_size)).
    """

    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        _start_uniformly(self, self.hidden_size)

    def _step(self, function: Callable[..., Any], input: Tensor, hx: Any) -> Any:
        return function(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)

    def _zeros(self, input: Tensor) -> Tensor:
        """The state of a batch that begins."""
        return zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)

    def _check_rank(self, what: str, x: Tensor) -> None:
        if x.dim() not in (1, 2):
            raise ValueError(f"{self._kind}: Expected {what} to be 1D or 2D, got {x.dim()}D instead")

    _kind = ""  # its name in errors, also in those of a derived class

    def _forward_one_state(self, function: Callable[..., Any], input: Tensor, hx: Tensor | None) -> Tensor:
        """`forward` of a cell whose state is one tensor."""
        self._check_rank("input", input)
        if hx is not None:
            self._check_rank("hidden", hx)
        if input.dim() == 2:
            return self._step(function, input, self._zeros(input) if hx is None else hx)
        input = input.unsqueeze(0)
        return self._step(function, input, self._zeros(input) if hx is None else hx.unsqueeze(0)).squeeze(0)

    def extra_repr(self) -> str:
        """The sizes, and what differs from the defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """A step of Elman's network: tanh(W_ih x + b_ih + W_hh h + b_hh), or relu with `nonlinearity="relu"`.

    >>> RNNCell(10, 20)
    RNNCell(10, 20)
    """

    _kind = "RNNCell"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state of (batch, input_size) and (batch, hidden_size), or of both without batch; `hx` is 0 by default.

        Raises ValueError for other ranks, RuntimeError for other sizes and an unknown nonlinearity.
        """
        function = {"tanh": ops.rnn_tanh_cell, "relu": ops.rnn_relu_cell}.get(self.nonlinearity)
        if function is None:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._forward_one_state(function, input, hx)


class LSTMCell(RNNCellBase):
    """A step of an LSTM; see `LSTM`.

    >>> LSTMCell(10, 20)
    LSTMCell(10, 20)
    """

    _kind = "LSTMCell"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The next hidden and cell states of (batch, input_size) and a pair of (batch, hidden_size), or without batch.

        Raises ValueError for other ranks, RuntimeError for other sizes.
        """
        self._check_rank("input", input)
        for k, x in enumerate(hx or ()):
            self._check_rank(f"hx[{k}]", x)
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = (self._zeros(input),) * 2
        elif not is_batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        hidden, cell = self._step(ops.lstm_cell, input, hx)
        return (hidden, cell) if is_batched else (hidden.squeeze(0), cell.squeeze(0))


class GRUCell(RNNCellBase):
    """A step of a GRU; see `GRU`.

    >>> GRUCell(10, 20)
    GRUCell(10, 20)
    """

    _kind = "GRUCell"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state of (batch, input_size) and (batch, hidden_size), or of both without batch; `hx` is 0 by default.

        Raises ValueError for other ranks, RuntimeError for other sizes.
        """
        return self._forward_one_state(ops.gru_cell, input, hx)
