"""Why a view may not be written, or not be used once its base was written: PyTorch's texts."""

from __future__ import annotations

import re
from typing import Any

from .variable import Creation

_BLOCKS = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
    "view and the inplace either both inside the {block} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)
_REASONS = {
    Creation.NO_GRAD: _BLOCKS.format(block="no_grad"),
    Creation.INFERENCE: _BLOCKS.format(block="inference_mode"),
    Creation.FUNCTION: (
        " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
        "to handle view+inplace would override the custom backward associated with the custom Function, leading to "
        "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
    ),
    Creation.SEVERAL: (
        " This view is the output of a function that returns multiple views. Such functions do not allow the output views "
        "to be modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
}


def check_view_write(variable: Any, *, indirect: bool) -> None:
    """Raise RuntimeError for a view that was not made in the normal way.

    `indirect`: it is not the view itself that is written, but its base was.
    """
    creation = variable._view.creation
    if creation is Creation.NORMAL:
        return
    edge = variable._edge
    written = "its base or another view of its base has been" if indirect else "is being"
    made = None if edge is None else f"Output {edge[1]} of {re.sub(r'Backward[0-9]*$', '', edge[0].name())} is a view"
    if creation in (Creation.NO_GRAD, Creation.INFERENCE) or made is None:
        start = "A view was created in" if made is None else f"{made} of a view which was created in"
        where = "inference mode" if creation is Creation.INFERENCE else "no_grad mode"
        mode = "normal mode" if creation is Creation.INFERENCE else "grad mode enabled"
        link = "in" if creation is Creation.INFERENCE else "with"
        text = f"{start} {where} and {written} modified inplace {link} {mode}."
    else:
        text = f"{made} and {written} modified inplace."
    raise RuntimeError(text + _REASONS[creation])
