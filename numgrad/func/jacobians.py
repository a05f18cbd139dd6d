"""Jacobians and Hessians as functions of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd.basis import basis
from ..autograd.jacobians import split_columns, split_rows
from ..pytree import TreeSpec, flatten, map_leaves, unflatten
from .arguments import Argnums, chosen, replaced
from .derivatives import jvp, vjp
from .mapping import vmap


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The function that computes the Jacobian of `func` by rows: for more inputs than outputs.

    Args:
        func: takes tensors, or nests of them, and returns a tensor or a nest of them.
        argnums: the position of the argument to differentiate by, or a tuple of positions.
        has_aux: `func` returns a pair, of which the second part comes along undifferentiated.
        chunk_size: how many rows are computed at once; all by default.

    Returns:
        A function of the same arguments. For one tensor in and one out it returns a tensor of shape
        `output.shape + input.shape`; otherwise a nest of the output's structure, of nests of the input's.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        positions, selected = chosen(args, argnums)
        inputs, spec = flatten(selected)

        def of_selected(given: Any) -> Any:
            return func(*replaced(args, positions, argnums, given), **kwargs)

        output, vjp_fn, *aux = vjp(of_selected, selected, has_aux=has_aux)
        outputs, output_spec = flatten(output)

        def row(*cotangents: Any) -> Any:
            vectors = [v.view(y.shape) for v, y in zip(cotangents, outputs, strict=True)]
            return tuple(flatten(vjp_fn(unflatten(vectors, output_spec)))[0])

        rows = vmap(row, chunk_size=chunk_size)(*basis(outputs))
        found = _nested(split_rows(rows, outputs, inputs), output_spec, spec)
        return (found, *aux) if has_aux else found

    return wrapped


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The function that computes the Jacobian of `func` by columns, in forward mode: for more outputs than inputs.

    Arguments and results are those of `jacrev`; `randomness` is `vmap`'s.
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        positions, selected = chosen(args, argnums)
        inputs, spec = flatten(selected)
        found: list[tuple[TreeSpec, list[Any]]] = []

        def column(*tangents: Any) -> Any:
            vectors = [t.view(x.shape) for t, x in zip(tangents, inputs, strict=True)]

            def of_selected(given: Any) -> Any:
                return func(*replaced(args, positions, argnums, given), **kwargs)

            output, product, *aux = jvp(of_selected, (selected,), (unflatten(vectors, spec),), has_aux=has_aux)
            outputs, output_spec = flatten(output)
            found[:] = [(output_spec, outputs)]  # of which only the shapes matter
            return tuple(flatten(product)[0]), tuple(aux)

        columns, aux = vmap(column, randomness=randomness)(*basis(inputs))
        output_spec, outputs = found[0]
        blocks = _nested(split_columns(columns, outputs, inputs), output_spec, spec)
        return (blocks, map_leaves(lambda x: x.select(0, 0), aux[0])) if has_aux else blocks

    return wrapped


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes all second derivatives of `func`: `jacfwd(jacrev(func))`.

    Example:
        >>> import numgrad as ng
        >>> ng.func.hessian(lambda x: x.prod())(ng.tensor([2.0, 3.0]))
        tensor([[0., 1.],
                [1., 0.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _nested(blocks: Any, output_spec: TreeSpec, spec: TreeSpec) -> Any:
    """Blocks, outputs first, in the structures of the output and of the input."""
    return unflatten([unflatten(inner, spec) for inner in blocks], output_spec)
