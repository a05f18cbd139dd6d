"""A user's own elementwise functions: `ng.elementwise`, `register_derivative`, and their errors."""

from __future__ import annotations

import copy
import inspect
import itertools
import linecache
import math
import pickle
import subprocess
import sys
import textwrap
import threading
from typing import Any

import mpmath
import numba
import numpy as np
import pytest
from simt_runtime import SimulatedRuntime, installed

import numgrad as ng
from numgrad.kernels import OPS, cache
from numgrad.testing import gradcheck, gradgradcheck


# ---------------------------------------------------------------------------------------------------- functions
@ng.elementwise
def huber(pred, target, delta=1.0):
    """Huber's loss of one pair."""
    a = abs(pred - target)
    if a < delta:
        return 0.5 * a * a
    return delta * (a - 0.5 * delta)


@ng.elementwise
def product(x, y):
    return x * y


@ng.elementwise
def polar(x, y):
    return math.hypot(x, y), math.atan2(y, x)


@ng.elementwise
def parts(x, n: int, flip: bool):
    whole = math.floor(x)
    return (-x if flip else x) * n, n + 1, x > whole, whole


@ng.elementwise
def gcd(a: int, b: int):
    while b != 0:
        a, b = b, a % b
    return a


def leaf(*values: Any, dtype: Any = ng.float64) -> Any:
    return ng.tensor(values, dtype=dtype, requires_grad=True)


def numbers(n: int, dtype: Any = ng.float64) -> Any:
    return ng.tensor([0.3 + 0.7 * i for i in range(n)], dtype=dtype, requires_grad=True)


# ---------------------------------------------------------------------------------------------------- the object
def test_it_looks_like_the_function():
    assert huber.__name__ == "huber"
    assert huber.__doc__ == "Huber's loss of one pair."
    assert huber.__module__ == __name__
    assert str(inspect.signature(huber)) == "(pred, target, delta=1.0, *, out=None)"
    assert repr(huber) == "<elementwise huber(pred, target, delta=1.0)>"
    assert huber.__wrapped__(3.0, 0.0) == 2.5
    assert inspect.unwrap(huber) is huber.__wrapped__


def test_it_is_copied_and_pickled_by_name():
    assert pickle.loads(pickle.dumps(huber)) is huber
    assert copy.deepcopy(huber) is huber
    module = ng.nn.Sequential(ng.nn.Linear(2, 2))
    module.activation = huber
    assert copy.deepcopy(module).activation is huber
    assert pickle.loads(pickle.dumps(module)).activation is huber


def test_it_is_not_in_the_op_table():
    assert not {"huber", "product", "polar"} & set(OPS)


def test_it_may_live_in_a_class_or_another_function():
    class Holder:
        @staticmethod
        @ng.elementwise
        def shifted(x):
            return x + 1

    def scaled_by(k):
        @ng.elementwise
        def scaled(x):
            return k * x

        return scaled

    assert Holder.shifted(1.0).item() == Holder().shifted(1.0).item() == 2.0
    double, triple = scaled_by(2), scaled_by(3)
    assert [double(5.0).item(), triple(5.0).item(), double(7.0).item()] == [10.0, 15.0, 14.0]


def test_lambdas_have_a_name_for_their_nodes():
    cube = ng.elementwise(lambda x: x**3)
    y = cube(leaf(2.0))
    assert type(y.grad_fn).__name__ == "LambdaBackward0"
    assert y.item() == 8.0


# ---------------------------------------------------------------------------------------------------- arguments
def test_arguments_by_position_by_name_and_by_default():
    p, t = ng.tensor([0.0, 3.0]), ng.tensor([0.5, 0.0])
    expected = [0.125, 2.5]
    assert huber(p, t).tolist() == huber(p, t, 1.0).tolist() == huber(target=t, pred=p).tolist() == expected
    for _ in range(2):  # the second call takes the fast path
        assert huber(p, t, delta=2.0).tolist() == [0.125, 4.0]
        assert huber(p, t, 2).tolist() == [0.125, 4.0]
        assert huber(p, t, delta=ng.tensor([1.0, 2.0])).tolist() == [0.125, 4.0]


