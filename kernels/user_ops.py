"""What users add to the language of scalar functions: elementwise ops of their own, and derivatives of compiled functions.

Both are made by the machinery of numgrad's own ops. They differ in three ways: nothing of them is in the op table, a
function is lowered when it is declared (so that an error shows where the function is written), and other scalar
functions that call it use the gradients that it declares.
"""

from __future__ import annotations

import inspect
import itertools
import linecache
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import derive, lower
from .function_source import definition
from .registry import ElementwiseOp
from .scalar_expression import PRIMITIVES
from .scalar_function import DifferentiationError, Function, Opaque, Statement, callees, error_at, walk
from .scalar_ir import PYTHON, output_kinds, print_module, reads
from .special_functions import PORTABLE

_RESULTS = ("float", "same")
_serial = itertools.count()


class UserOp(ElementwiseOp):
    """An elementwise op from a user's function; see `numgrad.elementwise` for the options.

    Attributes:
        defaults: for each input its default, `inspect.Parameter.empty` if it has none.
        nondiff: inputs that no gradient goes to.
    """

    takes_arrays = True

    def __init__(
        self, function: Callable[..., Any], *, name: str | None, result: str, nondiff: Sequence[str], cache: bool
    ) -> None:
        if result not in _RESULTS:
            raise ValueError(f"result must be one of {', '.join(map(repr, _RESULTS))}, not {result!r}")
        python = lower.plain_function(function)
        lowered = lower.lower(python)
        body = [*_detached(nondiff), *lowered.body]
        scalar = Function(lowered.name, lowered.parameters, body, lowered.outputs, lowered.kinds, lowered.file, cache)
        super().__init__(
            scalar,
            name=name or python.__name__.strip("<>"),  # of a lambda, too
            doc=python.__doc__,
            result=result,
            tensors=(),
            plain=tuple(nondiff),
            memory_bound=True,
        )
        self.nondiff = tuple(nondiff)
        self.defaults = _defaults(python, scalar)
        scalar.declarable = True
        self.output_kinds = tuple("real" if kind == "whole" else kind for kind in output_kinds(scalar))
        self.differentiable = "real" in self.output_kinds
        self._check_names(python)
        if result == "float":
            print_module([scalar], "float64", PYTHON)  # refuses what needs integers, here rather than at the first call

    def _check_names(self, python: Any) -> None:
        if not self.inputs:
            raise _refused(python, f"'{self.name}' takes no numbers: there is nothing to map it over")
        if self.inputs[0] in ("self", "cls"):
            raise _refused(
                python,
                f"'{self.inputs[0]}' is no number: leave it out, and put @staticmethod above @ng.elementwise in a class",
            )
        for taken in self.result_names:
            if taken in self.inputs:
                raise _refused(python, f"a parameter cannot be called '{taken}': that is the result; rename it")
        for name in self.nondiff:
            if name not in self.inputs:
                raise ValueError(f"nondiff names '{name}', which is no parameter of {self.name}(): {self.inputs}")

    def grad(self, name: str, *, composite: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare the gradient for input `name`; it counts wherever the function is called from.

        Raises:
            ValueError: no such input, or one that has no gradient.
            RuntimeError: a gradient of the function, or of one that calls it, has been derived already.
            DifferentiationError: the gradient is no scalar function, or not linear in the incoming gradient.
        """
        if name in self.nondiff or self.scalar.kinds.get(name, "real") != "real":
            raise ValueError(f"{self.name}(): '{name}' has no gradient that could be declared")

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            if not self.scalar.declarable:
                raise RuntimeError(
                    f"{self.name}() is in use with its derived gradient: declare gradients right after the function"
                )
            before = self.rules.pop(name, None)
            try:
                super(UserOp, self).grad(name)(function)
                self._check_linear(name, function)
                partials = tuple(self._partial(name, k) for k in range(self.outputs))
            except BaseException:
                self.rules.pop(name, None)
                if before is not None:
                    self.rules[name] = before
                raise
            self.scalar.partials[name] = partials
            return function

        return declare

    def _check_linear(self, name: str, declared: Any) -> None:
        """Refuse a declared gradient that leaves the incoming ones out, or has a second derivative by them."""
        rule = self.rules[name].scalar
        if rule.outputs != 1:
            raise _refused(declared, f"the gradient of '{name}' must be one number")
        incoming = [n for n in reads(rule) if n in self.gradient_names]
        subject = f"the gradient of '{name}'"
        if not incoming:
            if not _is_zero(rule):
                raise _refused(
                    declared,
                    f"{subject} does not read '{self.gradient_names[0]}', the incoming gradient: multiply by it",
                )
            return
        scratch = rule.variant(rule.name, rule.parameters, rule.body, 1)  # what is derived here is not kept
        places = [rule.parameters.index(n) for n in incoming]
        second = derive.vjp(derive.vjp(scratch, places), places)
        if not _is_zero(second) and not any(callees(second)):  # of a call it is not known whether it is 0
            raise _refused(declared, f"{subject} must be linear in '{incoming[0]}', the incoming gradient")

    def _partial(self, name: str, output: int) -> Function:
        """The derivative of one output by an input, from the declared gradient: that for an incoming gradient of 1."""
        rule = self.rules[name]
        unit = {g: 1.0 if k == output else 0.0 for k, g in enumerate(self.gradient_names)}
        arguments = [unit.get(n, n) for n in rule.reads]
        parameters = (*self.inputs, *self.result_names)
        partial = derive.combine(
            f"{self.scalar.name}_by_{name}", parameters, [(rule.scalar, arguments)], self.scalar.kinds
        )
        return partial.variant(partial.name, parameters, [*_detached(self.nondiff), *partial.body], 1)


def _detached(names: Sequence[str]) -> list[Statement]:
    """What keeps derivatives of any order from going through some parameters, at the top of a function's body."""
    return [Statement("detach", (name,), (name,)) for name in names]


def _is_zero(function: Function) -> bool:
    """Whether all that a function ever returns is the literal 0."""
    returned = [arg for statement in walk(function.body) if statement.op == "return" for arg in statement.args]
    return all(not isinstance(arg, str) and arg == 0 for arg in returned)


def _refused(python: Any, message: str) -> DifferentiationError:
    """An error that shows where a function is defined."""
    return error_at(message, python.__code__.co_filename, definition(python).lineno)


def _defaults(python: Any, scalar: Function) -> tuple[Any, ...]:
    """The default of each parameter, checked."""
    parameters = inspect.signature(python).parameters
    found = []
    for (name, kind), parameter in zip(scalar.kinds.items(), parameters.values(), strict=True):  # a class mangles names
        default = parameter.default
        if isinstance(default, np.generic):
            default = default.item()
        is_number = isinstance(default, bool | int | float) and (kind == "real" or not isinstance(default, float))
        if not is_number and default is not inspect.Parameter.empty:
            wanted = {"real": "a number", "int": "an int", "bool": "a bool"}[kind]
            raise _refused(python, f"the default of '{name}' must be {wanted}, not {default!r}")
        found.append(default)
    return tuple(found)


# ------------------------------------------------------------------------------------------- registered derivatives
def register_derivative(
    function: Callable[..., Any],
    *derivatives: str | float | Callable[..., Any],
    args: str | Sequence[str] | None = None,
) -> None:
    """Declare the derivative of a compiled function, which scalar functions may then call.

    Args:
        function: what `numba.njit` made, a Python function that it can compile, or a function of `math`. It takes and
            returns real numbers.
        derivatives: the partial derivative by each argument: an expression in the arguments and the result `r`, as
            text (functions of `math` go by their bare names); a number; or a Python function whose parameters are named
            among those.
        args: names of the arguments, `"a b"`; those of the function by default.

    A derivative in Python may call functions that are registered later; it is read when the first caller is declared.
    Functions that were declared before are not changed. Kernels that call an `njit` function are compiled anew in each
    process: what such a function does is not in their text, so nothing on disk could be trusted.

    Example:
        >>> import numba, numgrad as ng
        >>> @numba.njit
        ... def spherical(x):
        ...     return math.sin(x) / x
        >>> ng.register_derivative(spherical, "(cos(x) - r) / x")

    Raises:
        TypeError: `function` cannot be called from compiled code.
        ValueError: as many derivatives as arguments are needed; or the function has a derivative already.
        DifferentiationError: a derivative is no scalar function.
    """
    name = getattr(function, "__name__", "")
    in_math = getattr(math, name, None) is function
    if hasattr(function, "scalar_function"):
        raise TypeError(f"{name} is an elementwise function: declare its gradient with @{name}.grad(...)")
    if not (in_math or inspect.isfunction(getattr(function, "py_func", function))):
        raise TypeError(
            f"{function!r} is neither compiled by numba.njit nor a function of math: wrap it in a function that is"
        )
    if function in PRIMITIVES:
        raise ValueError(f"the derivative of '{name}' is known already")
    if in_math:
        _check_compiled(function)
    names = _argument_names(function, args)
    if len(names) != len(derivatives):
        raise ValueError(
            f"'{name}' takes {len(names)} arguments ({' '.join(names)}), but {len(derivatives)} derivatives are given"
        )
    if "r" in names or len(set(names)) != len(names):
        raise ValueError(f"arguments need names of their own, and 'r' is the result: {' '.join(names)}")
    readable = (*names, "r")
    rules = [
        _as_rule(derivative, f"derivative of {name} by {argument}", readable)
        for argument, derivative in zip(names, derivatives, strict=True)
    ]

    def declare(opaque: Opaque) -> None:
        for argument, rule in zip(names, rules, strict=True):
            lowered = lower.lower(rule)
            if lowered.outputs != 1:
                raise _refused(rule, f"the derivative of {name} by {argument} must be one number")
            partial = derive.combine(f"{name}_by_{argument}", readable, [(lowered, lowered.parameters)])
            opaque.partials[argument] = (partial,)

    spelling = f"math.{name}" if in_math else f"_{name}_{next(_serial)}"
    opaque = Opaque(name, names, spelling, function, declare)
    if not any(map(callable, derivatives)):  # those of Python may call what is registered later
        opaque.settle()
    lower.REGISTERED[function] = opaque
    lower.forget()


def _check_compiled(function: Any) -> None:
    """Raise TypeError for a function of `math` that Numba does not have."""
    from numba.core.errors import NumbaError
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    try:
        cpu_target.typing_context.resolve_value_type(function)
    except (NumbaError, ValueError):
        raise TypeError(
            f"Numba cannot compile math.{function.__name__}: register a function made by numba.njit that does the same"
        ) from None


def _argument_names(function: Any, args: str | Sequence[str] | None) -> tuple[str, ...]:
    if args is None:
        try:
            return tuple(inspect.signature(getattr(function, "py_func", function)).parameters)
        except ValueError:  # some of math tell nobody
            raise ValueError(
                f"the arguments of '{function.__name__}' have no names: give them, such as args='a b'"
            ) from None
    return tuple(args.replace(",", " ").split()) if isinstance(args, str) else tuple(args)


def _as_rule(derivative: Any, title: str, readable: tuple[str, ...]) -> Any:
    """A partial derivative as a Python function of names among `readable`."""
    if not callable(derivative):
        text = repr(float(derivative)) if isinstance(derivative, bool | int | float) else str(derivative).strip()
        return _function_of_text(text, title, readable)
    rule = lower.plain_function(derivative)
    for name in inspect.signature(rule).parameters:
        if name not in readable:
            raise ValueError(f"the {title} reads {name!r}, which is none of {readable}")
    return rule


def _function_of_text(text: str, title: str, parameters: tuple[str, ...]) -> Any:
    """A function that returns an expression, with its source where the front end looks for it."""
    source = f"def partial({', '.join(parameters)}):\n    return {text}\n"
    file = f"<{title} {next(_serial)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {**vars(math), **PORTABLE}
    try:
        exec(compile(source, file, "exec"), scope)
    except SyntaxError as error:
        raise DifferentiationError(f"the {title} is no expression: {text!r} ({error.msg})") from None
    return scope["partial"]
