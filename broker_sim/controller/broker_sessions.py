"""The sessions of brokers at the controller, kept alive by heartbeats. Mirrors BrokerHeartbeatManager."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.metadata.metadata_image import BrokerRegistration
    from protocol_specs.messages.broker_heartbeat import BrokerHeartbeatRequest
    from sim_runtime.interfaces import IReactor


STALL_S: Final = 0.002
"""A timer this late has waited for the processor, and so have the brokers of the same process, perhaps for longer than
the timer. Their heartbeats get as much time again, and at least GRACE_S."""
GRACE_S: Final = 0.1


class BrokerControlState(Enum):
    """The state of a broker at the controller. Mirrors BrokerControlState."""

    FENCED = auto()
    UNFENCED = auto()
    CONTROLLED_SHUTDOWN = auto()
    SHUTDOWN_NOW = auto()


class _Session:
    __slots__ = ("broker_epoch", "controlled_shutdown_version", "last_contact_s", "metadata_version", "timer")

    def __init__(self, broker_epoch: int, now_s: float) -> None:
        self.broker_epoch = broker_epoch
        self.last_contact_s = now_s
        self.metadata_version = -1
        self.controlled_shutdown_version = -1
        self.timer: IDelayedCall | None = None


class BrokerSessions:
    """`expired` is called with a broker that has sent no heartbeat for broker.session.timeout.ms."""

    def __init__(self, reactor: IReactor, timeout_ms: int, expired: Callable[[int], None]) -> None:
        self._reactor = reactor
        self._timeout_s = timeout_ms / 1000
        self._expired = expired
        self._sessions: dict[int, _Session] = {}

    def register(self, broker_id: int, broker_epoch: int) -> None:
        """End the old session of a broker that has a new epoch."""
        self._forget(broker_id)
        session = self._sessions[broker_id] = _Session(broker_epoch, self._reactor.seconds())
        self._arm(broker_id, session)

    def is_valid(self, broker_id: int) -> bool:
        """Return True if the broker has sent a heartbeat within the time-out."""
        session = self._sessions.get(broker_id)
        return session is not None and self._reactor.seconds() < session.last_contact_s + self._timeout_s

    def has_session(self, broker_id: int) -> bool:
        """Return True if the broker has sent a heartbeat since its registration, within the time-out."""
        return self.is_valid(broker_id) and self._sessions[broker_id].metadata_version >= 0

    def touch(self, broker_id: int, metadata_version: int) -> None:
        """Renew the broker's session."""
        session = self._sessions[broker_id]
        session.last_contact_s = self._reactor.seconds()
        session.metadata_version = metadata_version
        if session.timer is None:
            self._arm(broker_id, session)

    def begin_controlled_shutdown(self, broker_id: int, version: int) -> None:
        """The broker may go when all others have applied `version`, which has its leaderships moved."""
        self._sessions[broker_id].controlled_shutdown_version = version

    def end(self, broker_id: int) -> None:
        """End the session of a broker that has shut down in order."""
        self._forget(broker_id)

    def stop(self) -> None:
        """End all sessions."""
        for broker_id in list(self._sessions):
            self._forget(broker_id)

    def next_state(
        self,
        broker: BrokerRegistration,
        request: BrokerHeartbeatRequest,
        *,
        has_leaderships: Callable[[], bool],
        active: Callable[[int], bool],
    ) -> BrokerControlState:
        """Return the broker's state after this heartbeat. Mirrors calculateNextBrokerState."""
        if broker.fenced:
            if request.want_shut_down:
                return BrokerControlState.SHUTDOWN_NOW
            # A broker's epoch is the version of its registration: it is caught up when it has seen itself.
            caught_up = request.current_metadata_offset >= broker.epoch
            return BrokerControlState.FENCED if request.want_fence or not caught_up else BrokerControlState.UNFENCED
        if broker.in_controlled_shutdown:
            waits = has_leaderships() or self._lowest_version(active) < self._shutdown_version(broker.id)
            return BrokerControlState.CONTROLLED_SHUTDOWN if waits else BrokerControlState.SHUTDOWN_NOW
        if request.want_fence:
            return BrokerControlState.SHUTDOWN_NOW if request.want_shut_down else BrokerControlState.FENCED
        if request.want_shut_down:
            return BrokerControlState.CONTROLLED_SHUTDOWN if has_leaderships() else BrokerControlState.SHUTDOWN_NOW
        return BrokerControlState.UNFENCED

    def _shutdown_version(self, broker_id: int) -> int:
        return self._sessions[broker_id].controlled_shutdown_version

    def _lowest_version(self, active: Callable[[int], bool]) -> int:
        versions = [session.metadata_version for broker_id, session in self._sessions.items() if active(broker_id)]
        return min(versions, default=1 << 62)

    def _forget(self, broker_id: int) -> None:
        session = self._sessions.pop(broker_id, None)
        if session is not None and session.timer is not None and session.timer.active():
            session.timer.cancel()

    def _arm(self, broker_id: int, session: _Session) -> None:
        delay_s = max(0.0, session.last_contact_s + self._timeout_s - self._reactor.seconds())
        due_s = self._reactor.seconds() + delay_s
        session.timer = self._reactor.callLater(delay_s, self._timer_due, broker_id, session, due_s)

    def _timer_due(self, broker_id: int, session: _Session, due_s: float) -> None:
        session.timer = None
        if self._sessions.get(broker_id) is not session:
            return
        late_s = self._reactor.seconds() - due_s
        if late_s > STALL_S:
            session.last_contact_s += late_s + min(max(late_s, GRACE_S), self._timeout_s)
        # Heartbeats do not move the timer; it looks for itself how late it has become meanwhile.
        if self._reactor.seconds() + 5e-7 < session.last_contact_s + self._timeout_s:
            self._arm(broker_id, session)
        else:
            self._expired(broker_id)
