"""Random programs of tensor ops, and a slow reference that runs them: the same text drives numgrad, PyTorch and NumPy.

`programs()` draws a program: float64 leaves and a few lines such as `v5 = v1 * v3` or `v5[0].mul_(v2)`, with shared
inputs, views, and writes through them. The reference is a NumPy array with PyTorch's method names (`Reference`). It
knows no graph of derivatives: a first derivative is the complex step, Im f(x + ih) / h with h = 1e-200, which is exact to
rounding (Squire and Trapp 1998, doi:10.1137/S003614459631241X), a second one is a central difference of those. Aliasing
needs no thought in it either, for NumPy's own views share memory as tensors' do.

What it does keep is which saved values a backward would read, and their versions, to say when the "modified by an inplace
operation" error is due: the rule is which operands PyTorch's derivatives.yaml lists in each formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

STEP = 1e-200
LIMIT = 30.0  # values that grow past this are not kept, so that differences stay well conditioned


# ---------------------------------------------------------------------------------------------------- the reference
class History:
    """A step of the graph: what it depends on, and the memory (with its version then) that its gradient reads."""

    def __init__(self, parents: Sequence[History], saved: Sequence[Memory]) -> None:
        self.parents = tuple(parents)
        self.saved = [(memory, memory.version) for memory in saved]


class Memory:
    """What all views of one base share: the version counter and the newest history."""

    def __init__(self, history: History | None = None) -> None:
        self.version = 0
        self.history = history
        self.is_leaf = False


class Reference:
    """A NumPy array with the methods of a tensor. Complex throughout, for the complex step."""

    def __init__(self, value: Any, memory: Memory | None = None) -> None:
        self.value: np.ndarray = value
        self.memory = memory or Memory()

    @property
    def tracked(self) -> bool:
        return self.memory.history is not None

    # views
    def _view(self, value: np.ndarray) -> Reference:
        return Reference(value, self.memory)

    def transpose(self, a: int, b: int) -> Reference:
        return self._view(self.value.swapaxes(a, b))

    def permute(self, *dims: int) -> Reference:
        return self._view(self.value.transpose(dims))

    def t(self) -> Reference:
        return self._view(self.value.T)

    def unsqueeze(self, dim: int) -> Reference:
        return self._view(np.expand_dims(self.value, dim))

    def squeeze(self, dim: int) -> Reference:
        return self._view(self.value.squeeze(dim) if self.value.shape[dim] == 1 else self.value)

    def expand(self, *shape: int) -> Reference:
        # Not np.broadcast_to: its result is read-only, and a part of it may still be written.
        lead = len(shape) - self.value.ndim
        strides = [0] * lead + [
            0 if n == 1 != m else s
            for n, m, s in zip(self.value.shape, shape[lead:], self.value.strides, strict=True)
        ]
        return self._view(np.lib.stride_tricks.as_strided(self.value, shape, strides))

    def reshape(self, *shape: int) -> Reference:
        value = self.value.reshape(shape)
        if np.shares_memory(value, self.value):
            return self._view(value)
        return record(value, [self])

    def view(self, *shape: int) -> Reference:
        return self._view(self.value.reshape(shape))

    def select(self, dim: int, index: int) -> Reference:
        return self._view(np.moveaxis(self.value, dim, 0)[index, ...])

    def __getitem__(self, index: Any) -> Reference:
        index = index if isinstance(index, tuple) else (index,)
        return self._view(self.value[index] if Ellipsis in index else self.value[(*index, Ellipsis)])

    # arithmetic
    def __add__(self, other: Any) -> Reference:
        return record(self.value + plain(other), [self, other])

    __radd__ = __add__

    def __sub__(self, other: Any) -> Reference:
        return record(self.value - plain(other), [self, other])

    def __rsub__(self, other: Any) -> Reference:
        return record(other - self.value, [self])

    def __mul__(self, other: Any) -> Reference:
        return record(self.value * plain(other), [self, other], product_reads(self, other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Reference:
        return record(self.value / plain(other), [self, other], quotient_reads(self, other))

    def __neg__(self) -> Reference:
        return record(-self.value, [self])

    def __pow__(self, exponent: int) -> Reference:
        return record(self.value**exponent, [self], [self])

    def __matmul__(self, other: Reference) -> Reference:
        return record(self.value @ other.value, [self, other], product_reads(self, other))

    def __gt__(self, other: Any) -> Reference:
        return Reference(self.value.real > plain(other).real)

    def exp(self) -> Reference:
        return record(np.exp(self.value), [self], reads_out=True)

    def tanh(self) -> Reference:
        return record(np.tanh(self.value), [self], reads_out=True)

    def sigmoid(self) -> Reference:
        return record(1 / (1 + np.exp(-self.value)), [self], reads_out=True)

    def relu(self) -> Reference:
        return record(np.where(self.value.real > 0, self.value, 0), [self], reads_out=True)

    def log(self) -> Reference:
        return record(np.log(self.value), [self], [self])

    def sqrt(self) -> Reference:
        return record(np.sqrt(self.value), [self], reads_out=True)

    def sum(self, dim: Any = None, keepdim: bool = False) -> Reference:
        return record(self.value.sum(dim, keepdims=keepdim), [self])

    def mean(self, dim: Any = None, keepdim: bool = False) -> Reference:
        return record(self.value.mean(dim, keepdims=keepdim), [self])

    def max(self, dim: int) -> tuple[Reference, np.ndarray]:
        where = np.expand_dims(self.value.real.argmax(dim), dim)
        return record(np.take_along_axis(self.value, where, dim).squeeze(dim), [self]), where

    def clone(self) -> Reference:
        return record(self.value.copy("K"), [self])

    # writes
    def _write(self, value: Any, inputs: Sequence[Any] = (), reads: Sequence[Any] = ()) -> Reference:
        parents = [x.memory.history for x in (self, *inputs) if isinstance(x, Reference) and x.tracked]
        memories = [x.memory for x in reads if isinstance(x, Reference)]
        if parents:
            self.memory.history = History(parents, memories)  # type: ignore[arg-type]
        self.value[...] = value
        self.memory.version += 1
        return self

    def add_(self, other: Any, alpha: float = 1) -> Reference:
        return self._write(self.value + alpha * plain(other), [other])

    def sub_(self, other: Any) -> Reference:
        return self._write(self.value - plain(other), [other])

    def mul_(self, other: Any) -> Reference:
        return self._write(self.value * plain(other), [other], [other] if self.tracked else [])

    def div_(self, other: Any) -> Reference:
        return self._write(self.value / plain(other), [other], [other] if self.tracked or is_tracked(other) else [])

    def copy_(self, other: Reference) -> Reference:
        return self._write(plain(other), [other])

    def fill_(self, number: float) -> Reference:
        return self._write(number)

    def zero_(self) -> Reference:
        return self._write(0)

    __iadd__, __isub__, __imul__, __itruediv__ = add_, sub_, mul_, div_

    def __setitem__(self, index: Any, other: Any) -> None:
        target = self[index]
        target._write(plain(other), [other])


def plain(x: Any) -> Any:
    return x.value if isinstance(x, Reference) else np.asarray(x)


def is_tracked(x: Any) -> bool:
    return isinstance(x, Reference) and x.tracked


def product_reads(a: Any, b: Any) -> list[Any]:
    """The gradient of a factor reads the other one."""
    return ([b] if is_tracked(a) else []) + ([a] if is_tracked(b) else [])


def quotient_reads(a: Any, b: Any) -> list[Any]:
    return [b, *([a] if is_tracked(b) else [])]


def record(value: Any, inputs: Sequence[Any], reads: Sequence[Any] = (), reads_out: bool = False) -> Reference:
    """The result of an op, and its history if an input has one."""
    out = Reference(np.array(value, copy=True, order="K"))
    parents = [x.memory.history for x in inputs if is_tracked(x)]
    if parents:
        memories = [x.memory for x in reads if isinstance(x, Reference)]
        out.memory.history = History(parents, [*memories, *([out.memory] if reads_out else [])])
    return out


def _maximum(a: Reference, b: Reference) -> Reference:
    return record(np.where(a.value.real >= b.value.real, a.value, b.value), [a, b], [a, b])


def _where(condition: Reference, a: Any, b: Any) -> Reference:
    return record(np.where(condition.value, plain(a), plain(b)), [a, b])


def _log_softmax(x: Reference, dim: int) -> Reference:
    shifted = x.value - x.value.real.max(dim, keepdims=True)
    return record(shifted - np.log(np.exp(shifted).sum(dim, keepdims=True)), [x], reads_out=True)


def _zeros(*shape: int, dtype: Any) -> Reference:
    return Reference(np.zeros(shape, complex))


NUMPY = SimpleNamespace(
    cat=lambda xs, dim: record(np.concatenate([x.value for x in xs], dim), xs),
    stack=lambda xs, dim: record(np.stack([x.value for x in xs], dim), xs),
    where=_where,
    maximum=_maximum,
    minimum=lambda a, b: record(np.where(a.value.real <= b.value.real, a.value, b.value), [a, b], [a, b]),
    log_softmax=_log_softmax,
    zeros=_zeros,
    float64=None,
)


def reference_leaf(values: np.ndarray) -> Reference:
    leaf = Reference(np.array(values, complex), Memory(History((), ())))
    leaf.memory.is_leaf = True
    return leaf


# ---------------------------------------------------------------------------------------------------- programs
@dataclass
class Program:
    """Leaves, and lines that compute `loss` from them."""

    leaves: dict[str, np.ndarray]
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        head = [f"{n} = torch.tensor({v.tolist()}, dtype=torch.float64, requires_grad=True)" for n, v in self.leaves.items()]
        head += [f"{n} = torch.tensor({v.tolist()}, dtype=torch.float64)" for n, v in self.constants.items()]
        return "\n" + "\n".join([*head, *self.lines])

    def run(self, torch: Any) -> dict[str, Any]:
        """Run under numgrad or PyTorch; all variables by name."""
        names: dict[str, Any] = {"torch": torch}
        for name, value in self.leaves.items():
            names[name] = torch.tensor(value.tolist(), dtype=torch.float64, requires_grad=True)
        for name, value in self.constants.items():
            names[name] = torch.tensor(value.tolist(), dtype=torch.float64)
        for line in self.lines:
            exec(line, names)
        return names

    def run_reference(self, leaves: dict[str, np.ndarray]) -> dict[str, Any]:
        """Run under NumPy with these (complex) leaves."""
        names: dict[str, Any] = {"torch": NUMPY}
        names |= {name: reference_leaf(value) for name, value in leaves.items()}
        names |= {name: Reference(np.array(value, complex)) for name, value in self.constants.items()}
        for line in self.lines:
            exec(line, names)
        return names

    def loss(self, leaves: dict[str, np.ndarray]) -> complex:
        return complex(self.run_reference(leaves)["loss"].value)

    def gradients(self, shift: dict[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
        """The gradient of the loss for each leaf, item by item, with the complex step; the leaves shifted by `shift`."""
        leaves = {n: np.array(v + shift[n] if shift else v, complex) for n, v in self.leaves.items()}
        grads = {}
        for name, value in leaves.items():
            grad = np.zeros(value.shape)
            for index in np.ndindex(value.shape):
                original = value[index]
                value[index] = original + 1j * STEP
                grad[index] = self.loss(leaves).imag / STEP
                value[index] = original
            grads[name] = grad
        return grads

    def curvature(self, direction: dict[str, np.ndarray], step: float = 1e-5) -> dict[str, np.ndarray]:
        """The derivative of the gradients along a direction, by a central difference of the exact first derivatives."""
        there = self.gradients({n: step * d for n, d in direction.items()})
        back = self.gradients({n: -step * d for n, d in direction.items()})
        return {n: (there[n] - back[n]) / (2 * step) for n in there}

    def overwritten(self) -> bool:
        """Whether something that the backward of the loss reads was written after it was saved."""
        start = self.run_reference(self.leaves)["loss"].memory.history
        stack, seen = ([], set()) if start is None else ([start], {start})
        while stack:
            history = stack.pop()
            if any(memory.version != version for memory, version in history.saved):
                return True
            new = set(history.parents) - seen
            seen |= new
            stack.extend(new)
        return False

    def depends_on_leaf(self) -> bool:
        return self.run_reference(self.leaves)["loss"].tracked


# ---------------------------------------------------------------------------------------------------- drawing
class Builder:
    """Draws a program line by line, running each under the reference to know shapes, sharing and sizes of values."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw
        self.rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        self.program = Program({})
        self.names: dict[str, Any] = {"torch": NUMPY}
        self.tensors: list[str] = []
        self.frozen: set[int] = set()  # memory that must not be written: whether it is shared depends on a library's layout
        self.count = 0

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def shape_of(self, name: str) -> tuple[int, ...]:
        return self.names[name].value.shape

    def tensor(self, accept: Callable[[tuple[int, ...]], bool] = lambda shape: True) -> str | None:
        found = [n for n in self.tensors if accept(self.shape_of(n))]
        return self.draw(st.sampled_from([*found[-2:], *found])) if found else None  # deep programs say more than wide ones

    def partner(self, name: str) -> str:
        """A tensor that broadcasts with another to at most three dimensions (the tensor itself always does)."""
        shape = self.shape_of(name)
        return self.tensor(lambda s: _broadcastable(shape, s)) or name

    def number(self) -> float:
        return self.pick(0.5, -1.5, 2.0, 2)

    def add_values(self, kind: str, shape: tuple[int, ...]) -> str:
        values = np.asarray(self.rng.uniform(0.3, 1.7, shape) * self.rng.choice([-1.0, 1.0], shape))
        name = f"{kind}{len(self.program.leaves) + len(self.program.constants)}"
        if kind == "x":
            self.program.leaves[name] = values
            self.names[name] = reference_leaf(values)
        else:
            self.program.constants[name] = values
            self.names[name] = Reference(np.array(values, complex))
        return name

    def emit(self, expression: str) -> None:
        """Add `vN = expression`, unless its values grow too large."""
        value = eval(expression, self.names)
        if not np.all(np.abs(value.value) < LIMIT) or value.value.ndim > 4:
            return
        name = f"v{self.count}"
        self.count += 1
        self.names[name] = value
        self.tensors.append(name)
        self.program.lines.append(f"{name} = {expression}")

    # one line each
    def unary(self) -> None:
        a = self.tensor()
        form = self.pick(
            "-{a}", "{a}.exp()", "{a}.tanh()", "{a}.sigmoid()", "{a}.relu()", "{a}.clone()", "{a} ** 2", "{a} ** 3",
            "({a} * {a} + 0.5).log()", "({a} * {a} + 0.5).sqrt()", "1.5 - {a}", "2.0 * {a}", "{a} / 2", "{a} - 0.25",
        )  # fmt: skip
        self.emit(form.format(a=a))

    def binary(self) -> None:
        a = self.tensor()
        assert a is not None
        b = self.partner(a)
        form = self.pick(
            "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} * {b}", "{a} / ({b} * {b} + 1.0)", "torch.maximum({a}, {b})",
            "torch.minimum({a}, {b})", "torch.where({a} > 0.1, {a}, {b})",
        )  # fmt: skip
        self.emit(form.format(a=a, b=b))

    def reduction(self) -> None:
        a = self.tensor(lambda s: len(s) > 0)
        if a is None:
            return
        dim = self.integer(0, len(self.shape_of(a)) - 1)
        form = self.pick("{a}.sum()", "{a}.sum({d})", "{a}.sum({d}, True)", "{a}.mean()", "{a}.mean({d})",
                         "{a}.max({d})[0]", "torch.log_softmax({a}, {d})")  # fmt: skip
        self.emit(form.format(a=a, d=dim))

    def product(self) -> None:
        a = self.tensor(lambda s: len(s) in (1, 2))
        if a is None:
            return
        inner = self.shape_of(a)[-1]
        b = self.tensor(lambda s: len(s) in (1, 2) and s[0] == inner)
        self.emit(f"{a} @ {b}" if b else f"{a} @ {a}.t()" if len(self.shape_of(a)) == 2 else f"{a} @ {a}")

    def join(self) -> None:
        a = self.tensor(lambda s: 0 < len(s) < 3)
        if a is None:
            return
        shape = self.shape_of(a)
        b = self.tensor(lambda s: s == shape)
        dim = self.integer(0, len(shape) - 1)
        self.emit(self.pick(f"torch.cat([{a}, {b}], {dim})", f"torch.stack([{a}, {b}, {a}], {dim})"))

    def view(self) -> None:
        a = self.tensor()
        if a is not None:
            expression = self.view_of(a)
            if expression:
                before = self.count
                self.emit(expression)
                if self.count > before and ".reshape" in expression and not self.names[a].value.flags.c_contiguous:
                    self.frozen |= {id(self.names[n].memory) for n in (a, self.tensors[-1])}

    def view_of(self, a: str) -> str | None:
        shape = self.shape_of(a)
        rank = len(shape)
        kinds = ["unsqueeze", "expand"] if rank < 3 else []
        kinds += ["reshape"] + (["select", "slice", "index", "squeeze"] if rank else [])
        kinds += ["transpose", "permute", "t"] if rank > 1 else []
        kind = self.draw(st.sampled_from(kinds))
        dim = self.integer(0, rank - 1) if rank else 0
        if kind == "unsqueeze":
            return f"{a}.unsqueeze({self.integer(0, rank)})"
        if kind == "expand":
            return f"{a}.expand({', '.join(map(str, (2, *(3 if n == 1 else n for n in shape))))})"
        if kind == "reshape":
            return f"{a}.reshape({', '.join(map(str, self.pick(*_factorisations(int(np.prod(shape))))))})"
        if kind == "squeeze":
            return f"{a}.squeeze({dim})"
        if kind == "select":
            return f"{a}.select({dim}, {self.integer(-shape[dim], shape[dim] - 1)})"
        if kind == "transpose":
            return f"{a}.transpose({dim}, {self.integer(0, rank - 1)})"
        if kind == "permute":
            return f"{a}.permute({', '.join(map(str, self.draw(st.permutations(range(rank)))))})"
        if kind == "t":
            return f"{a}.t()" if rank == 2 else f"{a}.transpose(0, 1)"
        return f"{a}[{self.index(shape)}]"

    def index(self, shape: tuple[int, ...]) -> str:
        items = []
        for n in shape[: self.integer(1, len(shape))]:
            start = self.integer(0, n - 1)
            items.append(self.pick(str(start), f"{start}:", ":", f"{start}::2", f":{start + 1}", f"-{n - start}:"))
        return ", ".join(items + (["..."] if self.integer(0, 5) == 0 else []))

    def is_writable(self, name: str) -> bool:
        memory = self.names[name].memory
        return not memory.is_leaf and id(memory) not in self.frozen

    def write(self) -> None:
        writable = [n for n in self.tensors if self.is_writable(n)]
        if not writable:
            return
        a = self.draw(st.sampled_from(writable))
        target = a
        if self.integer(0, 2) == 0:  # through a view that no variable holds
            expression = self.view_of(a)
            if not expression or ".reshape" in expression or ".squeeze" in expression:
                return
            target = expression
        memory = eval(target, self.names).value
        if _overlaps_itself(memory) or np.abs(memory).max() > LIMIT / 3:
            return
        b = self.tensor(lambda s: _expands_to(s, memory.shape))
        operand = self.pick(b or "0.5", str(self.number()))
        if operand == b:
            source = self.names[b].value
            if np.abs(source).max() > LIMIT / 10 or (np.shares_memory(source, memory) and source is not memory):
                return
        whole = target == a
        forms = ["{t}.add_({o})", "{t}.mul_({o})", "{t}.mul_({o})", "{t}.sub_({o})"]
        forms += ["{t}.zero_()", "{t}.fill_(0.75)", "{t}.div_(2.0)"]
        forms += ["{t}.copy_({o})"] * 2 if operand == b else []
        forms += ["{t} += {o}", "{t} *= {o}"] if whole else ["{t} = {o}"] if target.endswith("]") else []
        line = self.draw(st.sampled_from(forms)).format(t=target, o=operand)
        exec(line, self.names)
        self.program.lines.append(line)

    def finish(self) -> Program:
        """The loss: a weighted sum of the newest tensors, of which three that depend on a leaf."""
        terms = []
        tracked = [n for n in self.tensors if self.names[n].tracked]
        for name in dict.fromkeys([*tracked[-3:], self.tensors[-1]]):
            weight = self.add_values("w", self.shape_of(str(name)))
            terms.append(f"({name} * {weight}).sum()")
        self.program.lines.append(f"loss = {' + '.join(terms)}")
        return self.program


