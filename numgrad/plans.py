"""How calls are made, kept by what they depend on: what was checked and worked out once is not asked again."""

from __future__ import annotations

from typing import Any

_MOST = 4096


class Plans(dict[Any, Any]):
    """Plans of one function by a key that says all they depend on.

    They are forgotten when they are too many: a program with ever new shapes must not grow.
    """

    __slots__ = ()

    def keep(self, key: Any, plan: Any) -> None:
        """Keep a plan for the next call with this key."""
        if len(self) >= _MOST:
            self.clear()
        self[key] = plan


def are_ints(args: tuple[Any, ...]) -> bool:
    """Whether arguments are ints, or one tuple of them. An equal float or bool is none: it may be an error."""
    if len(args) == 1 and isinstance(args[0], tuple):
        args = args[0]
    for x in args:  # noqa: SIM110  (a generator takes three times as long)
        if x.__class__ is not int:
            return False
    return True