def test_defaults_are_arguments_of_the_kernel():
    text = huber.source()
    assert "delta" in text
    assert "1.0" not in text


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: huber(1.0), r"huber\(\): missing a required argument: 'target'"),
        (lambda: huber(1.0, 2.0, 3.0, 4.0), r"huber\(\): too many positional arguments"),
        (lambda: huber(1.0, 2.0, dleta=3.0), r"huber\(\): got an unexpected keyword argument 'dleta'"),
        (lambda: huber(1.0, 2.0, pred=3.0), r"huber\(\): multiple values for argument 'pred'"),
        (lambda: huber([1.0], 2.0), r"huber\(\): argument 'pred' \(position 1\) must be Tensor, not list"),
        (lambda: huber(1.0, None), r"huber\(\): argument 'target' \(position 2\) must be Tensor, not NoneType"),
        (lambda: gcd(2.5, 1), r"gcd\(\): argument 'a' \(position 1\) is annotated int, but got a float: convert it"),
        (lambda: gcd(6, ng.ones(2)), r"argument 'b' \(position 2\) is annotated int, but got a float32 tensor"),
        (lambda: parts(1.0, 2, 0.5), r"argument 'flip' \(position 3\) is annotated bool, but got a float"),
        (lambda: polar(1.0, 2.0, out=ng.empty(())), r"polar\(\) has 2 outputs: out= is for functions with one"),
    ],
)
def test_arguments_that_do_not_fit(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_keyword_only_and_positional_only_parameters():
    @ng.elementwise
    def scaled(x, /, y=1.0, *, by=2.0):
        return (x + y) * by

    assert scaled(1.0).item() == 4.0
    assert scaled(1.0, by=3.0, y=0.0).item() == 3.0
    for wrong in (lambda: scaled(1.0, 1.0, 3.0), lambda: scaled(x=1.0)):
        with pytest.raises(TypeError, match=r"scaled\(\): "):
            wrong()


def test_tensors_numbers_and_arrays():
    array = np.array([1.0, 2.0])
    assert product(array, 2).dtype is ng.float64
    assert product(array, array).tolist() == [1.0, 4.0]
    assert product(array.astype(np.float32), np.float64(2)).dtype is ng.float32
    assert product(ng.ones(2), array).dtype is ng.float64
    assert product(2, 3).dtype is ng.float32
    assert product(2, 3).shape == ()


def test_broadcasting_and_layouts():
    x, y = numbers(6).detach().reshape(2, 3), numbers(3).detach()
    for a, b in ((x, y), (x, y.reshape(3)[:1]), (x.t(), y.unsqueeze(1)), (x[:, ::2], y[:2]), (x, 0.5), (0.5, x)):
        values = [v.numpy() if isinstance(v, ng.Tensor) else v for v in (a, b)]
        np.testing.assert_array_equal(product(a, b).numpy(), values[0] * values[1])
        radius, angle = polar(a, b)
        np.testing.assert_allclose(radius.numpy(), np.hypot(*values), rtol=1e-15)
        np.testing.assert_allclose(angle.numpy(), np.arctan2(*values[::-1]), rtol=1e-15)
    with pytest.raises(RuntimeError, match=r"size of tensor a \(2\) must match the size of tensor b \(3\)"):
        product(ng.ones(2), ng.ones(3))
    assert product(ng.ones(0, 3), ng.ones(3)).shape == (0, 3)
    assert [r.shape for r in polar(ng.ones(0, 3), ng.ones(3))] == [(0, 3)] * 2


def test_dtypes_of_results():
    integers = ng.tensor([1, 2])
    assert product(integers, integers).dtype is ng.float32
    assert product(integers, ng.ones(2, dtype=ng.float64)).dtype is ng.float64
    real, whole_number, flag, floor = parts(ng.tensor([1.5]), 3, True)
    assert [r.dtype for r in (real, whole_number, flag, floor)] == [ng.float32, ng.int64, ng.bool, ng.float32]
    assert [r.item() for r in (real, whole_number, flag, floor)] == [-4.5, 4, True, 1.0]
    assert gcd(ng.tensor([12, 18], dtype=ng.uint8), 8).tolist() == [4, 2]
    assert gcd(True, 3).dtype is ng.int64

    @ng.elementwise(result="same")
    def twice(x):
        return 2 * x

    assert twice(integers).dtype is ng.int64
    assert twice(ng.ones(2)).dtype is ng.float32


def test_out():
    out = ng.empty(2)
    assert huber(ng.tensor([0.0, 3.0]), 0.0, out=out) is out
    assert out.tolist() == [0.0, 2.5]
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        huber(leaf(1.0), 0.0, out=ng.empty(1, dtype=ng.float64))


# ---------------------------------------------------------------------------------------------------- gradients
def test_gradients_only_for_what_requires_them():
    p, t, d = leaf(0.0, 3.0), leaf(0.5, 0.0), leaf(1.0, 1.0)
    huber(p, t.detach(), d).sum().backward()
    assert p.grad.tolist() == [-0.5, 1.0]
    assert t.grad is None
    assert d.grad.tolist() == [0.0, 2.0]  # |p - t| - delta beyond delta


def test_node_name_and_edges():
    p = leaf(1.0)
    y = huber(p, leaf(2.0) * 2, 0.5)
    assert y.grad_fn.name() == "HuberBackward0"
    (first, _), (second, _), (third, _) = y.grad_fn.next_functions
    assert (first.variable is p, second.name(), third) == (True, "MulBackward0", None)


def test_only_inputs_are_saved():
    x, y = leaf(1.0), leaf(2.0)
    z = product(x, y.detach())
    (saved,) = z.grad_fn.saved  # x needs a gradient, and that reads y alone
    assert saved.storage is y._array.storage


@pytest.mark.parametrize("function", [huber, product], ids=["huber", "product"])
def test_derivatives_against_finite_differences(function):
    x, y = leaf(0.3, 2.7, -1.4), leaf(0.9, 0.4, 0.8)
    assert gradcheck(function, (x, y))
    assert gradgradcheck(function, (x, y))
    assert gradcheck(function, (x.detach().reshape(3, 1).requires_grad_(), y))


def test_several_outputs():
    x, y = leaf(0.3, 1.2), leaf(0.5, -0.4)
    r, phi = polar(x, y)
    assert r.grad_fn is phi.grad_fn
    assert gradcheck(polar, (x, y))
    assert gradgradcheck(polar, (x, y))


def test_unused_outputs_have_zero_gradients():
    x, y = leaf(3.0), leaf(4.0)
    _, phi = polar(x, y)
    assert [g.item() for g in ng.autograd.grad(phi, (x, y))] == pytest.approx([-4 / 25, 3 / 25])
    r, _ = polar(x, y)
    (first,) = ng.autograd.grad(r, x, create_graph=True)
    assert first.item() == pytest.approx(0.6)
    assert ng.autograd.grad(first, y)[0].item() == pytest.approx(-12 / 125)  # d/dy of x/r is -xy/r^3


def test_an_unused_output_cannot_spoil_the_gradient():
    @ng.elementwise
    def root_and_double(x):
        return math.sqrt(x), 2 * x

    x = leaf(0.0)  # sqrt has an infinite derivative here, and 0 * inf is NaN
    root_and_double(x)[1].backward()
    assert x.grad.item() == 2.0


def test_outputs_that_are_integers_have_no_gradient():
    x = leaf(1.5)
    real, whole_number, flag, floor = parts(x, 3, False)
    assert [r.requires_grad for r in (real, whole_number, flag, floor)] == [True, False, False, True]
    (real + floor).sum().backward()
    assert x.grad.item() == 3.0
    assert not gcd(4, 2).requires_grad


def test_broadcast_gradients_of_several_outputs():
    x, y = numbers(6).detach().reshape(2, 3).requires_grad_(), numbers(3)
    r, phi = polar(x, y)
    (r * phi).sum().backward()
    expected_x, expected_y = x.grad, y.grad
    a, b = x.detach().requires_grad_(), y.detach().requires_grad_()
    (((a * a + b * b) ** 0.5) * polar(a, b)[1]).sum().backward()
    ng.testing.assert_close(a.grad, expected_x)
    ng.testing.assert_close(b.grad, expected_y)


def test_an_output_may_be_written_in_place():
    x, y = leaf(3.0), leaf(4.0)
    r, phi = polar(x, y)
    r.mul_(2.0)
    (r + phi).sum().backward()
    assert x.grad.item() == pytest.approx(2 * 0.6 - 4 / 25)


def test_a_modified_input_is_noticed():
    x, y = leaf(3.0), leaf(4.0)
    z = x * 1.0
    r, _ = polar(z, y)
    z.mul_(2.0)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*is at version 1; expected version 0"):
        r.sum().backward()


def test_a_second_backward_needs_retain_graph():
    r, _ = polar(leaf(3.0), leaf(4.0))
    r.sum().backward(retain_graph=True)
    r.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        r.sum().backward()


def test_hooks_see_each_output():
    x = leaf(3.0)
    r, phi = polar(x, 4.0)
    seen = []
    r.register_hook(lambda g: seen.append(("r", g.item())))
    phi.register_hook(lambda g: seen.append(("phi", g.item())))
    (2 * r + 3 * phi).sum().backward()
    assert sorted(seen) == [("phi", 3.0), ("r", 2.0)]


def test_nondiff():
    @ng.elementwise(nondiff="k")
    def power(x, k):
        return x**k

    @ng.elementwise
    def calls(x, k):
        return power(x, k) + k

    x, k = leaf(2.0), leaf(3.0)
    y = power(x, k)
    assert len(y.grad_fn.next_functions) == 1
    y.backward()
    assert (x.grad.item(), k.grad) == (12.0, None)
    assert ng.autograd.grad(calls(x, k), k)[0].item() == 1.0  # nothing through power, in a caller either
    with pytest.raises(ValueError, match="nondiff names 'z', which is no parameter of"):
        ng.elementwise(nondiff=("z",))(lambda x: x)


# ---------------------------------------------------------------------------------------------------- helpers
def plain_helper(x, scale=2.0):
    return scale * x


@numba.njit
def compiled_helper(x):
    return x * x


def test_helpers_of_three_kinds():
    @ng.elementwise
    def calls(x):
        return plain_helper(x) + compiled_helper(x) + huber(x, 0.0) + huber(0.0, delta=0.5, target=x)

    @ng.elementwise
    def unpacks(x):
        r, phi = polar(x, 2 * x)
        return r * phi

    assert calls(3.0).item() == pytest.approx(6 + 9 + 2.5 + 1.375)
    assert unpacks(3.0).item() == pytest.approx(math.hypot(3, 6) * math.atan2(6, 3), rel=1e-6)
    assert gradcheck(calls, leaf(3.0, 0.2))


# ---------------------------------------------------------------------------------------------------- declared gradients
def test_declared_gradients_are_used_by_the_graph_and_by_callers():
    @ng.elementwise
    def kepler(mean, e):
        """E - e sin E = mean, by fixed-point steps; its declared gradient needs the result only."""
        x = mean
        for _ in range(60):
            x = mean + e * math.sin(x)
        return x

    @kepler.grad("mean")
    def _(g, e, out):
        return g / (1 - e * math.cos(out))

    @kepler.grad("e")
    def _(g, e, out):
        return g * math.sin(out) / (1 - e * math.cos(out))

    @ng.elementwise
    def scaled(mean, e):
        return 3 * kepler(mean, e) ** 2

    m, e = leaf(0.5, 1.0), leaf(0.3, 0.2)
    y = kepler(m, e)
    assert len(y.grad_fn.saved) == 2  # e and the result
    assert gradcheck(kepler, (m, e))
    assert gradgradcheck(kepler, (m, e))
    assert gradcheck(scaled, (m, e))
    assert gradgradcheck(scaled, (m, e))
    assert "range(60)" in kepler.source(0)
    assert "range(60)" not in kepler.source(1)


def test_a_caller_uses_a_declared_gradient_even_if_it_is_not_the_derivative():
    @ng.elementwise
    def straight_through(x):
        return math.floor(x) + 0.0

    @straight_through.grad("x")
    def _(g):
        return g

    @ng.elementwise
    def calls(x, y):
        return straight_through(x) * y

    x = leaf(2.7)
    calls(x, 3.0).backward()
    assert x.grad.item() == 3.0
    with pytest.raises(RuntimeError, match="declare gradients right after the function"):
        straight_through.grad("x")(lambda g: g)


def test_declared_gradients_of_several_outputs():
    @ng.elementwise
    def two(x):
        return 2 * x, 3 * x

    @two.grad("x")
    def _(g0, g1, out0):
        return 2 * g0 + 3 * g1 + 0 * out0

    @ng.elementwise
    def calls(x):
        a, b = two(x)
        return a * b

    x = leaf(1.0)
    a, b = two(x)
    assert ng.autograd.grad(a, x, retain_graph=True)[0].item() == 2.0
    assert ng.autograd.grad(a + b, x)[0].item() == 5.0
    assert ng.autograd.grad(calls(x), x)[0].item() == 12.0


def test_declarations_that_are_refused():
    @ng.elementwise(nondiff="k")
    def f(x, k, n: int):
        return x * k * n

    for name in ("k", "n"):
        with pytest.raises(ValueError, match=f"'{name}' has no gradient that could be declared"):
            f.grad(name)
    with pytest.raises(ValueError, match="no input 'z'"):
        f.grad("z")(lambda g: g)
    with pytest.raises(ValueError, match="reads 'w'"):
        f.grad("x")(lambda g, w: g)
    with pytest.raises(ng.DifferentiationError, match="the constant 'a' is not a real number"):
        f.grad("x")(lambda g: g * "a")
    f.grad("x")(lambda g, k, n: g * k * n)  # what failed left nothing behind
    with pytest.raises(ValueError, match="result must be one of 'float', 'same'"):
        ng.elementwise(result="int")(lambda x: x)


# ---------------------------------------------------------------------------------------------------- registered
def test_a_registered_derivative_of_a_compiled_function():
    @numba.njit
    def opaque(a):
        table = np.zeros(2)  # arrays are outside the language
        table[0] = math.sin(a)
        return table[0]

    @ng.elementwise
    def before(x):
        return compiled_helper(x)

    with pytest.raises(ng.DifferentiationError, match=r"no derivative is known for 'np.zeros'"):
        ng.elementwise(lambda x: opaque(x))
    ng.register_derivative(opaque, "cos(a)")

    @ng.elementwise
    def calls(x, y):
        return opaque(x * y) * y

    x, y = leaf(0.3, 1.2), leaf(0.5, -0.4)
    assert gradcheck(calls, (x, y))
    assert gradgradcheck(calls, (x, y))
    single = calls(x.detach().to(ng.float32), 0.5)
    assert single.dtype is ng.float32
    assert calls.scalar(0.3, 0.5) == pytest.approx(math.sin(0.15) * 0.5)
    assert "cache=False" in calls.source()
    assert "cache=True" in before.source()
    with pytest.raises(NotImplementedError, match="'opaque' is compiled code with a registered derivative"):
        calls.source(device="cuda")


def test_registered_derivatives_by_result_number_and_function():
    @numba.njit
    def growth(rate, time):
        return math.exp(rate * time)

    def by_time(rate, r):
        return rate * r

    ng.register_derivative(growth, "time * r", by_time)
    f = ng.elementwise(lambda a, b: growth(a, b))
    assert gradcheck(f, (leaf(0.3, 1.0), leaf(2.0, 0.5)))
    assert gradgradcheck(f, (leaf(0.3, 1.0), leaf(2.0, 0.5)))
    ng.register_derivative(math.degrees, 180 / math.pi, args="a")
    g = ng.elementwise(lambda a: math.degrees(a) * a)
    assert gradcheck(g, leaf(0.3))
    assert "math.degrees" in g.source()
    assert "cache=True" in g.source()


def test_registering_again_does_not_change_functions_that_exist():
    @numba.njit
    def f(a):
        return 2 * a

    def helper(x):
        return f(x)

    ng.register_derivative(f, "2.0")
    first = ng.elementwise(lambda x: helper(x))
    ng.register_derivative(f, "5.0")
    second = ng.elementwise(lambda x: helper(x))
    assert [ng.autograd.grad(g(x), x)[0].item() for g in (first, second) for x in [leaf(1.0)]] == [2.0, 5.0]


@pytest.mark.parametrize(
    ("register", "error", "text"),
    [
        (lambda: ng.register_derivative(math.exp, "r"), ValueError, "derivative of 'exp' is known already"),
        (lambda: ng.register_derivative(math.fmod, "1.0", "0.0", args="a b"), TypeError, "Numba cannot compile math.fmod"),
        (lambda: ng.register_derivative(huber, "1.0"), TypeError, r"declare its gradient with @huber.grad"),
        (lambda: ng.register_derivative(print, "1.0"), TypeError, "neither compiled by numba.njit nor a function of math"),
        (lambda: ng.register_derivative(compiled_helper), ValueError, r"takes 1 arguments \(x\), but 0 derivatives"),
        (lambda: ng.register_derivative(compiled_helper, "2 * y"), ng.DifferentiationError, "name 'y' is not defined"),
        (lambda: ng.register_derivative(compiled_helper, "2 *"), ng.DifferentiationError, "is no expression"),
        (lambda: ng.register_derivative(compiled_helper, lambda y: y), ValueError, "reads 'y', which is none of"),
        (lambda: ng.register_derivative(compiled_helper, "1.0", args="r"), ValueError, "'r' is the result"),
    ],
)
def test_registrations_that_are_refused(register, error, text):
    with pytest.raises(error, match=text):
        register()


# ---------------------------------------------------------------------------------------------------- other forms
def test_the_scalar_function():
    assert huber.scalar(3.0, 0.0) == 2.5
    assert huber.scalar(3.0, 0.0, 2.0) == 4.0
    assert huber.scalar is huber.scalar
    assert hasattr(huber.scalar, "py_func")

    @numba.njit
    def total(values):
        s = 0.0
        for i in range(values.shape[0]):
            s += huber(values[i], 0.0, delta=2.0)
        return s

    assert total(np.array([1.0, 3.0])) == 4.5
    assert isinstance(huber.scalar(np.float64(1), np.float64(2), np.float64(3)), float)


def test_the_source_says_what_is_compiled():
    assert "def kernel(x0, x1, x2, out0):" in huber.source()
    assert "_T = np.float64" in huber.source(dtype=ng.float64)
    assert "def kernel(x0, x1, x2, x3, out0, out1, out2):" in huber.source(order=1)  # g, and all three gradients
    assert "def numgrad_kernel(n, x0, x1, x2, y0):" in huber.source(device="cuda", dtype="float32")
    assert huber.source(order=3)
    for wrong in ({"order": -1}, {"dtype": "int64"}, {"device": "tpu"}):
        with pytest.raises(ValueError, match=r"order|dtype|tpu"):
            huber.source(**wrong)
    with pytest.raises(ValueError, match=r"gcd\(\) has no derivative of order 1"):
        gcd.source(1)


def test_the_source_is_what_runs(tmp_path):
    """Compile the printed text by itself and compare: it needs nothing that it does not say."""
    module = cache.load_module(product.source(dtype="float64"))
    x, out = np.array([1.0, 2.0, 3.0]), np.empty(3)
    module.kernel(x, x, out)
    assert out.tolist() == [1.0, 4.0, 9.0]


def test_ufuncs_of_users():
    u = huber.ufunc
    assert u.types == ["fff->f", "ddd->d"]
    assert u(np.ones((2, 1)), np.zeros(3), 0.5).tolist() == [[0.375] * 3] * 2
    out = np.zeros(3)
    assert u(np.array([3.0, 3.0, 3.0]), 0.0, 1.0, out=out, where=np.array([True, False, True])) is out
    assert out.tolist() == [2.5, 0.0, 2.5]
    assert gcd.ufunc.reduce(np.array([12, 18, 27])) == 3
    assert gcd.ufunc.types == ["ll->l"]
    with pytest.raises(NotImplementedError, match="2 outputs"):
        _ = polar.ufunc


@pytest.mark.parametrize("name", ["sigmoid", "maximum", "where"])
def test_ufuncs_of_the_table_agree_with_the_engine(name):
    """The ufunc broadcasts by NumPy's own code, the engine by ours."""
    op = OPS[name]
    rng = np.random.default_rng(0)
    shapes = [(2, 1, 3), (4, 1), (3,)][: len(op.inputs)]
    arrays = [rng.normal(size=shape) for shape in shapes]
    if name == "where":
        arrays[0] = arrays[0] > 0
    got = op(*map(ng.from_numpy, arrays)).numpy()
    np.testing.assert_array_equal(op.ufunc(*arrays), got)
    if name == "maximum":
        assert op.ufunc.reduce(np.arange(5)) == 4
        assert op.ufunc(np.arange(3), 1).dtype == np.int64


# ---------------------------------------------------------------------------------------------------- CUDA
def test_on_the_cuda_device():
    x, y = leaf(0.3, 2.7, -1.4), leaf(0.9, 0.4, 0.8)
    expected = [huber(x, y).detach(), *polar(x, y)]
    grads = ng.autograd.grad((polar(x, y)[1] * 2 + huber(x, y)).sum(), (x, y))
    with installed(SimulatedRuntime()):
        a, b = (v.detach().to("cuda").requires_grad_() for v in (x, y))
        found = [huber(a, b).detach(), *polar(a, b)]
        on_cuda = ng.autograd.grad((polar(a, b)[1] * 2 + huber(a, b)).sum(), (a, b))
        assert all(v.device.type == "cuda" for v in (*found, *on_cuda))
        for got, wanted in zip((*found, *on_cuda), (*expected, *grads), strict=True):
            ng.testing.assert_close(got.detach().cpu(), wanted.detach())
        assert gcd(ng.tensor([12, 18]).to("cuda"), 8).cpu().tolist() == [4, 2]


# ---------------------------------------------------------------------------------------------------- captured numbers
FACTOR = 2.0


def reads_a_global(x):
    return FACTOR * x


def test_captured_numbers_are_frozen_when_the_function_is_decorated(monkeypatch):
    first = ng.elementwise(lambda x: FACTOR * reads_a_global(x))
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert first(1.0).item() == 4.0  # first used after the change
    second = ng.elementwise(lambda x: FACTOR * reads_a_global(x))
    assert second(1.0).item() == 9.0  # the helper's number, too
    assert first(2.0).item() == 8.0
    assert ng.autograd.grad(first(x := leaf(1.0)), x)[0].item() == 4.0


CONSTANTS = """
import numgrad as ng
def make(k):
    @ng.elementwise
    def scaled(x):
        return k * x
    return scaled
x = ng.tensor([1.0, 2.0], requires_grad=True)
results = []
for k in {order}:
    f = make(k)
    y = f(x)
    results.append((k, y.tolist(), ng.autograd.grad(y.sum(), x)[0].tolist()))
print(sorted(results))
"""


def test_one_name_and_different_constants_in_several_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    wanted = str([(k, [k, 2 * k], [k, k]) for k in (2.0, 3.0)])
    for order in ("(2.0, 3.0)", "(3.0, 2.0)"):
        script = tmp_path / "constants.py"
        script.write_text(CONSTANTS.format(order=order))
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == wanted


def test_uncached_functions_leave_nothing_on_disk():
    before = set(cache.directory().glob("*.py"))
    f = ng.elementwise(cache=False)(lambda x: 12345.678 * x + x)
    x = leaf(1.0)
    assert ng.autograd.grad(f(x), x)[0].item() == 12346.678
    new = [path for path in set(cache.directory().glob("*.py")) - before if "12345.678" in path.read_text()]
    assert new == []


# ---------------------------------------------------------------------------------------------------- where functions live
_cells = itertools.count()


def run_cell(source: str, scope: dict[str, Any], name: str | None = None) -> None:
    """What IPython does with a cell: its lines go to linecache under a name that is no file, then it is compiled."""
    name = name or f"/tmp/ipykernel_4711/{next(_cells)}.py"
    source = textwrap.dedent(source)
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), scope)


