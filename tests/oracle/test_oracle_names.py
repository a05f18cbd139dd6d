"""Names that scripts take for granted: constants, aliases, isin."""

from __future__ import annotations

import pytest
import side_by_side

import numgrad

torch = pytest.importorskip("torch")

SNIPPETS = """
out = torch.pi, torch.e, torch.inf, torch.nan != torch.nan, torch.newaxis
x = T([1.0, 2.0], requires_grad=True); out = torch.subtract(x, 3, alpha=2), x.subtract(x), x.detach().clone().subtract_(1)
out = torch.isin(T([[1, 2], [3, 4]]), T([2, 3])), torch.isin(T([1, 2]), 2), torch.isin(1, T([1.0, 2.0])), torch.isin(T([1, 5]), T([5]), invert=True)
torch.isin(T([True]), T([True]))
"""


@pytest.mark.parametrize("snippet", side_by_side.snippets(SNIPPETS))
def test_names(snippet: str) -> None:
    assert side_by_side.shown(numgrad, snippet) == side_by_side.shown(torch, snippet)
