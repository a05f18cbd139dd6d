"""Elementwise ops, their operators and in-place forms: values, nodes and errors against PyTorch's."""

import pytest
from expressions import BINARY_FORMS, agree, shown, split

import numgrad

torch = pytest.importorskip("torch")

UNARY = ["floor", "ceil", "round", "trunc", "fix", "frac", "sgn", "sign", "signbit", "square", "isnan", "isinf", "isposinf", "isneginf", "isfinite", "logical_not", "bitwise_not", "positive", "sinc", "deg2rad", "rad2deg", "nan_to_num", "reciprocal", "rsqrt"]
BINARY = ["floor_divide", "true_divide", "divide", "remainder", "fmod", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "fmax", "fmin", "copysign", "hypot", "logaddexp", "logaddexp2", "xlogy", "heaviside", "float_power", "ldexp"]
OTHERS = """
i & j | i & 2 | 2 & i | b & b | b & i | v & 2 | 7.5 & v | v & w | i & 2.5 | i & 0 | i ^ j | i ^ 2 | 2 ^ i | b ^ b | b ^ i
v ^ 2 | 7.5 ^ v | v ^ w | i ^ 2.5 | i ^ 0 | i << j | i << 2 | 2 << i | b << b | b << i | v << 2 | 7.5 << v | v << w
i << 2.5 | i << 0 | i >> j | i >> 2 | 2 >> i | b >> b | b >> i | v >> 2 | 7.5 >> v | v >> w | i >> 2.5 | i >> 0 | i // j
i // 2 | 2 // i | b // b | b // i | i // 2.5 | i // 0 | i % j | i % 2 | 2 % i | b % b | b % i | v % 2 | v % w | i % 2.5
i % 0 | ~i | ~b | ~v | +v | +b | divmod(i, 2) | torch.round(v, decimals=1) | torch.round(i, decimals=1)
torch.round(v, decimals=-1) | torch.round(s, decimals=2) | torch.div(v, w, rounding_mode='floor')
torch.div(v, w, rounding_mode='trunc') | torch.div(v, w, rounding_mode='x') | torch.div(v, 2, rounding_mode='floor')
torch.div(v, 2, rounding_mode='trunc') | torch.div(v, 2, rounding_mode='x') | torch.div(i, j, rounding_mode='floor')
torch.div(i, j, rounding_mode='trunc') | torch.div(i, j, rounding_mode='x') | torch.div(i, 0, rounding_mode='floor')
torch.div(i, 0, rounding_mode='trunc') | torch.div(i, 0, rounding_mode='x') | torch.div(i, 2.5, rounding_mode='floor')
torch.div(i, 2.5, rounding_mode='trunc') | torch.div(i, 2.5, rounding_mode='x') | torch.div(b, b, rounding_mode='floor')
torch.div(b, b, rounding_mode='trunc') | torch.div(b, b, rounding_mode='x') | torch.div(f, v, rounding_mode='floor')
torch.div(f, v, rounding_mode='trunc') | torch.div(f, v, rounding_mode='x') | torch.clamp(v, 0, 1)
torch.clamp(v, min=0) | torch.clamp(v, max=1) | torch.clamp(v) | torch.clamp(v, w, w) | torch.clamp(v, min=w)
torch.clamp(v, max=w) | torch.clamp(i, 0.5) | torch.clamp(i, 0, 2) | torch.clamp(b, 0, 1) | torch.clamp(i, d)
torch.clamp(v, min=0, max=float('nan')) | torch.clamp(s, -1, 1) | torch.clamp(f, v, w) | torch.clamp(v, 2, 1)
torch.clip(v, 0, 1) | torch.clip(v, min=0) | torch.clip(v, max=1) | torch.clip(v) | torch.clip(v, w, w)
torch.clip(v, min=w) | torch.clip(v, max=w) | torch.clip(i, 0.5) | torch.clip(i, 0, 2) | torch.clip(b, 0, 1)
torch.clip(i, d) | torch.clip(v, min=0, max=float('nan')) | torch.clip(s, -1, 1) | torch.clip(f, v, w)
torch.clip(v, 2, 1) | torch.clamp_min(v, 0) | torch.clamp_min(v, w) | torch.clamp_min(i, 0.5) | torch.clamp_min(i, j)
torch.clamp_min(b, 0) | torch.clamp_min(b, b) | torch.clamp_min(i, d) | torch.clamp_min(s, 0.0) | torch.clamp_max(v, 0)
torch.clamp_max(v, w) | torch.clamp_max(i, 0.5) | torch.clamp_max(i, j) | torch.clamp_max(b, 0) | torch.clamp_max(b, b)
torch.clamp_max(i, d) | torch.clamp_max(s, 0.0) | i.clone().clamp_(1, 2) | p.clone().clamp_(min=0)
p.clone().clip_(max=0) | p.clone().clamp_min_(0) | p.clone().clamp_max_(w.detach()) | torch.lerp(v, w, 0.3)
torch.lerp(v, w, w) | torch.lerp(v, w, 0.75) | torch.lerp(v, d, 0.3) | torch.lerp(i, j, 0.3) | torch.lerp(v, w, d)
torch.lerp(v, w, torch.tensor(0.5)) | torch.lerp(v, w, i) | torch.lerp(v, w, True) | torch.lerp(f, v, 0.5)
torch.addcmul(v, w, w) | torch.addcmul(v, w, w, value=2) | torch.addcmul(i, j, j) | torch.addcmul(i, j, j, value=2.5)
torch.addcmul(v, i, j) | torch.addcmul(b, b, b) | torch.addcmul(v, w, 2.0) | torch.addcmul(v, d, d)
torch.addcmul(f, v, w, value=0.5) | torch.addcdiv(v, w, w) | torch.addcdiv(v, w, w, value=2) | torch.addcdiv(i, j, j)
torch.addcdiv(i, j, j, value=2.5) | torch.addcdiv(v, i, j) | torch.addcdiv(b, b, b) | torch.addcdiv(v, w, 2.0)
torch.addcdiv(v, d, d) | torch.addcdiv(f, v, w, value=0.5) | torch.isclose(v, w) | torch.isclose(v, d)
torch.isclose(i, j) | torch.isclose(b, b) | torch.isclose(v, w, rtol=-1) | torch.isclose(v, w, atol=-1)
torch.isclose(v, v + 1e-9) | torch.isclose(s, s) | torch.isclose(s, s, equal_nan=True) | torch.isclose(v, torch.ones(2))
torch.isclose(i, j, rtol=5.0) | torch.allclose(v, v) | torch.allclose(v, d) | torch.allclose(v, w, atol=10)
torch.equal(v, w) | torch.equal(v, v) | torch.equal(v, torch.ones(2)) | torch.equal(s, s) | torch.equal(v, 1)
v.equal(w) | v.allclose(w) | v.isclose(w) | torch.nan_to_num(s, 1) | torch.nan_to_num(s, 1.0, 2.0, 3.0)
torch.nan_to_num(v, nan='a') | s.nan_to_num(posinf=5.0)
"""