def test_notebook_cells():
    scope: dict[str, Any] = {"ng": ng}
    run_cell("def helper(x):\n    return 2 * x\n", scope)
    cell = "@ng.elementwise\ndef f(x):\n    return helper(x) + {}\n"
    run_cell(cell.format(1), scope)
    first = scope["f"]
    assert first(3.0).item() == 7.0
    run_cell(cell.format(5), scope)  # the cell is edited and run again, under another name
    assert scope["f"](3.0).item() == 11.0
    run_cell("def helper(x):\n    return 10 * x\n", scope)
    run_cell(cell.format(5), scope)  # its helper was defined anew
    assert scope["f"](3.0).item() == 35.0
    assert first(3.0).item() == 7.0
    same = "<cell>"
    for factor in (2, 3):
        run_cell(f"@ng.elementwise\ndef f(x):\n    return {factor} * x\n", scope, same)
        assert scope["f"](1.0).item() == factor


def test_an_edited_source_is_refused():
    """The text under a helper's file name is no longer what the helper was compiled from."""
    scope: dict[str, Any] = {"ng": ng}
    run_cell("def helper(x):\n    return 2 * x\n", scope, "<edited>")
    linecache.cache["<edited>"] = (1, None, ["def helper(x):\n", "    return 3 * x\n"], "<edited>")
    with pytest.raises(ng.DifferentiationError, match="'helper' has changed since it was defined") as caught:
        run_cell("@ng.elementwise\ndef f(x):\n    return helper(x)\n", scope)
    assert '  File "<edited>", line 1' in str(caught.value)


