"""What tests of Burn's front door share: devices, handles, and the flags that say what a handle is in the graph."""

from contextlib import contextmanager

import pytest

from numgrad import Device, burn

PLAIN = Device.flex()
AD = PLAIN.autodiff()
BALANCED = AD.gradient_checkpointing()
CONSUMED = "graph tape has already been consumed"
NONE, ASSOCIATED, TRACKED, LEAF = (False,) * 3, (True, False, False), (True, True, False), (True,) * 3


def floats(values, device=AD):
    return burn.Tensor.from_floats(values, device)


def leaf(values):
    return floats(values).require_grad()


def flags(x):
    """What `NONE`, `ASSOCIATED`, `TRACKED` and `LEAF` name."""
    return x.is_autodiff(), x.is_tracked(), x.is_require_grad()


@contextmanager
def panics(text):
    """Whether the block raises Panic with exactly this text."""
    with pytest.raises(burn.Panic) as caught:
        yield
    assert str(caught.value) == text
