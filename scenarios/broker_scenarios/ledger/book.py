"""The entries of a ledger, in the order of their recording: sends, deliveries, transactions, calls of consumers."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from broker_scenarios.history import NO_OFFSET, EventType
from broker_scenarios.operations import Assign, Function, Seek, Subscribe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_scenarios.operations import Mop

__all__ = ["Completion", "ConsumerCall", "Contents", "LedgerBook", "Place", "Poll", "SentRecord", "Transaction"]

Contents: TypeAlias = "tuple[bytes | None, bytes | None] | None"
"""The key and the value of a record as the wire has them; None if the client serializes them itself."""
Place: TypeAlias = "tuple[str, int]"
"""A topic and a partition."""


@dataclass(slots=True, kw_only=True, eq=False)
class Completion:
    """The end of a send or of a transaction. `order` counts the entries of the book."""

    order: int
    time_us: int
    type: EventType
    error: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Transaction:
    """The sends of one transaction, which end with it."""

    order: int
    time_us: int
    producer: str
    records: list[SentRecord] = field(default_factory=list)
    end: Completion | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class SentRecord:
    """One record that a producer has accepted: the handle with which it is acknowledged or fails."""

    order: int
    time_us: int
    topic: str
    contents: Contents
    producer: str
    partition: int | None
    offset: int = NO_OFFSET
    completions: list[Completion] = field(default_factory=list)
    transaction: Transaction | None = None

    @property
    def acked_place(self) -> tuple[str, int, int] | None:
        """Topic, partition and offset of its acknowledgement; None if the client reported none."""
        if self.partition is None or self.offset == NO_OFFSET:
            return None
        return self.topic, self.partition, self.offset


@dataclass(slots=True, kw_only=True, eq=False)
class Poll:
    """The records that one call of a consumer returned: topic, partition, offset and contents of each."""

    order: int
    time_us: int
    consumer: str
    records: list[tuple[str, int, int, Contents]]
    group: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class ConsumerCall:
    """A call that changes where a consumer reads."""

    order: int
    time_us: int
    consumer: str
    f: Function
    mops: list[Mop]


class LedgerBook:
    """Collects entries; any thread may record. `now_us` is the time of the cluster's journal in microseconds."""

    def __init__(self, topics: Iterable[str], now_us: Callable[[], int]) -> None:
        self.topics = tuple(topics)
        self.sends: list[SentRecord] = []
        self.transactions: list[Transaction] = []
        self.polls: list[Poll] = []
        self.calls: list[ConsumerCall] = []
        self._now_us = now_us
        self._lock = threading.Lock()
        self._order = 0
        self._names: dict[str, int] = {}
        self._assigned: dict[str, tuple[str, ...] | None] = {}
        """The partitions that each consumer has assigned itself; None for one that is subscribed."""

    def name(self, kind: str) -> str:
        """Return a name for another client: `producer-1`, `producer-2`, `consumer-1`."""
        with self._lock:
            self._names[kind] = number = self._names.get(kind, 0) + 1
        return f"{kind}-{number}"

    def send(
        self,
        producer: str,
        topic: str,
        contents: Contents,
        partition: int | None = None,
        transaction: Transaction | None = None,
    ) -> SentRecord:
        """Record that a producer is about to send a record."""
        with self._lock:
            record = SentRecord(
                order=self._next(),
                time_us=self._now_us(),
                topic=topic,
                contents=contents,
                producer=producer,
                partition=partition,
                transaction=transaction,
            )
            self.sends.append(record)
            if transaction is not None:
                transaction.records.append(record)
        return record

    def complete(
        self,
        record: SentRecord,
        outcome: EventType,
        partition: int | None = None,
        offset: int | None = None,
        error: str | None = None,
    ) -> None:
        """Record the outcome of a send; negative numbers are unknown, as clients report them."""
        with self._lock:
            if partition is not None and partition >= 0:
                record.partition = partition
            if offset is not None and offset >= 0:
                record.offset = offset
            record.completions.append(self._completion(outcome, error))

    def begin(self, producer: str) -> Transaction:
        """Record the begin of a transaction."""
        with self._lock:
            transaction = Transaction(order=self._next(), time_us=self._now_us(), producer=producer)
            self.transactions.append(transaction)
        return transaction

    def end(self, transaction: Transaction, outcome: EventType, error: str | None = None) -> None:
        """Record the end of a transaction: `ok` if it is committed, `fail` if it is aborted, `info` if unknown."""
        with self._lock:
            transaction.end = self._completion(outcome, error)

    def poll(
        self, consumer: str, records: Iterable[tuple[str, int, int, Contents]], *, group: str | None = None
    ) -> None:
        """Record what a consumer has received, for its group if that is known; other topics are left out."""
        received = [record for record in records if record[0] in self.topics]
        if not received:
            return
        with self._lock:
            if consumer not in self._assigned:
                # The ledger received no call of this consumer: a group may move its partitions.
                self._subscribe(consumer, tuple(dict.fromkeys(record[0] for record in received)))
            order, now_us = self._next(), self._now_us()
            self.polls.append(Poll(order=order, time_us=now_us, consumer=consumer, records=received, group=group))

    def consumed_topics(self) -> set[str]:
        """Return the topics that a consumer has read, or that it has subscribed to or assigned itself."""
        topics = {record[0] for poll in self.polls for record in poll.records}
        for call in self.calls:
            for mop in call.mops:
                if isinstance(mop, Subscribe):
                    topics.update(mop.topics)
                elif isinstance(mop, Assign):
                    topics.update(key.rpartition("-")[0] for key in mop.keys)
        return topics

    def subscribe(self, consumer: str, topics: Iterable[str]) -> None:
        """Record a subscription; topics of no interest are left out."""
        with self._lock:
            self._subscribe(consumer, tuple(each for each in topics if each in self.topics))

    def assign(self, consumer: str, places: Iterable[Place]) -> None:
        """Record an assignment by the application."""
        keys = tuple(f"{topic}-{partition}" for topic, partition in places if topic in self.topics)
        with self._lock:
            self._assigned[consumer] = keys
            self._call(consumer, Function.ASSIGN, [Assign(keys)])

    def seek(self, consumer: str, positions: Mapping[Place, int | str]) -> None:
        """Record new positions: an offset, "beginning" or "end"."""
        sought = {f"{place[0]}-{place[1]}": to for place, to in positions.items() if place[0] in self.topics}
        with self._lock:
            # A subscribed consumer may move in its partitions anyway.
            if sought and (keys := self._assigned.get(consumer)) is not None:
                self._call(consumer, Function.ASSIGN, [Assign(keys), Seek(sought)])

    def _subscribe(self, consumer: str, topics: tuple[str, ...]) -> None:
        self._assigned[consumer] = None
        self._call(consumer, Function.SUBSCRIBE, [Subscribe(topics)])

    def _call(self, consumer: str, f: Function, mops: list[Mop]) -> None:
        call = ConsumerCall(order=self._next(), time_us=self._now_us(), consumer=consumer, f=f, mops=mops)
        self.calls.append(call)

    def _completion(self, outcome: EventType, error: str | None) -> Completion:
        return Completion(order=self._next(), time_us=self._now_us(), type=outcome, error=error)

    def _next(self) -> int:
        self._order += 1
        return self._order
