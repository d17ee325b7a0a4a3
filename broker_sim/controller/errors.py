"""The errors that a controller raises."""

from __future__ import annotations

from broker_sim.errors import BrokerSimError

__all__ = ["NotActive"]


class NotActive(BrokerSimError):
    """Another controller is active, or has become so meanwhile. Mirrors NotControllerException."""

    def __init__(self) -> None:
        super().__init__("this is not the active controller")