def test_functions_without_source_are_refused():
    scope: dict[str, Any] = {"ng": ng}
    with pytest.raises(ng.DifferentiationError, match="the source of 'f' is not available: define it in a file"):
        exec("@ng.elementwise\ndef f(x):\n    return x\n", scope)


def test_a_running_cell_that_fails_leaves_the_old_function():
    scope: dict[str, Any] = {"ng": ng}
    run_cell("@ng.elementwise\ndef f(x):\n    return x\n", scope)
    with pytest.raises(ng.DifferentiationError, match="'f' calls itself: recursion is not supported"):
        run_cell("@ng.elementwise\ndef f(x):\n    return f(x) + 1\n", scope)  # not a call of the older f
    assert scope["f"](1.0).item() == 1.0


# ---------------------------------------------------------------------------------------------------- refusals
VECTOR, NUMBERS, TEXT, ANYTHING, COMPLEX, TENSOR = np.zeros(3), [1, 2], "text", object(), 1j, ng.ones(2)

REFUSED = {
    "return x[0]": "indexing cannot be used in a scalar function: pass the item as an argument",
    "return VECTOR * x": "'VECTOR' is a ndarray: only real numbers can be captured",
    "return NUMBERS": "'NUMBERS' is a list: only real numbers can be captured",
    "return TEXT": "'TEXT' is a str",
    "return ANYTHING": "'ANYTHING' is a object",
    "return COMPLEX * x": "'COMPLEX' is a complex",
    "return TENSOR * x": "'TENSOR' is a Tensor: only real numbers can be captured; pass it as an argument",
    "return x * 1j": "the constant 1j is not a real number",
    "return f'{x}'": "an f-string cannot be used",
    "print(x)\nreturn x": "this expression has no effect",
    "with x:\n    return x": "with cannot be used",
    "try:\n    return x\nfinally:\n    pass": "try/except cannot be used in .*: return a number on every path",
    "raise ValueError": "raise cannot be used",
    "assert x > 0\nreturn x": "assert cannot be used",
    "if (y := x) > 0:\n    return y\nreturn x": "an assignment expression cannot be used in .*: assign on a line of its own",
    "global G\nG = x\nreturn x": "global cannot be used in a scalar function: return the value instead",
    "def g(y):\n    return y\nreturn g(x)": "a nested function cannot be used in a scalar function: define it outside",
    "return (lambda y: y)(x)": "a nested function cannot be used",
    "yield x": "yield cannot be used",
    "return [x for i in range(3)]": "a comprehension cannot be used in a scalar function: write a loop",
    "import math\nreturn x": "import cannot be used in a scalar function: import at the top",
    "match x:\n    case 1:\n        return x\nreturn x": "match cannot be used in a scalar function: use if and elif",
    "return refused(x)": "'refused' calls itself: recursion is not supported, write a loop",
    "return later(x)": "'later' is not a function that can be called here: it must be defined before this one",
    "return x.sin()": "'x.sin' is not a function .* a method, and 'x' a number: use a function of math",
    "return ng.exp(x)": "'ng.exp' takes tensors: use the function of math of that name",
    "return math.comb(x)": "no derivative is known for 'math.comb': .* register_derivative",
    "return x & 1": "'&' needs integers or booleans",
    "while x > 0:\n    x -= 1\n    z = x\nreturn z": "local variable 'z' may be read before it is assigned",
    "for i in range(int(x)):\n    z = x\nreturn z": "local variable 'z' may be read before it is assigned",
}


