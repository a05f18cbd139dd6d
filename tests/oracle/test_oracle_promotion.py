"""Type promotion, broadcasting of scalars and in-place casts against PyTorch's, over all pairs of kinds of operands."""

import itertools
import re
import warnings
from typing import Any

import pytest

import numgrad

torch = pytest.importorskip("torch")

DTYPES = ("float32", "float64", "int64", "bool")
TENSORS = [(dtype, rank) for dtype in DTYPES for rank in (1, 0)]
NUMBERS = (True, 3, 2.5)
OPERANDS: list[Any] = [*TENSORS, *NUMBERS]

OPS = {
    "add": lambda lib, a, b: a + b,
    "sub": lambda lib, a, b: a - b,
    "mul": lambda lib, a, b: a * b,
    "div": lambda lib, a, b: a / b,
    "pow": lambda lib, a, b: a**b,
    "lt": lambda lib, a, b: a < b,
    "eq": lambda lib, a, b: a == b,
    "ge": lambda lib, a, b: a >= b,
    "maximum": lambda lib, a, b: lib.maximum(a, b),
    "minimum": lambda lib, a, b: lib.minimum(a, b),
    "atan2": lambda lib, a, b: lib.atan2(a, b),
    "where": lambda lib, a, b: lib.where(lib.tensor([True, False]), a, b),
    "cat": lambda lib, a, b: lib.cat([a, b]),
    "stack": lambda lib, a, b: lib.stack([a, b]),
    "mm": lambda lib, a, b: a.view(1, 2) @ b.view(2, 1),
    "dot": lambda lib, a, b: a @ b,
    "addmm": lambda lib, a, b: lib.addmm(a, a.view(1, 2), b.view(2, 1)),
    "mse_loss": lambda lib, a, b: lib.nn.functional.mse_loss(a, b),
}
TENSORS_ONLY = ("maximum", "minimum", "atan2")  # there PyTorch refuses numbers, which numgrad takes
WRITES = ("add_", "sub_", "mul_", "div_", "copy_", "fill_")
DIGITS = re.compile(r"(?<=\.\d{5})\d+")  # the last ones are not PyTorch's
UNARY = ("exp", "log", "sqrt", "tanh", "sigmoid", "relu", "neg", "sum", "mean", "max", "argmax", "reciprocal", "sin", "atan", "log1p", "exp2", "rsqrt", "erf", "digamma")


def operand(library: Any, kind: Any) -> Any:
    if not isinstance(kind, tuple):
        return kind
    dtype, rank = kind
    values = [1, 0] if dtype == "bool" else [3, 2]
    return library.tensor(values if rank else values[0], dtype=getattr(library, dtype))


def outcome(call: Any) -> str:
    try:
        with warnings.catch_warnings():  # mse_loss warns of broadcasting
            warnings.simplefilter("ignore")
            result = call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"{result.dtype} {result.tolist()} {list(result.shape)}"


def named(kind: Any) -> str:
    return f"{kind[0]}-{kind[1]}d" if isinstance(kind, tuple) else repr(kind)


PAIRS = [(a, b) for a, b in itertools.product(OPERANDS, OPERANDS) if isinstance(a, tuple) or isinstance(b, tuple)]


@pytest.mark.parametrize("name", OPS)
def test_pairs(name: str) -> None:
    different = {}
    for a, b in PAIRS:
        if name in TENSORS_ONLY and not (isinstance(a, tuple) and isinstance(b, tuple)):
            continue
        ours, theirs = [outcome(lambda: OPS[name](lib, operand(lib, a), operand(lib, b))) for lib in (numgrad, torch)]  # noqa: B023
        if DIGITS.sub("", ours) != DIGITS.sub("", theirs) and "invalid combination of arguments" not in theirs:
            different[named(a), named(b)] = (ours, theirs)
    assert not different


@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str) -> None:
    different = {}
    for a, b in PAIRS:
        if isinstance(a, tuple):
            ours, theirs = [outcome(lambda: getattr(operand(lib, a), name)(operand(lib, b))) for lib in (numgrad, torch)]  # noqa: B023
            if ours != theirs and "invalid combination of arguments" not in theirs:
                different[named(a), named(b)] = (ours, theirs)
    assert not different


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    different = {}
    for a in TENSORS:
        ours, theirs = [outcome(lambda: getattr(operand(lib, a), name)()) for lib in (numgrad, torch)]  # noqa: B023
        if DIGITS.sub("", ours) != DIGITS.sub("", theirs):
            different[named(a)] = (ours, theirs)
    assert not different


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_promote_types(a: str, b: str) -> None:
    ours = numgrad.promote_types(getattr(numgrad, a), getattr(numgrad, b))
    assert repr(ours) == repr(torch.promote_types(getattr(torch, a), getattr(torch, b)))


def test_gradients_have_the_dtype_of_their_operand() -> None:
    for a, b in itertools.product(["float32", "float64"], repeat=2):
        for rank_a, rank_b in itertools.product([0, 1], repeat=2):
            shown = []
            for lib in (numgrad, torch):
                x, y = operand(lib, (a, rank_a)).requires_grad_(), operand(lib, (b, rank_b)).requires_grad_()
                (x * y + x / y).sum().backward()
                shown.append([repr((t.grad.dtype, t.grad.shape)) for t in (x, y)])
            assert shown[0] == shown[1]


@pytest.mark.parametrize("out", ["int64", "float64", "bool"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32"])
@pytest.mark.parametrize("name", ["add", "mul", "lt"])
def test_integers_wrap_around_before_they_go_to_out(name: str, dtype: str, out: str) -> None:
    results = []
    for lib in (numgrad, torch):
        a = lib.tensor([1, 200, 2**31 - 1]).to(getattr(lib, dtype))
        target = lib.zeros(3, dtype=getattr(lib, out))
        try:
            results.append(getattr(lib, name)(a, a, out=target).tolist())
        except RuntimeError as error:
            results.append(str(error))
    assert results[0] == results[1]
