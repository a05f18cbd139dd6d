"""One expression in two libraries, over the same few tensors: what it shows, or the error."""

from __future__ import annotations

import warnings
from types import ModuleType

_TENSORS = """
f = torch.tensor([[1.5, -2.5, 0.0], [3.0, 1.0, 1.0]], requires_grad=True)
v = torch.tensor([-1.5, 2.5, 0.25], requires_grad=True)
w = torch.tensor([2.0, -0.7, 0.5], requires_grad=True)
z = torch.tensor(3.0, requires_grad=True)
s = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0])
d = torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64)
i = torch.tensor([3, 1, 2])
j = torch.tensor([-7, 2, -3])
b = torch.tensor([True, False, True])
e = torch.zeros(0, 3)
p = v.detach()
"""
BINARY_FORMS = """
v, w | v, 2 | v, 2.5 | 2, v | i, j | i, 2 | i, 2.5 | 2, i | b, b | v, i | v, d | d, v | i, 0 | i, torch.tensor([0, 1, 2])
s, s.flip(0) | f, v | v, torch.ones(2)
"""


def shown(library: ModuleType, expression: str) -> str:
    """The repr of an expression's value, or the type and text of its error."""
    scope = {"torch": library}
    exec(_TENSORS, scope)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(expression, scope)).replace("numgrad.", "torch.")
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
    if "received an invalid combination of arguments" in text:  # PyTorch's list of overloads
        return text.partition(":")[0]
    return text


def agree(ours: str, theirs: str) -> bool:
    """Equal, or an error of the type that PyTorch explains with its list of overloads."""
    return ours == theirs or ("Error" in theirs and ":" not in theirs and ours.startswith(theirs))


def split(text: str) -> list[str]:
    """Expressions, separated by bars and line breaks."""
    return [part.strip() for line in text.splitlines() for part in line.split(" | ") if part.strip()]