@pytest.mark.parametrize(("body", "message"), REFUSED.items(), ids=lambda text: text.replace("\n", "; "))
def test_refusals_come_at_the_decorator_and_show_the_line(body, message):
    source = f"@ng.elementwise\ndef refused(x):\n{textwrap.indent(body, '    ')}\n"
    with pytest.raises(ng.DifferentiationError, match=message) as caught:
        run_cell(source, {**globals()})
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    file, line = lines[1].removeprefix('  File "').split('", line ')
    assert lines[2].strip() == linecache.getline(file, int(line)).strip()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("*x", "name each parameter"),
        ("**x", "name each parameter"),
        ("", "takes no numbers"),
        ("x, y=None", "the default of 'y' must be a number, not None"),
        ("x, k: int = 1.5", "the default of 'k' must be an int, not 1.5"),
        ("x, out", "a parameter cannot be called 'out'"),
    ],
)
def test_parameters_that_are_refused(parameters, message):
    with pytest.raises(ng.DifferentiationError, match=message) as caught:
        run_cell(f"@ng.elementwise\ndef refused({parameters}):\n    return 1.0\n", {"ng": ng})
    assert f"line 2\n    def refused({parameters}):" in str(caught.value)


@pytest.mark.parametrize("thing", [math.exp, print, 3, ng.exp, np.exp, "f".upper, staticmethod(plain_helper)])
def test_things_that_are_no_scalar_functions(thing):
    with pytest.raises(ng.DifferentiationError, match=r"not a Python function|takes tensors already|staticmethod"):
        ng.elementwise(thing)


