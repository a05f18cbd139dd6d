"""Forward mode: derivatives along a tangent, computed together with the values.

    >>> import numgrad as ng
    >>> import numgrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(ng.tensor([2.0]), ng.tensor([1.0]))
    ...     fwAD.unpack_dual(x**3)
    UnpackedDualTensor(primal=tensor([8.]), tangent=tensor([12.]))

There is one level at a time; derivatives of higher order are what `numgrad.func.jvp` nests.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .duals import DualLevel, join_dual, split_dual
from .grad_mode import mode
from .node import gradient_edge
from .pullback import Identity
from .variable import wrap

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns: the value, and the tangent or None."""

    primal: Any
    tangent: Any


class _PublicLevel(DualLevel):
    """The level of `dual_level`, as opposed to those of `func.jvp`."""


def _current() -> _PublicLevel | None:
    return next((level for level in mode.levels if isinstance(level, _PublicLevel)), None)


def enter_dual_level() -> int:
    """Begin a level and return its number, 0. Raises RuntimeError inside another one."""
    if _current() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    mode.levels = (*mode.levels, _PublicLevel())
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: the tangents of its tensors are gone. Raises RuntimeError when there is no such level."""
    current = _current()
    if current is None:
        raise RuntimeError("Dual level must be a positive number.")
    if level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    mode.levels = tuple(other for other in mode.levels if other is not current)
    current.leave()


class dual_level:
    """A context manager in which tensors may have tangents."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A view of `tensor` that has a tangent. Gradients flow through it to both.

    Raises:
        RuntimeError: outside a level; shapes that differ; a tensor that has a tangent already.
        ValueError: one of the two is neither floating point nor complex.
    """
    current = _current()
    if current is None or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {x.dtype}")
    return with_tangent(tensor, tangent, current)


def with_tangent(tensor: Any, tangent: Any, level: DualLevel) -> Any:
    """`make_dual` at any level, without the checks of dtypes."""
    if split_dual(tensor, level)[1] is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    return join_dual(tensor.view(tensor.shape), tangent, level)


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a tensor; the tangent is None if it has none, and outside a level."""
    current = _current()
    if current is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    primal, tangent = split_dual(tensor, current)
    edge = gradient_edge(primal)
    node = None if edge is None else (Identity((edge,), (), primal._device), 0)
    return UnpackedDualTensor(wrap(primal._array, primal._device, node), tangent)


class _set_fwd_grad_enabled:
    """Whether tangents are carried on: set at once, and as a context manager until its end."""

    def __init__(self, enabled: bool) -> None:
        self._before = mode.forward_enabled
        mode.forward_enabled = enabled

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        mode.forward_enabled = self._before


def _is_fwd_grad_enabled() -> bool:
    return mode.forward_enabled
