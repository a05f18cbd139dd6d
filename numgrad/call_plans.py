"""Calls of ops with kernels of their own by plans that were kept, for contiguous tensors on the CPU.

The checks of a public function ask only what its arguments are, not what they hold: a call with tensors of the same
shapes and dtypes, and otherwise equal arguments, needs none. The general way of such ops takes 4 to 12 us, the loop over
a small tensor less than one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .autograd.grad_mode import mode
from .autograd.node import gradient_edge
from .autograd.op_node import save_plan
from .autograd.variable import CLASSES, wrap, wrap_new
from .autograd.watch import watching
from .device import PLAIN
from .dispatch import dispatch
from .dtype import FROM_NUMPY, dtype
from .kernels import cpu
from .kernels.array import Array, contiguous_strides, dense_array
from .kernels.cpu import LAST_COMPILED
from .kernels.prepared import Operand
from .kernels.registry import KernelOp
from .plans import Plans
from .recording import facts_of, record
from .size import Size

_PLAIN = frozenset({bool, str, float, dtype})  # kinds of arguments that are kept together with their kind


class Call(NamedTuple):
    """The call of an op that a public function comes to.

    Attributes:
        op: the op.
        inputs: its tensors.
        attributes: its plain arguments: they must follow from shapes, dtypes and plain arguments of the function alone.
        finish: what makes the function's result of the op's results, where these are not it.
        out: the tensor, or the tensors, to write to.
        kept: whether a plan may be kept: not where the function warns, or asks what its tensors require.
        constants: those of the inputs that the function makes, the same for every such call; nobody writes to them.
    """

    op: KernelOp
    inputs: tuple[Any, ...]
    attributes: tuple[Any, ...] = ()
    finish: Callable[..., Any] | None = None
    out: Any = None
    kept: bool = True
    constants: tuple[Any, ...] = ()


class CallPlan:
    """How a call is made.

    Attributes:
        op, attributes, finish: those of the `Call`.
        constants: those of the `Call`.
        order: for each of the op's inputs its number among the tensors that the function is given, and the constants
            after them; [] where they are in order.
        run: the prepared call; see `Prepared`. None where the op prepares none.
        results: dtype, shape and strides of each result of the prepared call.
        is_single: whether there is a prepared call, with one result, of this dtype, shape and strides.
        facts: what nodes keep besides arrays, by the inputs that need gradients.
        differentiable: of each result whether it may have a gradient; None before the first recorded call.
    """

    __slots__ = (
        "attributes",
        "constants",
        "differentiable",
        "dtype",
        "facts",
        "finish",
        "is_single",
        "op",
        "order",
        "results",
        "run",
        "shape",
        "strides",
    )

    def __init__(self, call: Call, order: list[int], operands: list[Operand]) -> None:
        self.op = call.op
        self.attributes = call.attributes
        self.finish = call.finish
        self.constants = call.constants
        self.order = order
        self.facts: dict[int, dict[str, Any]] = {}
        self.differentiable: list[bool] | None = None
        prepare = call.op.prepare
        made = None if prepare is None else prepare(*operands, *call.attributes)
        self.run: Any = None if made is None else made.run
        results = () if made is None else made.results
        self.results = [(kind, shape, contiguous_strides(shape)) for shape, kind in results]
        self.is_single = made is not None and call.op.outputs == 1
        if self.is_single:
            self.dtype, self.shape, self.strides = self.results[0]

    def arrays(self, tensors: list[Any], flats: list[Any]) -> list[Array]:
        """The results for the op's inputs, whose items are also given as 1-d ndarrays."""
        op = self.op
        if self.run is not None:
            found = self.run(*flats)
            return [dense_array(flat, *facts) for flat, facts in zip(found, self.results, strict=True)]
        given = [x._array.ndarray for x in tensors]
        kernel = op.kernels["cpu"]
        found = kernel(given, *self.attributes) if op.variadic else kernel(*given, *self.attributes)
        return [x if x.__class__ is Array else cpu.from_host(x) for x in (found if op.outputs > 1 else (found,))]


def with_plans(check: Callable[..., Any]) -> Callable[..., Any]:
    """The public function that makes the `Call` which `check` finds: it checks the arguments, and returns the call, or
    else what then is the result.
    """
    plans = Plans()

    @functools.wraps(check)
    def function(*args: Any, **named: Any) -> Any:
        key: list[Any] = []
        tensors: list[Any] = []
        flats: list[Any] = []
        values = args
        if named:
            key.extend(named)
            values = (*args, *named.values())
        for x in values:
            kind = x.__class__
            if kind in CLASSES:
                array = x._array
                flat = array.flat
                if flat is None:
                    break
                key += (array.dtype, array.shape)
                tensors.append(x)
                flats.append(flat)
            elif kind is int or x is None:
                key.append(x)
            elif kind in _PLAIN:
                if kind is float and not x:  # 0.0 and -0.0 are equal
                    break
                key += (kind, x)
            elif not _enter_items(x, key, tensors, flats):
                break
        else:
            found = tuple(key)
            plan = plans.get(found)
            if plan is None:
                return _first(check(*args, **named), plans, found, tensors)
            if not watching:
                return _by_plan(plan, tensors, flats)
        call = check(*args, **named)
        return run_call(call) if call.__class__ is Call else call

    return function


