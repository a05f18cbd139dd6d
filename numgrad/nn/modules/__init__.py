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
    "normalization": r"(Group|Layer|RMS|LocalResponse)Norm|CrossMapLRN2d",
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
    "linear": r".*[Ll]inear|Identity",
}
# What PyTorch calls base classes that users derive from, though their names are private there.
_BASES = {"Loss": "_Loss", "WeightedLoss": "_WeightedLoss", "DropoutOf": "_DropoutNd"}
__all__: list[str] = []


def publish() -> None:
    """Make the files of all families that are imported."""
    package = __name__.rpartition(".")[0]
    for path, family in list(sys.modules.items()):
        if path.rpartition(".")[0] == package and path != __name__:
            for name, value in list(vars(family).items()):
                if (
                    isinstance(value, type)
                    and value.__module__ == path
                    and issubclass(value, (Module, LazyModuleMixin))
                ):
                    _put(name, value, family)
    for hook in _of_all_modules:
        setattr(sys.modules[f"{__name__}.module"], hook, getattr(sys.modules[f"{package}.hooks"], hook))


def _put(name: str, cls: type, family: ModuleType) -> None:
    is_public = name in family.__all__
    files = [file for file, pattern in _FILES.items() if re.fullmatch(pattern, name)]
    if not files and not is_public:
        return  # a base class that PyTorch does not have
    path = f"{__name__}.{files[0] if files else family.__name__.rpartition('.')[2]}"
    if path not in sys.modules:
        sys.modules[path] = ModuleType(path, family.__doc__)
        sys.modules[path].__file__ = family.__file__
        setattr(sys.modules[__name__], path.rpartition(".")[2], sys.modules[path])
    cls.__module__ = path
    setattr(sys.modules[path], _BASES.get(name, name), cls)
    if is_public:
        setattr(sys.modules[__name__], name, cls)
        __all__.append(name)
