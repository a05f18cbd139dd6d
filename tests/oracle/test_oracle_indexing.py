"""Indexing against PyTorch's: single expressions with every kind of index, and random ones, read, written and differentiated."""

from __future__ import annotations

import random
import secrets
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import side_by_side

import numgrad

torch = pytest.importorskip("torch")

# x: (2, 3, 4), requires a gradient; c: the same, not; s: 0-d; i, j: int64; m: a mask of (2, 3); b: bytes; L: index tensors.
READS = """
x[[0, 1]]; x[[[0, 1], [1, 0]]]; x[[slice(0, 1)]]; x[[0, None]]; x[[[0, 1], 1]]; x[[i]]; x[[i, 1]]; x[[True, False]]; x[[0.5]]; x[0.5]
x['a']; x[range(2)]; x[np.array([0, 1])]; x[np.array([True, False])]; x[np.array([0.5])]; x[np.int64(1)]; x[np.bool_(True)]; x[True]; x[False]
x[True, 0]; x[0, True, [0, 1]]; x[T(True)]; x[T(1)]; x[T(1, dtype=torch.uint8)]; x[b]; x[T([0.5])]; x[T(0.5)]; x[5]; x[-3]; x[0, 5]; x[:, 5]
x[0, 0, 0, 0]; x[[5]]; x[:, [5]]; x[:, [-5]]; x[:, [-3]]; x[[0, 1], [0, 1, 2]]; x[[True]]; x[:, [True, False]]; x[..., ...]; x[..., [0, 1], :]
s[0]; s[:]; s[...]; s[None]; s[True]; s[False]; s[()]; s[[]]; s[[0]]; s[T(0)]; s[0, 0]; x[()]; x[[]]; x[L(0)]; x[::0]; x['a':]; x[0.5:]
x[:, T(1):]; x[torch.zeros(2, 4).bool()]; x[torch.zeros(2, 3).bool()]; x[{0}]; x[object()]; x[1j]; x[(0,), (1,)]; x[[(0, 1)]]; x[[[0, 1]], [[0], [1]]]
x[np.array(1)]; x[np.array(True)]; x[[np.int64(0), 1]]; x[[[0], [1, 2]]]; x[[[[0]]]]; x[[0, 1], :, [0, 1]]; x[0, :, [0, 1]]; x[:, [0, 1], None, [0, 1]]
x[T([0, 1], dtype=torch.int8)]; x[T([0, 1], dtype=torch.int32)]; x[T([0, 1], dtype=torch.int16)]; x[np.array([0, 1], dtype=np.int16)]
x[np.array([0, 1], dtype=np.uint8)]; x[[[True, False]]]; x[None, [0, 1]]; x[..., True]; x[0, ..., True]; x[0, 1, 2]; x[0:2]; x[:, 0:3]; x[1:1]
x.permute(2, 0, 1)[[0, 1]]; x.permute(2, 0, 1)[:, [0, 1]]; x.permute(2, 0, 1)[:, [0, 1], [0, 1]]; x.permute(2, 1, 0)[[0, 1], :, [0, 1]]; x[x > 3]
x[[0, 1, None]]; x[(0, [1, 2])]; x[[], []]; x[:, T([[0, 1], [1, 0]]).t()]; x[m]; x[m, 1]; x[m, 1:3]; x[m, None]; x[m, [0] * 4]; x[0, m[0]]; x[:, m[0]]
x[[0, 0], torch.ones(3, 4).bool()]; x[m, 0, 0]; x[m, ..., [0]]; x[torch.ones(2, 3, 4, 5).bool()]; x[i, j]; x[i, :, j]; x[:, i, j]; x[..., i, j]; x[i, ..., j]
torch.zeros(2, 0)[[5]]; torch.zeros(0, 2)[[0]]; torch.zeros(0, 2)[:, [0]]; torch.zeros(0, 2)[:, [7]]; torch.zeros(0, 2)[[[]]]; x.expand(2, 2, 3, 4)[:, i]
x[i][:, j]; x[L(0, 1), L(0, 1)]; x[L(-1, 1), -1]; x[i.int(), j]; x[1, m[1], 2]; x[x.detach() > 100]; x[None, ..., None]; x[..., 0]; x[-1, -1, -1:]
torch.index_put(x, (i,), c[0]); torch.index_put(x, (i, j), s, accumulate=True); torch.index_put(x, (None, j), T(2.0)); x.index_put((m,), T(3.0))
x.index_put((m,), torch.ones(3, 4)); x.index_put((m,), torch.ones(4)); x.index_put((i, i, i, i), s); torch.index_put(x, i, s); x.index_put((i,), T([1.0]))
x.index_put((L(1, 1),), torch.ones(2, 3, 4), True); x.index_put((i,), s.double()); x.index_put((L(7),), s); c.index_put((m, L(0)), T(1.0))
"""

