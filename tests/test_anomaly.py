"""Anomaly mode: the forward line that a failing backward belongs to, and the first op whose result is not finite."""

from __future__ import annotations

import inspect
import math
import threading

import pytest

import numgrad as ng
from numgrad.autograd import detect_anomaly, set_detect_anomaly


def line_of(text):
    """`line n` of the line in this file that ends with a comment."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    (number,) = [i + 1 for i, line in enumerate(lines) if line.endswith(f"# {text}")]
    return f"line {number}"


def backward_of(build, **options):
    """The error and the warnings of a backward in anomaly mode."""
    with pytest.warns(UserWarning) as caught, detect_anomaly(**options):
        y = build()
        with pytest.raises((RuntimeError, ZeroDivisionError)) as error:
            y.backward()
    return str(error.value), [str(w.message) for w in caught][1:]


def test_the_line_that_makes_the_first_nan_is_named():
    def build():
        x = ng.tensor([0.0], requires_grad=True)
        y = x + 1
        z = x.sqrt()  # the root
        return (y + z * 0).sum()

    error, (warning,) = backward_of(build)
    assert error == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert warning.startswith("Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n")
    assert line_of("the root") in warning.splitlines()[-2]
    assert "z = x.sqrt()" in warning.splitlines()[-1]


def test_a_backward_that_raises_is_named_without_nan_checks():
    class Broken(ng.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return 1 / 0

    error, (warning,) = backward_of(lambda: Broken.apply(ng.ones(1, requires_grad=True)), check_nan=False)
    assert error == "division by zero"
    assert "Error detected in BrokenBackward." in warning


def test_nan_passes_without_the_check():
    x = ng.tensor([0.0], requires_grad=True)
    with set_detect_anomaly(True, check_nan=False):
        (x.sqrt() * 0).sum().backward()
    assert math.isnan(x.grad.item())


def test_a_forward_outside_the_mode_has_no_line():
    x = ng.tensor([0.0], requires_grad=True)
    y = (x.sqrt() * 0).sum()
    with (
        set_detect_anomaly(True),
        pytest.warns(UserWarning, match="No forward pass information available"),
        pytest.raises(RuntimeError, match="SqrtBackward0"),
    ):
        y.backward()


def test_the_backward_of_a_backward_names_both_lines():
    def build():
        x = ng.tensor([0.0], requires_grad=True)
        y = x**1.5  # the power
        (g,) = ng.autograd.grad(y.sum(), x, create_graph=True)  # the gradient
        return g.sqrt().sum() * 0

    _, warnings = backward_of(build)
    assert any("Previous calculation was induced by PowBackward0" in w and line_of("the power") in w for w in warnings) or (
        "SqrtBackward0" in warnings[0]
    )


def test_anomaly_mode_is_the_threads_own_and_ends():
    seen = []
    with set_detect_anomaly(True, check_nan=False):
        assert ng.is_anomaly_enabled()
        assert not ng.is_anomaly_check_nan_enabled()
        thread = threading.Thread(target=lambda: seen.append(ng.is_anomaly_enabled()))
        thread.start()
        thread.join()
    assert seen == [False]
    assert not ng.is_anomaly_enabled()
    assert ng.is_anomaly_check_nan_enabled()
    set_detect_anomaly(True)
    set_detect_anomaly(False)
    assert not ng.is_anomaly_enabled()


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: ng.tensor([0.0, 1.0]).log(), "'log' returned 1 nan or infinite value of 2 in its 0th"),
        (lambda: ng.ones(2, 2) / ng.zeros(2), "values of 4 in its 0th output, from finite inputs of shapes [2, 2], [2]"),
        (lambda: (ng.tensor([1e30]) * 1e30).sum(), "'mul' returned 1 nan"),
        (lambda: ng.tensor([[200.0, -200.0]]).exp().log_softmax(1), "'exp' returned 1 nan"),
    ],
)
def test_the_first_op_that_leaves_the_finite_numbers_is_named(build, text):
    with set_detect_anomaly(True, check_forward=True), pytest.raises(RuntimeError) as error:
        build()
    assert text in str(error.value)


def test_what_came_in_infinite_is_not_the_ops_fault():
    with set_detect_anomaly(True, check_forward=True):
        assert math.isinf((ng.tensor([math.inf]) + 1).item())
        assert ng.tensor([1, 2]).sum().item() == 3
    assert math.isinf(ng.tensor([0.0]).log().item())
