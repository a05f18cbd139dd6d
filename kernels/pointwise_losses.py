"""Losses that are one scalar function of every item, and its mean or sum: squared error, Huber's, binary cross entropy.

Such a loss is declared by the scalar function. A loop that adds up what it computes, and one that computes the gradients
for all inputs, are printed from it; derivatives of any order are as for every elementwise op.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import arithmetic, cpu, special_functions
from .array import Array
from .backends import backend
from .reduced_gradients import reduced_gradients, sum_kernel
from .reductions import sum_all
from .registry import ElementwiseOp, KernelOp, Rule, Sample, declared


# ---------------------------------------------------------------------------------------------------- declaration
class PointwiseLoss(KernelOp):
    """A loss with the attribute `reduction`: "none" (every item's loss), "mean" or "sum".

    Attributes:
        item: the loss of one item, as an elementwise op that is not in the table. Its gradients, where they are not the
            derived ones, are declared on it.
        symmetric: whether the two inputs may be exchanged: then one gradient serves both.
        check: raises for inputs that the loss refuses; it is asked only when there is a NaN in the result.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        numbers: Sequence[str],
        constants: Sequence[str],
        symmetric: bool,
        **options: Any,
    ) -> None:
        name = options.pop("name", function.__name__)
        public = name.partition(".")[0]
        self.item = ElementwiseOp(function, samples=(), reference=None, name=name, backward_name=f"{public}_backward")
        super().__init__(_declaration(function, numbers), name=name, **options)
        self.symmetric = symmetric
        self.check: Callable[..., None] | None = None
        self._kernels: dict[Any, Callable[..., Any]] = {}  # for small dense operands, found without a detour
        self.kernel("cpu")(self._forward_on_cpu)
        self.kernel("cuda")(self._forward_on_cuda)
        self.fused_kernels["cpu"] = self._fused_backward
        self.fused_gradients, self.fused_reads = (0,), (*self.inputs, *self.attributes)
        for position, parameter in enumerate(self.inputs):
            if parameter not in constants:
                reads = ("g", *self.inputs, *self.attributes)
                self.rules[parameter] = Rule(self._gradient_rule(position), reads, True)

    def refuse(self, check: Callable[..., None]) -> Callable[..., None]:
        """Declare `check`, a function of the inputs as ndarrays."""
        self.check = check
        return check

    def _forward_on_cpu(self, *given: Any) -> np.ndarray:
        *operands, reduction = given
        dtype, size = operands[0].dtype, operands[0].size
        if reduction == "none":
            result = self._items([cpu.from_host(x) if isinstance(x, np.ndarray) else x for x in operands]).ndarray
        else:
            total = self._total(operands)
            if reduction == "mean":
                total = total / size if size else math.nan
            result = np.asarray(total, dtype)
        if self.check is not None and np.isnan(result).any():
            self.check(*operands[: len(self.inputs)])
        return result

    def _total(self, operands: Sequence[Any]) -> Any:
        """The losses of all items added up."""
        arrays = operands[: len(self.inputs)]
        dtype, size = arrays[0].dtype, arrays[0].size
        if 0 < size < cpu.SPLIT and _are_dense(arrays):
            kernel = self._kernels.get(dtype)
            if kernel is None:
                kernel = self._kernels[dtype] = sum_kernel(self.item.scalar, dtype, len(operands) - len(arrays))
            return kernel(*[x.reshape(-1) for x in arrays], *operands[len(arrays) :])
        values = [cpu.from_host(x) if isinstance(x, np.ndarray) else x for x in operands]
        # The loop that adds up gradients as it computes them does so with any scalar function.
        sums = reduced_gradients(self.item.scalar, dtype, values, [()])
        return sum_all(self._items(values).ndarray) if sums is None else sums[0].ndarray

    def _forward_on_cuda(self, *given: Any) -> Array:
        from . import cuda

        *values, reduction = given
        items = self._items(values)
        if reduction == "none":
            return items
        total = cuda.empty((), items.dtype, items.device)
        cuda.reduce_sum(items, tuple(range(len(items.shape))), total)
        if reduction == "mean":
            cuda.map(arithmetic.div.scalar, items.dtype, [total, float(items.size)], [total])
        return total

    def _items(self, values: Sequence[Any]) -> Array:
        """The loss of every item."""
        first = values[0]
        loops = backend(first.device)
        out = loops.empty(first.shape, first.dtype, first.device)
        loops.map(self.item.scalar, first.dtype, values, [out])
        return out

    def _gradient_rule(self, position: int) -> Callable[..., Any]:
        def rule(g: Any, reduction: str, **values: Any) -> Any:
            operands = [values[name] for name in self.item.inputs]
            if reduction == "mean":
                g = g / max(operands[0].numel(), 1)
            if self.symmetric and position:
                operands[:2] = operands[1::-1]
            backward = self.item.backward(1 if self.symmetric else 1 << position)
            assert backward.op is not None
            return backward.op(g, *[operands[k] for k in backward.saved])

        return rule

    def _fused_backward(self, g: np.ndarray, *given: Any) -> tuple[np.ndarray | None, ...]:
        """The gradients for all inputs that need one, by one loop."""
        *operands, reduction, needs = given
        if self.symmetric:
            first = self._gradients(g, operands, reduction, (True, False))[0]
            return (first if needs[0] else None, np.negative(first) if needs[1] else None)
        return self._gradients(g, operands, reduction, needs)

    def _gradients(
        self, g: np.ndarray, operands: Sequence[Any], reduction: str, needs: tuple[bool, ...]
    ) -> tuple[Any, ...]:
        backward = self.item.backward(sum(1 << i for i, needed in enumerate(needs) if needed))
        assert backward.op is not None
        read = [operands[k] for k in backward.saved]
        arrays = [x for x in read if isinstance(x, np.ndarray)]
        shape, size, dtype = arrays[0].shape, arrays[0].size, g.dtype
        function, scale = backward.op.scalar, 1 / max(size, 1) if reduction == "mean" else 1.0
        if reduction != "none" and size < cpu.SPLIT and _are_dense(arrays):
            kernel = self._kernels.get((dtype, needs))
            if kernel is None:
                pattern = "n" + "".join("v" if isinstance(x, np.ndarray) else "n" for x in read)
                plan = cpu.flat_plan(function, dtype, (dtype,) * function.outputs, pattern)
                kernel = self._kernels[dtype, needs] = plan.kernel
            flats = [cpu.empty_small(size, dtype) for _ in range(function.outputs)]
            kernel(g.item() * scale, *[x.reshape(-1) if isinstance(x, np.ndarray) else x for x in read], *flats)
            found = [flat.reshape(shape) for flat in flats]
        else:
            outs = [cpu.empty(shape, dtype) for _ in range(function.outputs)]
            values = [cpu.from_host(x) if isinstance(x, np.ndarray) else x for x in (g * dtype.type(scale), *read)]
            cpu.map(function, dtype, values, outs)
            found = [out.ndarray for out in outs]
        return tuple([found[route] if isinstance(route, int) else None for route in backward.routes[: len(needs)]])


