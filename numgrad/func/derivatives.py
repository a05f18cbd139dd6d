"""Gradients, and products of vectors with Jacobians, as functions of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.differentiate import make_gradients
from ..autograd.duals import DualLevel, split_dual
from ..autograd.forward_ad import with_tangent
from ..autograd.grad_mode import enable_grad, mode
from ..autograd.node import AccumulateGrad, gradient_edge
from ..autograd.pullback import pull, variables
from ..autograd.tracing import plain_parts, without_graph
from ..autograd.variable import CLASSES
from ..pytree import TreeSpec, flatten, map_leaves, outline, unflatten
from .arguments import Argnums, chosen, differentiable, replaced, tensors_only, transforming, with_aux

_GRAD = "grad_and_value(f)(*args)"


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of `func`, which returns one number.

    Args:
        func: takes tensors, or nests of them, and returns a tensor without dimensions.
        argnums: the position of the argument to differentiate by, or a tuple of positions.
        has_aux: `func` returns a pair, of which the second part comes along undifferentiated.

    Returns:
        A function of the same arguments. It returns the gradient, shaped as the argument; a tuple for a tuple of
        `argnums`; with `has_aux` a pair of that and what came along.

    Raises (when called):
        RuntimeError: `func` returns no number; positions that there are not; integer tensors.

    Example:
        >>> import numgrad as ng
        >>> ng.func.grad(ng.func.grad(lambda x: x**3))(ng.tensor(2.0))
        tensor(12.)
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        gradient, (_, aux) = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (gradient, aux) if has_aux else gradient

    return wrapped


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """As `grad`, with the value: returns `(gradient, value)`, or `(gradient, (value, aux))` with `has_aux`.

    Example:
        >>> import numgrad as ng
        >>> ng.func.grad_and_value(lambda x: (x * x).sum())(ng.tensor([1.0, 2.0]))
        (tensor([2., 4.]), tensor(5.))
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        gradient, (value, aux) = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return gradient, (value, aux) if has_aux else value

    return wrapped


def _grad_and_value(
    func: Callable[..., Any], argnums: Argnums, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, Any]]:
    positions, selected = chosen(args, argnums)
    flat, spec = flatten(selected)
    differentiable(flat)
    with transforming():
        given, sources = variables(flat)
        wanted = mode.enabled
        with enable_grad():
            result = func(*replaced(args, positions, argnums, unflatten(given, spec)), **kwargs)
            output, aux = with_aux(result, has_aux, _GRAD)
            _check_number(output)
            tracked = wanted and depends_on_others([output], sources)
            one = output.detach().new_ones(output.shape)
            found = pull([output], sources, [one], create_graph=tracked, keep_graph=tracked)
        gradients = filled(found, sources, tracked)
    if not tracked:
        output, aux = without_graph(output), map_leaves(_without_graph, aux)
        retired(sources)
    return unflatten(gradients, spec), (output, aux)


