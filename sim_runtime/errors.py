"""The base class of the runtime's errors."""

from __future__ import annotations

__all__ = ["SimRuntimeError"]


class SimRuntimeError(Exception):
    """An error of the runtime; subclasses keep their values as attributes and survive pickling."""
