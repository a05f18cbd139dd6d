"""Dtypes against PyTorch's: limits, promotion over all pairs, arithmetic, writes and casts, halves, NumPy operands."""

from __future__ import annotations

import itertools
import re
import warnings
from typing import Any

import numpy as np
import pytest
import side_by_side

import numgrad

torch = pytest.importorskip("torch")

HALVES = ("float16", "bfloat16")
ALL = (*HALVES, "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128")
COMPUTED = tuple(n for n in ALL if n not in ("int16", "int32"))  # each takes kernels of its own to compile
NUMBERS = (True, 3, 2.5, 1.5 - 2j)


def pairs(dtypes: tuple[str, ...]) -> list[tuple[Any, Any]]:
    kinds: list[Any] = [*itertools.product(dtypes, (1, 0)), *NUMBERS]
    return [(a, b) for a, b in itertools.product(kinds, kinds) if isinstance(a, tuple) or isinstance(b, tuple)]


def operand(library: Any, kind: Any) -> Any:
    if not isinstance(kind, tuple):
        return kind
    dtype, rank = kind
    values = {"bool": [1, 0], "complex64": [3 + 1j, 2 - 1j], "complex128": [3 + 1j, 2 - 1j]}.get(dtype, [3, 2])
    return library.tensor(values if rank else values[0], dtype=getattr(library, dtype))


def is_half_with_complex(a: Any, b: Any) -> bool:
    """Whether PyTorch answers with complex32, which numgrad does not have (docs/differences.md)."""
    half, other = (a, b) if isinstance(a, tuple) and a[0] == "float16" else (b, a)
    if not (isinstance(half, tuple) and half[0] == "float16"):
        return False
    if isinstance(other, complex):
        return True
    return isinstance(other, tuple) and other[0].startswith("complex") and other[1] < half[1]


def rounded(value: Any) -> Any:
    """Numbers to 3 digits: results of halves; dtypes and errors are compared exactly."""
    if isinstance(value, list):
        return [rounded(v) for v in value]
    if isinstance(value, complex):  # to what is visible beside the other part, and without signs of zeros
        parts = [0.0 if abs(part) < 1e-6 * abs(value) else part for part in (value.real, value.imag)]
        return complex(*[rounded(part) + 0.0 for part in parts])
    return float(f"{value:.3g}") if isinstance(value, float) else value


def outcome(call: Any) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"{result.dtype} {rounded(result.tolist())} {list(result.shape)}"


def compare(call: Any, cases: Any) -> None:
    """Both libraries do the same with all cases, but for what PyTorch only says of its overloads."""
    different = {}
    for case in cases:
        ours, theirs = (outcome(lambda: call(lib, *case)) for lib in (numgrad, torch))  # noqa: B023
        if ours != theirs and "invalid combination of arguments" not in theirs:
            different[case] = (ours, theirs)
    assert not different, "\n".join(f"{case}: {pair}" for case, pair in itertools.islice(different.items(), 20))


# ---------------------------------------------------------------------------------------------------- dtypes themselves
FACTS = ("is_floating_point", "is_complex", "is_signed", "itemsize")


@pytest.mark.parametrize("name", [*ALL, "half", "float", "double", "cfloat", "cdouble", "short", "int", "long"])
def test_facts_of_a_dtype(name: str) -> None:
    ours, theirs = getattr(numgrad, name), getattr(torch, name)
    assert repr(ours) == repr(theirs)
    assert [getattr(ours, fact) for fact in FACTS] == [getattr(theirs, fact) for fact in FACTS]
    assert repr(ours.to_real()) == repr(theirs.to_real())


@pytest.mark.parametrize("name", [n for n in ALL if n != "float16"])
def test_to_complex(name: str) -> None:
    shown = [outcome(lambda: lib.empty(0, dtype=getattr(lib, name).to_complex())) for lib in (numgrad, torch)]  # noqa: B023
    assert shown[0] == shown[1]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", ["finfo", "iinfo"])