def _check_number(output: Any) -> None:
    if output.__class__ not in CLASSES:
        raise RuntimeError(f"{_GRAD}: Expected f(*args) to return a Tensor, got {type(output)}")
    if output.dim():
        raise RuntimeError(
            f"{_GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} dims. Maybe you wanted "
            "to use the vjp or jacrev APIs instead?"
        )


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and the function that multiplies vectors with its Jacobian.

    Args:
        func: takes tensors, or nests of them, and returns a tensor or a nest of them.
        primals: its arguments.
        has_aux: `func` returns a pair, of which the second part comes along undifferentiated.

    Returns:
        `(output, vjp_fn)`, or `(output, vjp_fn, aux)`. `vjp_fn(cotangents)` takes what is shaped as the output and returns
        a tuple with a product for each of the primals; it may be called any number of times.

    Example:
        >>> import numgrad as ng
        >>> output, vjp_fn = ng.func.vjp(lambda x: x * x, ng.tensor([1.0, 2.0]))
        >>> vjp_fn(ng.ones(2))
        (tensor([2., 4.]),)
    """
    flat, spec = flatten(primals)
    differentiable(flat)
    with transforming():
        given, sources = variables(flat)
        wanted = mode.enabled
        with enable_grad():
            result = func(*unflatten(given, spec))
            output, aux = with_aux(result, has_aux, "vjp(f, *primals)")
            tensors_only(output, "vjp(f, *primals): expected f(*primals) to return only tensors, ")
    outputs, output_spec = flatten(output)
    tracked = wanted and depends_on_others(outputs, sources)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        vectors, given_spec = flatten(cotangents)
        if given_spec != output_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {outline(given_spec)}, primal output: {outline(output_spec)}"
            )
        again = mode.enabled and (tracked or any(_requires_grad(v) for v in vectors))
        again = again if create_graph is None else create_graph
        found = pull(outputs, sources, make_gradients(outputs, vectors), create_graph=again, keep_graph=retain_graph)
        return unflatten(filled(found, sources, again), spec)

    value = unflatten(outputs if tracked else [without_graph(y) for y in outputs], output_spec)
    if not has_aux:
        return value, vjp_fn
    return value, vjp_fn, aux if tracked else map_leaves(_without_graph, aux)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of a function, and the product of its Jacobian with a vector, in one pass.

    Args:
        func: takes tensors, or nests of them, and returns a tensor or a nest of them.
        primals: a tuple of its arguments.
        tangents: the vector, of the same structure.
        strict: raise when an output does not depend on the primals; its tangent is 0 otherwise.
        has_aux: `func` returns a pair, of which the second part comes along undifferentiated.

    Returns:
        `(output, product)`, or `(output, product, aux)`.

    Example:
        >>> import numgrad as ng
        >>> ng.func.jvp(ng.sin, (ng.tensor(0.0),), (ng.tensor(2.0),))
        (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    flat, spec = flatten(primals)
    vectors, vector_spec = flatten(tangents)
    if spec != vector_spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if "
            f"primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with "
            f"structure {vector_spec}"
        )
    _nonempty_tensors(flat, "primals")
    _nonempty_tensors(vectors, "tangents")
    level = DualLevel()
    with transforming(), level.entered():
        duals = [with_tangent(x, t, level) for x, t in zip(flat, vectors, strict=True)]
        result = func(*unflatten(duals, spec))
        output, aux = with_aux(result, has_aux, "jvp(f, primals, tangents)")
        tensors_only(output, "jvp(f, primals, tangents): expected f(*primals) to return only tensors, ")
        outputs, output_spec = flatten(output)
        pairs = [split_dual(y, level) for y in outputs]
        if strict and any(t is None for _, t in pairs):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
        value = unflatten([p for p, _ in pairs], output_spec)
        product = unflatten([p.new_zeros(p.shape) if t is None else t for p, t in pairs], output_spec)
        aux = map_leaves(lambda x: split_dual(x, level)[0] if x.__class__ in CLASSES else x, aux)
    return (value, product, aux) if has_aux else (value, product)


def _nonempty_tensors(flat: Sequence[Any], name: str) -> None:
    if not flat:
        raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to contain at least one Tensor.")
    for x in flat:
        if x.__class__ not in CLASSES:
            raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to contain only Tensors, got {type(x)}")


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and the function that multiplies its Jacobian at that point with vectors.

    The function itself runs once; each product costs about one backward. `jvp` is cheaper for a single product.

    Returns:
        `(output, jvp_fn)`; `jvp_fn(*tangents)` takes what is shaped as the primals and returns what is shaped as the
        output.

    Example:
        >>> import numgrad as ng
        >>> output, jvp_fn = ng.func.linearize(lambda x: x * x, ng.tensor([1.0, 2.0]))
        >>> jvp_fn(ng.ones(2))
        tensor([2., 4.])
    """
    flat, spec = flatten(primals)
    differentiable(flat)
    with transforming():
        given, sources = variables(flat)
        with enable_grad():
            output = func(*unflatten(given, spec))
            tensors_only(output, "linearize(f, *primals): expected f(*primals) to return only tensors, ")
            outputs, output_spec = flatten(output)
            _, seeds = variables([y.detach().new_zeros(y.shape) for y in outputs])
            transposed = pull(outputs, sources, seeds, create_graph=True, keep_graph=True)

    def jvp_fn(*tangents: Any) -> Any:
        vectors, vector_spec = flatten(tangents)
        _check_tangents(vectors, vector_spec, flat, spec)
        rows = [(w, t) for w, t in zip(transposed, vectors, strict=True) if w is not None]
        found: list[Any] = [None] * len(seeds)
        if rows:
            found = pull([w for w, _ in rows], seeds, [t for _, t in rows], create_graph=mode.enabled, keep_graph=True)
            if not any(map(_requires_grad, (*flat, *vectors))):
                found = [g if g is None else without_graph(g) for g in found]
        return unflatten(filled(found, outputs, True), output_spec)

    return map_leaves(without_graph, output) if not any(map(_requires_grad, flat)) else output, jvp_fn


def _check_tangents(vectors: list[Any], vector_spec: TreeSpec, flat: list[Any], spec: TreeSpec) -> None:
    if vector_spec != spec:
        raise RuntimeError(f"Expected the tangents {vector_spec} to have the same argspec as the primals {spec}")
    for i, (t, x) in enumerate(zip(vectors, flat, strict=True)):
        if t.shape != x.shape:
            raise RuntimeError(
                f"tangent:{i} with shape {t.shape} in flattened pytree doesn't match the shape {x.shape} of the "
                "corresponding primal."
            )


# ---------------------------------------------------------------------------------------------------- graphs
def filled(gradients: Sequence[Any], like: Sequence[Any], tracked: bool) -> list[Any]:
    """Gradients with zeros for those that are None, outside the graph unless they are to be differentiated further."""
    found = [x.detach().new_zeros(x.shape) if g is None else g for g, x in zip(gradients, like, strict=True)]
    return found if tracked else [without_graph(g) for g in found]


def retired(sources: Sequence[Any]) -> None:
    """What a transformed function kept of its arguments requires no gradient afterwards."""
    for node in _leaves(sources):
        node.variable._requires_grad = False


def depends_on_others(outputs: Sequence[Any], sources: Sequence[Any]) -> bool:
    """Whether outputs have a gradient for anything but the leaves that `variables` made of untracked tensors."""
    own = _leaves(sources)
    seen = set(own)
    stack = [edge[0] for x in plain_parts(outputs) if (edge := gradient_edge(x)) is not None]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, AccumulateGrad):
            return True
        stack += [edge[0] for edge in node.edges if edge is not None]
    return False


def _leaves(sources: Sequence[Any]) -> set[Any]:
    edges = [gradient_edge(x) for x in plain_parts(sources)]
    return {edge[0] for edge in edges if edge is not None and isinstance(edge[0], AccumulateGrad)}


def _requires_grad(x: Any) -> bool:
    return any(part.requires_grad for part in plain_parts([x]))


def _without_graph(x: Any) -> Any:
    return without_graph(x) if x.__class__ in CLASSES else x
