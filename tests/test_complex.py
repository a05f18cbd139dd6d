"""Complex tensors: what a declaration must say, what is refused, and values that mathematics expects."""

from __future__ import annotations

import math

import numpy as np
import pytest

import numgrad as ng
from numgrad.kernels import arithmetic
from numgrad.kernels.complex_forms import complex_form, holomorphic
from numgrad.kernels.registry import ElementwiseOp
from numgrad.testing import assert_close, gradcheck


def own_op() -> ElementwiseOp:
    def double(input):
        """Twice the input."""
        return 2 * input

    return ElementwiseOp(double)


def test_a_complex_form_without_a_gradient_is_refused():
    with pytest.raises(ValueError, match="the complex form of op 'double' has no gradient of 'input'"):
        holomorphic(own_op(), lambda x: 2 * x)


def test_two_complex_forms_are_refused():
    with pytest.raises(ValueError, match="op 'mul' has two complex forms"):
        complex_form(arithmetic.mul, np.multiply, input=lambda g, other: g, other=lambda g, input: g)


def test_a_gradient_that_reads_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="a gradient of op 'double' reads 'x', which is none of"):
        holomorphic(own_op(), lambda x: 2 * x, input=lambda g, x: g)


def test_an_op_without_a_complex_form_refuses_complex_numbers():
    x = ng.tensor([1j])
    with pytest.raises(NotImplementedError, match="\"double_cpu\" not implemented for 'ComplexFloat'"):
        own_op()(x)
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        ng.nn.functional.log_softmax(x, 0)


def test_a_step_against_the_gradient_goes_down():
    """The convention: dL/dx + i dL/dy, so that descent is `z - rate * z.grad`."""
    z = ng.tensor([1 + 2j, -3.0], dtype=ng.complex128, requires_grad=True)
    target = ng.tensor([0.5j, 1.0], dtype=ng.complex128)
    for _ in range(200):
        loss = ((z - target).abs() ** 2).sum()
        (gradient,) = ng.autograd.grad(loss, z)
        assert_close(gradient, 2 * (z - target).detach())
        z = (z - 0.1 * gradient).detach().requires_grad_()
    assert_close(z.detach(), target)


def test_a_real_operand_gets_a_real_gradient():
    x = ng.tensor([1.0, 2.0], requires_grad=True)
    z = ng.tensor([1 + 2j, 3 - 1j])
    (x * z).abs().sum().backward()
    assert x.grad.dtype is ng.float32
    assert_close(x.grad, z.abs())  # |x z| = x |z|


def test_real_and_imaginary_parts_share_memory():
    z = ng.tensor([[1 + 2j, 3 - 1j]])
    z.real[0, 1] = 7
    z.t().imag.mul_(2)
    assert z.tolist() == [[1 + 4j, 7 - 2j]]
    assert z._version == 2
    assert ng.view_as_complex(ng.view_as_real(z)).data_ptr() == z.data_ptr()


def test_gradients_through_written_parts():
    def function(z, w, x):
        out = z * 1
        out.real.mul_(x)
        out.imag.copy_((w * w).abs())
        pairs = ng.view_as_real(w * 1)
        ng.view_as_complex(pairs).mul_(z)
        return out, pairs

    rng = np.random.default_rng(0)
    z, w = (ng.from_numpy(rng.normal(size=3) + 1j * rng.normal(size=3)).requires_grad_() for _ in range(2))
    assert gradcheck(function, (z, w, ng.from_numpy(rng.normal(size=3)).requires_grad_()))


def test_normal_draws_have_variance_one_in_both_parts_together():
    z = ng.randn(20000, dtype=ng.complex64, generator=ng.Generator().manual_seed(1))
    assert z.dtype is ng.complex64
    for part in (z.real, z.imag):
        assert abs(part.mean().item()) < 0.03
        assert abs(part.var().item() - 0.5) < 0.03
    assert abs((z.real * z.imag).mean().item()) < 0.03
    u = ng.rand(1000, dtype=ng.complex128)
    assert min(u.real.min().item(), u.imag.min().item()) >= 0 and max(u.real.max().item(), u.imag.max().item()) < 1


def test_halves_are_no_parts_of_complex_numbers():
    half = ng.tensor([[1.0, 2.0]], dtype=ng.float16)
    with pytest.raises(NotImplementedError, match="complex32"):
        ng.view_as_complex(half)
    assert ng.complex(half, half).dtype is ng.complex64
    assert (half * 1j).tolist() == [[1j, 2j]]


def test_polar_is_differentiated_at_negative_lengths():
    r, phi = ng.tensor([-2.0], dtype=ng.float64, requires_grad=True), ng.tensor([0.5], dtype=ng.float64, requires_grad=True)
    gradients = ng.autograd.grad(ng.polar(r, phi).real.sum(), [r, phi])
    assert [g.item() for g in gradients] == pytest.approx([math.cos(0.5), 2 * math.sin(0.5)])
