"""PyTorch's paths to the modules: `numgrad.nn.modules.<file>` holds what `torch.nn.modules.<file>` does.

The files are not written: `publish` makes them of the families in `numgrad.nn`, and gives each class the name of its file
for its home, so that types, messages and pickles name it as PyTorch does.
"""

from __future__ import annotations

import re
import sys
from types import ModuleType

from ..hooks import __all__ as _of_all_modules
from ..lazy import LazyModuleMixin
from ..module import Module

# Where PyTorch keeps a class whose family has another name here; the first that matches counts.
_FILES = {
    "batchnorm": r".*BatchNorm.*|_NormBase",
    "instancenorm": r".*InstanceNorm.*",
    "normalization": r".*(Group|Layer|RMS|ResponseNorm|LRN).*",
    "conv": r".*Conv.*",
    "padding": r".*Pad(\dd|Nd)",
    "pooling": r".*Pool.*|.*Unpool.*",
    "upsampling": r"Upsampl.*",
    "fold": r"(Un)?[Ff]old",
    "pixelshuffle": r"Pixel.*",
    "channelshuffle": r"ChannelShuffle",
    "dropout": r".*Dropout.*",
    "sparse": r"Embedding.*",
    "rnn": r"(RNN|LSTM|GRU).*",
    "transformer": r"Transformer.*",
    "adaptive": r"AdaptiveLogSoftmax.*",
    "activation": r".*Softm(ax|in).*|MultiheadAttention",
    "loss": r".*Loss.*",
    "distance": r"CosineSimilarity|PairwiseDistance",
    "container": r"Sequential|(Module|Parameter)(List|Dict)|Container",
}
__all__: list[str] = []


def publish() -> None:
    """Make the files of all families that are imported."""
    package = __name__.rpartition(".")[0]
    for name, family in list(sys.modules.items()):
        if name.rpartition(".")[0] == package and name != __name__:
            for value in list(vars(family).values()):
                if (
                    isinstance(value, type)
                    and value.__module__ == name
                    and issubclass(value, (Module, LazyModuleMixin))
                ):
                    _put(value, family)
    for hook in _of_all_modules:
        setattr(sys.modules[f"{__name__}.module"], hook, getattr(sys.modules[f"{package}.hooks"], hook))


def _put(cls: type, family: ModuleType) -> None:
    name = cls.__name__
    found = [file for file, pattern in _FILES.items() if re.fullmatch(pattern, name)]
    path = f"{__name__}.{found[0] if found else family.__name__.rpartition('.')[2]}"
    if path not in sys.modules:
        sys.modules[path] = ModuleType(path, family.__doc__)
        sys.modules[path].__file__ = family.__file__
        setattr(sys.modules[__name__], path.rpartition(".")[2], sys.modules[path])
    setattr(sys.modules[path], name, cls)
    cls.__module__ = path
    if not name.startswith("_"):
        setattr(sys.modules[__name__], name, cls)
        __all__.append(name)