WRITES = """
y[0] = 1.0; y[[0, 1]] = 2; y[i, j] = 3.0; y[m] = 4.0; y[m] = v[0, 0]; y[i] = v; y[:, i] = v[:, i]; y[i] = v[0, 0, 0]; y[0] = v[0]; y[...] = v; y[...] = 2.0
y[True] = 5.0; y[False] = 5.0; y[None] = v; y[T(False)] = 5.0; y[T(True)] = v[0, 0, 0]; y[5] = 1; y[[5]] = 1; y[0:2] = torch.ones(1, 1, 1, 3, 4); y[i] = torch.ones(1, 1, 2, 3, 4)
y[i] = torch.ones(3, 4, dtype=torch.float64); y[i] = torch.ones(5, 4); y[0] = torch.ones(5, 4); y[0] = torch.ones(4, dtype=torch.float64); y[0] = 'a'; y[0] = [1.0]; y[0] = None
y[0] = np.ones(4); y[0] = np.float32(1); y[0] = np.float64(1); y[0] = np.int64(1); y[0, 0, 0] = y; y[{}] = 1; y['a'] = 1; y[(slice(None),)] = 2; y[:] = v; y[:] = 1
y[0, 0, 0] = torch.ones(1); y[0, 0, 0] = torch.ones(1, 2); y[0, ..., None] = torch.ones(3, 4, 1); y[i, j] = torch.ones(2, 3); y[i, :, j] = torch.ones(2, 3); y[m] = torch.ones(4, 4)
y[m] = torch.ones(3, 4); y[m, 1:3] = torch.ones(2); y[i] = y[:1]; y[i] = y[0]; y[:1] = y[1:]; y[m, 0] = v[0, 0, 0]; y[0][1] = 3.0; y[0][[1]] = v[0, 0]; y[i] += 1
y[L(0, 1)] += 1; y[..., L(1, 0)] += v[..., L(0, 0)]; y[y > 1] = 0.0; y[y > 100] = v[0, 0, :0]; y[y > 100] = 1.0; y[L(0)] = 1; y[range(2)] = 7; y[0, True] = 7.0
y[1, [True, False, True]] = v[1, :2]; y.index_put_((i,), v); y.index_put_((i, j), v[0, :2, 0], accumulate=True); y.index_put_((m,), v[0, 0, 0]); y[()] = 3.0; y[-1, 1:, ::2] = v[0, :2, :2]
k[0] = 1.5; k[[0]] = 1.5; k[0] = T(1.7); k[[0]] = T(1.7); k[k < 1] = T(1.7); k[[0, 0]] = T([1, 2]); k[0] = 2**63; u[0] = 300; u[0] = -1; u[0] = -256; u[[0]] = 300; u[0] = True
o[0] = 3; o[[0, 1]] = 3; o[0] = T(0.5); o[o] = False; k.expand(2, 3)[[0]] = 1; k.expand(2, 3)[0] = 1; k.expand(2, 3)[:] = 1; k[k] = k; k[k] = 1; s0[()] = 2; s0[...] = 2; s0[0] = 2
s0[True] = 2; s0[None] = 3; s0[[0]] = 2; torch.zeros(2, 0)[[0]] = torch.ones(2, 0); del y[0]; w[0] = 1; w[[0]] = 1; w[:] = 1; w[w > 0] = 1
"""


