"""Drawn conversations of transactional producers, two with one transactional id and one with another.

A step is built from what its own side has learned so far (producer ids, epochs, sequences), so that both sides receive
the same up to ids. After each step a side waits until no transaction is about to end: how long that takes is its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.internal_partitions import partition_for
from protocol_specs.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.differential.cases.describe_producers import describe as describe_producers
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.init_producer_id import await_transactions
from tests.differential.group_requests import OFFSETS_TOPIC, commit, fetch_offsets, group_of
from tests.differential.probe import attempts
from tests.differential.requests import TIME_MS, batch, fetch, idempotent, list_offsets, produce, wanted
from tests.differential.transaction_requests import (
    BUSY,
    LOADING,
    STATE_TOPIC,
    Transactions,
    batched,
    describe,
    list_own,
    markers,
)

if TYPE_CHECKING:
    from random import Random

    from protocol_specs.message import Message
    from tests.differential.probe import Connection, Probe

SLOTS: Final = ("t", "t", "o")
"""The transactional id of each producer."""

Partition = tuple[str, int]

INTERNAL_PARTITIONS: Final = 3
LONG_MS, SHORT_MS = 60_000, 1_200
ENDING: Final = ("PrepareCommit", "PrepareAbort", "PrepareEpochFence")
STUCK_SECONDS: Final = 3.0
ADDS_LOWEST: Final = 12
"""The version from which a Produce adds its partition."""


class TransactionSide:
    """One side of a conversation with one broker: its producers, as they know themselves."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.topics = self._make_topics()
        self.group = f"{probe.name}-g"
        self._await_coordinators()
        self.topic_ids = {topic: probe.topic_id(topic) for topic in self.topics}
        self.producers = [Transactions(self.probe, suffix) for suffix in SLOTS]
        self.frozen: set[str] = set()
        """The topics to which nothing can be written with acks=all."""
        self._last: dict[int, tuple[Message, int, Partition]] = {}
        self._stuck: set[tuple[Any, ...]] = set()

    def close(self) -> None:
        """Close every connection."""
        self.probe.close()

    def _make_topics(self) -> dict[str, int]:
        """Return the topics, each with its number of partitions. The times of records are long ago."""
        return {
            self.probe.topic("a", partitions=2, retention_ms="-1"): 2,
            self.probe.topic("b", retention_ms="-1"): 1,
        }

    def _await_coordinators(self) -> None:
        group_of(self.probe)
        await_transactions(self.probe)

    def connection(self, partition: Partition) -> Connection | None:  # noqa: ARG002
        """Return a connection to the leader of a partition, None for the probe's own."""
        return None

    def connections(self) -> list[Connection | None]:
        """Return a connection to each broker."""
        return [None]

    def coordinator(self, slot: int) -> Partition:
        """Return the partition that has the state of a producer."""
        return STATE_TOPIC, partition_for(self.producers[slot].id, INTERNAL_PARTITIONS)

    @property
    def topics_in_order(self) -> list[str]:
        """The topics, by their places."""
        return list(self.topics)

    @property
    def group_coordinator(self) -> Partition:
        """The partition that has the state of the group."""
        return OFFSETS_TOPIC, partition_for(self.group, INTERNAL_PARTITIONS)

    def send(self, partition: Partition, request: Message, version: int, **options: Any) -> Any:
        """Exchange a request with the leader of a partition."""
        return self.probe.exchange(request, version, on=self.connection(partition), **options)

    def exchange(self, slot: int, request: Message, version: int, at: Partition | None = None) -> Any:
        """Exchange a request of a producer, which `again` repeats, with its coordinator or another leader."""
        place = self.coordinator(slot) if at is None else at
        self._last[slot] = request, version, place
        return self._learned(slot, self.send(place, request, version))

    def again(self, slot: int) -> None:
        """Repeat the last request of a producer."""
        if slot in self._last:
            request, version, place = self._last[slot]
            self._learned(slot, self.send(place, request, version, note="again"))

    def _learned(self, slot: int, response: Any) -> Any:
        named = not isinstance(response, str) and response.NAME in ("InitProducerId", "EndTxn")
        if named and not response.error_code and response.producer_id >= 0:
            self.producers[slot].take(response)
        return response

    def settle(self) -> None:
        """Wait until no transaction ends, and none is open whose time is short.

        A transaction whose marker is refused, because an administrator's has a newer epoch, never ends; those whose
        partitions or records are frozen end later.
        """
        begin_s = time.monotonic()
        for _ in attempts("transactions that have ended"):
            unsettled = [each for each in self._described() if self._is_unsettled(each)]
            if not unsettled:
                return
            if time.monotonic() - begin_s > STUCK_SECONDS:
                self._stuck.update(map(_identity, unsettled))

    def _described(self) -> list[Any]:
        places = {producer.id: self.coordinator(slot) for slot, producer in enumerate(self.producers)}
        found = []
        for transactional_id, place in places.items():
            response: Any = self.probe.quiet(describe(transactional_id), 0, on=self.connection(place))
            found += response.transaction_states
        return found

    def _is_unsettled(self, described: Any) -> bool:
        if _identity(described) in self._stuck:
            return False
        state = described.transaction_state
        if state in ENDING:
            waiting = {topic.topic for topic in described.topics} or {STATE_TOPIC}
            return not waiting <= self.frozen
        short = described.transaction_timeout_ms == SHORT_MS
        return described.error_code in LOADING or (state == "Ongoing" and short and STATE_TOPIC not in self.frozen)

    def named(self, value: Any) -> Any:
        """Sort the producers of a DescribeProducers by their names: ids, which order them, differ between clusters."""
        for topic in value["topics"]:
            for partition in topic["partitions"]:
                partition["activeProducers"].sort(key=lambda each: str(self.probe.normaliser.normalise(each)))
        return value


