"""Derivatives of scalar functions: a `Function` in, a `Function` out, so any order is reapplication.

Two modes make them. Straight-line functions (any branches, but no loops) get a reverse sweep (`adjoint`), whose cost does
not grow with the number of inputs; functions with loops get tangents (`tangent`), which need no tape. Neither stores
anything outside of local variables, so a derivative runs wherever its function does; dead code elimination leaves of the
function itself only what its derivative reads.

Conventions at kinks (the rules are in `scalar_rules`): the derivative of `abs` at 0 is 0, ties of `max` and `min` share
0.5 each, rounding is flat. What a branch not taken would contribute is exactly 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .adjoint import Adjoints, straight_line
from .scalar_function import Function, Names, Operand, Statement, join, variables, without_dead_code
from .tangent import Tangents


def jacobian(function: Function, wrt: Sequence[int]) -> Function:
    """The function that returns all values of `function`, then the partials of each by parameters `wrt`.

    >>> from .scalar_printer import as_python
    >>> def product(x, y):
    ...     return x * y
    >>> as_python(jacobian(lower(product), (0, 1)))(2.0, 3.0)
    (6.0, 3.0, 2.0)
    """
    key = ("jacobian", tuple(wrt))
    if key not in function.memo:
        declared = any(function.parameters[position] in function.partials for position in wrt)
        body = _declared_jacobian(function, wrt) if declared else _derived_jacobian(function, wrt)
        outputs = function.outputs * (1 + len(key[1]))
        derived = function.variant(f"{function.name}_jacobian", function.parameters, body, outputs)
        function.memo[key] = without_dead_code(derived)
    result: Function = function.memo[key]
    return result


def _derived_jacobian(function: Function, wrt: Sequence[int]) -> list[Statement]:
    return _adjoint_body(function, wrt, None) or Tangents(function, wrt, jacobian).transformed(None)


def _declared_jacobian(function: Function, wrt: Sequence[int]) -> list[Statement]:
    """The body of a jacobian that calls the declared derivatives, and derives the others."""
    fresh, parameters = Names(function.parameters), function.parameters
    derived = [position for position in wrt if parameters[position] not in function.partials]
    callee = function
    if derived:
        body = _derived_jacobian(function, derived)
        callee = function.variant(f"{function.name}_derived", parameters, body, function.outputs * (1 + len(derived)))
    results = tuple(fresh("r") for _ in range(function.outputs))
    columns = {position: [fresh("t") for _ in results] for position in wrt}
    partials = [columns[position][k] for k in range(function.outputs) for position in derived]
    statements = [Statement("call", (*results, *partials), parameters, callee=callee)]
    for position in wrt:
        for target, partial in zip(columns[position], function.partials.get(parameters[position], ()), strict=False):
            statements.append(Statement("call", (target,), (*parameters, *results), callee=partial))
    rows = [columns[position][k] for k in range(function.outputs) for position in wrt]
    return [*statements, Statement("return", (), (*results, *rows))]


def vjp(function: Function, wrt: Sequence[int]) -> Function:
    """The gradient function: parameters of `function` and a cotangent for each output in, one gradient per `wrt` out.

    The cotangents are called `g`, or `g0`, `g1`, ... for several outputs; with one more `g` in front if those are
    taken, as in the vjp of a vjp. `reads` tells what the gradient really depends on.

    >>> from .scalar_function import reads
    >>> def product(x, y):
    ...     return x * y
    >>> gradient = vjp(lower(product), (0,))
    >>> gradient.parameters, reads(gradient)
    (('x', 'y', 'g'), ('y', 'g'))
    """
    key = ("vjp", tuple(wrt))
    if key not in function.memo:
        cotangents = _cotangent_names(function)
        body = _adjoint_body(function, wrt, cotangents)
        if body is None:
            body = Tangents(function, wrt, jacobian, cotangents).transformed(cotangents)
        parameters = (*function.parameters, *cotangents)
        derived = function.variant(f"{function.name}_vjp", parameters, body, len(key[1]))
        function.memo[key] = without_dead_code(derived)
    result: Function = function.memo[key]
    return result


def _adjoint_body(function: Function, wrt: Sequence[int], cotangents: Sequence[str] | None) -> list[Statement] | None:
    """The body of a derivative in reverse mode, where that serves: it gives gradients, or one value and its partials."""
    if cotangents is None and function.outputs != 1:
        return None
    straight = straight_line(function, cotangents or ())
    if straight is None:
        return None
    inputs = [function.parameters[position] for position in wrt]
    body, gradients = Adjoints(straight, inputs, jacobian, cotangents or ()).body(cotangents or (1.0,))
    returned = gradients if cotangents else [*straight.results, *gradients]
    return [*body, Statement("return", (), tuple(returned))]


def _cotangent_names(function: Function) -> list[str]:
    taken, prefix = variables(function), "g"
    while True:
        names = [prefix] if function.outputs == 1 else [f"{prefix}{k}" for k in range(function.outputs)]
        if not taken.intersection(names):
            return names
        prefix += "g"


def combine(
    name: str,
    parameters: Sequence[str],
    parts: Sequence[tuple[Function, Sequence[Operand]]],
    kinds: Mapping[str, str] | None = None,
) -> Function:
    """One function that calls each part with the named parameters and returns all their outputs, in order.

    Args:
        name: Name of the new function.
        parameters: Its parameters.
        parts: Functions, each with what it is called with in its own order: parameters of the new one, or literals.
        kinds: Kinds of the parameters; by default what the parts take them for.
    """
    found: dict[str, str] = {}
    body: list[Statement] = []
    fresh = Names(parameters)
    returned: list[str] = []
    for part, arguments in parts:
        for argument, parameter in zip(arguments, part.parameters, strict=True):
            if isinstance(argument, str):
                found[argument] = join((found.get(argument, "bool"), part.kinds[parameter]))
        targets = tuple(fresh("t") for _ in range(part.outputs))
        body.append(Statement("call", targets, tuple(arguments), callee=part))
        returned.extend(targets)
    body.append(Statement("return", (), tuple(returned)))
    cached = all(part.cached for part, _ in parts)
    combined = Function(name, parameters, body, len(returned), {**found, **(kinds or {})}, cached=cached)
    return without_dead_code(combined)
