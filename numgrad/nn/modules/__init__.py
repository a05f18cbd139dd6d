"""PyTorch's path to `Module` and to what concerns all modules."""

from . import module as module
