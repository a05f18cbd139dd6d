"""Devices: a piece of hardware, and the autodiff context that tensors made on it carry.

PyTorch's door never sees the context: `device("cpu")` is enabled for autodiff. Burn's door starts from plain devices
(`Device.cpu()`) and opts in. The context travels with a tensor and contexts merge for each op; kernels are looked up by
hardware alone, and equality of devices ignores it.
"""

from __future__ import annotations

import threading
from enum import StrEnum
from types import ModuleType
from typing import Any, ClassVar

from .kernels import cpu
from .kernels.backends import backend
from .panic import Panic

TYPES = ("cpu", "cuda")


class GradientCheckpointingStrategy(StrEnum):
    """How a graph keeps what its gradients read: all of it, or only what is dear to compute again."""

    Disabled = "Disabled"
    Balanced = "Balanced"


class Context:
    """Whether tensors take part in autodiff, and how their graph keeps what it saves.

    `strategy` is None for a plain context, else "Disabled" (save everything) or "Balanced" (recompute what is cheap).
    """

    __slots__ = ("strategy",)

    def __init__(self, strategy: GradientCheckpointingStrategy | None) -> None:
        self.strategy = strategy

    @property
    def enabled(self) -> bool:
        """Whether autodiff may record ops on tensors of this context."""
        return self.strategy is not None

    def __repr__(self) -> str:
        return f"Context({self.strategy})"

    def __reduce__(self) -> Any:
        return (_context_of, (self.strategy,))  # contexts are told apart by identity: a copy is the context itself


PLAIN = Context(None)
AUTODIFF = Context(GradientCheckpointingStrategy.Disabled)
BALANCED = Context(GradientCheckpointingStrategy.Balanced)


def _context_of(strategy: GradientCheckpointingStrategy | None) -> Context:
    return next(context for context in (PLAIN, AUTODIFF, BALANCED) if context.strategy == strategy)


def merge_contexts(first: Context, second: Context) -> Context:
    """The context of an op's result: a plain operand counts as a constant beside an enabled one.

    Raises Panic for two different checkpointing strategies.
    """
    if first is second or not second.enabled:
        return first
    if not first.enabled:
        return second
    raise Panic(
        f"Gradient checkpointing strategy mismatch: {first.strategy} vs {second.strategy}. "
        "Tensors in the same operation must share a strategy."
    )


class device:
    """Where a tensor lives: `device("cpu")`, `device("cuda:0")`, `device("cuda", 1)`.

    Attributes:
        type: "cpu" or "cuda".
        index: the number of the card, None for the CPU and for "the current one".
        context: the autodiff context of tensors made on it.
        hardware: the key under which kernels are found, such as "cuda:0".

    Raises:
        RuntimeError: an unknown type, with PyTorch's text.
    """

    __slots__ = ("context", "hardware", "index", "type")
    _interned: ClassVar[dict[tuple[str, int | None, Context], device]] = {}

    type: str
    index: int | None
    context: Context
    hardware: str

    def __new__(cls, type: Any, index: int | None = None) -> device:
        """The device of a name, or the device itself."""
        if isinstance(type, device):
            return type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}")
        name, _, number = type.partition(":")
        if number:
            if index is not None:
                raise RuntimeError(
                    "type (string) must not include an index because index was passed explicitly: " + type
                )
            if not number.isdecimal():
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        if not name.isalpha():
            raise RuntimeError(f"Invalid device string: '{type}'" if type else "Device string must not be empty")
        if name not in TYPES:
            raise RuntimeError(f"Expected one of cpu, cuda device type at start of device string: {name}")
        return cls._of(name, index, AUTODIFF)

    @classmethod
    def _of(cls, type: str, index: int | None, context: Context) -> device:
        key = (type, index, context)
        found = cls._interned.get(key)
        if found is None:
            found = object.__new__(cls)
            found.type = type
            found.index = index
            found.context = context
            found.hardware = type if type == "cpu" else f"{type}:{index or 0}"
            found = cls._interned.setdefault(key, found)
        return found

    # ------------------------------------------------------------------------------------------ Burn's constructors
    @classmethod
    def cpu(cls) -> device:
        """The CPU without autodiff: tensors made there are constants until they are asked to take part."""
        return cls._of("cpu", None, PLAIN)

    flex = cpu  # Burn's default backend for the CPU; here there is one

    @classmethod
    def cuda(cls, index: int = 0) -> device:
        """A CUDA card without autodiff."""
        return cls._of("cuda", index, PLAIN)

    # ------------------------------------------------------------------------------------------ as the default
    def __enter__(self) -> device:
        """Make it the default device of this thread, to the end of a `with` statement."""
        default.outer.append(default.device)
        default.device = self.concrete()
        return self

    def __exit__(self, *exception: object) -> None:
        """Restore the default device."""
        default.device = default.outer.pop()

    # ------------------------------------------------------------------------------------------ context
    def with_context(self, context: Context) -> device:
        """The same hardware with another autodiff context."""
        return device._of(self.type, self.index, context)

    def is_autodiff(self) -> bool:
        """Whether tensors made on the device may take part in autodiff. Says nothing about any one of them."""
        return self.context.enabled

    def autodiff(self) -> device:
        """The same hardware with autodiff; itself, with its checkpointing, when it has it already."""
        return self if self.context.enabled else self.with_context(AUTODIFF)

    def without_autodiff(self) -> device:
        """The same hardware without autodiff."""
        return self.with_context(PLAIN)

    inner = without_autodiff

    def gradient_checkpointing(self) -> device:
        """The same hardware, whose graphs compute cheap values again rather than keep them. Raises Panic without autodiff.

        >>> device.cpu().autodiff().gradient_checkpointing().gradient_checkpointing_strategy().name
        'Balanced'
        """
        if not self.context.enabled:
            raise Panic("Gradient checkpointing requires autodiff; use Device::autodiff().gradient_checkpointing()")
        return self.with_context(BALANCED)

    def gradient_checkpointing_strategy(self) -> GradientCheckpointingStrategy | None:
        """The strategy of tensors made on the device; None without autodiff."""
        return self.context.strategy

    def concrete(self) -> device:
        """The device that a tensor on it reports: `cuda` is `cuda:0`."""
        if self.type == "cpu":
            return device._of("cpu", None, self.context)
        return device._of(self.type, self.index or 0, self.context)

    def kernels(self) -> ModuleType:
        """The module with this hardware's loops. Raises AssertionError, as PyTorch, for CUDA without a runtime."""
        module = backend(self.hardware)
        if module is not cpu:
            module.runtime()
        return module

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.context is AUTODIFF:
            return (device, (str(self),))
        return (device._of, (self.type, self.index, self.context))


Device = device
CPU = device("cpu")


class _Default(threading.local):
    """The device on which factories make tensors that are told none; each thread has its own."""

    device: device = CPU

    def __init__(self) -> None:
        self.outer: list[device] = []  # of `with device(...)` statements


default = _Default()


def set_default_device(device: Any) -> None:
    """Let factories of this thread make tensors on another device than the CPU; None makes it the CPU again."""
    default.device = CPU if device is None else Device(device).concrete()


def get_default_device() -> device:
    """The device on which factories of this thread make tensors."""
    return default.device
