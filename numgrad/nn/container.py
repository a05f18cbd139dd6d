"""Modules that hold modules: in order, or under names."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain, groupby
from typing import Any, Self

from .module import Module, format_module, indent_after_first_line

__all__ = ["Container", "ModuleDict", "ModuleList", "Sequential"]


class _Ordered(Module):
    """A list of child modules: index, length, iteration, deletion with renumbering."""

    _modules: dict[str, Module]  # type: ignore[assignment]  # no child is None here

    def _key(self, idx: int) -> str:
        size = len(self)
        idx = operator.index(idx)
        if not -size <= idx < size:
            raise IndexError(f"index {idx} is out of range")
        return list(self._modules)[idx]

    def __len__(self) -> int:
        return len(self._modules)

    def __getitem__(self, idx: int | slice) -> Any:
        """One module, or a container of the same kind with some."""
        if isinstance(idx, slice):
            return self._of(list(self._modules.items())[idx])
        return self._modules[self._key(idx)]

    def _of(self, named_modules: list[tuple[str, Module]]) -> Self:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        for key in list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]:
            delattr(self, key)
        self._modules = {str(position): module for position, module in enumerate(self)}

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def pop(self, key: int | slice) -> Any:
        """Remove and return a module, or several."""
        module = self[key]
        del self[key]
        return module

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def _insert(self, index: int, module: Module) -> None:
        for position in range(len(self), index, -1):
            self._modules[str(position)] = self._modules[str(position - 1)]
        self._modules[str(index)] = module


class Sequential(_Ordered):
    """Modules that feed each other: the output of one is the input of the next.

    Takes modules, or one `OrderedDict` of named modules.

    >>> Sequential(Linear(2, 3), Tanh())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): Tanh()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    def forward(self, input: Any) -> Any:
        """Pass the input through all modules."""
        for module in self:
            input = module(input)
        return input

    def _of(self, named_modules: list[tuple[str, Module]]) -> Self:
        return type(self)(OrderedDict(named_modules))

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        self._insert(index + size if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Append modules."""
        for module in sequential:
            self.append(module)
        return self

    def __add__(self, other: Sequential) -> Sequential:
        _check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        _check_sequential(other)
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        """The same modules `other` times over, as in a list."""
        self._check_factor(other)
        return Sequential(*list(self) * other)

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def _check_factor(self, factor: object) -> None:
        if not isinstance(factor, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(factor)}")
        if factor <= 0:
            raise ValueError(f"Non-positive multiplication factor {factor} for {type(self)}")


def _check_sequential(other: object) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")


class ModuleList(_Ordered):
    """A list of modules whose parameters are seen by the module it belongs to; it cannot be called."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _of(self, named_modules: list[tuple[str, Module]]) -> Self:
        return type(self)(module for _, module in named_modules)

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at `index`."""
        self._insert(index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Append modules."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        """Equal neighbours are shown once, with their number: `(0-2): 3 x ReLU()`."""
        lines = []
        for text, run in groupby(enumerate(map(repr, self)), key=lambda item: item[1]):
            first, *rest = [position for position, _ in run]
            label = f"({first}-{rest[-1]}): {len(rest) + 1} x " if rest else f"({first}): "
            lines.append(label + indent_after_first_line(text))
        return format_module(self._get_name(), [], lines)


class ModuleDict(Module):
    """Modules under names that need not be attribute names; it keeps their order and cannot be called.

    Takes a mapping, or pairs of a name and a module.

    >>> ModuleDict({"hidden": Linear(2, 3), "act": Tanh()})["act"]
    Tanh()
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove and return a module."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """Pairs of a name and a module."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules, in the place of those of the same names.

        Raises TypeError or ValueError for what is neither a mapping nor made of pairs.
        """
        for key, module in named_items(modules, "ModuleDict", "ModuleDict"):
            self[key] = module


def named_items(items: Any, called: str, kind: str) -> Iterable[tuple[str, Any]]:
    """The pairs of a mapping, or of an iterable of pairs; `called` and `kind` name the container in errors."""
    if not isinstance(items, Iterable):
        raise TypeError(
            f"{called}.update should be called with an iterable of key/value pairs, but got {type(items).__name__}"
        )
    if isinstance(items, Mapping) or hasattr(items, "items"):
        yield from items.items()
        return
    for position, pair in enumerate(items):
        start = f"{kind} update sequence element #{position}"
        if not isinstance(pair, Iterable):
            raise TypeError(f"{start} should be Iterable; is{type(pair).__name__}")
        key_and_value = tuple(pair)
        if len(key_and_value) != 2:
            raise ValueError(f"{start} has length {len(key_and_value)}; 2 is required")
        yield key_and_value


class Container(Module):
    """Deprecated: `Module` itself holds modules."""

    def __init__(self, **kwargs: Module) -> None:
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that "
            "instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)
