"""`vmap`: a function of one member as a function of a whole batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.batching import BatchLevel, moved_back
from ..autograd.tracing import level_of
from ..autograd.variable import CLASSES
from ..ops import cat
from ..ops.dims import wrap_dim
from ..pytree import LEAF, TreeSpec, flatten, spread, unflatten
from .arguments import name_of, transforming


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that applies `func` to all members of a batch at once.

    Inside, `func` sees tensors without the batch dimension, and is written for one member. Its ops run on the whole batch.

    Args:
        func: takes tensors, or nests of them, and returns a tensor or a nest of them.
        in_dims: which dimension of the arguments to map over; a tuple for one each, nested as the arguments are, with
            None for what all members share.
        out_dims: where the dimension goes in what is returned.
        randomness: "error" refuses random functions, "same" draws once for all members, "different" for each.
        chunk_size: how many members are computed at once; all by default.

    Raises (when called):
        ValueError: dimensions that do not fit the arguments, or members that differ in number.
        RuntimeError: inside `func` what cannot be told for all members alike: `item()`, a condition, a write of a batched
            tensor to one that is not, results of a shape that depends on the items.

    Example:
        >>> import numgrad as ng
        >>> ng.func.vmap(ng.dot)(ng.ones(3, 2), ng.ones(3, 2))
        tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        call = _Call(func, in_dims, out_dims, randomness, kwargs)
        flat, dims, spec = call.mapped_inputs(args)
        size = call.size_of(flat, dims)
        if chunk_size is None or chunk_size >= size:
            return call.run(flat, dims, spec, size)
        return _chunked(call, flat, dims, spec, size, chunk_size)

    return wrapped


class _Call:
    """One call of a mapped function."""

    def __init__(
        self, func: Callable[..., Any], in_dims: Any, out_dims: Any, randomness: str, kwargs: dict[str, Any]
    ) -> None:
        self.func = func
        self.name = name_of(func)
        self.in_dims = in_dims
        self.out_dims = out_dims
        self.randomness = randomness
        self.kwargs = kwargs

    # ------------------------------------------------------------------------------------------ arguments
    def mapped_inputs(self, args: tuple[Any, ...]) -> tuple[list[Any], list[Any], TreeSpec]:
        """The leaves of the arguments, for each the dimension to map over or None, and their structure."""
        head = f"vmap({self.name}, in_dims={self.in_dims}, ...)(<inputs>): "
        if not isinstance(self.in_dims, (int, tuple)):
            raise ValueError(
                f"{head}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
                f"{type(self.in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({self.name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
                "over a function with no inputs. The latter is unsupported."
            )
        flat, spec = flatten(args)
        dims = spread(self.in_dims, spec)
        if dims is None:
            raise ValueError(
                f"{head}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                f"{flatten(self.in_dims)[1]} but inputs has structure {spec}."
            )
        return flat, [self._checked_dim(head, x, dim) for x, dim in zip(flat, dims, strict=True)], spec

    def _checked_dim(self, head: str, x: Any, dim: Any) -> int | None:
        if dim is None:
            return None
        if not isinstance(dim, int):
            raise ValueError(
                f"{head}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if x.__class__ not in CLASSES:
            raise ValueError(
                f"{head}Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor "
                "arguments, please use None as the respective in_dim"
            )
        rank = x.dim()
        if not -rank <= dim < rank:
            raise ValueError(
                f"{head}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {rank} so expected "
                f"in_dim to satisfy -{rank} <= in_dim < {rank}."
            )
        return dim % rank

    def size_of(self, flat: Sequence[Any], dims: Sequence[int | None]) -> int:
        """The number of members."""
        sizes = [x.shape[dim] for x, dim in zip(flat, dims, strict=True) if dim is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if any(size != sizes[0] for size in sizes):
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
                "mapped dimension"
            )
        return int(sizes[0])

    # ------------------------------------------------------------------------------------------ running
    def run(self, flat: Sequence[Any], dims: Sequence[int | None], spec: TreeSpec, size: int) -> Any:
        """What the function returns for all members, with their dimension where `out_dims` wants it."""
        found, output_spec, _ = self.parts(flat, dims, spec, size)
        return unflatten(found, output_spec)

    def parts(
        self, flat: Sequence[Any], dims: Sequence[int | None], spec: TreeSpec, size: int
    ) -> tuple[list[Any], TreeSpec, list[Any]]:
        """`run`, taken apart: the leaves, their structure, and for each leaf its out_dim."""
        level = BatchLevel(size, self.randomness)
        with transforming(), level.entered():
            batched = [x if dim is None else level.batched(x, dim) for x, dim in zip(flat, dims, strict=True)]
            outputs, output_spec = flatten(self.func(*unflatten(batched, spec), **self.kwargs))
            places = self._out_dims(output_spec)
            found = [self._shown(level, y, dim) for y, dim in zip(outputs, places, strict=True)]
        return found, output_spec, places

    def _out_dims(self, spec: TreeSpec) -> list[Any]:
        if not all(dim is None or isinstance(dim, int) for dim in flatten(self.out_dims)[0]):
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={self.out_dims}): `out_dims` must be an int, None or a python collection "
                "of ints representing where in the outputs the vmapped dimension should appear."
            )
        if spec == LEAF and isinstance(self.out_dims, tuple) and len(self.out_dims) == 1:
            return [self.out_dims[0]]
        places = spread(self.out_dims, spec)
        if places is None:
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={self.out_dims})(<inputs>): out_dims is not compatible with the structure "
                f"of `outputs`. out_dims has structure {flatten(self.out_dims)[1]} but outputs has structure {spec}."
            )
        return places

    def _shown(self, level: BatchLevel, y: Any, dim: int | None) -> Any:
        """One output with its members' dimension."""
        if dim is None:
            if y.__class__ in CLASSES and level_of(y) is level:
                raise ValueError(
                    f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when out_dim is None"
                )
            return y
        if y.__class__ not in CLASSES:
            raise ValueError(
                f"vmap({self.name}, ...): `{self.name}` must only return Tensors, got type {type(y)}. Did you mean to set "
                "out_dims= to None for output?"
            )
        value = level.front(level.with_members(y))
        return moved_back(value, wrap_dim(dim, value.dim()))


def _chunked(
    call: _Call, flat: Sequence[Any], dims: Sequence[int | None], spec: TreeSpec, size: int, chunk_size: int
) -> Any:
    """The members in chunks, one after the other."""
    pieces = []
    for start in range(0, size, chunk_size):
        length = min(chunk_size, size - start)
        part = [x if dim is None else x.narrow(dim, start, length) for x, dim in zip(flat, dims, strict=True)]
        pieces.append(call.parts(part, dims, spec, length))
    _, output_spec, places = pieces[0]
    joined = [
        values[0] if dim is None else cat(values, dim)
        for values, dim in zip(zip(*[found for found, _, _ in pieces], strict=True), places, strict=True)
    ]
    return unflatten(joined, output_spec)


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function itself: it computes the same without in-place ops, which matters to tracers of ops alone.

    `remove` is "mutations" or "mutations_and_views". Raises RuntimeError for anything else.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with "
            "their out-of-place equivalents.\n     remove='mutations_and_views': In addition to the above, all aliasing "
            "operators {view} will be replaced with their non-aliasing counterparts, {view}_copy.\n"
        )
    return functools.wraps(func)(lambda *args, **kwargs: func(*args, **kwargs))
