"""The root of the errors that the ground floor raises itself."""

from __future__ import annotations

__all__ = ["SimRuntimeError"]


class SimRuntimeError(Exception):
    """An error of the runtime; subclasses keep their values as attributes and survive pickling."""
