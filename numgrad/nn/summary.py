"""`numgrad.summary`: what a model consists of, layer by layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..autograd.grad_mode import no_grad
from ..pytree import leaves
from ..random import get_rng_state, set_rng_state
from ..tensor import Tensor
from .module import Module
from .parameter import is_lazy

__all__ = ["Layer", "Summary", "summary"]


@dataclass
class Layer:
    """One module of a model.

    Attributes:
        name: its dotted name, '' for the model itself.
        type: the name of its class.
        output_shapes: the shapes of the tensors that its (last) call returned; empty for one that was not called.
        parameters: how many numbers its own parameters hold, without those of modules below it and without parameters
            that an earlier module has, too.
        trainable: how many of them require a gradient.
        calls: how often it was called.
    """

    name: str
    type: str
    output_shapes: list[tuple[int, ...]] = field(default_factory=list)
    parameters: int = 0
    trainable: int = 0
    calls: int = 0

    @property
    def depth(self) -> int:
        """How many modules stand above it."""
        return self.name.count(".") + 1 if self.name else 0


@dataclass
class Summary:
    """What `summary` found; `print` shows it as a table.

    Attributes:
        layers: the modules, in the order of `Module.named_modules`.
        parameters: how many numbers all parameters hold, each parameter counted once.
        trainable: how many of them require a gradient.
        parameter_bytes: the memory of the parameters.
        buffer_bytes: the memory of the buffers.
        output_bytes: the memory of what the modules without children returned, in all calls: about what the graph keeps.
    """

    layers: list[Layer]
    parameters: int = 0
    trainable: int = 0
    parameter_bytes: int = 0
    buffer_bytes: int = 0
    output_bytes: int = 0

    def __repr__(self) -> str:
        header = ("Layer", "Type", "Output shape", "Parameters", "Trainable")
        rows = [header, *(_cells(layer) for layer in self.layers)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [_line(row, widths) for row in rows]
        rule = "-" * max(map(len, lines))
        fixed = self.parameters - self.trainable
        return "\n".join(
            [
                lines[0],
                rule,
                *lines[1:],
                rule,
                f"Parameters: {self.parameters:,} ({self.trainable:,} trainable, {fixed:,} fixed)",
                f"Memory: parameters {_size(self.parameter_bytes)}, buffers {_size(self.buffer_bytes)}, "
                f"outputs {_size(self.output_bytes)}",
            ]
        )


def summary(model: Module, input: Any = None) -> Summary:
    """A table of the modules of a model: name, type, output shape and numbers of parameters, with totals and memory.

    `input` is what the model is called with: a tensor, a tuple of arguments or a dict of keyword arguments. Without it the
    output shapes are missing. The call records no graph and is made in evaluation mode; modes and random state are as
    before afterwards.

    >>> summary(Sequential(Linear(4, 8), ReLU(), Linear(8, 2)), zeros(5, 4))
    Layer       Type        Output shape  Parameters  Trainable
    -----------------------------------------------------------
    Sequential  Sequential  (5, 2)                 0          0
      0         Linear      (5, 8)                40         40
      1         ReLU        (5, 8)                 0          0
      2         Linear      (5, 2)                18         18
    -----------------------------------------------------------
    Parameters: 58 (58 trainable, 0 fixed)
    Memory: parameters 232 B, buffers 0 B, outputs 360 B
    """
    layers = {module: Layer(name, type(module).__name__) for name, module in model.named_modules()}
    found = Summary(list(layers.values()))
    if input is not None:
        _call(model, input, layers, found)
    seen: set[Tensor] = set()
    for module, layer in layers.items():
        for parameter in _new(module._parameters.values(), seen):
            layer.parameters += parameter.numel()
            layer.trainable += parameter.numel() if parameter.requires_grad else 0
            found.parameter_bytes += parameter.nbytes
        found.buffer_bytes += sum(buffer.nbytes for buffer in _new(module._buffers.values(), seen))
    found.parameters = sum(layer.parameters for layer in found.layers)
    found.trainable = sum(layer.trainable for layer in found.layers)
    return found


def _new(tensors: Iterable[Tensor | None], seen: set[Tensor]) -> Iterator[Tensor]:
    """The tensors that were not met before; those of lazy modules have no items yet."""
    for tensor in tensors:
        if tensor is not None and not is_lazy(tensor) and tensor not in seen:
            seen.add(tensor)
            yield tensor


def _call(model: Module, input: Any, layers: dict[Module, Layer], found: Summary) -> None:
    """Call the model, noting what each module returns."""

    def note(module: Module, args: Any, output: Any) -> None:
        layer, tensors = layers[module], [leaf for leaf in leaves(output) if isinstance(leaf, Tensor)]
        layer.calls += 1
        layer.output_shapes = [tuple(tensor.shape) for tensor in tensors]
        if not module._modules:
            found.output_bytes += sum(tensor.nbytes for tensor in tensors)

    handles = [module.register_forward_hook(note) for module in layers]
    try:
        with no_grad(), _evaluating(layers):
            if isinstance(input, Mapping):
                model(**input)
            else:
                model(*(input if isinstance(input, tuple) else (input,)))
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _evaluating(modules: Iterable[Module]) -> Iterator[None]:
    """Evaluation mode, which every module leaves for the mode that it was in."""
    before, state = {module: module.training for module in modules}, get_rng_state()
    for module in before:
        module.training = False
    try:
        yield
    finally:
        for module, training in before.items():
            module.training = training
        set_rng_state(state)


def _cells(layer: Layer) -> tuple[str, ...]:
    name = "  " * layer.depth + (layer.name.rpartition(".")[2] or layer.type)
    shapes = ", ".join(map(str, layer.output_shapes)) or "-"
    if layer.calls > 1:
        shapes += f" x{layer.calls}"
    return name, layer.type, shapes, f"{layer.parameters:,}", f"{layer.trainable:,}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A row: words to the left, numbers to the right."""
    aligned = [
        f"{cell:{'<' if k < 3 else '>'}{width}}" for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(aligned).rstrip()


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