def test_limits(kind: str, name: str) -> None:
    fields = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")
    shown = []
    for lib in (numgrad, torch):
        try:
            found = getattr(lib, kind)(getattr(lib, name))
            shown.append((repr(found), [getattr(found, f, None) for f in fields]))
        except TypeError as error:
            shown.append((str(error), []))
    assert shown[0] == shown[1]


def test_limits_of_the_default_dtype() -> None:
    assert repr(numgrad.finfo()) == repr(torch.finfo())
    assert numgrad.finfo(numgrad.half) == numgrad.finfo(type=numgrad.float16) != numgrad.finfo()


@pytest.mark.parametrize("function", ["promote_types", "can_cast"])
def test_pairs_of_dtypes(function: str) -> None:
    for a, b in itertools.product(ALL, ALL):
        ours, theirs = (repr(getattr(lib, function)(getattr(lib, a), getattr(lib, b))) for lib in (numgrad, torch))
        assert ours == theirs, (a, b)


def test_result_type() -> None:
    for a, b in [*pairs(ALL), *itertools.product(NUMBERS, NUMBERS)]:
        if not is_half_with_complex(a, b):
            ours, theirs = (repr(lib.result_type(operand(lib, a), operand(lib, b))) for lib in (numgrad, torch))
            assert ours == theirs, (a, b)


