"""Which views may be written in place, and which lose their history when their base is: PyTorch's rules and texts."""

from __future__ import annotations

import re
from typing import Any

from .variable import NO_GRAD, SEVERAL

_NO_GRAD_HELP = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
    "view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)
_SEVERAL_HELP = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the output views to "
    "be modified inplace. You should replace the inplace operation by an out-of-place one."
)


def inherited(base_view: Any, own: str) -> str:
    """How a view was made that comes from a view: what its source may not do, it may not do either."""
    return base_view.creation if not own and base_view is not None else own


def check_history(view: Any, indirect: bool = False) -> None:
    """Raise RuntimeError when a view cannot take the history of an in-place write.

    `indirect` says that not the view but its base, or another view of that, is written.
    """
    creation = view._view.creation
    if not creation:
        return
    written = "its base or another view of its base has been" if indirect else "is being"
    edge = view._edge
    if edge is not None:
        name = re.sub(r"Backward\d+$", "", edge[0].name())
        origin = f"Output {edge[1]} of {name} is a view"
    if edge is None:
        text = f"A view was created in no_grad mode and {written} modified inplace with grad mode enabled."
    elif creation == NO_GRAD:
        text = f"{origin} of a view which was created in no_grad mode and {written} modified inplace with grad mode enabled."
    else:
        text = f"{origin} and {written} modified inplace."
    raise RuntimeError(f"{text} {_SEVERAL_HELP if creation == SEVERAL else _NO_GRAD_HELP}")
