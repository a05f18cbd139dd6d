"""Handles by which registered hooks are removed again."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any, ClassVar

__all__ = ["RemovableHandle"]


class RemovableHandle:
    """Removes one hook: `handle.remove()`, or at the end of `with module.register_forward_hook(hook):`.

    The handle refers weakly to the table of hooks, so keeping it does not keep the module. `extra_dicts` are tables of
    options with the same keys, cleared together with the hook.
    """

    next_id: ClassVar[int] = 0

    def __init__(self, hooks_dict: OrderedDict[int, Any], extra_dicts: tuple[OrderedDict[int, Any], ...] = ()) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self._tables = [weakref.ref(table) for table in (hooks_dict, *extra_dicts)]

    def remove(self) -> None:
        """Remove the hook; removing it twice does nothing."""
        for reference in self._tables:
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()
