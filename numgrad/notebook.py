"""How notebooks show a tensor: its values, shape, dtype and device, the range of its items and how many are NaN."""

from __future__ import annotations

import html as markup
from typing import Any

from . import interop

LARGEST_SCAN = 1 << 24  # items: what is looked through for the range; 20 ms


def html(x: Any) -> str:
    """The HTML that Jupyter calls `_repr_html_` for: the text of `repr`, under a line with the facts about it.

    Of tensors of more than 2**24 items, and of complex ones, the range is left out, so that showing one stays cheap.

    Example:
        >>> import numgrad as ng
        >>> print(ng.tensor([1.0, 3.0])._repr_html_())
        <div><small>shape (2,) · float32 · cpu · range 1 … 3</small><pre>tensor([1., 3.])</pre></div>
    """
    facts = [f"shape {tuple(x.shape)}", x.dtype.name, str(x.device)]
    if x.requires_grad:
        facts.append("requires grad" if x.grad_fn is None else x.grad_fn.name())
    facts += _range_of(x)
    return f"<div><small>{markup.escape(' · '.join(facts))}</small><pre>{markup.escape(repr(x))}</pre></div>"


def _range_of(x: Any) -> list[str]:
    count = x.numel()
    if not count or count > LARGEST_SCAN or x.dtype.category not in ("int", "float"):
        return []
    low, high, nans = interop.extent(x)
    facts = [] if nans == count else [f"range {low:g} … {high:g}" if x.is_floating_point() else f"range {low} … {high}"]
    return [*facts, f"{nans} NaN"] if nans else facts