def scope_of(library: ModuleType) -> dict[str, Any]:
    T = library.tensor
    values = library.from_numpy(np.arange(24.0, dtype=np.float32).reshape(2, 3, 4) % 7)
    x = values.clone().requires_grad_()
    return {
        "torch": library,
        "np": np,
        "T": T,
        "L": lambda *values: T(list(values), dtype=library.int64),
        "x": x,
        "y": x * 2,
        "v": (values + 5).requires_grad_(),
        "w": library.ones(3).requires_grad_(),
        "c": values,
        "s": T(1.0),
        "s0": T(1.0),
        "i": T([0, 1]),
        "j": T([2, 0]),
        "k": T([0, 0, 0]),
        "u": T([0, 0], dtype=library.uint8),
        "o": T([True, False]),
        "m": T([[True, False, True], [True, True, False]]),
        "b": T([1, 0], dtype=library.uint8),
    }


def expressions(text: str) -> list[str]:
    return [e.strip() for line in text.strip().splitlines() for e in line.split(";")]


def described(x: Any) -> Any:
    if not hasattr(x, "requires_grad"):
        return repr(type(x))
    # Strides of empty results and of dimensions of extent 1 mean nothing, but the latter may decide the order of the others.
    strides = "any" if 0 in x.shape or 1 in x.shape else x.stride()
    return repr(x), tuple(x.shape), strides, x.storage_offset(), x._is_view(), x._version, x.is_leaf


def gradients(scope: dict[str, Any], out: Any) -> list[Any]:
    """First and second gradients of a result for x and v."""
    library = scope["torch"]
    if not getattr(out, "requires_grad", False):
        return []
    leaves = [scope["x"], scope["v"]]
    weights = library.from_numpy(np.arange(1.0, out.numel() + 1, dtype=np.float32).reshape(tuple(out.shape))).requires_grad_()
    first = library.autograd.grad(out, leaves, weights, create_graph=True, allow_unused=True)
    found = [None if g is None else g.tolist() for g in first]
    recorded = [(g * g).sum() for g in first if g is not None and g.requires_grad]
    if recorded:
        found += [g.tolist() for g in library.autograd.grad(recorded, [weights], allow_unused=True) if g is not None]
    return found


def outcome(library: ModuleType, code: str, shown: str | None = None) -> Any:
    scope = scope_of(library)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if shown is None:
                found: Any = eval(code, scope)
            else:
                exec(code, scope)
                found = scope[shown]
            result = (described(found), gradients(scope, found))
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    return side_by_side.neutral(repr(result)), {side_by_side.neutral(str(w.message)) for w in caught}


@pytest.mark.parametrize("code", expressions(READS))
def test_reading(code: str) -> None:
    """Value, strides, place in the graph, gradients of two orders, or error and warnings."""
    assert outcome(numgrad, code) == outcome(torch, code)


@pytest.mark.parametrize("code", expressions(WRITES))
def test_writing(code: str) -> None:
    shown = next(name for name in ("k", "u", "s0", "o", "w", "y") if code.startswith(name) or name == "y")
    assert outcome(numgrad, code, shown) == outcome(torch, code, shown)


# ---------------------------------------------------------------------------------------------------- random indices
SHAPES = ((4,), (2, 3), (3, 4, 2), (2, 3, 1, 4), (2, 2, 3, 2, 2))
SEED = secrets.randbits(32)