SNIPPETS = """
torch.set_default_dtype('a')
torch.set_default_dtype(None)
torch.set_default_dtype(torch.int32)
torch.set_default_dtype(torch.complex64)
torch.can_cast(1, 2)
torch.can_cast(torch.int, 'a')
out = torch.can_cast(from_=torch.int, to=torch.float)
torch.promote_types(1, 2)
torch.promote_types(torch.int, 'a')
out = torch.promote_types(type1=torch.int, type2=torch.half)
torch.finfo(3)
torch.iinfo('float32')
out = torch.result_type(tensor=torch.ones(1), other=1)
out = torch.is_complex(torch.ones(1).cfloat()), torch.is_complex(torch.ones(1))
torch.is_complex(1)
torch.is_floating_point(1)
torch.is_nonzero(1)
torch.is_nonzero(torch.ones(2))
torch.is_nonzero(torch.zeros(0))
torch.numel(1)
out = torch.numel(torch.ones(2, 3)), torch.is_tensor(1), torch.is_tensor(torch.ones(1)), torch.is_nonzero(torch.zeros(1))
out = [torch.is_floating_point(torch.ones(1).to(d)) for d in (torch.half, torch.bfloat16, torch.int8, torch.cfloat)]
out = [torch.ones(1).to(d).is_signed() for d in (torch.half, torch.bfloat16, torch.uint8, torch.bool, torch.cfloat)]
out = [torch.ones(1).to(d).type() for d in (torch.half, torch.bfloat16, torch.cfloat, torch.cdouble, torch.bool)]
out = T([1.5]).type('torch.HalfTensor'), T([1.5]).type(torch.long), T([1.5]).type(dtype='torch.ComplexFloatTensor')
T([1.5]).type('abc')
T([1.5]).type(float)
out = T([1.5]).to(float), T([1.5]).to(int), T([1.5]).to(bool), T([1.5]).to(complex)
out = T([1.5]).to('cpu', torch.half), T([1.5]).to(device='cpu', dtype=torch.half), T([1.5]).to(torch.half, False, True)
x = T([1.5]); out = x.to() is x, x.to(None) is x, x.to(torch.float32) is x, x.to(torch.float32, copy=True) is x, x.float() is x
T([1.5]).to('float32')
out = T([1.5, -2]).half(), T([1.5, -2]).bfloat16(), T([1.5, -2]).cfloat(), T([1.5, -2]).cdouble(), T([1.5, -2]).char(), T([1.5, -2]).short()
out = T([1.5, -2]).int(), T([1.5, 2]).byte(), T([1.5, 0]).bool(), T([1.5]).double().float(), T([1.5]).half().type_as(T([1]))
out = leaf().half()
out = leaf().bfloat16().double()
out = leaf().to(torch.complex64)
x = leaf(); x.half().sum().backward(); out = x.grad
x = T([1.0, 2.0], dtype=torch.bfloat16, requires_grad=True); (x.float() * 3).sum().backward(); out = x.grad
x = leaf(); y = x.half(); g = torch.ones(2, dtype=torch.half, requires_grad=True); out = ag.grad(y, x, g, create_graph=True)
x = leaf(); y = torch.zeros(2, dtype=torch.half); y.copy_(x); out = y, ag.grad(y.sum(), x)
x = torch.ones(2, dtype=torch.half); x.requires_grad_(); x.grad = torch.ones(2)
torch.ones(2, requires_grad=True, dtype=torch.int8)
out = torch.ones(2, dtype=torch.half, requires_grad=True)
torch.ones(2).add_(torch.ones(2).cfloat())
torch.ones(2, dtype=torch.int32).add_(1.5)
torch.ones(2, dtype=torch.int32).mul_(torch.ones(2))
torch.ones(2, dtype=torch.bool).add_(1)
torch.ones(2, dtype=torch.int64) ** -1
torch.ones(2, dtype=torch.bool) - torch.ones(2, dtype=torch.bool)
-torch.ones(2, dtype=torch.bool)
out = torch.zeros(2).half().fill_(1e6), torch.zeros(2).bfloat16().fill_(1e300)
torch.zeros(2).fill_(1e300)
torch.zeros(2).fill_(1j)
torch.zeros(2).long().fill_(1j)
torch.full((2,), 1e6, dtype=torch.half)
torch.full((2,), 300, dtype=torch.uint8)
torch.full((2,), 1j, dtype=torch.float32)
out = torch.full((2,), 1j), torch.full((2,), True), torch.full((2,), 2, dtype=torch.half), torch.full((2,), float('inf'), dtype=torch.half)
torch.tensor([1j], dtype=torch.float32)
out = T([1e6, -1e-9, 65519.0], dtype=torch.half), T([1, 2], dtype=torch.bfloat16), T(3.0, dtype=torch.half).item(), T([True, 2.5], dtype=torch.half)
out = T([1.0, 2.0]).half().tolist(), float(T(1.5).bfloat16()), int(T(2.5).half()), bool(T(0.0).half())
torch.ones(1, dtype=torch.half).__index__()
torch.ones(2, dtype=torch.bfloat16).numpy()
out = torch.ones(2, dtype=torch.half).numpy(), torch.from_numpy(np.ones(2, np.float16)), torch.from_numpy(np.ones(2, np.complex64))
out = torch.arange(3, dtype=torch.half), torch.arange(0, 1, 0.25, dtype=torch.bfloat16), torch.zeros(2, dtype=torch.bfloat16), torch.empty(0, dtype=torch.half)
out = torch.ones_like(torch.ones(2).half()), torch.full_like(torch.ones(2).bfloat16(), 3), torch.ones(2).half().new_zeros(2)
out = torch.cat([torch.ones(1).half(), torch.ones(1).bfloat16()]), torch.cat([torch.ones(1).half(), torch.ones(1).int()])
out = torch.ones(3).half().sum(), torch.ones(3).half().sum(dtype=torch.float64), torch.ones(3).bfloat16().mean(0), torch.ones(3).int().mean(dtype=torch.half)
out = torch.full((70000,), 1.0, dtype=torch.half).mean(), torch.full((4096,), 1.0, dtype=torch.bfloat16).sum()
torch.mm(torch.ones(1, 1), torch.ones(1, 1).half())
torch.dot(torch.ones(1), torch.ones(1).half())
out = T([1.0, 3.0, 2.0]).half().max(0), T([1.0, 3.0, 2.0]).bfloat16().argmax(), T([1.0, 2.0]).half().var(), T([3.0, 4.0]).half().norm()
out = torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d, type(torch.channels_last).__name__
x = torch.ones(1, 2, 3, 4); out = [x.half(memory_format=f).stride() for f in (torch.contiguous_format, torch.channels_last, torch.preserve_format)]
x = torch.ones(1, 2, 3, 4).permute(0, 2, 3, 1); out = x.half().stride(), x.half(memory_format=torch.contiguous_format).stride(), x.clone().stride()
x = torch.ones(1, 2, 3, 4); out = x.float(memory_format=torch.channels_last) is x, x.float(memory_format=torch.contiguous_format) is x
x = torch.ones(1, 2, 3, 4); out = x.to(memory_format=torch.channels_last).stride(), x.contiguous(memory_format=torch.channels_last).stride(), x.clone(memory_format=torch.channels_last).stride()
x = torch.ones(1, 2, 3, 4); out = x.is_contiguous(memory_format=torch.channels_last), x.byte(memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last)
x = torch.arange(24.0, requires_grad=True); out = x.view(1, 2, 3, 4).half(memory_format=torch.channels_last); out = out, ag.grad((out * out).sum(), x)
torch.ones(2).half(memory_format=torch.channels_last)
torch.ones(2).half(memory_format=1)
out = torch.arange(-8.000001, -4.0, dtype=torch.int32), torch.arange(1, 6, 2, dtype=torch.int16), torch.arange(0.5, 3, dtype=torch.int64)
import pickle; x = torch.ones(2, dtype=torch.bfloat16, requires_grad=True); out = pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(torch.bfloat16)) is torch.bfloat16
import copy; out = copy.deepcopy(T([1.5, 2]).half()), copy.copy(torch.half) is torch.half, copy.deepcopy(torch.cfloat) is torch.cfloat
m = nn.Linear(2, 1); out = m.half().weight.dtype, m.bfloat16().bias.dtype, m.to(torch.double).weight.dtype
out = torch.FloatTensor([1, 2]), torch.LongTensor([1]), torch.HalfTensor([[1.5]]), torch.BFloat16Tensor([1]), torch.BoolTensor([0, 2]), torch.FloatTensor((2, 3))
out = torch.FloatTensor(2, 3).shape, torch.DoubleTensor().shape, torch.IntTensor(torch.Size([2])).shape, torch.FloatTensor.dtype, torch.FloatTensor.__name__, torch.FloatTensor
out = isinstance(T([1.0]), torch.FloatTensor), isinstance(T([1]), torch.FloatTensor), isinstance(nn.Parameter(T([1.0])), torch.FloatTensor), isinstance(1, torch.FloatTensor)
out = T([1.5]).type(torch.HalfTensor), T([1.5]).type(torch.LongTensor)
torch.FloatTensor(3.0)
torch.set_default_tensor_type(torch.DoubleTensor); out = torch.ones(1).dtype; torch.set_default_tensor_type('torch.FloatTensor'); out = out, torch.ones(1).dtype
torch.set_default_tensor_type(torch.LongTensor)
torch.set_default_tensor_type(torch.float32)
w = torch.ones(2, dtype=torch.half, requires_grad=True); o = torch.optim.SGD([w], lr=0.5, momentum=0.9); (w * w).sum().backward(); o.step(); o.step(); out = w
w = torch.ones(2, dtype=torch.bfloat16, requires_grad=True); o = torch.optim.Adam([w], lr=0.5); (w * w).sum().backward(); o.step(); out = w.dtype, (w - 0.5).abs().max() < 0.01
x = T([60000.0, 60000.0], dtype=torch.half); out = x.sum(), x.mean(), x + x, (x.float().sum() / 2).half()
"""


