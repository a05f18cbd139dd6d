"""Jacobians by backward and by forward mode, for `gradcheck`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ..kernels.movement import stack
from .differentiate import grad
from .forward_ad import dual_level, make_dual, unpack_dual
from .gradcheck_numerical import as_tuple, is_differentiable
from .gradcheck_texts import NOT_DETERMINISTIC, GradcheckError

Function = Callable[..., Any]


def by_backward(
    inputs: Sequence[Any], output: Any, nondet_tol: float, check_dtypes: bool, vector: Any = None
) -> list[Any]:
    """For each input the Jacobian of one output, of shape (items of the input, items of the output).

    With a vector its product with the Jacobian instead, of shape (items of the input, 1).

    Raises GradcheckError when two backwards differ by more than `nondet_tol`, or gradients have a wrong size or dtype.
    """
    first = _rows(inputs, output, vector)
    second = _rows(inputs, output, vector)
    found, sizes_ok, dtypes_ok = _stacked(first, inputs)
    again, _, _ = _stacked(second, inputs)
    if not dtypes_ok and check_dtypes:
        raise GradcheckError("Gradient has dtype mismatch")
    if not sizes_ok:
        raise GradcheckError("Analytical gradient has incorrect size")
    for one, other in zip(found, again, strict=True):
        if one.numel() and (one - other).abs().max().item() > nondet_tol:
            raise GradcheckError(NOT_DETERMINISTIC.format(nondet_tol))
    return found


def _rows(inputs: Sequence[Any], output: Any, vector: Any) -> list[list[Any]]:
    """Gradients for each unit gradient of the output, or for the one given."""
    if vector is not None:
        return [_vjp(inputs, output, vector.reshape(output.shape))]
    seed = output.detach().new_zeros(output.shape)
    flat = seed.view(-1)
    rows = []
    for j in range(output.numel()):
        flat.zero_()
        flat[j] = 1.0
        rows.append(_vjp(inputs, output, seed))
    return rows


def _vjp(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    found = grad(output, list(inputs), seed, retain_graph=True, allow_unused=True)
    return [None if g is None else g.clone() for g in found]


def _stacked(rows: list[list[Any]], inputs: Sequence[Any]) -> tuple[list[Any], bool, bool]:
    """The Jacobians by each input, and whether all gradients had the inputs' sizes and dtypes."""
    sizes_ok = dtypes_ok = True
    found = []
    for i, x in enumerate(inputs):
        columns = []
        for row in rows:
            g = row[i]
            sizes_ok = sizes_ok and (g is None or g.shape == x.shape)
            dtypes_ok = dtypes_ok and (g is None or g.shape != x.shape or g.dtype is x.dtype)
            columns.append(x.detach().new_zeros(x.numel()) if g is None else g.detach().reshape(-1).to(x.dtype))
        if not sizes_ok:
            raise GradcheckError("Analytical gradient has incorrect size")
        found.append(stack(*columns, dim=1) if columns else x.detach().new_zeros((x.numel(), 0)))
    return found, sizes_ok, dtypes_ok


# ---------------------------------------------------------------------------------------------------- forward mode
def by_forward(
    func: Function, inputs: Sequence[Any], outputs: Sequence[Any], check_dtypes: bool, directions: Any = None
) -> list[list[Any]]:
    """For each checked input and each differentiable output the Jacobian, one row for each item of the input.

    With a direction for each checked input the derivative along it instead, as a vector.
    """
    kept = [y for y in outputs if is_differentiable(y)]
    with dual_level():
        duals, tangents = _duals(inputs)
        found = []
        for i, tangent in enumerate(tangents):
            if directions is not None:
                tangent.copy_(directions[i].view(tangent.shape))
                found.append(_tangents(func, duals, kept, check_dtypes))
                tangent.zero_()
                continue
            rows = []
            for position in itertools.product(*map(range, tangent.shape)):
                tangent[position] = 1.0
                rows.append(_tangents(func, duals, kept, check_dtypes))
                tangent[position] = 0.0
            found.append(
                [
                    stack(*[row[k] for row in rows], dim=0) if rows else y.detach().new_zeros((0, y.numel()))
                    for k, y in enumerate(kept)
                ]
            )
    return found


def _duals(inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The inputs, those that require gradients as dual numbers with tangent 0, and these tangents."""
    duals, tangents = [], []
    for x in inputs:
        if is_differentiable(x) and x.requires_grad:
            x = make_dual(x.detach(), x.detach().new_zeros(x.shape))
            tangents.append(unpack_dual(x).tangent)
        duals.append(x)
    return duals, tangents


def _tangents(func: Function, duals: Sequence[Any], outputs: Sequence[Any], check_dtypes: bool) -> list[Any]:
    found = []
    given = [y for y in as_tuple(func(*duals)) if is_differentiable(y)]
    for y, like in zip(given, outputs, strict=True):
        primal, tangent = unpack_dual(y)
        if check_dtypes and tangent is not None and primal.is_complex() != tangent.is_complex():
            raise GradcheckError("Forward AD gradient has dtype mismatch.")
        zeros = like.detach().new_zeros(like.numel())
        found.append(zeros if tangent is None else tangent.detach().reshape(-1).clone())
    return found


def check_undefined_tangents(func: Function, inputs: Sequence[Any], directions: Sequence[Any]) -> None:
    """Raise GradcheckError when an input without a tangent is not treated as one whose tangent is 0."""
    with dual_level():
        duals, tangents = _duals(inputs)
        for tangent, u in zip(tangents, directions, strict=True):
            tangent.copy_(u.view(tangent.shape))
        for i, x in enumerate(inputs):
            if not (is_differentiable(x) and x.requires_grad):
                continue
            zero = make_dual(x.detach(), x.detach().new_zeros(x.shape))
            with_zero = as_tuple(func(*duals[:i], zero, *duals[i + 1 :]))
            without = as_tuple(func(*duals[:i], x.detach(), *duals[i + 1 :]))
            for k, (one, other) in enumerate(zip(with_zero, without, strict=True)):
                if not is_differentiable(one):
                    continue
                first, second = unpack_dual(one).tangent, unpack_dual(other).tangent
                if first is not None and second is not None and not first.allclose(second):
                    raise GradcheckError(
                        "Mismatch in tangent values for output with index: ", k, " when input: ", x,
                        " has an undefined tangent value. ", " Got: ", first, " but expected: ", second,
                    )  # fmt: skip
