"""The same lines in two libraries: what each shows, raises and warns of, as text that can be compared.

In the message about a modified tensor the producer is compared without `Backward0`, which numgrad's has and PyTorch's lacks.
"""

from __future__ import annotations

import re
import threading
import warnings
import weakref
from types import ModuleType
from typing import Any

import numpy as np

# Warnings of PyTorch about its own means, which say nothing of what the user wrote.
OF_ITS_INSIDE = (
    "`torch.jit.script` is deprecated",
    "Attempted to insert a get_attr Node with no underlying reference",
    "There is a performance drop because we have not yet implemented the batching rule",
)


def snippets(text: str) -> list[str]:
    """One snippet a line; `⏎` stands for a line break within one."""
    return [line for line in text.splitlines() if line.strip()]


def leaf_of(library: ModuleType) -> Any:
    return lambda *values: library.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def shown(library: ModuleType, snippet: str) -> tuple[str, list[tuple[type, str]]]:
    """What a snippet leaves in `out` (its repr), or raises, and what it warns of."""
    scope: dict[str, Any] = {
        "torch": library, "ag": library.autograd, "nn": library.nn, "F": library.nn.functional, "T": library.tensor,
        "leaf": leaf_of(library), "np": np, "threading": threading, "weakref": weakref,
    }  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(snippet.replace("⏎", "\n"), scope)
            text = repr(scope.get("out"))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
    told = [(w.category, neutral(str(w.message))) for w in caught]
    return neutral(text), [(kind, message) for kind, message in told if not message.startswith(OF_ITS_INSIDE)]


def neutral(text: str) -> str:
    """A text without what differs by nature: addresses, the library's own name in help and in types of tensors."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    text = re.sub(r" \(Triggered internally at .*\)", "", text)
    text = text.replace("numgrad.", "torch.").replace("(True, check_nan=False)", "(True)")
    return re.sub(r"(which is output \d+ of \w+?)(Backward\d?)?(,)", r"\1\3", text)
