"""The interface of reactors: time and TCP. The real reactor and each virtual host implement it."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTCP, IReactorTime

__all__ = ["IReactor"]


class IReactor(IReactorTime, IReactorTCP):
    """Time and TCP together, for annotations: `def __init__(self, reactor: IReactor, ...)`."""
