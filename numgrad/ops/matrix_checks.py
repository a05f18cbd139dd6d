"""What the functions of linear algebra ask of their arguments, with PyTorch's texts."""

from __future__ import annotations

from typing import Any

from ..kernels.systems import LinAlgError
from .checks import check_tensor

_HALVES = ("Half", "BFloat16")


def check_matrices(name: str, A: Any, argument: str = "A", tensor_argument: str = "A", function: str = "") -> None:
    """Raise for what is no tensor of at least two dimensions; `name` as in "linalg.inv"."""
    check_tensor(function or name.replace(".", "_"), A, tensor_argument)
    if A.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_square(name: str, A: Any, argument: str = "A") -> None:
    """Raise RuntimeError for matrices that are not square."""
    rows, columns = A.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {rows} by {columns} matrices"
        )


def check_floats(name: str, A: Any, kernel: str = "") -> None:
    """Raise for integers, and for halves: with the name of PyTorch's `kernel`, or in its general words."""
    kind = A.dtype.scalar_name
    if not A.dtype.is_differentiable:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {kind}")
    if kind in _HALVES:
        if kernel:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind}'")
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {kind}")


def check_kernel(kernel: str, A: Any) -> None:
    """Raise NotImplementedError for integers and halves, with the name of PyTorch's kernel."""
    if not A.dtype.is_differentiable or A.dtype.scalar_name in _HALVES:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{A.dtype.scalar_name}'")


def check_info(info: Any, describe: Any, kind: type[Exception] = LinAlgError) -> None:
    """Raise for the first matrix whose `info` is not 0: `describe(batch, code)` makes the text."""
    codes = info.reshape(-1).tolist()
    for i, code in enumerate(codes):
        if code:
            raise kind(describe(f"(Batch element {i}): " if info.dim() else "", code))
