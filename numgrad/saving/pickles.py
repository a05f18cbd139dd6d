"""Reading pickles of data, without running any code.

Python's own unpickler calls whatever a pickle names. This one takes a pickle for the program of a stack machine that it
is, and knows only the operations that build containers, strings and numbers, and the few names in a table given to it.
Anything else raises `pickle.UnpicklingError`.
"""

from __future__ import annotations

import pickle
import pickletools
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

_MARK = object()


class Name:
    """A name that stands for a function in a pickle; it is called by `REDUCE` only."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function


def _encoded(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise ValueError(f"bytes in the encoding {encoding!r}")
    return text.encode("latin1")  # how pickles of protocol 2 write bytes


def _bytearray(content: bytes | str = b"", encoding: str = "latin1") -> bytearray:
    if isinstance(content, str):
        return bytearray(_encoded(content, encoding))
    if not isinstance(content, bytes):  # a number would be a size to allocate
        raise TypeError("a bytearray of neither bytes nor text")
    return bytearray(content)


def _bytes() -> bytes:
    return b""  # how pickles of protocol 2 write no bytes


CONTAINERS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "_codecs.encode": _encoded,
    **{
        f"{module}.{function.__name__.lstrip('_')}": function
        for module in ("builtins", "__builtin__")
        for function in (set, frozenset, complex, _bytearray, _bytes)
    },
}


class Machine:
    """Reads one pickle after the other from a file.

    Args:
        file: what is read.
        names: what the names in the pickles stand for: a function, or a value if it is not callable.
        persistent: gives the object of a persistent id.
    """

    def __init__(self, file: BinaryIO, names: Mapping[str, Any], persistent: Callable[[Any], Any]) -> None:
        self._file = file
        self._names = {**CONTAINERS, **names}
        self._persistent = persistent

    def load(self) -> Any:
        """The next object. Raises UnpicklingError, with what was found, for anything but data."""
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        try:
            for opcode, argument, _ in pickletools.genops(self._file):
                if opcode.name == "STOP":
                    return self._data([self._stack.pop()])[0]
                operation = _OPERATIONS.get(opcode.name)
                if operation is None:
                    raise pickle.UnpicklingError(f"Unsupported operand {opcode.name}")
                operation(self, argument)
            raise pickle.UnpicklingError("it ends too early")
        except (IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise pickle.UnpicklingError(f"{type(error).__name__}: {error}") from None

    # ------------------------------------------------------------------------------------------ operations
    def _pushes(self, argument: Any) -> None:
        self._stack.append(argument)

    def _above_mark(self) -> list[Any]:
        """What was pushed since the last mark, which goes, too."""
        start = len(self._stack) - 1
        while self._stack[start] is not _MARK:
            start -= 1
            if start < 0:
                raise ValueError("no mark on the stack")
        items = self._stack[start + 1 :]
        del self._stack[start:]
        return items

    def _last(self, count: int) -> tuple[Any, ...]:
        if len(self._stack) < count:
            raise ValueError("the stack is empty")
        items = tuple(self._stack[-count:])
        del self._stack[-count:]
        return items

    def _global(self, name: str) -> None:
        if name not in self._names:
            raise pickle.UnpicklingError(f"Unsupported global: GLOBAL {name} was not an allowed global by default.")
        found = self._names[name]
        self._stack.append(Name(name, found) if callable(found) else found)

    def _reduce(self, argument: Any) -> None:
        function, arguments = self._last(2)
        if type(function) is not Name or type(arguments) is not tuple:
            raise pickle.UnpicklingError(f"a call of {function!r}")
        self._stack.append(function.function(*arguments))

    def _build(self, argument: Any) -> None:
        """Set attributes: of an `OrderedDict`, which has the metadata of a state dict."""
        made, state = self._last(2)
        if type(made) is not OrderedDict or type(state) is not dict or any(type(name) is not str for name in state):
            raise pickle.UnpicklingError(f"attributes of a {type(made).__name__}")
        vars(made).update(state)
        self._stack.append(made)

    def _data(self, items: list[Any]) -> list[Any]:
        """What goes into a container, or is all there is: data, and no name of a function."""
        for item in items:
            if type(item) is Name:
                raise pickle.UnpicklingError(f"the function {item.name} in a container")
        return items

    def _set_items(self, pairs: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise TypeError(f"items of a {type(target).__name__}")
        for key, value in zip(pairs[::2], self._data(pairs)[1::2], strict=True):
            target[key] = value

    def _append(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not list:
            raise TypeError(f"items of a {type(target).__name__}")
        target.extend(self._data(items))

    def _add(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not set:
            raise TypeError(f"items of a {type(target).__name__}")
        target.update(items)

    def _memoize(self, position: int | None) -> None:
        self._memo[len(self._memo) if position is None else position] = self._stack[-1]

    def _dict(self, pairs: list[Any]) -> None:
        self._stack.append({})
        self._set_items(pairs)


_Operation = Callable[[Machine, Any], Any]


def _constant(value: Any) -> _Operation:
    return lambda machine, argument: machine._stack.append(value)


_OPERATIONS: dict[str, _Operation] = {
    "PROTO": lambda machine, version: None,
    "FRAME": lambda machine, size: None,
    "MARK": _constant(_MARK),
    "POP": lambda machine, argument: machine._stack.pop(),
    "POP_MARK": lambda machine, argument: machine._above_mark(),
    "NONE": _constant(None),
    "NEWTRUE": _constant(True),
    "NEWFALSE": _constant(False),
    **dict.fromkeys(
        (
            "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
            "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES",
            "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
        ),
        Machine._pushes,
    ),
    "EMPTY_LIST": lambda machine, argument: machine._stack.append([]),
    "APPEND": lambda machine, argument: machine._append(list(machine._last(1))),
    "APPENDS": lambda machine, argument: machine._append(machine._above_mark()),
    "LIST": lambda machine, argument: machine._stack.append(machine._data(machine._above_mark())),
    "EMPTY_TUPLE": _constant(()),
    "TUPLE": lambda machine, argument: machine._stack.append(tuple(machine._above_mark())),
    "TUPLE1": lambda machine, argument: machine._stack.append(machine._last(1)),
    "TUPLE2": lambda machine, argument: machine._stack.append(machine._last(2)),
    "TUPLE3": lambda machine, argument: machine._stack.append(machine._last(3)),
    "EMPTY_DICT": lambda machine, argument: machine._stack.append({}),
    "DICT": lambda machine, argument: machine._dict(machine._above_mark()),
    "SETITEM": lambda machine, argument: machine._set_items(list(machine._last(2))),
    "SETITEMS": lambda machine, argument: machine._set_items(machine._above_mark()),
    "EMPTY_SET": lambda machine, argument: machine._stack.append(set()),
    "ADDITEMS": lambda machine, argument: machine._add(machine._above_mark()),
    "FROZENSET": lambda machine, argument: machine._stack.append(frozenset(machine._above_mark())),
    "GLOBAL": lambda machine, name: machine._global(name.replace(" ", ".", 1)),
    "STACK_GLOBAL": lambda machine, argument: machine._global(".".join(machine._last(2))),
    "REDUCE": Machine._reduce,
    "BUILD": Machine._build,
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), Machine._memoize),
    **dict.fromkeys(
        ("GET", "BINGET", "LONG_BINGET"),
        lambda machine, position: machine._stack.append(machine._memo[position]),
    ),
    "BINPERSID": lambda machine, argument: machine._stack.append(machine._persistent(machine._stack.pop())),
}  # fmt: skip