@dataclass(frozen=True, slots=True)
class TransactionStep:
    """One or more requests to one side."""

    note: str
    act: Callable[[TransactionSide], object]


Draw = Callable[[], TransactionStep]


class TransactionSequence:
    """Draws the steps of one conversation."""

    def __init__(self, random: Random, release: str, *, v2: bool = True) -> None:
        self._random = random
        self._old = release.startswith("3")
        shares = [0.0, 0.5, 0.9, 1.0] if v2 else [0.0, 0.0, 0.1, 0.3]
        self._newness = 0.0 if self._old else random.choice(shares)
        """The share of requests that are those of transactions v2."""
        self._timing = random.random() < 0.25
        self._number = 0

    def steps(self, count: int) -> list[TransactionStep]:
        """Return the steps, and those that read the result."""
        kinds = [
            self._init, self._init, self._open, self._open, self._open, self._open, self._end, self._end, self._end,
            self._produce, self._produce, self._produce, self._add, self._offsets, self._commit_offsets, self._read,
            self._read, self._list, self._describe, self._again,
        ]  # fmt: skip
        rare = [
            self._mark, self._mark, self._plain, self._verify, self._delete, self._own_plain, self._commit_plainly,
            self._odd_init, self._odd_init, self._odd_end, self._odd_end,
        ]  # fmt: skip
        first = [self._init_of(0), self._init_of(2)]
        made = [self._random.choice(self._kinds(kinds, rare))() for _ in range(count)]
        return [*first, *made, *self.audit()]

    def _kinds(self, usual: list[Draw], rare: list[Draw]) -> list[Draw]:
        """Return the kinds of which the next step is one."""
        return rare if self._random.random() < 0.2 else usual

    def audit(self) -> list[TransactionStep]:
        """Return the steps that read what has become of the transactions."""
        return [
            TransactionStep("audit", _audit),
            TransactionStep("logs", _audit_logs),
        ]

    # What is drawn.

    def _pick(self, *values: Any) -> Any:
        return self._random.choice(values)

    def _slot(self) -> int:
        return int(self._pick(0, 0, 0, 1, 1, 2))

    def _new(self) -> bool:
        return self._random.random() < self._newness

    def _version(self, old: range, new: int) -> int:
        """Return the version of transactions v2, or one of those before."""
        return new if self._new() else int(self._random.choice(old))

    def _place(self) -> tuple[int, int]:
        """Return a topic and a partition, by their places."""
        return tuple(self._pick((0, 0), (0, 0), (0, 1), (1, 0)))  # type: ignore[return-value]

    # Producers.

    def _init(self) -> TransactionStep:
        return self._init_of(self._slot())

    def _init_of(self, slot: int) -> TransactionStep:
        version = self._random.choice(range(5 if self._old else 6))
        given = self._pick(False, False, True)
        timeout_ms = self._pick(LONG_MS, SHORT_MS) if self._timing else LONG_MS

        def act(side: TransactionSide) -> None:
            producer = side.producers[slot]
            known = (producer.producer_id, producer.epoch) if given else (-1, -1)
            response = side.exchange(slot, producer.init(timeout_ms, given=known), version)
            if response.error_code == BUSY:
                side.settle()
                side.exchange(slot, producer.init(timeout_ms, given=known), version)

        return TransactionStep(f"{slot} init v{version} {given} {timeout_ms}", act)

    def _odd_init(self) -> TransactionStep:
        slot, step, version = self._slot(), self._pick(-2, -1, 1, 2), self._pick(3, 4)
        shift = self._pick(0, 0, 0, 1)

        def act(side: TransactionSide) -> None:
            producer = side.producers[slot]
            given = producer.producer_id + shift * 1_000_000, producer.epoch + step
            side.exchange(slot, producer.init(given=given), version)

        return TransactionStep(f"{slot} init v{version} with epoch {step:+} {shift}", act)

    def _end(self) -> TransactionStep:
        slot, well = self._slot(), self._pick(True, True, False)
        version = self._version(range(4 if self._old else 5), 5)

        def act(side: TransactionSide) -> None:
            side.exchange(slot, side.producers[slot].end(commit=well), version)

        return TransactionStep(f"{slot} ends v{version} {well}", act)

    def _odd_end(self) -> TransactionStep:
        slot, well, step = self._slot(), self._pick(True, False), self._pick(-2, -1, -1, 1)
        version = self._version(range(4 if self._old else 5), 5)

        def act(side: TransactionSide) -> None:
            producer = side.producers[slot]
            side.exchange(slot, producer.end(commit=well, producer_epoch=producer.epoch + step), version)

        return TransactionStep(f"{slot} ends v{version} {well} with epoch {step:+}", act)

    def _again(self) -> TransactionStep:
        slot = self._slot()
        return TransactionStep(f"{slot} again", lambda side: side.again(slot))

    # Partitions and records.

    def _open(self) -> TransactionStep:
        """Add a partition, where a Produce does not, and write to it."""
        slot, place, new = self._slot(), self._place(), self._new()
        add = self._random.choice(range(4))
        version = self._pick(ADDS_LOWEST, 13) if new else self._random.choice(range(3, 11 if self._old else 12))
        count, time_ms = self._pick(1, 1, 3), self._time_ms()

        def act(side: TransactionSide) -> None:
            if not new:
                side.exchange(slot, side.producers[slot].add(_place_of(side, place)), add)
            _write(side, slot, place, version, count=count, time_ms=time_ms)

        return TransactionStep(f"{slot} opens {place} v{version}", act)

    def _produce(self) -> TransactionStep:
        slot, place = self._slot(), self._place()
        version = self._version(range(3, 11 if self._old else 12), ADDS_LOWEST)
        offset = self._pick(0, 0, 0, 0, 1, -1, 5)
        step = self._pick(0, 0, 0, 0, 0, -1, 1)
        name = self._pick("own", "own", "own", "own", "own", "other", None)
        count, time_ms = self._pick(1, 2), self._time_ms()
        note = f"{slot} writes {place} v{version}, sequence {offset:+}, epoch {step:+}, id {name}"
        return TransactionStep(
            note,
            lambda side: _write(
                side, slot, place, version, count=count, time_ms=time_ms, offset=offset, step=step, name=name
            ),
        )

    def _time_ms(self) -> int:
        self._number += 1
        return TIME_MS + int(self._pick(self._number, -self._number, 0)) * 10

    def _add(self) -> TransactionStep:
        slot, version = self._slot(), self._random.choice(range(4))
        places = [self._place() for _ in range(self._pick(1, 2))]
        step = self._pick(0, 0, 0, -1, 1)

        def act(side: TransactionSide) -> None:
            producer = side.producers[slot]
            fields = {"v3_and_below_producer_epoch": producer.epoch + step}
            request = producer.add(*dict.fromkeys(_place_of(side, place) for place in places), **fields)
            side.exchange(slot, request, version)

        return TransactionStep(f"{slot} adds {places} v{version}, epoch {step:+}", act)

    def _verify(self) -> TransactionStep:
        slot, place, only = self._slot(), self._place(), self._pick(True, True, False)
        version = 4 if self._old else self._pick(4, 5)

        def act(side: TransactionSide) -> None:
            entry = side.producers[slot].verify(_place_of(side, place), verify_only=only)
            side.exchange(slot, batched(entry), version)

        return TransactionStep(f"{slot} verified {place} v{version} {only}", act)

    def _plain(self) -> TransactionStep:
        place, time_ms = self._place(), self._time_ms()

        def act(side: TransactionSide) -> None:
            topic, partition = at = _place_of(side, place)
            side.send(at, produce(topic, batch(b"plain", time_ms=time_ms), partition=partition), 9)

        return TransactionStep(f"plain {place}", act)

    def _own_plain(self) -> TransactionStep:
        slot, place = self._slot(), self._place()

        def act(side: TransactionSide) -> None:
            producer, at = side.producers[slot], _place_of(side, place)
            records = idempotent(producer.producer_id, producer.epoch, producer.sequences.get(at, 0))
            side.exchange(slot, produce(at[0], records, partition=at[1]), 9, at)

        return TransactionStep(f"{slot} writes {place} outside of a transaction", act)

    # Offsets.

    def _offsets(self) -> TransactionStep:
        slot, version = self._slot(), self._random.choice(range(4 if self._old else 5))
        return TransactionStep(
            f"{slot} adds offsets v{version}",
            lambda side: side.exchange(slot, side.producers[slot].add_offsets(side.group), version),
        )

    def _commit_offsets(self) -> TransactionStep:
        slot, place = self._slot(), self._place()
        version = self._version(range(4 if self._old else 5), 5)
        step = self._pick(0, 0, 0, -1, 1)

        def act(side: TransactionSide) -> None:
            producer, (topic, _) = side.producers[slot], _place_of(side, place)
            request = txn_commit(
                side.group,
                topic,
                transactional_id=producer.id,
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch + step,
            )
            side.exchange(slot, request, version, side.group_coordinator)

        return TransactionStep(f"{slot} commits offsets of {place} v{version}, epoch {step:+}", act)

    def _commit_plainly(self) -> TransactionStep:
        place, offset = self._place(), self._random.randrange(9)

        def act(side: TransactionSide) -> None:
            topic, partition = _place_of(side, place)
            side.send(side.group_coordinator, commit(side.group, (topic, {partition: offset})), 8)

        return TransactionStep(f"plain offsets of {place}", act)

    # Administrators and readers.

    def _mark(self) -> TransactionStep:
        slot, place, well = self._slot(), self._place(), self._pick(True, False)
        step, coordinator = self._pick(0, 0, 0, -1, 1), self._pick(0, 0, 0, 1)
        internal = self._random.random() < 0.15
        version = self._pick(0, 1) if self._old else self._pick(1, 1, 2)
        level = self._pick(0, 2)

        def act(side: TransactionSide) -> None:
            producer, at = side.producers[slot], _place_of(side, place)
            topics = {OFFSETS_TOPIC: list(range(INTERNAL_PARTITIONS))} if internal else {at[0]: [at[1]]}
            entry = (producer.producer_id, producer.epoch + step, well, topics, coordinator)
            side.exchange(slot, markers(entry, version=level), version, at)

        return TransactionStep(f"marker of {slot} {place} {well} {step:+} {coordinator} {internal}", act)

    def _delete(self) -> TransactionStep:
        place, offset = self._place(), self._pick(1, 2, 3, 5, -1)

        def act(side: TransactionSide) -> None:
            topic, partition = at = _place_of(side, place)
            entry = DeleteRecordsPartition(partition_index=partition, offset=offset)
            request = DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name=topic, partitions=[entry])], timeout_ms=5_000
            )
            side.send(at, request, 2)

        return TransactionStep(f"deletes {place} up to {offset}", act)

    def _read(self) -> TransactionStep:
        place, offset, level = self._place(), self._random.randrange(12), self._pick(0, 1, 1)
        version, size = self._pick(4, 7, 11, 12), self._pick(1 << 20, 1 << 20, 1)

        def act(side: TransactionSide) -> None:
            topic, partition = at = _place_of(side, place)
            request = fetch(topic, wanted(offset, partition=partition, max_bytes=size), isolation_level=level)
            side.send(at, request, version)

        return TransactionStep(f"reads {place} from {offset}, level {level}", act)

    def _list(self) -> TransactionStep:
        place, level = self._place(), self._pick(0, 1, 1)
        stamp = self._pick(-1, -2, -3, TIME_MS, TIME_MS - 30, TIME_MS + 30)
        version = 7 if self._old else self._pick(7, 10)

        def act(side: TransactionSide) -> None:
            topic, partition = at = _place_of(side, place)
            side.send(at, list_offsets(topic, stamp, partition=partition, isolation_level=level), version)

        return TransactionStep(f"lists {place} {stamp}, level {level}", act)

    def _describe(self) -> TransactionStep:
        return TransactionStep("describes", _describe_all)


