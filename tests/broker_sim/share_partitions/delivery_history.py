"""The deliveries and acknowledgements of a share group, and the rules that they must follow.

Acquisitions are recorded on the leaders, in the order in which they happen, also those whose responses are lost.
Acknowledgements are recorded by the members. A rule that is broken is kept as a text: an exception would be lost in a
callback.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from broker_sim.share_partitions import delayed_share_fetch
from broker_sim.share_partitions.record_states import AcknowledgeType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.share_partitions.acquisition import AcquiredRange, AcquireRequest
    from broker_sim.share_partitions.share_partition import SharePartition
    from sim_runtime.virtual_reactor import VirtualReactor

SLACK_S: Final = 0.002
"""Locks are kept in milliseconds."""


@dataclass
class Hold:
    """A record that a member has acquired from one incarnation of a share partition."""

    source: SharePartition
    member_id: str
    delivery_count: int
    expires_at_s: float
    ended: bool = False


@dataclass
class Record:
    """The deliveries of one record."""

    hold: Hold | None = None
    deliveries: int = 0
    finish: AcknowledgeType | None = None
    """The successful acknowledgement that finishes the record."""
    finish_sent: bool = False
    """An acknowledgement that finishes the record was sent, with any result."""


@dataclass
class DeliveryHistory:
    """All records of one topic, by partition and offset."""

    reactor: VirtualReactor
    lock_s: float
    delivery_limit: int
    violations: list[str] = field(default_factory=list)
    deleted: dict[int, int] = field(default_factory=dict)
    """The offsets before which records of partitions may be deleted."""
    _records: dict[tuple[int, int], Record] = field(default_factory=dict)

    def violate(self, text: str) -> None:
        """Keep a rule that is broken."""
        self.violations.append(f"{self.reactor.seconds():.3f} s: {text}")

    def record(self, partition: int, offset: int) -> Record:
        """Return the deliveries of a record."""
        return self._records.setdefault((partition, offset), Record())

    # Acquisitions, on the leaders.

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the acquisitions of all share partitions."""
        original = delayed_share_fetch.acquire

        def acquire(
            source: SharePartition, request: AcquireRequest, batches: Sequence[StoredBatch]
        ) -> tuple[list[AcquiredRange], int]:
            ranges, count = original(source, request, batches)
            for each in ranges:
                for offset in range(each.first_offset, each.last_offset + 1):
                    self._acquired(source, request.member_id, offset, each.delivery_count)
            return ranges, count

        delayed_share_fetch.acquire = acquire
        try:
            yield
        finally:
            delayed_share_fetch.acquire = original

    def _acquired(self, source: SharePartition, member_id: str, offset: int, delivery_count: int) -> None:
        partition = source.key.partition
        record, now_s = self.record(partition, offset), self.reactor.seconds()
        name = f"record {offset} of partition {partition}"
        hold = record.hold
        if record.finish is not None:
            self.violate(f"{name} is delivered to {member_id} after {record.finish.name}")
        if delivery_count > self.delivery_limit:
            self.violate(f"{name} is delivered {delivery_count} times")
        if hold is not None and hold.source is source:
            if not hold.ended and now_s < hold.expires_at_s - SLACK_S:
                self.violate(f"{name} is acquired by {member_id} while {hold.member_id} has it")
            if delivery_count != hold.delivery_count + 1:
                self.violate(f"{name} has delivery count {delivery_count} after {hold.delivery_count}")
        record.deliveries += 1
        record.hold = Hold(source, member_id, delivery_count, now_s + self.lock_s)

    # Acknowledgements, by the members.

    def session_ended(self, member_id: str, sources: Sequence[SharePartition]) -> None:
        """A member gives up everything that it has acquired from share partitions."""
        for record in self._records.values():
            hold = record.hold
            if hold is not None and hold.member_id == member_id and any(hold.source is each for each in sources):
                hold.ended = True

    def sent(self, member_id: str, partition: int, types: Mapping[int, AcknowledgeType]) -> dict[int, Hold]:
        """An acknowledgement is sent; return the records that the member has acquired."""
        held: dict[int, Hold] = {}
        now_s = self.reactor.seconds()
        for offset, kind in types.items():
            record = self.record(partition, offset)
            hold = record.hold
            if hold is not None and hold.member_id == member_id and not hold.ended:
                if now_s <= hold.expires_at_s + SLACK_S:
                    held[offset] = hold
                if kind is AcknowledgeType.RELEASE:
                    hold.ended = True
            record.finish_sent |= kind in (AcknowledgeType.ACCEPT, AcknowledgeType.REJECT, AcknowledgeType.GAP)
        return held

    def succeeded(
        self,
        member_id: str,
        partition: int,
        types: Mapping[int, AcknowledgeType],
        held: Mapping[int, Hold],
        sent_at_s: float,
        start_offset: int,
    ) -> None:
        """An acknowledgement has succeeded; records below the start offset are finished by other means.

        So are deleted records: a former leader may have no start offset any more.
        """
        for offset, kind in types.items():
            hold = held.get(offset)
            if hold is None:
                if offset >= max(start_offset, self.deleted.get(partition, 0)):
                    self.violate(f"{member_id} has acknowledged record {offset} of partition {partition} without it")
                continue
            if kind is AcknowledgeType.RENEW:
                hold.expires_at_s = max(hold.expires_at_s, sent_at_s + self.lock_s)
            elif kind is not AcknowledgeType.RELEASE:
                record = self.record(partition, offset)
                if record.hold is not hold:
                    self.violate(f"{kind.name} of record {offset} by {member_id} succeeds after its next delivery")
                record.finish = kind

    # At rest.

    def lost(self, partition: int, end_offset: int) -> list[int]:
        """Return the records that are finished although no member has finished them and deliveries are left."""
        return [
            offset
            for offset in range(self.deleted.get(partition, 0), end_offset)
            if not self.record(partition, offset).finish_sent
            and self.record(partition, offset).deliveries < self.delivery_limit
        ]
