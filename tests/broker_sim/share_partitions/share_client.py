"""A member of a share group on virtual time: it heartbeats, fetches, acknowledges, and recovers from every error."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.broker_sim.coordinators.faulty_cluster import BROKERS, OFFSETS_TOPIC
from tests.broker_sim.share_partitions.share_client_session import ShareClientSession
from tests.broker_sim.share_partitions.share_cluster import GROUP, PARTITIONS, TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.request_context import ConnectionInfo
    from tests.broker_sim.share_partitions.delivery_history import DeliveryHistory
    from tests.broker_sim.share_partitions.share_cluster import ShareCluster

HEARTBEAT_MS: Final = 500
RETRY_MS: Final = 200
REQUEST_MS: Final = 3_000
FENCED: Final = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND)


class Handling(Enum):
    """How a member handles the records that it has acquired."""

    ACCEPT = "accept"
    RELEASE = "release"
    REJECT = "reject"
    MIXED = "mixed"
    RENEW = "renew"
    HOLD = "hold"
    LATE = "late"
    """Accept after the lock has expired."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The limits of a member's fetches; with `exact` the number of records is a hard limit."""

    max_records: int = 500
    batch_size: int = 500
    exact: bool = False


class ShareClient:
    """One member, with one session per broker."""

    def __init__(
        self,
        cluster: ShareCluster,
        history: DeliveryHistory,
        name: str,
        *,
        handling: Handling,
        limits: FetchLimits,
    ) -> None:
        self.cluster = cluster
        self.history = history
        self.name = name
        self.handling = handling
        self.limits = limits
        self.alive = True
        self.epoch = 0
        self.assigned: tuple[int, ...] = ()
        self.paused = False
        self._delayed: list[Callable[[], None]] = []
        self._leaders: dict[int, int | None] = {}
        self._heartbeat()
        self.sessions = {broker_id: ShareClientSession(self, broker_id) for broker_id in BROKERS}

    # Faults.

    def crash(self) -> None:
        """Stop without a request; the brokers see closed connections."""
        self.alive = False
        for session in self.sessions.values():
            session.disconnect()

    def leave(self) -> None:
        """Close the sessions, and leave the group if its coordinator can be reached."""
        for session in self.sessions.values():
            session.close()
        coordinator = self.cluster.leader(OFFSETS_TOPIC)
        if coordinator is not None and self.epoch > 0:
            self.cluster.send(coordinator, self._heartbeat_request(-1), 1)
        self.crash()

    def lose_connection(self, broker_id: int) -> None:
        """Lose what is in flight to and from a broker, and connect again."""
        self.sessions[broker_id].reconnect()

    def broker_died(self, broker_id: int) -> None:
        """Lose the connection to a broker that is killed, which notices nothing."""
        self.sessions[broker_id].reconnect(noticed=False)
        self._leaders = {partition: leader for partition, leader in self._leaders.items() if leader != broker_id}

    def pause(self) -> None:
        """Send and receive nothing until `resume`."""
        self.paused = True

    def resume(self) -> None:
        """Go on where the pause began, as after a long collection of garbage."""
        self.paused = False
        delayed, self._delayed = self._delayed, []
        for action in delayed:
            action()

    # Waits and requests.

    def act(self, action: Callable[[], None]) -> None:
        """Act now, or after the pause."""
        if self.alive and self.paused:
            self._delayed.append(action)
        elif self.alive:
            action()

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Act after a delay."""
        self.cluster.reactor.callLater(delay_ms / 1000, self.act, action)

    def request(
        self,
        broker_id: int,
        request: Any,
        version: int,
        *,
        received: Callable[[Any], None],
        lost: Callable[[], None],
        timeout_ms: int,
        connection: ConnectionInfo | None = None,
    ) -> None:
        """Send a request; call `received` with its response, or `lost` after a time-out."""
        finished: list[bool] = []

        def once(action: Callable[[], None]) -> None:
            if not finished:
                finished.append(True)
                action()

        sent = self.cluster.send(broker_id, request, version, connection)
        sent.addCallback(lambda response: self.act(lambda: once(lambda: received(response))))
        sent.addErrback(lambda failure: self.history.violate(failure.getTraceback()))
        self.later(timeout_ms, lambda: once(lost))

    # Membership.

    def _heartbeat_request(self, epoch: int) -> ShareGroupHeartbeatRequest:
        topics = [TOPIC] if epoch == 0 else None
        return ShareGroupHeartbeatRequest(
            group_id=GROUP, member_id=self.name, member_epoch=epoch, subscribed_topic_names=topics
        )

    def _heartbeat(self) -> None:
        coordinator = self.cluster.leader(OFFSETS_TOPIC)
        if coordinator is None:
            self.later(RETRY_MS, self._heartbeat)
            return
        self.request(
            coordinator,
            self._heartbeat_request(self.epoch),
            1,
            received=self._heartbeat_received,
            lost=self._heartbeat,
            timeout_ms=REQUEST_MS,
        )

    def _heartbeat_received(self, response: Any) -> None:
        if response.error_code in FENCED:
            self.epoch, self.assigned = 0, ()
        elif not response.error_code:
            if response.member_epoch < self.epoch:
                self.history.violate(f"the epoch of {self.name} is {response.member_epoch} after {self.epoch}")
            self.epoch = response.member_epoch
            if response.assignment is not None:
                self.assigned = tuple(
                    partition for topic in response.assignment.topic_partitions for partition in topic.partitions
                )
        self.later(RETRY_MS if response.error_code else HEARTBEAT_MS, self._heartbeat)

    # Leaders.

    def partitions_at(self, broker_id: int) -> list[int]:
        """Return the assigned partitions that the broker leads, as far as the member knows."""
        return [partition for partition in self.assigned if self._leader_of(partition) == broker_id]

    def _leader_of(self, partition: int) -> int | None:
        if self._leaders.get(partition) is None:
            self._leaders[partition] = self.cluster.leader(TOPIC, partition)
        return self._leaders[partition]

    def forget_leader(self, partition: int) -> None:
        """Look a leader up again: a broker has refused a request."""
        self._leaders.pop(partition, None)

    def forget_leaders(self) -> None:
        """Look all leaders up again."""
        for partition in range(PARTITIONS):
            self.forget_leader(partition)
