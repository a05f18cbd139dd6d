"""`numgrad.testing`: what it accepts, what it refuses, and what it says."""

from __future__ import annotations

import math

import pytest

import numgrad as ng
from numgrad.testing import GradcheckError, assert_close, gradcheck, gradgradcheck


def leaf(*values: float) -> ng.Tensor:
    return ng.tensor(values, dtype=ng.float64, requires_grad=True)


# ---------------------------------------------------------------------------------------------------- assert_close
def test_close_values_pass():
    assert_close(ng.tensor([1.0, math.inf]), ng.tensor([1.0 + 1e-6, math.inf]))
    assert_close(ng.tensor([1, 2]), ng.tensor([1, 2]))
    assert_close(1.0, 1.0 + 1e-9)
    assert_close([ng.tensor(1.0), 2], (ng.tensor(1.0), 2))
    assert_close(ng.zeros(0, 3), ng.zeros(0, 3))
    assert_close(ng.tensor([1.0]), ng.tensor([1.2]), rtol=0, atol=0.21)


def test_the_message_says_where():
    with pytest.raises(AssertionError) as caught:
        assert_close(ng.tensor([[1.0, 2.0], [3.0, 4.0]]), ng.tensor([[1.0, 2.0], [3.0, 8.0]]))
    assert str(caught.value) == (
        "Tensor-likes are not close!\n\n"
        "Mismatched elements: 1 / 4 (25.0%)\n"
        "Greatest absolute difference: 4.0 at index (1, 1) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.5 at index (1, 1) (up to 1.3e-06 allowed)"
    )


def test_integers_have_to_be_equal():
    with pytest.raises(AssertionError, match=r"Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 \(50.0%\)\n"):
        assert_close(ng.tensor([1, 2]), ng.tensor([1, 4]))


def test_nan_equals_nan_only_when_asked():
    x = ng.tensor([math.nan, 1.0])
    assert_close(x, x, equal_nan=True)
    with pytest.raises(AssertionError, match="difference: nan at index"):
        assert_close(x, x)


@pytest.mark.parametrize(
    ("actual", "expected", "text"),
    [
        (ng.zeros(2), ng.zeros(3), "attribute 'shape' do not match: torch.Size([2]) != torch.Size([3])."),
        (ng.zeros(2), ng.zeros(2).double(), "attribute 'dtype' do not match: torch.float32 != torch.float64."),
        ([1], [1, 2], "The length of the sequences mismatch: 1 != 2"),
        ([[1], [2.0]], [[1], [3.0]], "The failure occurred for item [1][0]"),
    ],
)
def test_other_differences(actual, expected, text):
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected)
    assert text in str(caught.value)


def test_dtypes_may_differ_when_allowed():
    assert_close(ng.ones(2), ng.ones(2).double(), check_dtype=False)


def test_strides_are_compared_when_asked():
    assert_close(ng.zeros(2, 2).t(), ng.zeros(2, 2))
    with pytest.raises(AssertionError, match="attribute 'stride"):
        assert_close(ng.zeros(2, 2).t(), ng.zeros(2, 2), check_stride=True)


def test_own_messages():
    with pytest.raises(AssertionError, match=r"^no$"):
        assert_close(1, 2, msg="no")
    with pytest.raises(AssertionError, match=r"^first\n\nScalars are not equal!"):
        assert_close(1, 2, msg=lambda text: f"first\n\n{text}")


def test_arguments_that_make_no_sense():
    with pytest.raises(ValueError, match="Both 'rtol' and 'atol' must be either specified or omitted, but got no atol"):
        assert_close(1.0, 1.0, rtol=0.1)
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
        assert_close(ng.zeros(1), 0.0)


# ---------------------------------------------------------------------------------------------------- gradients
def test_right_gradients_pass():
    x, y = leaf(0.5, 1.5), leaf(2.0)
    assert gradcheck(lambda x, y: (x * y, x.exp()), (x, y)) is True
    assert gradgradcheck(lambda x, y: x * x * y, (x, y)) is True
    assert gradgradcheck(lambda x: x * 2, x) is True, "a second gradient of zero"


def test_inputs_and_outputs_without_gradients_are_left_alone():
    x, scale = leaf(0.5, 1.5), ng.tensor([2.0, 3.0], dtype=ng.float64)
    assert gradcheck(lambda x, scale: (x * scale, x > 1), (x, scale))
    assert x.grad is None


def test_a_wrong_gradient_is_named():
    x, y = leaf(1.0), leaf(0.5, 1.5)
    with pytest.raises(GradcheckError, match=r"Jacobian mismatch for output 0 with respect to input 1"):
        gradcheck(lambda x, y: x * y * y.detach(), (x, y))
    assert issubclass(GradcheckError, RuntimeError)
    assert gradcheck(lambda x: x * x.detach(), y, raise_exception=False) is False


def test_a_missing_gradient_is_noticed():
    with pytest.raises(GradcheckError, match=r"Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, leaf(1.0))


def test_a_wrong_second_gradient_is_noticed():
    class Once:
        """x**2 with a right gradient whose own gradient is missing."""

        def __call__(self, x):
            return x * x.detach() * 2 - x.detach() * x.detach()

    x = leaf(0.5, 1.5)
    with pytest.raises(GradcheckError):
        gradgradcheck(Once(), x)
    assert gradgradcheck(Once(), x, raise_exception=False) is False


def test_nothing_to_check_is_an_error():
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        gradcheck(lambda x: x, ng.zeros(1))


def test_single_precision_is_warned_about():
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        gradcheck(lambda x: x * 2, ng.ones(2, requires_grad=True), eps=1e-2, atol=1e-2)


def test_the_users_random_numbers_are_not_disturbed():
    ng.manual_seed(3)
    first = ng.rand(2).tolist()
    ng.manual_seed(3)
    gradcheck(lambda x: x * 2, leaf(1.0))
    assert ng.rand(2).tolist() == first
