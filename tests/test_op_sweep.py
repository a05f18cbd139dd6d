"""The checks of the op sweep themselves: a new op passes them by its declaration alone, and wrong ones fail."""

from __future__ import annotations

import numpy as np
import op_sweep as sweep
import pytest
from op_sweep import F32, F64, SHAPE
from simt_runtime import SimulatedRuntime, installed

import numgrad as ng
from numgrad.kernels.registry import ElementwiseOp, KernelOp, Sample, Uniform
from numgrad.testing import GradcheckError


def test_an_op_needs_its_declaration_alone():
    """Kernels of both devices and gradients of every order come from the scalar function."""

    def smooth_step(x, width):
        """0 below 0, 1 above `width`, a cubic between."""
        t = x / width
        if t <= 0:
            return 0
        return 1 if t >= 1 else t * t * (3 - 2 * t)

    def reference(x, width):
        t = np.clip(x / width, 0, 1)
        return t * t * (3 - 2 * t)

    made = ElementwiseOp(smooth_step, samples=(Uniform(away_from=(0.0,)), Uniform(2.5, 3.0)), reference=reference)
    (case,) = sweep.cases(made)
    sweep.check_values(case, F64)
    sweep.check_gradients(case)
    with installed(SimulatedRuntime(check=False)):
        sweep.check_on_cuda(case)


def wrong_elementwise():
    def square(x):
        """x * x."""
        return x * x

    made = ElementwiseOp(square, samples=Uniform(), reference=np.square)

    @made.grad("x")
    def _(g, x):
        return g * (2.001 * x)

    return made


def kernel_square(**options):
    def square(x):
        """x * x."""

    made = KernelOp(square, samples=[Sample((SHAPE,))], reference=np.square, **options)
    made.kernel("cpu")(np.square)
    return made


def test_a_wrong_gradient_is_caught():
    (case,) = sweep.cases(wrong_elementwise())
    sweep.check_values(case, F64)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        sweep.check_gradients(case)


def test_a_wrong_second_gradient_is_caught():
    made = kernel_square()

    @made.grad("x")
    def _(g, x):
        return g * (2 * x.detach())

    with pytest.raises(GradcheckError):
        sweep.check_gradients(sweep.cases(made)[0])


def test_a_fused_kernel_that_differs_from_the_rules_is_caught():
    made = kernel_square()

    @made.grad("x")
    def _(g, x):
        return g * (2 * x)

    @made.fused_backward("cpu")
    def _(g, x, needs):
        return (g * (2 * x + 1e-9),)  # too little for finite differences

    with pytest.raises(AssertionError, match="the kernel's, and the rules' gradient"):
        sweep.check_gradients(sweep.cases(made)[0])


def kernel_sum_and_product():
    def sum_and_product(x, y):
        """x + y and x * y."""

    made = KernelOp(
        sum_and_product, outputs=2, samples=[Sample((SHAPE, SHAPE))], reference=lambda x, y: (x + y, x * y)
    )
    made.kernel("cpu")(made.reference)

    @made.grad("x", "y")
    def _(g0, g1, x, y):
        g0 = g1.new_zeros(g1.shape) if g0 is None else g0
        g1 = g0.new_zeros(g0.shape) if g1 is None else g1
        return g0 + g1 * y, g0 + g1 * x

    return made


def test_several_outputs_may_have_one_gradient_for_all_inputs_and_a_fused_one():
    made = kernel_sum_and_product()
    calls = []

    @made.fused_backward("cpu")
    def _(g0, g1, x, y, needs):
        calls.append(needs)
        g0, g1 = (0 if g is None else g for g in (g0, g1))
        return (g0 + g1 * y if needs[0] else None, g0 + g1 * x if needs[1] else None)

    sweep.check_gradients(sweep.cases(made)[0])
    x = ng.ones(2, requires_grad=True)
    (g,) = ng.autograd.grad(made(x, ng.full((2,), 3.0))[1].sum(), x)
    assert g.tolist() == [3.0, 3.0]
    assert calls[-1] == (True, False)


def test_a_fused_kernel_of_several_outputs_names_their_gradients():
    with pytest.raises(ValueError, match=r"must take \('g0', 'g1'\) first and needs last"):
        kernel_sum_and_product().fused_backward("cpu")(lambda g, x, y, needs: (x, y))


def test_a_wrong_value_a_wrong_dtype_and_a_written_input_are_caught():
    def right(x):
        return np.square(x)

    def wrong_value(x):
        return np.square(x) * (1 + 1e-12)

    def wrong_dtype(x):
        return np.square(x).astype(F32)

    def writes(x):
        result = np.square(x)
        x[...] = 0
        return result

    for kernel in (right, wrong_value, wrong_dtype, writes):
        made = kernel_square()
        made.kernels["cpu"] = kernel
        if kernel is right:
            sweep.check_values(sweep.cases(made)[0], F64)
            continue
        with pytest.raises(AssertionError):
            sweep.check_values(sweep.cases(made)[0], F64)
