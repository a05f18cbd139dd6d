"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...ops import cat
from ...ops.inspection import typename
from ...tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The items of all parameters in one vector, as a differentiable function of them.

    Raises TypeError for parameters on different devices.
    """
    return cat([parameter.view(-1) for parameter in _on_one_device(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give each parameter its part of a vector as its data; the memory is the vector's.

    Raises TypeError for what is no tensor and for parameters on different devices.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for parameter in _on_one_device(parameters):
        stop = start + parameter.numel()
        parameter.data = vec[start:stop].view_as(parameter).data
        start = stop


def _on_one_device(parameters: Iterable[Tensor]) -> Iterable[Tensor]:
    first = None
    for parameter in parameters:
        first = parameter.device if first is None else first
        if parameter.device != first:
            raise TypeError("Found two parameters on different devices, this is currently not supported.")
        yield parameter
