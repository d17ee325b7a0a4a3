"""stable-offset-within-transactions: the last stable offset passes no transaction before its marker is replicated.

Mirrors the rule of UnifiedLog.lastStableOffset (KIP-98). The transactions are those that the leader's log shows, batch
by batch: not those that the broker counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from broker_scenarios.findings import FindingKind
from broker_scenarios.invariants.invariant import Broken, Invariant, PartitionKey
from broker_sim.control.events import HighWatermarkAdvanced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.invariants.invariant import ClusterView
    from broker_sim.control.events import Event
    from broker_sim.log.replica_log import ReplicaLog

__all__ = ["StableOffsetWithinTransactions"]

_Leadership: TypeAlias = tuple[PartitionKey, int, int]


@dataclass(slots=True)
class _Transactions:
    """The transactions of one log up to `read_to`, each by the offset of its first record."""

    read_to: int
    open: dict[int, int] = field(default_factory=dict)
    """By producer id."""
    ended: list[tuple[int, int]] = field(default_factory=list)
    """With the offset of the marker, until that is replicated."""

    def read_on(self, log: ReplicaLog) -> None:
        """Read the batches that are new."""
        self.read_to = max(self.read_to, log.log_start_offset)
        while self.read_to < log.log_end_offset:
            batch = log.batch_at(self.read_to)
            if batch is None:
                self.read_to += 1  # a gap, which compaction has left
                continue
            if batch.is_control:
                first = self.open.pop(batch.producer_id, None)
                if first is not None:
                    self.ended.append((first, batch.base_offset))
            elif batch.is_transactional:
                self.open.setdefault(batch.producer_id, batch.base_offset)
            self.read_to = batch.last_offset + 1


class StableOffsetWithinTransactions(Invariant):
    """Reads the log of each leader as it grows."""

    kind = FindingKind.STABLE_OFFSET_WITHIN_TRANSACTIONS
    claim = "the last stable offset passes no transaction before its marker is replicated"
    events = (HighWatermarkAdvanced,)

    def __init__(self, cluster: ClusterView) -> None:
        super().__init__(cluster)
        self._read: dict[_Leadership, _Transactions] = {}

    def check(self, event: Event) -> Iterator[Broken]:
        """Return the first transaction that the last stable offset has passed."""
        assert isinstance(event, HighWatermarkAdvanced), "it is the only kind"
        partition = self.cluster.led(event)
        if partition is None:
            return
        leadership = ((partition.topic_id, event.partition), event.broker_id, event.leader_epoch)
        transactions = self._read.get(leadership)
        if transactions is None:
            transactions = self._read[leadership] = _Transactions(partition.log.log_start_offset)
        transactions.read_on(partition.log)
        transactions.ended = [each for each in transactions.ended if each[1] >= event.high_watermark]
        unstable = [*transactions.open.values(), *(first for first, _ in transactions.ended)]
        first = min(unstable, default=event.last_stable_offset)
        if first < event.last_stable_offset:
            yield Broken(
                subject=(leadership, first),
                detail=f"the last stable offset is {event.last_stable_offset}, a transaction is open from {first} on",
                topic=event.topic,
                partition=event.partition,
                offset=first,
            )
