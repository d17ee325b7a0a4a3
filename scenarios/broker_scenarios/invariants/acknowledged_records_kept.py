"""acknowledged-records-kept: who may lead holds what was acknowledged with acks=all.

Every member of the ISR holds a record when it is acknowledged; a new leader and a new member of the ISR hold the last
acknowledged one. Records that retention, DeleteRecords or compaction have removed are not missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_scenarios.findings import FindingKind
from broker_scenarios.invariants.invariant import Broken, Invariant, PartitionKey
from broker_sim.control.events import IsrChanged, LeaderElected, ProduceCompleted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from broker_scenarios.invariants.invariant import ClusterView
    from broker_sim.control.events import Event
    from broker_sim.log.replica_log import ReplicaLog

__all__ = ["AcknowledgedRecordsKept"]

_ACKS_ALL = -1


class _Acknowledged(NamedTuple):
    """An acknowledged batch."""

    leader_epoch: int
    last_offset: int
    data: bytes


class AcknowledgedRecordsKept(Invariant):
    """Remembers the last acknowledged batch of each partition."""

    kind = FindingKind.ACKNOWLEDGED_RECORDS_KEPT
    claim = (
        "each member of the ISR holds what is acknowledged with acks=all; a new leader and a new member hold "
        "the last of it"
    )
    events = (ProduceCompleted, LeaderElected, IsrChanged)

    def __init__(self, cluster: ClusterView) -> None:
        super().__init__(cluster)
        self._latest: dict[PartitionKey, _Acknowledged] = {}

    def check(self, event: Event) -> Iterator[Broken]:
        """Return the brokers that lack the batch."""
        match event:
            case ProduceCompleted():
                yield from self._completed(event)
            case LeaderElected():
                yield from self._missing(event, (event.broker_id,), self._latest.get(self.cluster.key(event)))
            case IsrChanged():
                added = [member for member in event.isr if member not in event.previous_isr]
                yield from self._missing(event, added, self._latest.get(self.cluster.key(event)))

    def _completed(self, event: ProduceCompleted) -> Iterator[Broken]:
        partition = self.cluster.led(event)
        if event.acks != _ACKS_ALL or event.error_code or event.base_offset < 0 or partition is None:
            return
        batch = partition.log.batch_at(event.base_offset)
        if batch is None:
            return  # deleted in the meantime
        acknowledged = _Acknowledged(partition.leader_epoch, batch.last_offset, batch.data)
        key = (partition.topic_id, event.partition)
        latest = self._latest.get(key)
        if latest is None or acknowledged[:2] > latest[:2]:
            self._latest[key] = acknowledged
        registration = self.cluster.registration(event)
        if registration is not None and registration.leader_epoch == partition.leader_epoch:
            yield from self._missing(event, registration.isr, acknowledged)

    def _missing(
        self,
        event: ProduceCompleted | LeaderElected | IsrChanged,
        brokers: Iterable[int],
        acknowledged: _Acknowledged | None,
    ) -> Iterator[Broken]:
        if acknowledged is None:
            return
        offset = acknowledged.last_offset
        for broker_id in brokers:
            if broker_id < 0 or self.cluster.is_returning(broker_id, event):
                continue
            if not _holds(self.cluster.log(broker_id, event), acknowledged):
                yield Broken(
                    subject=(self.cluster.key(event), acknowledged.leader_epoch, offset),
                    detail=f"broker {broker_id} may lead, and lacks offset {offset}, acknowledged with acks=all",
                    topic=event.topic,
                    partition=event.partition,
                    offset=offset,
                )


def _holds(log: ReplicaLog | None, acknowledged: _Acknowledged) -> bool:
    """Return True if a log has the batch, or has removed it since."""
    if log is None:
        return False
    offset = acknowledged.last_offset
    if offset < log.log_start_offset or (log.first_dirty_offset is not None and offset < log.first_dirty_offset):
        return True
    batch = log.batch_at(offset)
    return batch is not None and batch.data == acknowledged.data
