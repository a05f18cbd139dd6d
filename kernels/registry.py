"""The op table: one declaration ties an op's forward, gradients, devices, samples, reference and documentation together.

Three decorators declare three kinds of op, and everything else is derived from the declaration:

- `@elementwise`: a scalar function. Its kernels for every device, and its derivative of every order, come from its source.
- `@op`: anything else. It names a forward kernel for each device, and gradients as Python over tensors.
- `@view` (in view_ops.py): a pure function of a layout; no data moves.

A gradient is declared beside the op, one per input::

    @sigmoid.grad("input")
    def _(g, out):
        return g * out * (1 - out)

Its parameter names say what it reads, and so what the graph saves: an input's name, `out` for the result, an attribute's
name, or `<input>_shape`, `<input>_strides` and `<input>_meta` (dtype and device) alone. `g` is the incoming gradient.

Ops that are called from a gradient, or from anywhere else, go through the one dispatch function that the graph layer
installs with `install_dispatcher`; this package imports nothing of it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import derive, lower, scalar_ir
from .prepared import Prepared

OPS: dict[str, Op] = {}
OUT = -1  # index of the result among what a gradient reads, -2 of a second one; inputs are 0, 1, ...

_dispatch: Callable[..., Any] | None = None


def install_dispatcher(dispatch: Callable[..., Any]) -> None:
    """Set the function `dispatch(op, inputs, attributes)` that runs an op on tensors. Called once, by the graph layer."""
    global _dispatch
    _dispatch = dispatch


def run(op: Op, inputs: tuple[Any, ...], attributes: tuple[Any, ...] = (), out: Any = None) -> Any:
    """Run an op on tensors, with its attributes in declared order; `out` as the graph layer's `dispatch` takes it."""
    assert _dispatch is not None
    return _dispatch(op, inputs, attributes, out)


@dataclass(frozen=True)
class Uniform:
    """Sample inputs drawn evenly from `[low, high)`; `away_from` keeps clear of points where the op has a kink."""

    low: float = -2.0
    high: float = 2.0
    away_from: tuple[float, ...] = ()


@dataclass(frozen=True)
class Sample:
    """One call for the sweep of a non-elementwise op.

    `inputs` are shapes (drawn from a normal distribution) or literal nested lists; `attributes` are passed by name.
    """

    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)


