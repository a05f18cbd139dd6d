"""The tape of a backward by Burn's rules: every recorded step serves once, and that is checked before anything runs."""

from __future__ import annotations

from typing import Any

from ..autograd.engine import count_dependencies, run_backward
from ..autograd.node import AccumulateGrad
from ..kernels.locks import fork_safe_lock
from ..panic import Panic

CONSUMED = (
    "The graph tape has already been consumed by an earlier backward pass: run the forward again, or add the losses up and "
    "call backward once"
)

_taking = fork_safe_lock()


def differentiate(root: Any, seed: Any) -> list[tuple[Any, Any]]:
    """Consume the tape behind a tracked tensor; the leaves it reaches, and their gradients.

    Raises Panic, with every tape as it was, when a step that is needed has served before.
    """
    _take(root)
    return run_backward([root], [seed], keep_graph=False, create_graph=False, accumulate_grad=False)


def _take(root: Any) -> None:
    """Mark all steps behind an edge as consumed. Leaves are no steps: they serve any number of times."""
    steps = [node for node in count_dependencies([root]) if node.__class__ is not AccumulateGrad]
    with _taking:  # of two threads that share a step one gets it
        if any(node.consumed or (node.saved is None and node.packed is None) for node in steps):
            raise Panic(CONSUMED)
        for node in steps:
            node.consumed = True
