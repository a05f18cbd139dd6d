"""Two PyTorch programs print PyTorch's lines on numgrad; only random values, ids and one name may differ.

Their Burn versions print Burn's."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

# PyTorch warns when the lesson reads the gradient of a tensor that is no leaf; everything else is an error.
EXPECTED_WARNING = "ignore:The .grad attribute of a Tensor that is not a leaf Tensor:UserWarning"

NUMBER = r"-?\d+(?:\.\d*)?(?:e[+-]\d+)?"


def run_example(name: str) -> list[str]:
    """The lines that an example prints; it must succeed without a word on stderr."""
    command = [sys.executable, "-W", "error", "-W", EXPECTED_WARNING, str(EXAMPLES / name)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def read_values(pattern: str, line: str) -> list[float]:
    """The numbers of a line that reads like the pattern, in which `#` stands for one number and all else for itself."""
    match = re.fullmatch(re.escape(pattern).replace(r"\#", f"({NUMBER})"), line)
    assert match, f"{line!r} does not read like {pattern!r}"
    return [float(text) for text in match.groups()]


def test_flags_of_leaves_and_results_and_what_may_be_changed() -> None:
    assert run_example("seed_flags.py") == [
        "a          requires_grad=False is_leaf=True  grad_fn=None",
        "w          requires_grad=True  is_leaf=True  grad_fn=None",
        "a*a        requires_grad=False is_leaf=True  grad_fn=None",
        "a*w        requires_grad=True  is_leaf=False grad_fn=MulBackward0",
        "int requires_grad: RuntimeError: Only Tensors of floating point and complex dtype can require gradients",
        "backward on constant: RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
        "requires_grad_(True) on a*w: ok",
        "requires_grad_(False) on a*w: RuntimeError: you can only change requires_grad flags of leaf variables. "
        "If you want to use a computed variable in a subgraph that doesn't require differentiation use "
        "var_no_grad = var.detach().",
        "a*a after  requires_grad=True  is_leaf=True  grad_fn=None",
        "requires_grad_() on a*a: ok",
        "late x.grad = None | w.grad = tensor([1., 2.])",
        "fc.weight  requires_grad=True  is_leaf=True  grad_fn=None",
    ]


def test_flags_through_burns_door() -> None:
    """The Burn program's lines, without the headers of its panics; what its compiler refuses is the AttributeError."""
    assert run_example("seed_flags_burn.py") == [
        "a          is_autodiff=true  is_tracked=false is_require_grad=false",
        "w          is_autodiff=true  is_tracked=true  is_require_grad=true",
        "a*a        is_autodiff=true  is_tracked=false is_require_grad=false",
        "a*w        is_autodiff=true  is_tracked=true  is_require_grad=false",
        "Tensor::require_grad requires autodiff; call Tensor::autodiff first",
        "require_grad on Device::flex(): panicked",
        "Tensor::backward requires a tracked autodiff tensor; call Tensor::autodiff().require_grad() on the source leaf "
        "before computing the output",
        "backward on constant: panicked",
        "Can't convert a non leaf tensor into a tracked tensor",
        "require_grad on a*w: panicked",
        "a*w off    is_autodiff=true  is_tracked=false is_require_grad=false",
        "set_require_grad(false) on a*w: ok",
        "a*a after  is_autodiff=true  is_tracked=true  is_require_grad=true",
        "require_grad on a*a: ok",
        "AttributeError: 'IntTensor' object has no attribute 'require_grad': there is a method is_require_grad with a "
        "similar name; float() gives a tensor that can require a gradient",
        "late x.grad = None | w.grad = Some([1.0, 2.0])",
        "lifted     is_autodiff=true  is_tracked=true  is_require_grad=true",
        "fc.weight  is_autodiff=true  is_tracked=true  is_require_grad=true",
        "plain fc.w is_autodiff=false is_tracked=false is_require_grad=false",
    ]


def test_lesson_through_burns_door() -> None:
    assert run_example("seed_lesson_burn.py") == [
        "Some([5.0]) Some([2.0]) None",
        "y.backward() again: panicked",
        "Some([7.0])",
        "Some([12.0])",
        "True True",
        "None",
        "Some([6.0]) False",
        "Tensor::backward requires a tracked autodiff tensor; call Tensor::autodiff().require_grad() on the source leaf "
        "before computing the output",
        *["Some([6.0])"] * 4,
        "True True True",
    ]


def test_lesson() -> None:
    lines = iter(run_example("seed_lesson.py"))

    assert re.fullmatch(r"<\S*Generator\b.* at 0x[0-9a-fA-F]+>", next(lines))
    assert next(lines) == "tensor([5.])"
    assert next(lines) == "tensor([12.])"

    check_inner_product([next(lines) for _ in range(9)])

    assert next(lines) == "(tensor([6.], grad_fn=<MulBackward0>),)"
    assert next(lines) == "(tensor([2.]),)"
    for _ in range(4):
        assert next(lines) == "tensor([6.])"
    assert next(lines) == "True True True"

    before, after = next(lines), next(lines)
    (identity, one), (same_identity, two) = read_values("# tensor([#])", before), read_values("# tensor([#])", after)
    assert identity == same_identity
    assert (one, two) == (1.0, 2.0)

    assert next(lines) == (
        "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[numgrad.FloatTensor [1]], which is output 0 of AddBackward0, is at version 1; expected version 0 instead. "
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
        "with numgrad.autograd.set_detect_anomaly(True)."
    )
    assert list(lines) == []


def check_inner_product(lines: list[str]) -> None:
    """(x + y) . z with random x, y, z: which of the printed values have to be equal, and the layout around them."""
    (x,) = read_values("tensor([#], requires_grad=True) ", lines[0])
    (y,) = read_values(" tensor([#], requires_grad=True) ", lines[1])
    (z,) = read_values(" tensor([#], requires_grad=True) ", lines[2])
    assert len({x, y, z}) == 3
    assert lines[3] == ""
    assert read_values("tensor([#], requires_grad=True) tensor([#]) tensor([#]) ", lines[4]) == [z, z, z]
    assert lines[5] == ""
    t, z_grad = read_values("tensor([#], grad_fn=<AddBackward0>) tensor([#]) ", lines[6])
    assert t == z_grad
    assert t == pytest.approx(x + y, abs=2e-4)  # three values, each rounded to four places
    assert lines[7:] == ["", "None"]