def test_bound_assignments_are_accepted():
    @ng.elementwise
    def bound(x, n: int):
        for i in range(3):
            last = x * i
        while True:
            y = last + 1
            if y > n:
                break
            last = y
        if x > 0:
            z = y
        else:
            return y
        return z

    assert bound(2.0, 1).item() == 5.0


# ---------------------------------------------------------------------------------------------------- processes, threads
DECORATING = """
import sys
import numgrad as ng
before = set(sys.modules)
@ng.elementwise
def f(x):
    return x * x
ng.register_derivative(f.__wrapped__, "2 * x")
print(sorted(m for m in set(sys.modules) - before if m.split(".")[0] in ("numba", "llvmlite")))
"""


def test_decorating_imports_no_compiler(tmp_path):
    script = tmp_path / "decorating.py"
    script.write_text(DECORATING)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_threads_decorate_and_call_at_once():
    source = "@ng.elementwise\ndef f(x, y):\n    return {k} * x * y + helper(x)\n"
    failures = []

    def work(k: int) -> None:
        try:
            for _ in range(3):
                scope = {"ng": ng, "helper": plain_helper}
                run_cell(source.format(k=k % 2), scope)
                x = leaf(2.0)
                y = scope["f"](x, 3.0)
                (g,) = ng.autograd.grad(y, x)
                assert (y.item(), g.item()) == (6.0 * (k % 2) + 4.0, 3.0 * (k % 2) + 2.0)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# ---------------------------------------------------------------------------------------------------- mathematics
