"""einsum: sums of products by Einstein's notation, contracted in the order that opt_einsum finds cheapest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..kernels.views import diagonal
from .linalg import bmm, mm

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ELLIPSIS = "..."

Labels = list[int]  # of an operand's dimensions: letters by their place in _LETTERS; those of an ellipsis are negative


def einsum(*args: Any) -> Any:
    """Sums of products over dimensions that have equal letters.

    `einsum("ij,jk->ik", a, b)` is a matrix product. `...` stands for any further dimensions, which broadcast; a letter
    that is repeated in one operand takes its diagonal; without `->` letters that occur once are kept, in alphabetical
    order. Instead of letters, lists of numbers in [0, 52) may follow each operand: `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    Raises:
        ValueError: no operand.
        RuntimeError: an equation that is malformed or does not fit the operands, with PyTorch's texts.

    Example:
        >>> import numgrad as ng
        >>> ng.einsum("ij,j->i", ng.ones(2, 3), ng.ones(3))
        tensor([3., 3.])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    equation, operands = _equation(args)
    inputs, output = _parsed(equation, operands)
    return _contracted(inputs, operands, output)


# ---------------------------------------------------------------------------------------------------- the equation
def _equation(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The equation as text, and the operands, from either form of the arguments."""
    if args[0].__class__ not in CLASSES:
        operands = args[1:]
        if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
            operands = tuple(operands[0])
        return args[0], list(operands)
    operands = args[0 : len(args) - len(args) % 2 : 2]
    lists = [_subscripts(x) for x in args[1::2]]
    equation = ",".join(lists)
    if len(args) % 2:
        equation += "->" + _subscripts(args[-1])
    return equation, list(operands)


def _subscripts(numbers: Any) -> str:
    found = ""
    for n in numbers:
        if n is Ellipsis:
            found += _ELLIPSIS
        elif not 0 <= n < len(_LETTERS):
            raise ValueError("einsum(): subscripts in subscripts list are not within the valid range [0, 52)")
        else:
            found += _LETTERS[n]
    return found


def _parsed(equation: str, operands: Sequence[Any]) -> tuple[list[Labels], Labels]:
    """The labels of each operand's dimensions, and those of the result."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        more = "fewer" if len(operands) < len(terms) else "more"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    offset = 0
    ranks = []
    spelled = []
    for k, (term, x) in enumerate(zip(terms, operands, strict=True)):
        letters, place = _letters(term, f"for operand {k}", offset)
        offset += len(term) + 1
        count = len(letters)
        if place is None and count != x.dim():
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({count}) does not match the number of dimensions "
                f"({x.dim()}) for operand {k} and no ellipsis was given"
            )
        if count > x.dim():
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({count}) is more than the number of dimensions "
                f"({x.dim()}) for operand {k}"
            )
        ranks.append(0 if place is None else x.dim() - count)
        spelled.append((letters, place))
    inputs = [_with_ellipsis(letters, place, rank) for (letters, place), rank in zip(spelled, ranks, strict=True)]
    widest = max(ranks, default=0)
    if not arrow:
        return inputs, [*range(-widest, 0), *_occurring_once(inputs)]
    letters, place = _letters(right, "in the output", len(left) + 2)
    output = _with_ellipsis(letters, place, widest)
    _check_output(letters, inputs)
    return inputs, output


def _letters(term: str, where: str, offset: int) -> tuple[Labels, int | None]:
    """The letters of a term, and before which of them an ellipsis stands."""
    found: Labels = []
    place = None
    i = 0
    while i < len(term):
        symbol = term[i]
        if symbol == ".":
            if place is not None:
                raise RuntimeError(f"einsum(): found '.' {where} for which an ellipsis was already found")
            if term[i : i + 3] != _ELLIPSIS:
                raise RuntimeError(f"einsum(): found '.' {where} that is not part of any ellipsis")
            place = len(found)
            i += 3
            continue
        if symbol in _LETTERS:
            found.append(_LETTERS.index(symbol))
        elif symbol != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {offset + i} in the equation string, subscripts must be in "
                "[a-zA-Z]"
            )
        i += 1
    return found, place


def _with_ellipsis(letters: Labels, place: int | None, rank: int) -> Labels:
    return letters if place is None else [*letters[:place], *range(-rank, 0), *letters[place:]]


def _occurring_once(inputs: Sequence[Labels]) -> Labels:
    every = [label for labels in inputs for label in labels if label >= 0]
    return sorted(label for label in set(every) if every.count(label) == 1)


def _check_output(letters: Labels, inputs: Sequence[Labels]) -> None:
    known = {label for labels in inputs for label in labels}
    for k, label in enumerate(letters):
        if label in letters[:k]:
            raise RuntimeError(f"einsum(): output subscript {_LETTERS[label]} appears more than once in the output")
        if label not in known:
            raise RuntimeError(
                f"einsum(): output subscript {_LETTERS[label]} does not appear in the equation for any input operand"
            )


# ---------------------------------------------------------------------------------------------------- contraction
def _contracted(inputs: list[Labels], operands: list[Any], output: Labels) -> Any:
    sizes: dict[int, int] = {}
    terms = []
    for k, (labels, x) in enumerate(zip(inputs, operands, strict=True)):
        for label, extent in zip(labels, x.shape, strict=True):
            known = sizes.get(label, 1)
            if known != 1 and extent not in (1, known):
                if labels.count(label) > 1:
                    raise _repeated(label, k, extent, known)
                raise RuntimeError(
                    f"einsum(): subscript {_shown(label)} has size {extent} for operand {k} which does not broadcast with "
                    f"previously seen size {known}"
                )
            sizes[label] = max(known, extent) if extent else 0
        terms.append(_diagonals(x, labels, k))
    for step in _path(terms, sizes, output):
        chosen = [terms[i] for i in step]
        terms = [t for i, t in enumerate(terms) if i not in step]
        kept = set(output).union(*(labels for _, labels in terms)) if terms else set(output)
        terms.append(_pair(*chosen[0], *chosen[1], kept, sizes) if len(chosen) == 2 else chosen[0])
    ((x, labels),) = terms
    summed = tuple(d for d, label in enumerate(labels) if label not in output)
    if summed:
        x = x.sum(summed)
    left = [label for label in labels if label in output]
    for label in output:  # an ellipsis that no operand has dimensions for
        if label not in left:
            x, left = x.unsqueeze(-1), [*left, label]
    order = [left.index(label) for label in output]
    moved = order != list(range(len(order)))
    return x.permute(order) if moved or (len(operands) == 1 and not summed) else x


def _repeated(label: int, k: int, extent: int, known: int) -> RuntimeError:
    return RuntimeError(
        f"einsum(): subscript {_shown(label)} is repeated for operand {k} but the sizes don't match, {extent} != {known}"
    )


def _shown(label: int) -> str:
    return _LETTERS[label] if label >= 0 else _ELLIPSIS


def _diagonals(x: Any, labels: Labels, k: int) -> tuple[Any, Labels]:
    """The operand with every label once: dimensions of equal labels become their diagonal."""
    found: Labels = []
    for label in labels:
        if label not in found:
            found.append(label)
            continue
        first, second = found.index(label), len(found)
        if x.shape[first] != x.shape[second]:
            raise _repeated(label, k, x.shape[second], x.shape[first])
        x = dispatch(diagonal, (x,), (0, first, second))  # the diagonal comes last, where the next label does not
        found = [*found[:first], *found[first + 1 :]]
        rest = x.dim() - 1 - len(found)
        x = x.permute([*range(len(found)), x.dim() - 1, *range(len(found), len(found) + rest)])
        found.append(label)
    return x, found


def _path(terms: Sequence[tuple[Any, Labels]], sizes: dict[int, int], output: Labels) -> list[tuple[int, ...]]:
    """Which operands to contract, step by step; opt_einsum is asked where there is a choice."""
    if len(terms) <= 2:
        return [tuple(range(len(terms)))]
    import opt_einsum

    views = [set(labels) for _, labels in terms]
    extents = {label: max(n, 1) for label, n in sizes.items()}
    path = opt_einsum.paths.auto(views, set(output), extents)
    return [tuple(step) for step in path]


def _pair(a: Any, of_a: Labels, b: Any, of_b: Labels, kept: set[int], sizes: dict[int, int]) -> tuple[Any, Labels]:
    """The product of two operands, summed over labels that nothing else needs, as one batched matrix product."""
    a, of_a = _summed(a, of_a, {label for label in of_a if label not in kept and label not in of_b})
    b, of_b = _summed(b, of_b, {label for label in of_b if label not in kept and label not in of_a})
    common = [label for label in of_a if label in of_b]
    contracted = [label for label in common if label not in kept]
    a, of_a, b, of_b = _matched(a, of_a, b, of_b, contracted)
    contracted = [label for label in contracted if label in of_a]
    batch = [label for label in of_a if label in of_b and label not in contracted]
    only_a = [label for label in of_a if label not in of_b]
    only_b = [label for label in of_b if label not in of_a]
    if not contracted:
        result = [*batch, *only_a, *only_b]
        return _laid_out(a, of_a, result) * _laid_out(b, of_b, result), result
    extents = {label: max(x.shape[labels.index(label)] for x, labels in ((a, of_a), (b, of_b)) if label in labels)
               for label in (*of_a, *of_b)}  # fmt: skip

    def rows(x: Any, labels: Labels, groups: Sequence[Labels]) -> Any:
        order = [label for group in groups for label in group]
        placed = x if order == labels else x.permute([labels.index(label) for label in order])
        shape = tuple(extents[label] for label in order)
        if tuple(placed.shape) != shape:
            placed = placed.expand(shape)
        grouped = tuple(math.prod(extents[label] for label in group) for group in groups)
        return placed if grouped == shape else placed.reshape(grouped)

    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {a.dtype.scalar_name} but found {b.dtype.scalar_name}")
    result = [*batch, *only_a, *only_b]
    if batch:
        product = bmm(rows(a, of_a, (batch, only_a, contracted)), rows(b, of_b, (batch, contracted, only_b)))
    else:
        product = mm(rows(a, of_a, (only_a, contracted)), rows(b, of_b, (contracted, only_b)))
    return product.view([extents[label] for label in result]), result


def _summed(x: Any, labels: Labels, gone: set[int]) -> tuple[Any, Labels]:
    if not gone:
        return x, labels
    x = x.sum(tuple(d for d, label in enumerate(labels) if label in gone))
    return x, [label for label in labels if label not in gone]


def _matched(a: Any, of_a: Labels, b: Any, of_b: Labels, contracted: Labels) -> tuple[Any, Labels, Any, Labels]:
    """Where one of two dimensions to contract is broadcast, the other can be summed by itself."""
    for label in contracted:
        m, n = a.shape[of_a.index(label)], b.shape[of_b.index(label)]
        if m != n:
            a, of_a = _summed(a, of_a, {label})
            b, of_b = _summed(b, of_b, {label})
    return a, of_a, b, of_b


def _laid_out(x: Any, labels: Labels, wanted: Labels) -> Any:
    """The operand with its dimensions in the order of `wanted`, and ones for those that it lacks."""
    placed = x.permute([labels.index(label) for label in wanted if label in labels])
    for d, label in enumerate(wanted):
        if label not in labels:
            placed = placed.unsqueeze(d)
    return placed
