"""The reads of foreign consumers as brokers see them: the records of Fetch responses, and committed offsets.

A reader is one connection that fetches. It belongs to the group of which a member with its client id has the partition,
or in which its client id commits without being a member. A record was read when a broker has written the response that
has it: what the application has done with it is not on the wire.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from broker_client.core.consumer.fetched_batches import FetchedPartition
from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from broker_sim.control.events import GroupMemberAssigned, GroupMemberJoined, GroupMemberRemoved, OffsetCommitted
from broker_sim.faults.interception import Phase
from protocol_specs.api_key import ApiKey
from protocol_specs.errors import ProtocolError
from protocol_specs.messages.fetch import FetchRequest, FetchResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from broker_scenarios.ledger.book import LedgerBook, Place
    from broker_sim.cluster import Cluster
    from broker_sim.control.events import Event
    from broker_sim.faults.interception import FaultPoint
    from protocol_specs.message import Message

__all__ = ["GroupReads", "WireReaders"]


@dataclass(slots=True, eq=False)
class _Reader:
    """One connection that fetches."""

    name: str
    client_id: str
    assigned: list[Place] = field(default_factory=list)
    """The partitions that it has requested without a group."""
    topics: list[str] = field(default_factory=list)
    """The topics that it has requested for a group."""
    groups: set[str] = field(default_factory=set)
    """The groups that it may belong to: it belongs to one if it is the only one."""
    positions: dict[Place, int] = field(default_factory=dict)
    """The offsets of its last requests: a request of a fetch session names only those that have changed (KIP-227)."""

    @property
    def group(self) -> str | None:
        return next(iter(self.groups)) if len(self.groups) == 1 else None


@dataclass(frozen=True, slots=True)
class _Read:
    """One response of a partition: from `position` to before `end`, with the records at `offsets`."""

    reader: _Reader
    position: int
    end: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Commit:
    group: str
    offset: int
    by_member: bool


_Entry: TypeAlias = _Read | _Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReads:
    """The reads and commits of one group in one partition, in numbers of records that the log holds at the end."""

    group: str
    topic: str
    partition: int
    begin: int
    """The first position of a member."""
    end: int
    """The last position."""
    read: int
    read_again: int
    """How many of them a member has read once more: after a rebalance, a restart or a seek."""
    skipped: int
    """Between the first and the last position, and never read."""
    unread: int
    """From the last position on."""
    committed: int | None
    """The committed offset at the end; None without one."""
    uncommitted: int
    """Read, and not committed: the next member reads them again."""
    committed_unread: int
    """Committed by a member before any member had read them: they are never read."""

    def text(self) -> str:
        """Return one line."""
        counts = {
            "read again": self.read_again,
            "skipped": self.skipped,
            "unread": self.unread,
            "read and not committed": self.uncommitted,
            "committed before they were read": self.committed_unread,
        }
        beside = "".join(f", {count:,} {name}" for name, count in counts.items() if count)
        committed = "nothing committed" if self.committed is None else f"committed {self.committed}"
        place = f"group {self.group}, {self.topic}-{self.partition}"
        return f"{place}: {self.read:,} read from {self.begin} to {self.end}, {committed}{beside}"


class WireReaders:
    """Follows the consumers of a cluster from now on; on the reactor's thread."""

    def __init__(self, cluster: Cluster, book: LedgerBook) -> None:
        self.all_read_committed = True
        self._book = book
        self._readers: dict[str, _Reader] = {}
        self._entries: dict[Place, list[_Entry]] = {}
        self._names: dict[bytes, str] = {}
        """The topics by the ids that new versions of Fetch have."""
        self._client_ids: dict[str, str] = {}
        """The client id of each member."""
        self._assigned: dict[tuple[str, str], frozenset[str]] = {}
        """The partitions of each member of each group."""
        self._commits_without_members: dict[str, set[str]] = {}
        """The groups in which each client id commits without being a member."""
        cluster.faults.observe(Phase.BEFORE_PARSE, self._received)
        cluster.faults.observe_responses(self._responded)
        cluster.journal.subscribe(self._happened)

    # Requests and responses

    def _received(self, point: FaultPoint) -> None:
        if point.replica_id >= 0:
            return
        if point.api_key is ApiKey.OFFSET_COMMIT:
            request: Any = point.message()
            if request is not None and not request.member_id:
                groups = self._commits_without_members.setdefault(point.client_id or "", set())
                groups.add(request.group_id)
        elif point.api_key is ApiKey.FETCH:
            self._requested(point)

    def _requested(self, point: FaultPoint) -> None:
        request = point.message()
        if not isinstance(request, FetchRequest):
            return
        connection, client_id = point.connection_id or "", point.client_id or ""
        reader = self._readers.get(connection)
        if reader is None:
            reader = self._readers[connection] = _Reader(self._book.name(client_id or "consumer"), client_id)
        self.all_read_committed &= request.isolation_level == 1
        if request.session_epoch <= 0:
            reader.positions.clear()
        parts = ((topic, part) for topic in request.topics for part in topic.partitions)
        for (name, partition), (topic, part) in zip(point.places(), parts, strict=False):
            if partition is not None:
                self._names[topic.topic_id] = name
                reader.positions[name, partition] = part.fetch_offset

    def _responded(self, point: FaultPoint, response: Message) -> None:
        reader = self._readers.get(point.connection_id or "")
        if not isinstance(response, FetchResponse) or reader is None:
            return
        request = point.request
        isolated = isinstance(request, FetchRequest) and request.isolation_level == 1
        for topic in response.responses:
            name = topic.topic or self._names.get(topic.topic_id, "")
            for part in topic.partitions:
                position = reader.positions.get((name, part.partition_index))
                if name in self._book.topics and not part.error_code and position is not None:
                    aborted = part.aborted_transactions if isolated else None
                    records = part.records if part.records is not None else b""
                    data = b"".join(records) if isinstance(records, list) else records
                    place = TopicPartition(name, part.partition_index)
                    self._read(reader, position, FetchedPartition(place, data, position, aborted=aborted), place)

    def _read(self, reader: _Reader, position: int, fetched: FetchedPartition, place: TopicPartition) -> None:
        try:
            records = [record for batch in fetched.batches() for record in batch.records()]
        except (ProtocolError, ProducerError):
            return  # bytes that a rule has broken: the consumer cannot read them either
        key = (place.topic, place.partition)
        reader.groups |= self._groups_of(reader.client_id, f"{place.topic}-{place.partition}")
        entries = self._entries.setdefault(key, [])
        entries.append(_Read(reader, position, fetched.next_offset, tuple(record.offset for record in records)))
        if reader.group is None and key not in reader.assigned:
            reader.assigned.append(key)
            self._book.assign(reader.name, reader.assigned)
        elif reader.group is not None and place.topic not in reader.topics:
            reader.topics.append(place.topic)
            self._book.subscribe(reader.name, reader.topics)
        if records:
            polled = [(*key, record.offset, (record.key, record.value)) for record in records]
            self._book.poll(reader.name, polled, group=reader.group)

    def _groups_of(self, client_id: str, place: str) -> set[str]:
        return {
            group
            for (group, member), places in self._assigned.items()
            if place in places and self._client_ids.get(member) == client_id
        }

    # Events

    def _happened(self, event: Event) -> None:
        match event:
            case GroupMemberJoined():
                self._client_ids[event.member_id] = event.client_id
            case GroupMemberAssigned():
                places = frozenset(event.assignment.split(", "))
                self._assigned[event.group_id, event.member_id] = places
            case GroupMemberRemoved():
                self._assigned.pop((event.group_id, event.member_id), None)
            case OffsetCommitted():
                entries = self._entries.setdefault((event.topic, event.partition), [])
                entries.append(_Commit(event.group_id, event.offset, bool(event.member_id)))

    # The result

    def reads(self, stored: Iterable[tuple[str, int, int]]) -> Iterator[GroupReads]:
        """Return the reads of each group in each partition; `stored` has topic, partition and offset of each record."""
        for reader in self._readers.values():
            if not reader.groups:
                reader.groups |= self._commits_without_members.get(reader.client_id, set())
        offsets: dict[Place, list[int]] = {}
        for topic, partition, offset in stored:
            offsets.setdefault((topic, partition), []).append(offset)
        for place in sorted(self._entries):
            entries = self._entries[place]
            groups = {each.reader.group for each in entries if isinstance(each, _Read)} - {None}
            for group in sorted(filter(None, groups)):
                yield _reads_of(group, place, entries, offsets.get(place, []))

    def strangers(self) -> Mapping[str, int]:
        """Return how many records each client id has read without a group that is known."""
        counts: Counter[str] = Counter()
        for entries in self._entries.values():
            for each in entries:
                if isinstance(each, _Read) and each.offsets and each.reader.group is None:
                    counts[each.reader.client_id] += len(each.offsets)
        return counts


def _reads_of(group: str, place: Place, entries: Iterable[_Entry], stored: list[int]) -> GroupReads:
    counts: Counter[int] = Counter()
    begin = end = -1
    committed: int | None = None
    too_early: set[int] = set()
    for each in entries:
        if isinstance(each, _Read):
            if each.reader.group == group:
                counts.update(each.offsets)
                begin = each.position if begin < 0 else min(begin, each.position)
                end = max(end, each.end)
        elif each.group == group:
            committed = each.offset
            if each.by_member and 0 <= end < committed:
                too_early.update(range(end, committed))
    held = set(stored)
    return GroupReads(
        group=group,
        topic=place[0],
        partition=place[1],
        begin=begin,
        end=end,
        read=len(held & counts.keys()),
        read_again=sum(1 for offset in held if counts[offset] > 1),
        skipped=sum(1 for offset in held if begin <= offset < end and not counts[offset]),
        unread=sum(1 for offset in held if offset >= end),
        committed=committed,
        uncommitted=sum(1 for offset in held if counts[offset] and offset >= (committed or 0)),
        committed_unread=sum(1 for offset in held & too_early if not counts[offset]),
    )
