"""The states of a broker's process. Mirrors BrokerState and the transitions that BrokerLifecycleManager makes.

A broker registers and stays fenced while it catches up with the metadata log (STARTING), requests to be unfenced
(RECOVERY), and serves (RUNNING). When the controller fences it later on, such as after an expired session, its state
does not change. A controlled shutdown may begin in any of these states.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from sim_runtime.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TABLE", "TRANSITIONS", "BrokerEvent", "BrokerState"]


class BrokerState(Enum):
    """Mirrors org.apache.kafka.metadata.BrokerState."""

    NOT_RUNNING = auto()
    STARTING = auto()
    """The broker registers, then catches up with the metadata log; its heartbeats request that it stays fenced."""
    RECOVERY = auto()
    """The broker has caught up and its logs are loaded; its heartbeats request that it is unfenced."""
    RUNNING = auto()
    """The controller has unfenced the broker once."""
    PENDING_CONTROLLED_SHUTDOWN = auto()
    """Heartbeats request the shutdown; the controller moves leaderships away and then approves."""
    SHUTTING_DOWN = auto()
    """The broker may stop."""


class BrokerEvent(Enum):
    """A change of a broker's state."""

    STARTED = auto()
    """The process begins to register."""
    JOINED = auto()
    """The process starts registered and unfenced, as part of a cluster that starts as a whole."""
    CAUGHT_UP = auto()
    """The metadata log is replayed up to the broker's own registration."""
    UNFENCED = auto()
    """The controller lets the broker serve; in ZooKeeper mode: the broker is registered, by every session anew."""
    SHUTDOWN_REQUESTED = auto()
    """A controlled shutdown begins."""
    SHUTDOWN_APPROVED = auto()
    """The controller has approved the shutdown, or the time for it is up."""
    STOPPED = auto()
    """The process has ended."""


TRANSITIONS: Final[Mapping[tuple[BrokerState, BrokerEvent], BrokerState]] = {
    (BrokerState.NOT_RUNNING, BrokerEvent.STARTED): BrokerState.STARTING,
    (BrokerState.NOT_RUNNING, BrokerEvent.JOINED): BrokerState.RUNNING,
    (BrokerState.STARTING, BrokerEvent.CAUGHT_UP): BrokerState.RECOVERY,
    (BrokerState.STARTING, BrokerEvent.UNFENCED): BrokerState.RUNNING,
    (BrokerState.STARTING, BrokerEvent.SHUTDOWN_REQUESTED): BrokerState.PENDING_CONTROLLED_SHUTDOWN,
    (BrokerState.STARTING, BrokerEvent.STOPPED): BrokerState.NOT_RUNNING,
    (BrokerState.RECOVERY, BrokerEvent.UNFENCED): BrokerState.RUNNING,
    (BrokerState.RECOVERY, BrokerEvent.SHUTDOWN_REQUESTED): BrokerState.PENDING_CONTROLLED_SHUTDOWN,
    (BrokerState.RECOVERY, BrokerEvent.STOPPED): BrokerState.NOT_RUNNING,
    (BrokerState.RUNNING, BrokerEvent.UNFENCED): BrokerState.RUNNING,
    (BrokerState.RUNNING, BrokerEvent.SHUTDOWN_REQUESTED): BrokerState.PENDING_CONTROLLED_SHUTDOWN,
    (BrokerState.RUNNING, BrokerEvent.STOPPED): BrokerState.NOT_RUNNING,
    (BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerEvent.SHUTDOWN_APPROVED): BrokerState.SHUTTING_DOWN,
    (BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerEvent.STOPPED): BrokerState.NOT_RUNNING,
    (BrokerState.SHUTTING_DOWN, BrokerEvent.STOPPED): BrokerState.NOT_RUNNING,
}

TABLE: Final = StateTable("BrokerState", TRANSITIONS)
