"""What every part asks of a reactor: time and TCP. The real reactor and each virtual host answer it alike."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTCP, IReactorTime

__all__ = ["IReactor"]


class IReactor(IReactorTime, IReactorTCP):
    """Time and TCP together, for annotations: `def __init__(self, reactor: IReactor, ...)`."""
