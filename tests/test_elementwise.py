"""A user's own elementwise functions: how they are called, what they give, and their gradients."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from typing import Any

import mpmath
import numpy as np
import pytest
from simt_runtime import SimulatedRuntime, installed

import numgrad as ng
from numgrad.kernels import OPS
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
    assert not {"huber", "product"} & set(OPS)
    assert OPS["polar"] is not polar.op


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
        (lambda: huber(np.zeros(2, np.uint16), 2.0), r"can't convert np.ndarray of type numpy.uint16. The only supported"),
        (lambda: huber(1.0, 2.0, out=np.zeros(())), r"huber\(\): argument 'out' must be Tensor, not ndarray"),
        (lambda: polar(1.0, 2.0, out=ng.empty(())), r"polar\(\) has 2 outputs: out= is for functions with one"),
    ],
)
def test_arguments_that_do_not_fit(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_private_names_in_a_class():
    class Curves:
        @staticmethod
        @ng.elementwise
        def parabola(__x, __scale=2.0):  # Python calls them _Curves__x and _Curves__scale
            __square = __x * __x
            return __scale * __square

    assert Curves.parabola(3.0).item() == 18.0
    assert Curves.parabola(3.0, 0.5).item() == 4.5


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


def test_the_fast_path_records_as_the_general_one_does():
    """The second call with arrays alike takes another way; views, shared inputs and versions are no exception."""
    base = leaf(9.0, 0.3, 2.7)
    for _ in range(3):
        p, t = base[1:], base[1:] * 0.5
        y, (r, _) = huber(p, t, 1.0), polar(p, t)
        assert y.grad_fn.next_functions[0][0] is p.grad_fn
        (g,) = ng.autograd.grad(y.sum() + r.sum(), base, create_graph=True)
        assert g.tolist() == pytest.approx([0.0, 0.3 * 0.25 + 1.25**0.5, 0.5 + 1.25**0.5])  # 0.5 (x/2)^2, x/2 - 1/2
        assert ng.autograd.grad(g.sum(), base)[0].tolist() == pytest.approx([0.0, 0.25, 0.0])
        z = p * 1.0
        late = huber(z, z, z)
        z.mul_(2.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            late.sum().backward()
        with ng.no_grad():
            assert not huber(p, t, 1.0).requires_grad


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


def test_nothing_of_any_order_goes_through_a_nondiff_parameter():
    @ng.elementwise(nondiff="k")
    def scaled(x, k):
        return x * x * k

    @ng.elementwise(nondiff="k")
    def declared(x, k):
        return x * x * k

    @declared.grad("x")
    def _(g, x, k):
        return g * (2 * x * k)

    def looped(x):
        total = 0.0
        for _ in range(1):
            total += scaled(x, x)
        return total

    # x * x * k of a constant k, which is x: first derivatives 2 x k, second ones 2 k, third ones 0
    for f in (
        lambda x: scaled(x, x),
        lambda x: declared(x, x),
        ng.elementwise(lambda x: scaled(x, x)),
        ng.elementwise(lambda x: declared(x, x)),
        ng.elementwise(looped),
    ):
        x = leaf(3.0)
        (first,) = ng.autograd.grad(f(x), x, create_graph=True)
        (second,) = ng.autograd.grad(first, x, create_graph=True)
        assert (first.item(), second.item()) == (18.0, 6.0)
        assert not second.requires_grad or ng.autograd.grad(second, x, allow_unused=True)[0] in (None, 0.0)
    assert "k = k" not in scaled.source() + scaled.source(order=1)


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