class Op:
    """A row of the table. Calling it runs it on tensors, through the dispatcher.

    Attributes:
        name: unique name; an overload is written as PyTorch does, `sum.dim`.
        inputs: names of the tensor inputs.
        attributes: names of the plain Python arguments (they never hold tensors), with their defaults.
        variadic: whether the only input is a sequence of tensors (`cat`).
        node_name: class name of its graph nodes, PyTorch's.
        rules: gradient rule for each input that has one.
    """

    elementwise = False
    is_view = False
    writes: tuple[int, ...] = ()  # indices of the inputs that the kernel writes in place

    def __init__(
        self,
        name: str,
        parameters: Mapping[str, inspect.Parameter],
        *,
        doc: str,
        node: str | None = None,
        reference: Callable[..., Any] | None = None,
        samples: Any = None,
        differentiable: bool = True,
        memory_bound: bool = False,
        plain: tuple[str, ...] = (),
    ) -> None:
        operands = [p for p in parameters.values() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        self.name = name
        self.variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in operands)
        self.inputs = tuple(p.name for p in operands)
        self.attributes = {p.name: p.default for p in parameters.values() if p.kind is inspect.Parameter.KEYWORD_ONLY}
        self.doc = inspect.cleandoc(doc or "")
        self.node_name = node or f"{camel_case(name)}Backward0"
        self.reference = reference
        self.samples = samples
        self.differentiable = differentiable
        self.memory_bound = memory_bound
        self.plain = plain  # inputs that are no operands of the graph: `next_functions` leaves them out
        self.complex_error: tuple[type[Exception], str] | None = None  # where it is not the usual one
        self.rules: dict[str, Rule] = {}
        self.array_rule: Rule | None = None
        self.node_class: Any = None  # made by the graph layer at first use
        self.saved_by_mask: dict[int, Any] = {}

    def grad_of_arrays(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declare once more the gradient of an op that only moves items, on arrays, which cost less than tensors do.

        It is what runs while no graph is being built. It names what the gradient over tensors names, or less, and gives
        an array for each input, or None; they may be views of `g`.
        """
        self.array_rule = Rule(function, tuple(inspect.signature(function).parameters))
        return function

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def complex_refusal(self, scalar_name: str) -> Exception:
        """What an op that takes no complex numbers says of those of a dtype, "ComplexFloat" or "ComplexDouble"."""
        kernel = self.name.partition(".")[0]
        kind, text = self.complex_error or (NotImplementedError, f"\"{kernel}_cpu\" not implemented for '{{}}'")
        return kind(text.format(scalar_name))

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        """Run the op on tensors. Attributes are given by name; missing ones take their defaults."""
        assert _dispatch is not None, "no dispatcher is installed: import numgrad, not numgrad.kernels alone"
        return _dispatch(self, inputs, self.bind_attributes(attributes))

    def bind_attributes(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        """The attributes in declared order. Raises TypeError for unknown and for missing ones."""
        if unknown := given.keys() - self.attributes.keys():
            raise TypeError(f"{self.name}() got an unexpected keyword argument '{min(unknown)}'")
        values = tuple(given.get(name, default) for name, default in self.attributes.items())
        for name, value in zip(self.attributes, values, strict=True):
            if value is inspect.Parameter.empty:
                raise TypeError(f"{self.name}() missing keyword argument '{name}'")
        return values

    def _rule_target(self, name: str) -> None:
        if name not in self.inputs:
            raise ValueError(f"op {self.name!r} has no input {name!r} to declare a gradient of; inputs: {self.inputs}")
        if name in self.rules:
            raise ValueError(f"op {self.name!r}: the gradient of {name!r} is declared twice")
        if not self.differentiable:
            raise ValueError(f"op {self.name!r} is declared not differentiable, but has a gradient of {name!r}")


@dataclass(frozen=True)
class Rule:
    """The gradient of an op with respect to one input, or to the inputs `together`, for which it gives a tuple."""

    function: Callable[..., Any]
    reads: tuple[str, ...]
    composite: bool = False
    together: tuple[str, ...] = ()

    @functools.cached_property
    def scalar(self) -> scalar_ir.Function:
        """The lowered rule of an elementwise op."""
        return lower.lower(self.function)


def make_rule(
    op: Op, function: Callable[..., Any], composite: bool, readable: Sequence[str], together: tuple[str, ...] = ()
) -> Rule:
    """The rule of a function whose parameters name what it reads. Raises ValueError for what it cannot read."""
    names = tuple(inspect.signature(function).parameters)
    unknown = [n for n in names if n not in readable]
    if unknown:
        raise ValueError(f"a gradient of op {op.name!r} reads {unknown[0]!r}, which is none of {tuple(readable)}")
    return Rule(function, names, composite, together)


class ElementwiseOp(Op):
    """An op that is one scalar function for each item, broadcast over its inputs.

    `result` gives the dtype of the output: "same" as the promoted inputs, "float" (integers become the default float
    dtype), or "bool". `first` computes in the dtype of the first input (copies into it).

    Attributes:
        output_kinds: for each output "real" (of the dtype computed in), "int" or "bool".
        takes_arrays: whether ndarrays may come without a tensor beside them.
        targets: numbers of the inputs that the outputs of an optimizer's step replace.
    """

    elementwise = True
    takes_arrays = False

    def __init__(
        self,
        function: Any,
        *,
        result: str = "same",
        bool_error: Exception | None = None,
        floating_only: str = "",
        integers_only: str = "",
        public: tuple[str, ...] = ("function", "method", "in-place"),
        aliases: tuple[str, ...] = (),
        tensors: tuple[str, ...] | None = None,
        takes_expanded: bool = False,
        takes_out: bool = True,
        outputs: int = 1,
        targets: tuple[str, ...] = (),
        **options: Any,
    ) -> None:
        scalar = function if isinstance(function, scalar_ir.Function) else None
        if scalar is None:
            parameters = dict(inspect.signature(function).parameters)
        else:
            parameters = {p: inspect.Parameter(p, inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in scalar.parameters}
        name = options.pop("name", None) or function.__name__
        doc = options.pop("doc", None) or function.__doc__ or ""
        backward_name = options.pop("backward_name", None)
        super().__init__(name, parameters, doc=doc, **options)
        self.python = function
        self.result = result
        self.outputs = outputs if scalar is None else scalar.outputs
        self.targets = tuple(self.inputs.index(name) for name in targets)  # see optimizers.py
        self.output_kinds: tuple[str, ...] = ("bool" if result == "bool" else "real",) * self.outputs
        self.tensors = self.inputs[:1] if tensors is None else tensors  # inputs that a Python number cannot be
        self.public = public  # how users reach it: numgrad.f(x), x.f(), x.f_()
        self.aliases = aliases  # further public names
        self.takes_out = takes_out  # whether the public function has `out=`
        self.takes_expanded = takes_expanded  # in place it also writes a tensor that shows an element several times
        self.bool_error = bool_error  # where PyTorch refuses bools; a second text is for two of them
        self.floating_only = floating_only  # where PyTorch refuses integers and bools: its kernel's name
        self.integers_only = integers_only  # where it refuses floats
        self._scalar = scalar
        self._backwards: dict[Any, Backward] = {}
        self.backward_name = backward_name or f"{self.name.replace('.', '_')}_backward"
        self.flat_plans: dict[Any, Any] = {}  # compiled kernels for the fast path of dispatch
        self.broadcast_plans: dict[Any, Any] = {}  # and for its second path, by the operands' dtypes and shapes
        self.recorders: dict[Any, Any] = {}  # how the graph layer records other calls
        self._tensor_rules: dict[str, Rule] = {}
        self.complex_form: Any = None  # see complex_forms.py; None where it takes no complex numbers

    @property
    def py_func(self) -> Any:
        """The Python source of the op, so that another scalar function may call it as a helper."""
        return self.python

    @property
    def scalar(self) -> scalar_ir.Function:
        """The lowered scalar function."""
        if self._scalar is None:
            self._scalar = lower.lower(self.python)
        return self._scalar

    def grad(self, name: str, *, composite: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare the gradient for input `name` as a scalar function; without one it is derived from the source.

        Args:
            name: the input.
            composite: the rule's text also runs on tensors (it has operators only), and does while a graph is being
                built, so that the nodes of the double backward carry PyTorch's names.
        """

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            self._rule_target(name)
            self.rules[name] = make_rule(self, function, composite, self.readable)
            return function

        return declare

    @property
    def gradient_names(self) -> tuple[str, ...]:
        """What a gradient calls the incoming gradients: `g`, or `g0`, `g1`, ... for several outputs."""
        return ("g",) if self.outputs == 1 else tuple(f"g{k}" for k in range(self.outputs))

    @property
    def result_names(self) -> tuple[str, ...]:
        """What a gradient calls the results: `out`, or `out0`, `out1`, ..."""
        return ("out",) if self.outputs == 1 else tuple(f"out{k}" for k in range(self.outputs))

    @property
    def readable(self) -> tuple[str, ...]:
        """What a gradient may name."""
        return (*self.gradient_names, *self.inputs, *self.result_names)

    def vjp(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare, beside a scalar `grad`, the gradient as Python over tensors, used while a graph is being built."""

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            if name not in self.inputs:
                self._rule_target(name)
            self._tensor_rules[name] = make_rule(self, function, True, self.readable)
            return function

        return declare

    def constant_in(self, name: str) -> None:
        """Declare that the result does not change with input `name`: its gradient is 0, also of an infinite one."""
        self.grad(name)(_zero)
        self.vjp(name)(_zeros_like)

    @property
    def tensor_rules(self) -> dict[str, Rule]:
        """Gradients as Python over tensors, for those inputs that have one."""
        return {n: rule for n, rule in self.rules.items() if rule.composite} | self._tensor_rules

    def backward(self, mask: int, present: tuple[int, ...] = (0,)) -> Backward:
        """The fused gradient for the inputs whose bits are set in `mask`, from gradients of the outputs `present`."""
        key = mask if present == (0,) else (mask, present)
        found = self._backwards.get(key)
        if found is None:
            found = self._backwards[key] = Backward(self, mask, present)
        return found

    @property
    def ufunc(self) -> Any:
        """The op as a NumPy ufunc; see `standalone.ufunc`."""
        from .standalone import ufunc

        return ufunc(self)


def _zero(g):  # a scalar function
    return 0


def _zeros_like(g: Any) -> Any:
    return g.new_zeros(g.shape)


class Backward:
    """The gradient of an elementwise op for a set of its inputs: one scalar function, and itself an elementwise op.

    Attributes:
        saved: what it reads, as indices of the op's inputs, or `OUT`.
        op: the elementwise op `(*gs, *saved) -> gradients`, None when every gradient is `g` itself. It takes a gradient
            for each output in `present`; those of the others are 0.
        routes: for each input of the forward op: None (not wanted), "pass" (the gradient is `g` itself), or the index
            of the output of `op`.
    """

    def __init__(self, forward: ElementwiseOp, mask: int, present: tuple[int, ...]) -> None:
        wanted = [i for i in range(len(forward.inputs)) if mask >> i & 1]
        self.forward = forward
        self.routes: list[str | int | None] = [None] * len(forward.inputs)
        renamed = {n: _unused(n, forward.inputs) for n in (*forward.gradient_names, *forward.result_names)}
        results = [renamed[n] for n in forward.result_names]
        gradients = [renamed[n] for n in forward.gradient_names]
        given = [gradients[k] for k in present]
        # An absent gradient is the literal 0 in a declared rule.
        spelled: dict[str, scalar_ir.Operand] = {
            n: renamed[n] if k in present else 0.0 for k, n in enumerate(forward.gradient_names)
        }
        parts: list[tuple[scalar_ir.Function, Sequence[scalar_ir.Operand]]] = []
        kinds = {name: kind for name, kind in forward.scalar.kinds.items() if kind != "real"}
        derived: list[int] = []
        outputs = 0
        scalar_ir.settle([forward.scalar, *(rule.scalar for rule in forward.rules.values())])
        for i in wanted:
            rule = forward.rules.get(forward.inputs[i])
            if rule is None:
                derived.append(i)
            elif is_identity(rule):
                self.routes[i] = "pass"
            else:
                parts.append((rule.scalar, [spelled.get(n, renamed.get(n, n)) for n in rule.reads]))
                self.routes[i] = outputs
                outputs += 1
        if derived:
            parts.append((derive.vjp(_selected(forward, present), derived), (*forward.inputs, *given)))
            for i in derived:
                self.routes[i] = outputs
                outputs += 1
        self.op: ElementwiseOp | None = None
        self.saved: tuple[int, ...] = ()
        if parts:
            real = dict.fromkeys((*gradients, *results), "real")
            everything = (*given, *forward.inputs, *results)
            fused = derive.combine(forward.backward_name, everything, parts, {**real, **kinds})
            names = [n for n in scalar_ir.reads(fused) if n not in given]
            self.saved = tuple(OUT - results.index(n) if n in results else forward.inputs.index(n) for n in names)
            self.op = ElementwiseOp(
                scalar_ir.pruned(fused, (*given, *names)),
                name=forward.backward_name,
                doc=f"Gradient of {forward.name}.",
            )


def _selected(forward: ElementwiseOp, outputs: tuple[int, ...]) -> scalar_ir.Function:
    """The scalar function of an op that returns some of its outputs."""
    if len(outputs) == forward.outputs:
        return forward.scalar
    return scalar_ir.pruned(scalar_ir.narrowed(forward.scalar, outputs), forward.inputs)


def _unused(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def is_identity(rule: Rule) -> bool:
    """Whether a gradient is the incoming gradient unchanged (`return g`), so that no kernel need run."""
    return rule.reads == ("g",) and rule.scalar.returns_parameter("g")


class KernelOp(Op):
    """An op with a forward kernel for each device, and gradients as Python over tensors.

    Its kernels compute in float32, float64 and integers; for the halves they are run in float32. With `moves` they only
    move items and take every dtype as it is. With `takes_complex` they compute a holomorphic function of complex numbers
    (in each input), whose gradient then needs no declaration of its own; with `conjugates=False` the gradients are
    written for complex numbers, conjugates and all. `linear` says that the op is linear "jointly" in all its inputs
    that have gradients, or "separately" in each: forward mode then applies it to tangents.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        outputs: int = 1,
        writes: tuple[int, ...] = (),
        moves: bool = False,
        takes_complex: bool = False,
        conjugates: bool = True,
        updates: bool = False,
        takes_expanded: bool = False,
        keeps_layout: bool = False,
        linear: str = "",
        **options: Any,
    ) -> None:
        name = options.pop("name", None) or function.__name__
        super().__init__(name, inspect.signature(function).parameters, doc=function.__doc__ or "", **options)
        self.outputs = outputs
        self.writes = writes
        self.moves = moves
        self.takes_complex = takes_complex or moves
        self.conjugates = takes_complex and conjugates and not moves
        self.updates = (
            updates  # the kernel writes parts of its first argument: a copy of that input, or the input itself
        )
        self.keeps_layout = keeps_layout  # and that copy has the input's layout, where it has no gaps
        self.takes_expanded = takes_expanded  # in place it also writes a tensor that shows an element several times
        self.linear = linear
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.fused_kernels: dict[str, Callable[..., Any]] = {}
        self.fused_gradients: tuple[int, ...] = ()
        self.fused_reads: tuple[str, ...] = ()
        self.prepare: Callable[..., Prepared | None] | None = None
        self.non_differentiable_outputs: tuple[int, ...] = ()

    def kernel(self, device: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare the forward kernel for a device: takes and returns arrays, attributes after the inputs.

        On "cpu" the arrays are ndarrays (a variadic op gets a list), on "cuda" `Array`s.
        """

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            if device in self.kernels:
                raise ValueError(f"op {self.name!r} has two {device} kernels")
            self.kernels[device] = function
            return function

        return declare

    def grad(self, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare the gradient for an input as Python over tensors. It is differentiable, so it serves any order.

        With several names the function returns a tuple with a gradient (or None) for each: they are computed together.
        """

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            for name in names:
                self._rule_target(name)
            facts = tuple(f"{n}_{fact}" for n in self.inputs for fact in ("shape", "strides", "meta"))
            readable = ("g", *self.inputs, "out", *self.attributes, *facts)
            readable += tuple(f"out{i}" for i in range(self.outputs)) + tuple(f"g{i}" for i in range(self.outputs))
            rule = make_rule(self, function, True, readable, names if len(names) > 1 else ())
            self.rules |= dict.fromkeys(names, rule)
            return function

        return declare

    def prepared(self, function: Callable[..., Prepared | None]) -> Callable[..., Prepared | None]:
        """Declare how the CPU kernel is called on contiguous operands, none of them empty.

        Called once with an `Operand` for each input and the attributes; returns the prepared call, or None where the
        kernel has to look at the operands each time.
        """
        self.prepare = function
        return function

    def fused_backward(self, device: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare a backward kernel for all inputs at once, used when no graph is being built.

        Called with `g` (of several outputs those that it names: `g0`, `g1`, ..., each maybe None), what its further
        parameters name, as arrays, and `needs` (a bool for each input); returns a tuple with a gradient or None for each
        input. An input that no wanted gradient reads is not saved, and given as None. The sweep compares it with the
        gradients of `grad`.
        """

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            self.fused_kernels[device] = function
            names = tuple(inspect.signature(function).parameters)
            given = ("g",) if self.outputs == 1 else tuple(f"g{k}" for k in range(self.outputs))
            count = sum(name in given for name in names)
            if not count or not set(names[:count]) <= set(given) or names[-1] != "needs":
                raise ValueError(f"the fused backward of op {self.name!r} must take {given} first and needs last")
            self.fused_gradients = tuple(given.index(name) for name in names[:count])
            self.fused_reads = names[count:-1]
            return function

        return declare


def declared(made: Any) -> Any:
    """Enter an op in the table. Raises ValueError for two ops with one name, no docstring, no samples."""
    name = made.name
    if not made.doc:
        raise ValueError(f"op {name!r} has no docstring")
    if made.samples is None:
        raise ValueError(f"op {name!r} is declared without samples: nothing would test it")
    if name in OPS:
        raise ValueError(f"op {name!r} is declared twice")
    OPS[name] = made
    return made


def elementwise(*, samples: Any, reference: Callable[..., Any], **options: Any) -> Callable[..., ElementwiseOp]:
    """Declare an elementwise op from a scalar function.

    Args:
        samples: a `Uniform`, or one for each input, to draw test inputs from.
        reference: the same function on NumPy arrays.
        options: `result`, `public`, `aliases`, `bool_error`, `floating_only`, `integers_only`, `node`,
            `backward_name` (of the derived gradient op), `differentiable`, `name`, `doc`, `plain`, `tensors`,
            `memory_bound` (see `ElementwiseOp` and `Op`).

    Raises:
        ValueError: two ops with one name, no docstring, no samples.
    """
    options.setdefault("memory_bound", True)

    def declare(function: Callable[..., Any]) -> ElementwiseOp:
        made = ElementwiseOp(function, samples=samples, reference=reference, **options)
        return declared(made)

    return declare


def op(*, samples: Sequence[Sample], reference: Callable[..., Any], **options: Any) -> Callable[..., KernelOp]:
    """Declare an op with kernels of its own; the function gives its name, inputs, attributes (keyword-only) and docs."""

    def declare(function: Callable[..., Any]) -> KernelOp:
        made = KernelOp(function, samples=samples, reference=reference, **options)
        return declared(made)

    return declare


def camel_case(name: str) -> str:
    """`max_dim` -> `MaxDim`, as PyTorch names its nodes."""
    return "".join(part[:1].upper() + part[1:] for part in name.replace(".", "_").split("_") if part)
