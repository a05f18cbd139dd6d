"""Copies of tensors, and their pickles: leaves outside any graph, over storages of their own, shared as the originals' were.

`copy.copy` shares the memory, `copy.deepcopy` and pickles do not. What is copied or pickled together (views of one storage)
shares memory afterwards, too. Python attributes that a user set go along; hooks do not.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

from .autograd.variable import Variable
from .device import device
from .dtype import dtype
from .kernels.array import Array, Layout, Storage

_NO_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
    "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
    "see https://github.com/pytorch/pytorch/pull/103001"
)


def deep(x: Any, memo: dict[int, Any]) -> Any:
    """What `copy.deepcopy` makes of a tensor: a leaf, with a copy of its `.grad`.

    Raises RuntimeError for a tensor that an op made.
    """
    if not x.is_leaf:
        error = RuntimeError(_NO_LEAF)
        error.add_note("A copy outside the graph is what copy.deepcopy(x.detach()) gives.")
        raise error
    if id(x) in memo:
        return memo[id(x)]
    array = _on_host(x)
    storage = _copied(array.storage, memo)
    copied = rebuilt(type(x), storage, x.dtype, array.layout, x._device, x.requires_grad, {})
    memo[id(x)] = copied
    copied._grad = copy.deepcopy(x._grad, memo)
    copied.__dict__.update(copy.deepcopy(attributes(x), memo))
    return copied


def _copied(storage: Storage, memo: dict[int, Any]) -> Storage:
    if id(storage) not in memo:
        memo[id(storage)] = Storage(storage.buffer.copy(), storage.device)
    return memo[id(storage)]


def reduced(x: Any) -> tuple[Any, ...]:
    """What `__reduce_ex__` gives of a tensor: how `copy.copy` and `pickle` make it anew."""
    if x._hooks is not None:
        for hook in (h for hooks in x._hooks.tensor.values() for h in hooks.values()):
            if hasattr(hook, "__torch_unserializable__"):
                continue
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                UserWarning,
                stacklevel=3,
            )
    array = _on_host(x)
    return rebuilt, (type(x), array.storage, x.dtype, array.layout, x._device, x.requires_grad, attributes(x))


def _on_host(x: Any) -> Array:
    """The array of a CPU tensor; that of another device is fetched, alone: views of one storage part there."""
    return x._array if x._device.type == "cpu" else x.detach().cpu()._array


def attributes(x: Any) -> dict[str, Any]:
    """The attributes that a user set."""
    return {name: value for name, value in x.__dict__.items() if not hasattr(Variable, name)}


def rebuilt(
    cls: Any, storage: Storage, kind: dtype, layout: Layout, where: device, requires_grad: bool, own: dict[str, Any]
) -> Any:
    """A leaf from its parts."""
    array = Array(storage, kind.numpy, (0,), (1,)).view(*layout)
    if where.hardware != storage.device:
        array = where.kernels().from_host(array.ndarray, where.hardware)
    made: Any = object.__new__(cls)
    made._array, made._device, made._edge, made._requires_grad, made._view = array, where, None, requires_grad, None
    made.__dict__.update(own)
    return made
