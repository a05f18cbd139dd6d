"""The parts of a `DataLoader`, under the names that PyTorch's documentation has for them."""

from . import collate, fetch, worker

__all__ = ["collate", "fetch", "worker"]