@pytest.mark.parametrize("snippet", side_by_side.snippets(SNIPPETS))
def test_snippets(snippet: str) -> None:
    assert side_by_side.shown(numgrad, snippet) == side_by_side.shown(torch, snippet)


@pytest.mark.parametrize("default", [*HALVES, "float64"])
def test_default_dtype(default: str) -> None:
    calls = {
        "tensor": lambda lib: lib.tensor(1.5),
        "complex": lambda lib: lib.tensor(1j),
        "ones": lambda lib: lib.ones(1),
        "ints": lambda lib: lib.tensor([1, 2]),
        "times a float": lambda lib: lib.tensor([1, 2]) * 1.5,
        "quotient": lambda lib: lib.tensor([1, 2]) / 2,
        "exp": lambda lib: lib.tensor([0]).exp(),
        "Tensor": lambda lib: lib.Tensor([1]),
        "arange": lambda lib: lib.arange(0.0, 2),
        "full": lambda lib: lib.full((1,), 2.0),
        "shown": lambda lib: lib.tensor(0),
    }
    shown: list[dict[str, Any]] = []
    for lib in (numgrad, torch):
        lib.set_default_dtype(getattr(lib, default))
        try:
            shown.append({name: outcome(lambda: call(lib)) for name, call in calls.items()})  # noqa: B023
            shown[-1]["reprs"] = [repr(lib.ones(1)), repr(lib.ones(1, dtype=lib.float32)), repr(lib.randn(1).dtype)]
        finally:
            lib.set_default_dtype(lib.float32)
    if default == "float16":  # complex32
        assert shown[0].pop("complex").startswith("torch.complex64")
        shown[1].pop("complex")
    assert shown[0] == shown[1]


