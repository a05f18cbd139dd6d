"""How ops that are not elementwise run on all members of a batch at once. What has no rule is run member by member.

A rule is `rule(level, op, inputs, attributes)` and returns what the op gives with the hidden dimension in front, or None
where it does not apply. `level.front(x)` shows a tensor's hidden dimension as its first; a tensor without one is
returned as it is, and `level.with_members(x)` gives it one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..kernels import reductions
from ..kernels.array import Array, storage_extent
from ..kernels.linalg import bmm, mm
from ..kernels.registry import OPS, run
from ..kernels.views import alias, squeeze_dims, transpose
from .tracing import level_of

Rule = Callable[[Any, Any, tuple[Any, ...], tuple[Any, ...]], Any]
RULES: dict[str, Rule] = {}
DYNAMIC = frozenset(
    {"nonzero", "masked_select", "unique", "unique_consecutive"}
)  # results of a shape that items decide

_DIMENSIONS = frozenset({"dim", "dims", "dim0", "dim1", "dim2", "dimension", "axis"})


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def declare(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return declare


def _fronts(level: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """All operands with a hidden dimension, shown in front."""
    return tuple(level.front(level.with_members(x)) for x in inputs)


def _shifted(dim: Any) -> Any:
    """Dimensions (non-negative) counted from one further left."""
    return tuple(d + 1 for d in dim) if isinstance(dim, (tuple, list)) else dim + 1


# ---------------------------------------------------------------------------------------------------- views
def shifted_views(op: Any, array: Array, attributes: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """View ops, with attributes, that may do for the whole batch what `op` does for a member. The caller compares."""
    rank = len(array.shape) - 1
    if op.name == "t":
        yield (transpose, (1, 2)) if rank == 2 else (alias, ())
        return
    if op.name == "squeeze":
        yield squeeze_dims, (tuple(range(1, rank + 1)),)
        return
    names = list(op.attributes)
    if names == ["dims"]:  # permute: all of them are named
        yield op, ((0, *_shifted(attributes[0])),)
    elif names == ["size"]:
        yield op, ((array.shape[0], *attributes[0]),)
    elif rank and any(name in _DIMENSIONS for name in names):
        yield (
            op,
            tuple(
                _shifted(value) if name in _DIMENSIONS else value for name, value in zip(names, attributes, strict=True)
            ),
        )
    elif not names:
        yield op, ()


# ---------------------------------------------------------------------------------------------------- reductions
@_rule("sum.dim", "mean.dim", "nansum", "prod.dim_int", "any.dims", "all.dims", "count_nonzero", "var", "std", "var_mean",
       "std_mean", "linalg_vector_norm", "logsumexp", "log_softmax", "softmax", "amax", "amin", "aminmax", "max.dim",
       "min.dim", "argmax", "argmin", "cat", "stack", "select_along", "cumsum", "cumprod", "logcumsumexp",
       "sort")  # fmt: skip
def _along_dimensions(level: Any, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    """An op along the dimensions of its attribute `dim`, which treats what lies along others alike."""
    if "dim" not in op.attributes:
        return None
    position = list(op.attributes).index("dim")
    dim = attributes[position]
    ranks = {x.dim() for x in inputs}
    if dim is None or 0 in ranks or len(ranks) > 1:
        return None
    rank = ranks.pop() + (op.name == "stack")
    dims = tuple(d % rank for d in dim) if isinstance(dim, (tuple, list)) else dim % rank
    return run(op, _fronts(level, inputs), (*attributes[:position], _shifted(dims), *attributes[position + 1 :]))


def _over_all(over: Any) -> Rule:
    def rule(level: Any, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
        (value,) = _fronts(level, inputs)
        if value.dim() == 1:
            value = value.unsqueeze(1)
        return over(value, dim=tuple(range(1, value.dim())))

    return rule


RULES["sum"] = _over_all(reductions.sum_dim)
RULES["mean"] = _over_all(reductions.mean_dim)
RULES["max"] = _over_all(OPS["amax"])
RULES["min"] = _over_all(OPS["amin"])


@_rule("prod")
def _prod(level: Any, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    (value,) = _fronts(level, inputs)
    return reductions.prod_dim(value.reshape((level.size, -1)), dim=1) if level.size else None


# ---------------------------------------------------------------------------------------------------- movement
@_rule("to_copy")
def _to_copy(level: Any, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    return run(op, _fronts(level, inputs), attributes)


@_rule("to_strides")
def _to_strides(level: Any, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    (value,) = _fronts(level, inputs)
    (strides,) = attributes
    return op(value, strides=(storage_extent((value.shape[1:], strides, 0)), *strides))


@_rule("scatter_view")
def _scatter_view(level: Any, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    (value,) = _fronts(level, inputs)
    shape, (size, stride, offset) = attributes
    items = 1
    for extent in shape:
        items *= extent
    return op(value, shape=(level.size, *shape), layout=((level.size, *size), (items, *stride), offset))


# ---------------------------------------------------------------------------------------------------- products
@_rule("mm")
def _mm(level: Any, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    first, second = inputs
    if level_of(second) is not level:  # the members' rows make one matrix
        value = level.front(first)
        size, n, m = value.shape
        return mm(value.reshape((size * n, m)), second).view((size, n, second.shape[1]))
    return bmm(*_fronts(level, inputs))


@_rule("mv")
def _mv(level: Any, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    matrix, vector = inputs
    if level_of(matrix) is not level:
        return mm(level.front(vector), matrix.t())
    matrix, vector = _fronts(level, inputs)
    return bmm(matrix, vector.unsqueeze(2)).squeeze(2)


@_rule("dot")
def _dot(level: Any, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    first, second = _fronts(level, inputs)
    return bmm(first.unsqueeze(1), second.unsqueeze(2)).view((level.size,))


@_rule("addmm")
def _addmm(level: Any, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    if any(attributes):
        return None
    added, first, second = inputs
    batched = any(level_of(x) is level for x in (first, second))
    product = _mm(level, mm, (first, second), ()) if batched else mm(first, second)
    has_members = level_of(added) is level
    value = level.front(added)
    if has_members and added.dim() < 2:
        value = value.view((level.size, *(1,) * (2 - added.dim()), *added.shape))
    return value + product


@_rule("bmm")
def _bmm(level: Any, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    first, second = _fronts(level, inputs)
    size, count = first.shape[:2]
    joined = bmm(first.reshape((size * count, *first.shape[2:])), second.reshape((size * count, *second.shape[2:])))
    return joined.view((size, count, *joined.shape[1:]))
