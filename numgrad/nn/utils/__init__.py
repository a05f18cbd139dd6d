"""Tools for modules."""

from . import rnn, stateless

__all__ = ["rnn", "stateless"]