# ---------------------------------------------------------------------------------------------------- arithmetic
OPS = {
    "add": lambda lib, a, b: a + b,
    "sub": lambda lib, a, b: a - b,
    "mul": lambda lib, a, b: a * b,
    "div": lambda lib, a, b: a / b,
    "pow": lambda lib, a, b: a**b,
    "eq": lambda lib, a, b: a == b,
    "lt": lambda lib, a, b: a < b,
    "where": lambda lib, a, b: lib.where(lib.tensor([True, False]), a, b),
    "cat": lambda lib, a, b: lib.cat([a, b]),
    "mm": lambda lib, a, b: a.view(1, 2) @ b.view(2, 1),
    "dot": lambda lib, a, b: a @ b,
}


@pytest.mark.parametrize("name", OPS)
def test_pairs(name: str) -> None:
    cases = [(a, b) for a, b in pairs(COMPUTED) if not is_half_with_complex(a, b)]
    compare(lambda lib, a, b: OPS[name](lib, operand(lib, a), operand(lib, b)), cases)


@pytest.mark.parametrize("name", ["add_", "mul_", "div_", "copy_", "fill_"])
def test_writes(name: str) -> None:
    cases = [(a, b) for a, b in pairs(COMPUTED) if isinstance(a, tuple) and not is_half_with_complex(a, b)]
    if name == "fill_":  # PyTorch's text about complex numbers and a 0-d bfloat16 says "double"
        cases.remove((("bfloat16", 0), NUMBERS[-1]))
    compare(lambda lib, a, b: getattr(operand(lib, a), name)(operand(lib, b)), cases)


def test_casts() -> None:
    compare(
        lambda lib, a, b: operand(lib, (a, 1)).to(getattr(lib, b)), [(a, b) for a, b in itertools.product(ALL, ALL)]
    )


@pytest.mark.parametrize("name", ["add", "mul", "sub"])
def test_out(name: str) -> None:
    cases = [(a, b) for a, b in itertools.product(COMPUTED, ALL)]
    compare(
        lambda lib, a, b: getattr(lib, name)(
            operand(lib, (a, 1)), operand(lib, (a, 1)), out=lib.zeros(2, dtype=getattr(lib, b))
        ),
        cases,
    )


NUMPY = [  # no np.bool_ and np.complex64, which PyTorch takes for floats (docs/differences.md)
    *(np.dtype(n).type(2) for n in ("float16", "float32", "float64", "int8", "int64", "uint8", "complex128")),
    *(np.ones(2, n) for n in ("float16", "float32", "float64", "int32", "uint8", "bool", "complex64")),
]