def random_index(rng: random.Random, shape: tuple[int, ...]) -> str:
    """The text of an index, some times one that is refused."""
    items = []
    dims = list(shape)
    common = rng.choice([(2,), (3,), (2, 2), (1, 3)])
    while dims and len(items) < 6:
        kind = rng.choice(["int", "slice", "slice", "none", "ints", "ints", "mask", "bool", "ellipsis", "stop", "0-d"])
        n = dims[0]
        if kind == "stop":
            break
        if kind == "ellipsis" and "..." not in items:
            items.append("...")
            break
        if kind == "none":
            items.append("None")
        elif kind == "bool" and rng.random() < 0.3:
            items.append(rng.choice(["True", "T(True)", "False"]))
        elif kind == "mask" and rng.random() < 0.6:
            rank = min(len(dims), rng.choice([1, 1, 2]))
            mask = np.array(rng.choices([True, False], k=int(np.prod(dims[:rank])))).reshape(dims[:rank])
            items.append(f"T({mask.tolist()})")
            del dims[:rank]
        elif kind in ("int", "0-d"):
            at = rng.randint(-n, n - 1) if rng.random() < 0.97 else n
            items.append(str(at) if kind == "int" else f"T({at})")
            del dims[0]
        elif kind == "slice":
            bounds = [rng.choice(["", str(rng.randint(-n - 1, n + 1))]) for _ in range(2)]
            items.append(f"slice({bounds[0] or None}, {bounds[1] or None}, {rng.choice([None, 1, 2, 3])})")
            del dims[0]
        elif kind == "ints":
            size = common if rng.random() < 0.8 else rng.choice([(1,), common[-1:], (2, 1)])
            values = np.array(rng.choices(range(-n, n), k=int(np.prod(size)))).reshape(size)
            written = str(values.tolist())
            items.append(rng.choice([f"T({written})", f"T({written}, dtype=torch.int32)", written, f"np.array({written})"]))
            del dims[0]
    return f"({', '.join(items)},)" if items else "()"


def random_program(rng: random.Random) -> tuple[tuple[int, ...], str, str]:
    shape = rng.choice(SHAPES)
    layout = rng.choice(["", f".transpose({rng.randrange(len(shape))}, {rng.randrange(len(shape))})", "[..., ::2]", ".clone()"])
    return shape, layout, random_index(rng, shape)


def run(library: ModuleType, shape: tuple[int, ...], layout: str, index: str, kind: str) -> Any:
    values = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    x = library.from_numpy(values).requires_grad_()
    v = library.from_numpy(np.array(3.0)).requires_grad_()
    scope = {"torch": library, "T": library.tensor, "np": np, "slice": slice}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            y = eval(f"x{layout}", {"x": x}) * 1
            at = eval(index, scope)
            if kind == "get":
                out = y[at]
            else:
                value = y.detach().clone()[at] * v if kind == "set" else y.detach().clone()[at][..., :1].sum() * v
                y[at] = value
                out = y
            places = np.arange(values.size).reshape(shape)
            named = eval(f"x{layout}", {"x": library.from_numpy(places)})[at].reshape(-1).tolist()
            if not out.requires_grad or (kind != "get" and len(set(named)) < len(named)):
                return described(out)  # what was overwritten has no gradient here: docs/differences.md
            weights = library.from_numpy(np.arange(1.0, 1 + out.numel()).reshape(tuple(out.shape))).requires_grad_()
            first = library.autograd.grad(out, [x, v], weights, create_graph=True, allow_unused=True)
            second = library.autograd.grad(sum((g * g).sum() for g in first if g is not None), weights)[0]
            found = described(out), [None if g is None else g.tolist() for g in first], second.tolist()
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    return side_by_side.neutral(str(found)), {side_by_side.neutral(str(w.message)) for w in caught}


@pytest.mark.parametrize("kind", ["get", "set", "fill"])
def test_random_indices(kind: str) -> None:
    print(f"seed: {SEED}")
    rng = random.Random(f"{SEED} {kind}")
    for _ in range(400):
        program = random_program(rng)
        assert run(numgrad, *program, kind) == run(torch, *program, kind), f"{program}, {kind}, seed {SEED}"