def check(expression):
    ours, theirs = shown(numgrad, expression), shown(torch, expression)
    assert agree(ours, theirs), f"{ours}\n{theirs}"


@pytest.mark.parametrize("argument", ["v", "s", "i", "b"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, argument):
    check(f"torch.{name}({argument})")


@pytest.mark.parametrize("name", UNARY)
def test_unary_in_place(name):
    if hasattr(torch.Tensor, f"{name}_"):
        check(f"p.clone().{name}_()")
        check(f"i.clone().{name}_()")
    else:
        assert not hasattr(numgrad.Tensor, f"{name}_")


HAS_A_GRADIENT = {"floor_divide", "heaviside"}  # and a node, where PyTorch has none: docs/differences.md


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    for form in split(BINARY_FORMS):
        expression = f"torch.{name}({form})"
        if name.startswith("bitwise") and form == "v, torch.ones(2)":
            continue  # refused for the dtype here, for the shape there
        if name in HAS_A_GRADIENT or expression == "torch.remainder(2, v)":
            expression = f"{expression}.detach()"
        check(expression)


@pytest.mark.parametrize("name", BINARY)
def test_binary_in_place(name):
    if not hasattr(torch.Tensor, f"{name}_"):
        assert not hasattr(numgrad.Tensor, f"{name}_")
        return
    check(f"p.clone().{name}_(w.detach())")
    if shown(torch, f"i.clone().{name}_(2)").startswith("TypeError"):
        assert shown(numgrad, f"i.clone().{name}_(2)").startswith("TypeError")
    else:
        check(f"i.clone().{name}_(2)")


@pytest.mark.parametrize("expression", split(OTHERS))
def test_other_forms(expression):
    check(expression)


@pytest.mark.parametrize("operands", ["i, j", "i, 2", "2, i", "b, b", "b, i", "v, 2", "i, 2.5", "i, 0"])
@pytest.mark.parametrize("operator", ["&", "|", "^", "<<", ">>", "//", "%"])
def test_operators(operator, operands):
    left, right = operands.split(", ")
    node = ".detach()" if operator == "//" and left == "v" else ""  # PyTorch's floor_divide has no gradient
    check(f"({left} {operator} {right}){node}")


@pytest.mark.parametrize("operator", ["&", "|", "^", "<<", ">>", "//", "%", "**"])
def test_in_place_operators(operator):
    def changed(library, expression):
        scope = {"x": library.tensor([-7, 2, 3]), "y": library.tensor([2, 1, 3])}
        before = scope["x"]
        exec(expression, scope)
        return scope["x"] is before, repr(scope["x"])

    for other in ("y", "2"):
        expression = f"x {operator}= {other}"
        assert changed(numgrad, expression) == changed(torch, expression)
        assert changed(torch, expression)[0]
