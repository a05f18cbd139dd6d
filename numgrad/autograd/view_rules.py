"""Which views may be written in place, and which lose their history when their base is: PyTorch's rules and texts."""

from __future__ import annotations

import re
from typing import Any

from .variable import FUNCTION, INFERENCE, NO_GRAD, SEVERAL

_BLOCKS = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
    "view and the inplace either both inside the {block} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)
_HELP = {
    NO_GRAD: _BLOCKS.format(block="no_grad"),
    INFERENCE: _BLOCKS.format(block="inference_mode"),
    FUNCTION: (
        "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
        "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
        "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
    ),
    SEVERAL: (
        "This view is the output of a function that returns multiple views. Such functions do not allow the output views to "
        "be modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
}


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
    origin = None if edge is None else f"Output {edge[1]} of {re.sub(r'Backward[0-9]*$', '', edge[0].name())} is a view"
    if creation in (NO_GRAD, INFERENCE) or origin is None:
        start = "A view was created in" if origin is None else f"{origin} of a view which was created in"
        if creation == INFERENCE:
            text = f"{start} inference mode and {written} modified inplace in normal mode."
        else:
            text = f"{start} no_grad mode and {written} modified inplace with grad mode enabled."
    else:
        text = f"{origin} and {written} modified inplace."
    raise RuntimeError(f"{text} {_HELP[creation]}")