@pytest.mark.parametrize("value", NUMPY, ids=lambda v: f"{v.dtype}-{v.ndim}d")
def test_numpy_operands(value: Any) -> None:
    """On the right of a tensor; on the left NumPy would take over for PyTorch's tensors, not for numgrad's."""
    for dtype, op in itertools.product(("float16", "float32", "int64", "complex64"), ("add", "mul", "div")):
        if value.dtype.kind == "c" and dtype == "float16":
            continue
        ours = outcome(lambda: OPS[op](numgrad, operand(numgrad, (dtype, 1)), value))  # noqa: B023
        other = value if not value.ndim else torch.from_numpy(value)
        theirs = outcome(lambda: OPS[op](torch, operand(torch, (dtype, 1)), other))  # noqa: B023
        assert ours == theirs, (dtype, op)
        if op != "div":
            assert outcome(lambda: OPS[op](numgrad, value, operand(numgrad, (dtype, 1)))) == theirs  # noqa: B023


# ---------------------------------------------------------------------------------------------------- halves
HALF_CALLS = """
x.exp(); x.log(); x.tanh(); x.sigmoid(); x.relu(); x.abs(); x.sqrt(); x.neg(); x.sin(); x.erf(); x * y; x / y; x**2; x**y; 2**x
x.sum(); x.sum(1); x.mean(); x.mean(0); x.prod(); x.prod(1); x.max(); x.max(1)[0]; x.amax(0); x.min(); x.var(); x.std(1); x.norm(); x.norm(1, 1)
x.logsumexp(1); x.log_softmax(1); x.t() @ y; x @ y.t(); torch.addmm(x[0, :2], x, y.t()); x[0] @ y[0]; x @ y[0]; (x[None] @ y.t()[None])
F.mse_loss(x, y); F.cross_entropy(x, torch.tensor([0, 2])); F.linear(x, y, y[:, 0]); F.gelu(x); F.relu(x); torch.where(x > 1, x, y)
torch.cat([x, y]); torch.stack([x, y], 1); x.t().contiguous(); x[:, 1]; x.reshape(3, 2); x[0].expand(4, 3); x.clone(); x.float(); torch.maximum(x, y)
x.nansum(); x.sum_to_size(1, 3); x + y[0]; x * y[:, :1]; x + 1; x * 2.5; x.double(); torch.atan2(x, y); x.as_strided((2, 2), (1, 2)); x.flatten(); x.unsqueeze(0)
"""


def half_calls() -> list[str]:
    return [c.strip() for line in HALF_CALLS.strip().splitlines() for c in line.split(";")]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("call", half_calls())
def test_halves(call: str, dtype: str) -> None:
    """Values and gradients within two roundings of PyTorch's, which rounds some of them more often."""
    found = []
    for lib in (numgrad, torch):
        x, y = (
            lib.tensor(v, dtype=getattr(lib, dtype), requires_grad=True)
            for v in ([[1.0, 2.0, 0.5], [0.25, 1.5, 3.0]], [[0.5, 1.0, 2.0], [1.25, 0.75, 1.0]])
        )
        out = eval(call, {"torch": lib, "F": lib.nn.functional, "x": x, "y": y})
        out.sum().backward()
        grads = [None if t.grad is None else (str(t.grad.dtype), np.array(t.grad.tolist())) for t in (x, y)]
        node = re.sub(r" object at .*", "", repr(out.grad_fn))
        found.append(((str(out.dtype), node), np.array(out.tolist()), grads))
    (ours, value, gradients), (theirs, expected, wanted) = found
    assert ours == theirs
    tolerance = {"float16": 2**-9, "bfloat16": 2**-6}[dtype]
    np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)
    for one, other in zip(gradients, wanted, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one[0] == other[0]
            np.testing.assert_allclose(one[1], other[1], rtol=2 * tolerance, atol=2 * tolerance)
