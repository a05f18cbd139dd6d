"""Tools for modules."""

from . import stateless

__all__ = ["stateless"]
