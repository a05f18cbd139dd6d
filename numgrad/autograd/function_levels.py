"""Custom Functions of batches and of dual numbers: by their own `vmap` and `jvp`, or, for batches, by what they compute."""

from __future__ import annotations

from typing import Any, NamedTuple

from .batching import BatchLevel, moved_back
from .duals import DualLevel
from .grad_mode import no_grad
from .tracing import Level, is_traced, level_of
from .variable import CLASSES

_HELP = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
NEEDS_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
    f"setup_context staticmethod. {_HELP}"
)


class VmapInfo(NamedTuple):
    """What a Function's `vmap` is told: the number of members, and what `vmap`'s `randomness` was."""

    batch_size: int
    randomness: str


def apply_at(level: Level, cls: Any, base: Any, args: tuple[Any, ...]) -> Any:
    """Apply a Function to arguments of which `level` is the innermost that has wrapped any.

    `base` is `Function` itself, to tell what `cls` overrides.
    """
    if isinstance(level, DualLevel):
        return _apply_duals(level, cls, base, args)
    assert isinstance(level, BatchLevel)
    if cls.generate_vmap_rule:
        if cls.vmap is not base.vmap:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
                f"staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
                f"ambiguity. {_HELP}"
            )
        return _apply_generated(level, cls, base, args)
    if cls.vmap is base.vmap:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the "
            f"vmap staticmethod or set generate_vmap_rule=True. {_HELP}"
        )
    dims = tuple(x._array.dim if level_of(x) is level else None for x in args)
    values = [x._array.value if level_of(x) is level else x for x in args]
    outputs, out_dims = cls.vmap(VmapInfo(level.size, level.randomness), dims, *values)
    if not isinstance(outputs, tuple):
        return _rewrapped(level, outputs, out_dims)
    places = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(outputs)
    return tuple(_rewrapped(level, y, dim) for y, dim in zip(outputs, places, strict=True))


def _rewrapped(level: BatchLevel, output: Any, dim: int | None) -> Any:
    return output if dim is None or output.__class__ not in CLASSES else level.batched(output, dim % output.dim())


def _apply_duals(level: DualLevel, cls: Any, base: Any, args: tuple[Any, ...]) -> Any:
    primals, tangents = zip(*[level.parts(x) if x.__class__ in CLASSES else (x, None) for x in args], strict=True)
    has_setup = cls.setup_context is not base.setup_context
    if not any(map(is_traced, primals)):
        context, output = cls._with_context(primals, has_setup)
    else:
        output = cls.apply(*primals)
        context = cls._backward_cls()
        with no_grad():  # what `jvp` reads, from a call that is not recorded
            if has_setup:
                cls.setup_context(context, primals, cls.forward(*primals))
            else:
                cls.forward(context, *primals)
    derivatives = cls.jvp(context, *tangents)
    several = isinstance(output, tuple)
    outputs = output if several else (output,)
    derivatives = derivatives if isinstance(derivatives, tuple) else (derivatives,)
    if len(derivatives) != len(outputs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
            f"{len(derivatives)})"
        )
    found = tuple(_dual(level, i, y, t) for i, (y, t) in enumerate(zip(outputs, derivatives, strict=True)))
    return found if several else found[0]


def _dual(level: DualLevel, number: int, output: Any, tangent: Any) -> Any:
    if tangent is None or output.__class__ not in CLASSES:
        return output
    if tangent.shape != output.shape:
        raise RuntimeError(
            f"Forward gradient of output {number} has shape {list(tangent.shape)}, the output {list(output.shape)}"
        )
    return level.dual(output, tangent)