def normal_cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@ng.elementwise
def black_scholes(spot, strike, rate, sigma, time):
    """Price of a European call."""
    root = sigma * math.sqrt(time)
    d1 = (math.log(spot / strike) + (rate + 0.5 * sigma * sigma) * time) / root
    return spot * normal_cdf(d1) - strike * math.exp(-rate * time) * normal_cdf(d1 - root)


QUOTE = (110.0, 100.0, 0.03, 0.25, 0.75)


def test_black_scholes_and_its_five_first_derivatives_against_closed_forms():
    inputs = [leaf(v) for v in QUOTE]
    price = black_scholes(*inputs)
    spot, strike, rate, sigma, time = map(mpmath.mpf, QUOTE)
    root = sigma * mpmath.sqrt(time)
    d1 = (mpmath.log(spot / strike) + (rate + sigma**2 / 2) * time) / root
    d2 = d1 - root
    discounted = strike * mpmath.exp(-rate * time)
    density = mpmath.npdf(d1)
    assert price.item() == pytest.approx(float(spot * mpmath.ncdf(d1) - discounted * mpmath.ncdf(d2)), rel=1e-13)
    closed = [
        mpmath.ncdf(d1),  # delta
        -discounted / strike * mpmath.ncdf(d2),
        discounted * time * mpmath.ncdf(d2),  # rho
        spot * density * mpmath.sqrt(time),  # vega
        spot * density * sigma / (2 * mpmath.sqrt(time)) + rate * discounted * mpmath.ncdf(d2),  # -theta
    ]
    found = ng.autograd.grad(price, inputs)
    assert [g.item() for g in found] == pytest.approx([float(c) for c in closed], rel=1e-12)