def _enter_items(x: Any, key: list[Any], tensors: list[Any], flats: list[Any]) -> bool:
    """Enter a tuple or a list of ints, or of tensors, in a key; False for anything else."""
    kind = x.__class__
    if kind is not tuple and kind is not list and kind is not Size:
        return False
    key += (kind, len(x))
    for item in x:
        if item.__class__ in CLASSES:
            array = item._array
            if array.flat is None:
                return False
            key += (array.dtype, array.shape)
            tensors.append(item)
            flats.append(array.flat)
        elif item.__class__ is int:
            key.append(item)
        else:
            return False
    return True


def run_call(call: Call) -> Any:
    """Make a call by the general way."""
    result = dispatch(call.op, call.inputs, call.attributes, call.out)
    if call.finish is None:
        return result
    return call.finish(*result) if call.op.outputs > 1 else call.finish(result)


def _first(call: Any, plans: Plans, key: Any, tensors: list[Any]) -> Any:
    """What a function gives at the first call with a key, whose plan is then kept if it may be."""
    if call.__class__ is not Call:
        return call
    result = run_call(call)
    if call.kept and call.out is None and call.inputs and _is_direct(call):
        order = _order(call.op, call.inputs, [*tensors, *call.constants])
        if order is not None:
            plan = CallPlan(call, order, [Operand(x._array.shape, x._array.dtype) for x in call.inputs])
            if plan.run is not None or not call.op.updates:
                plans.keep(key, plan)
    return result


def _order(op: KernelOp, inputs: Sequence[Any], tensors: list[Any]) -> list[int] | None:
    """For each input its number among tensors, [] for their own order.

    None where that cannot be told: an input is none of them, or one of them is there twice, unless the op takes any
    number of tensors, as they come.
    """
    if op.variadic and len(inputs) == len(tensors) and all(x is y for x, y in zip(inputs, tensors, strict=True)):
        return []
    places = {id(x): i for i, x in enumerate(tensors)}
    if len(places) < len(tensors) or any(id(x) not in places for x in inputs):
        return None
    order = [places[id(x)] for x in inputs]
    return [] if order == list(range(len(tensors))) else order


def _is_direct(call: Call) -> bool:
    """Whether the CPU kernel takes the inputs as they are, and makes new memory."""
    op = call.op
    if op.writes or "cpu" not in op.kernels:
        return False
    for x in call.inputs:
        array = x._array
        if not array.flat.size or x._device.type != "cpu" or (array.dtype.num > LAST_COMPILED and not op.moves):
            return False
    return True


def _by_plan(plan: CallPlan, tensors: list[Any], flats: list[Any]) -> Any:
    """The result of a call by its plan."""
    if plan.constants:
        tensors += plan.constants
        flats += [x._array.flat for x in plan.constants]
    if plan.order:
        tensors, flats = [tensors[i] for i in plan.order], [flats[i] for i in plan.order]
    where = tensors[0]._device
    recorded = False
    for x in tensors:
        if x._requires_grad or x._view is not None:
            recorded = True
        if x._device is not where:  # autodiff contexts that have to be merged
            return run_call(Call(plan.op, tuple(tensors), plan.attributes, plan.finish))
    if plan.is_single:
        array = dense_array(plan.run(*flats), plan.dtype, plan.shape, plan.strides)
        if plan.finish is None and not (recorded and mode.enabled):
            return wrap_new(array, where)
        found = [array]
    else:
        found = plan.arrays(tensors, flats)
    if recorded and mode.enabled and plan.op.differentiable and where.context is not PLAIN:
        edges = [gradient_edge(x) for x in tensors]
        mask = 0
        for i, edge in enumerate(edges):
            if edge is not None:
                mask |= 1 << i
        if mask:
            return _recorded(plan, mask, [x._array for x in tensors], found, edges, where)
    if len(found) == 1:
        result = wrap_new(found[0], where)
        return result if plan.finish is None else plan.finish(result)
    results = [wrap_new(array, where) for array in found]
    return tuple(results) if plan.finish is None else plan.finish(*results)


def _recorded(plan: CallPlan, mask: int, operands: list[Array], found: list[Array], edges: Any, where: Any) -> Any:
    """The result with its node."""
    op = plan.op
    differentiable = plan.differentiable
    if differentiable is None:
        differentiable = plan.differentiable = [
            k not in op.non_differentiable_outputs and FROM_NUMPY[a.dtype].is_differentiable
            for k, a in enumerate(found)
        ]
    facts = plan.facts.get(mask)
    if facts is None:
        facts = facts_of(op, mask, operands, plan.attributes)
        if not save_plan(op, mask).strides:  # which dimensions of extent 1 have at will
            plan.facts[mask] = facts
    node = None
    if True in differentiable:
        node = record(op, mask, operands, found, plan.attributes, edges, where, facts)
    if op.outputs == 1:
        result = wrap(found[0], where, None if node is None else (node, 0))
        return result if plan.finish is None else plan.finish(result)
    edges = [(node, k) if is_one else None for k, is_one in enumerate(differentiable)]
    results = [wrap(array, where, edge) for array, edge in zip(found, edges, strict=True)]
    return tuple(results) if plan.finish is None else plan.finish(*results)