def _broadcastable(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


def _expands_to(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return len(a) <= len(b) and all(m in (1, n) for m, n in zip(reversed(a), reversed(b), strict=False))


def _overlaps_itself(value: np.ndarray) -> bool:
    return any(s == 0 and n > 1 for n, s in zip(value.shape, value.strides, strict=True))


def _factorisations(count: int) -> list[tuple[int, ...]]:
    pairs = [(n, count // n) for n in range(1, count + 1) if count % n == 0]
    return [(count,), *pairs]


@st.composite
def programs(draw: Callable[..., Any], in_place: bool = True, lines: int = 12) -> Program:
    """Programs of up to `lines` lines on one to three leaves."""
    builder = Builder(draw)
    extents = st.sampled_from([1, 2, 2, 3])
    for _ in range(builder.integer(1, 3)):
        shape = tuple(draw(st.lists(extents, min_size=draw(st.sampled_from([0, 1, 1, 2])), max_size=3)))
        builder.tensors.append(builder.add_values("x", shape))
    if in_place:
        builder.emit(f"1.5 * {builder.tensors[0]}")
    if in_place and builder.integer(0, 2) == 0:
        buffer = ", ".join(map(str, draw(st.lists(extents, min_size=1, max_size=2))))
        builder.emit(f"torch.zeros({buffer}, dtype=torch.float64)")
    kinds = [builder.binary, builder.view, builder.view, builder.unary, builder.reduction, builder.product, builder.join]
    if in_place:
        kinds = [builder.write] * 4 + kinds
    for _ in range(builder.integer(lines // 2, lines)):
        draw(st.sampled_from(kinds))()
    return builder.finish()