def test_black_scholes_to_third_order_in_spot_and_volatility_against_mpmath():
    spot, sigma = leaf(QUOTE[0]), leaf(QUOTE[3])
    price = black_scholes(spot, QUOTE[1], QUOTE[2], sigma, QUOTE[4])
    delta, vega = ng.autograd.grad(price, (spot, sigma), create_graph=True)
    gamma, vanna = ng.autograd.grad(delta, (spot, sigma), create_graph=True)
    speed, zomma = ng.autograd.grad(gamma, (spot, sigma))
    mpmath.mp.dps = 40
    try:

        def exact(s, v):
            strike, rate, time = (mpmath.mpf(QUOTE[i]) for i in (1, 2, 4))
            root = v * mpmath.sqrt(time)
            d1 = (mpmath.log(s / strike) + (rate + v**2 / 2) * time) / root
            return s * mpmath.ncdf(d1) - strike * mpmath.exp(-rate * time) * mpmath.ncdf(d1 - root)

        at = (QUOTE[0], QUOTE[3])
        orders = [(1, 0), (0, 1), (2, 0), (1, 1), (3, 0), (2, 1)]
        expected = [float(mpmath.diff(exact, at, order)) for order in orders]
    finally:
        mpmath.mp.dps = 15
    found = [v.item() for v in (delta, vega, gamma, vanna, speed, zomma)]
    assert found == pytest.approx(expected, rel=1e-10)


@ng.elementwise
def eccentric(mean, e):
    """E with E - e sin(E) = mean, by Newton's method."""
    x = mean + e * math.sin(mean)
    while True:
        step = (x - e * math.sin(x) - mean) / (1 - e * math.cos(x))
        x = x - step
        if abs(step) < 1e-14:
            return x


def test_kepler_by_newton_against_mpmath():
    mean, e = leaf(0.3, 1.5, 2.9), leaf(0.1, 0.5, 0.9)
    (first,) = ng.autograd.grad(eccentric(mean, e).sum(), mean, create_graph=True)
    (second,) = ng.autograd.grad(first.sum(), mean)
    for m, c, x, d, dd in zip(*(v.tolist() for v in (mean, e, eccentric(mean, e), first, second)), strict=True):
        exact = mpmath.findroot(lambda u, m=m, c=c: u - c * mpmath.sin(u) - m, m)
        slope = 1 / (1 - c * mpmath.cos(exact))
        assert x == pytest.approx(float(exact), rel=1e-14)
        assert d == pytest.approx(float(slope), rel=1e-12)
        assert dd == pytest.approx(float(-(slope**3) * c * mpmath.sin(exact)), rel=1e-10)