# ---------------------------------------------------------------------------------------------------- generated rules
def _apply_generated(level: BatchLevel, cls: Any, base: Any, args: tuple[Any, ...]) -> Any:
    """The Function on whole batches: its own forward and backward run on batched tensors."""
    dims = tuple(x._array.dim if level_of(x) is level else None for x in args)
    values = [x._array.value if level_of(x) is level else x for x in args]
    batch = _Batch(level, cls, base, dims)
    made: Any = type(
        cls.__name__, (base,), {"forward": staticmethod(batch.forward), "backward": staticmethod(batch.backward)}
    )
    output = made._call(tuple(values), False)
    if isinstance(output, tuple):
        return tuple(level.batched(y, 0) if y.__class__ in CLASSES else y for y in output)
    return level.batched(output, 0)


class _Batch:
    """One call of a Function on a batch: wraps what its methods see, and unwraps what they return."""

    def __init__(self, level: BatchLevel, cls: Any, base: Any, dims: tuple[int | None, ...]) -> None:
        self.size = level.size
        self.randomness = level.randomness
        self.cls = cls
        self.dims = dims
        self.inner = _Context()
        self.method = cls.backward if cls.vjp is base.vjp else cls.vjp

    def forward(self, ctx: Any, *values: Any) -> Any:
        """Run the Function's forward on batched tensors; `ctx` is of the Function that takes whole batches."""
        level = BatchLevel(self.size, self.randomness)
        with level.entered():
            inputs = tuple(x if d is None else level.batched(x, d) for x, d in zip(values, self.dims, strict=True))
            output = self.cls.forward(*inputs)
            self.cls.setup_context(self.inner, inputs, output)
            outputs = output if isinstance(output, tuple) else (output,)
            found = tuple(level.front(level.with_members(y)) if y.__class__ in CLASSES else y for y in outputs)
            # Inputs and outputs are saved as themselves: that is what keeps their place in the graph.
            known = {id(x): (v, d) for x, v, d in zip(inputs, values, self.dims, strict=True)}
            known |= {id(y): (v, 0) for y, v in zip(outputs, found, strict=True)}
            saved = [known.get(id(x)) or _unwrapped(level, x) for x in self.inner.to_save or ()]
        self.inner.saved_dims = [dim for _, dim in saved]
        ctx.save_for_backward(*[value for value, _ in saved])
        ctx.set_materialize_grads(self.inner.materialize_grads)
        skipped = {id(x) for x in self.inner.non_differentiable or ()}
        ctx.mark_non_differentiable(*[f for y, f in zip(outputs, found, strict=True) if id(y) in skipped])
        return found if isinstance(output, tuple) else found[0]

    def backward(self, ctx: Any, *gradients: Any) -> Any:
        """Run the Function's backward on batched gradients."""
        level = BatchLevel(self.size, self.randomness)
        with level.entered():
            self.inner.needs_input_grad = ctx.needs_input_grad
            opened = ctx.saved_tensors
            self.inner.saved_tensors = tuple(
                x if d is None else level.batched(x, d) for x, d in zip(opened, self.inner.saved_dims, strict=True)
            )
            found = self.method(self.inner, *[None if g is None else level.batched(g, 0) for g in gradients])
            results = found if isinstance(found, tuple) else (found,)
            return tuple(self._gradient(level, g, d) for g, d in zip(results, self.dims, strict=False))

    def _gradient(self, level: BatchLevel, g: Any, dim: int | None) -> Any:
        if g is None:
            return None
        value = level.front(level.with_members(g))
        return value.sum(0) if dim is None else moved_back(value, dim)


def _unwrapped(level: BatchLevel, x: Any) -> tuple[Any, int | None]:
    return (x._array.value, x._array.dim) if level_of(x) is level else (x, None)


class _Context:
    """The context that a batched Function's own methods see."""

    materialize_grads = True
    non_differentiable: tuple[Any, ...] | None = None

    def __init__(self) -> None:
        self.to_save: tuple[Any, ...] | None = None
        self.saved_tensors: tuple[Any, ...] = ()
        self.saved_dims: list[int | None] = []
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """See `FunctionCtx`."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """See `FunctionCtx`."""

    def mark_non_differentiable(self, *args: Any) -> None:
        """See `FunctionCtx`."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """See `FunctionCtx`."""
        self.materialize_grads = value