def _are_dense(arrays: Sequence[np.ndarray]) -> bool:
    return all(x.flags.c_contiguous for x in arrays)


def _declaration(function: Callable[..., Any], numbers: Sequence[str]) -> Callable[..., Any]:
    """A function with the parameters of the op: tensors, and keywords for the numbers and the reduction."""
    parameters = [
        p.replace(kind=inspect.Parameter.KEYWORD_ONLY) if p.name in numbers else p
        for p in inspect.signature(function).parameters.values()
    ]
    parameters.append(inspect.Parameter("reduction", inspect.Parameter.KEYWORD_ONLY, default="mean"))

    def declaration() -> None: ...

    declaration.__doc__ = function.__doc__
    declaration.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return declaration


def pointwise_loss(
    *,
    inputs: tuple[Any, ...],
    reference: Callable[..., Any],
    numbers: dict[str, float] | None = None,
    constants: tuple[str, ...] = (),
    symmetric: bool = False,
    reductions: tuple[str, ...] = ("mean",),
    **options: Any,
) -> Callable[[Callable[..., Any]], PointwiseLoss]:
    """Declare a loss from the scalar function of one item.

    Args:
        inputs: shapes or values of the tensors, for the sweep.
        reference: the same function on NumPy arrays.
        numbers: parameters that are Python numbers, with values for the sweep; they come last.
        constants: inputs that have no gradient.
        symmetric: whether input and target may be exchanged.
        reductions: those that the sweep runs; what they do is the same for every loss.
        options: `name` and `node`, as for every op.
    """
    numbers = numbers or {}
    samples = [Sample(inputs, {**numbers, "reduction": r}) for r in reductions]

    def reduced(*arrays: np.ndarray, reduction: str, **given: float) -> np.ndarray:
        items = reference(*arrays, **given)
        return items if reduction == "none" else np.asarray(getattr(items, reduction)(), items.dtype)

    def declare(function: Callable[..., Any]) -> PointwiseLoss:
        made = PointwiseLoss(
            function, tuple(numbers), constants, symmetric, samples=samples, reference=reduced, **options
        )
        return declared(made)

    return declare


# ---------------------------------------------------------------------------------------------------- regression
_TWO = ((3, 2), (3, 2))


@pointwise_loss(
    inputs=_TWO, reference=lambda x, y: np.square(x - y), symmetric=True, reductions=("mean", "sum", "none")
)
def mse_loss(input, target):
    """Squared difference."""
    difference = input - target
    return difference * difference


def _smooth_l1_reference(x: np.ndarray, y: np.ndarray, beta: float) -> np.ndarray:
    distance = abs(x - y)
    return np.where(distance < beta, 0.5 * distance**2 / beta, distance - 0.5 * beta)