def _identity(described: Any) -> tuple[Any, ...]:
    return described.transactional_id, described.transaction_state, described.producer_id, described.producer_epoch


def _place_of(side: TransactionSide, place: tuple[int, int]) -> tuple[str, int]:
    return side.topics_in_order[place[0]], place[1]


def _write(
    side: TransactionSide,
    slot: int,
    place: tuple[int, int],
    version: int,
    *,
    count: int,
    time_ms: int,
    offset: int = 0,
    step: int = 0,
    name: str | None = "own",
) -> None:
    """Write a transactional batch; the next sequence of the producer follows if it was taken."""
    producer, at = side.producers[slot], _place_of(side, place)
    topic, partition = at
    sequence = max(producer.sequences.get((topic, partition), 0) + offset, 0)
    values = [b"%d" % number for number in range(count)]
    records = idempotent(
        producer.producer_id, producer.epoch + step, sequence, *values, is_transactional=True, time_ms=time_ms
    )
    names = {"own": producer.id, "other": side.producers[2 if slot < 2 else 0].id, None: None}
    request = produce(
        topic,
        records,
        partition=partition,
        topic_id=side.topic_ids[topic],
        transactional_id=names[name],
    )
    response = side.exchange(slot, request, version, at)
    taken = not isinstance(response, str) and not response.responses[0].partition_responses[0].error_code
    if taken and not step:
        producer.sequences[topic, partition] = sequence + count


def _describe_all(side: TransactionSide) -> None:
    for slot in (1, 2):
        side.send(side.coordinator(slot), describe(side.producers[slot].id), 0)
    for connection in side.connections():
        list_own(side.probe, on=connection)
    for topic, count in side.topics.items():
        for partition in range(count):
            side.send((topic, partition), describe_producers((topic, (partition,))), 0, only=side.named)
    for stable in (False, True):
        side.send(side.group_coordinator, fetch_offsets(side.group, everything=True, require_stable=stable), 7)


def _audit(side: TransactionSide) -> None:
    _describe_all(side)
    for topic, count in side.topics.items():
        for partition in range(count):
            for level in (0, 1):
                at = topic, partition
                first = side.send(at, list_offsets(topic, -2, partition=partition, isolation_level=level), 5)
                side.send(at, list_offsets(topic, -1, partition=partition, isolation_level=level), 5)
                offset = first.topics[0].partitions[0].offset
                side.send(at, fetch(topic, wanted(offset, partition=partition), isolation_level=level), 12)


def _audit_logs(side: TransactionSide) -> None:
    for producer in side.producers[1:]:
        producer.write_log()