@pointwise_loss(
    inputs=_TWO, reference=_smooth_l1_reference, numbers={"beta": 0.75}, symmetric=True, node="SmoothL1LossBackward0"
)
def smooth_l1_loss(input, target, beta):
    """Absolute difference, rounded off below `beta` by a parabola (Girshick, 2015)."""
    difference = input - target
    distance = abs(difference)
    return 0.5 * difference * difference / beta if distance < beta else distance - 0.5 * beta


def _huber_reference(x: np.ndarray, y: np.ndarray, delta: float) -> np.ndarray:
    distance = abs(x - y)
    return np.where(distance < delta, 0.5 * distance**2, delta * (distance - 0.5 * delta))


@pointwise_loss(inputs=_TWO, reference=_huber_reference, numbers={"delta": 0.75}, symmetric=True)
def huber_loss(input, target, delta):
    """Half the squared difference, and beyond `delta` the line that continues it (Huber, 1964)."""
    difference = input - target
    distance = abs(difference)
    return 0.5 * difference * difference if distance < delta else delta * (distance - 0.5 * delta)


# ---------------------------------------------------------------------------------------------------- classification
@pointwise_loss(
    inputs=_TWO,
    reference=lambda x, y: np.logaddexp(0, -x * y),
    constants=("target",),
)
def soft_margin_loss(input, target):
    """log(1 + exp(-target * input)) for targets 1 and -1. The exponential here never overflows."""
    return special_functions.softplus(-target * input)


_PROBABILITIES = ([[0.2, 0.75], [0.5, 0.99]], [[0.1, 0.9], [0.25, 0.5]])
_WEIGHTS = [[0.5, 2.0], [1.5, 0.0]]
_POSITIVE_WEIGHTS = [[3.0, 0.5], [1.0, 2.0]]


def _log_likelihood(input, target):
    p = math.log(input)
    q = math.log1p(-input)
    return target * (-100 if p < -100 else p) + (1 - target) * (-100 if q < -100 else q)


def _of_probability(g, input, target):
    spread = (1 - input) * input
    return g * (input - target) / (1e-12 if spread < 1e-12 else spread)


def _of_likelihood(g, input):
    return g * (math.log1p(-input) - math.log(input))


def _likelihood_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y * np.maximum(np.log(x), -100) + (1 - y) * np.maximum(np.log1p(-x), -100)


@pointwise_loss(inputs=_PROBABILITIES, reference=lambda x, y: -_likelihood_reference(x, y))
def binary_cross_entropy(input, target):
    """Negative logarithm of the likelihood of probabilities; logarithms are at least -100, so that it is finite."""
    if target < 0 or target > 1:
        return math.nan
    return -_log_likelihood(input, target)


@binary_cross_entropy.item.grad("input")
def _(g, input, target):
    return _of_probability(g, input, target)


@binary_cross_entropy.item.grad("target")
def _(g, input):
    return _of_likelihood(g, input)


@pointwise_loss(
    inputs=(*_PROBABILITIES, _WEIGHTS),
    reference=lambda x, y, weight: -weight * _likelihood_reference(x, y),
    constants=("weight",),
    name="binary_cross_entropy.weight",
    node="BinaryCrossEntropyBackward0",
)
def binary_cross_entropy_weight(input, target, weight):
    """`binary_cross_entropy` of each item times its weight."""
    if target < 0 or target > 1:
        return math.nan
    return -weight * _log_likelihood(input, target)


@binary_cross_entropy_weight.item.grad("input")
def _(g, input, target, weight):
    return _of_probability(g * weight, input, target)


@binary_cross_entropy_weight.item.grad("target")
def _(g, input, weight):
    return _of_likelihood(g * weight, input)


@binary_cross_entropy.refuse
@binary_cross_entropy_weight.refuse
def _(input: np.ndarray, target: np.ndarray, *_: np.ndarray) -> None:
    for name, values in (("input", input), ("target", target)):
        if not ((values >= 0) & (values <= 1)).all():
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")


_LOGITS = ((2, 2), [[0.0, 1.0], [0.25, 0.5]])


@pointwise_loss(
    inputs=_LOGITS, reference=lambda x, y: np.logaddexp(0, x) - x * y, node="BinaryCrossEntropyWithLogitsBackward0"
)
def binary_cross_entropy_with_logits(input, target):
    """`binary_cross_entropy` of sigmoid(input), without overflow."""
    return (1 - target) * input + special_functions.softplus(-input)


@pointwise_loss(
    inputs=(*_LOGITS, _WEIGHTS, _POSITIVE_WEIGHTS),
    reference=lambda x, y, weight, pos_weight: (
        weight * ((1 - y) * x + (1 + (pos_weight - 1) * y) * np.logaddexp(0, -x))
    ),
    constants=("weight", "pos_weight"),
    name="binary_cross_entropy_with_logits.weight",
    node="BinaryCrossEntropyWithLogitsBackward0",
)
def binary_cross_entropy_with_logits_weight(input, target, weight, pos_weight):
    """`binary_cross_entropy_with_logits` of each item times its weight, with targets of 1 times `pos_weight`."""
    positive = 1 + (pos_weight - 1) * target
    return weight * ((1 - target) * input + positive * special_functions.softplus(-input))
