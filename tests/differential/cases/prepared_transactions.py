"""Transactions that stay prepared, because their markers or records cannot be written, and coordinators that move.

Three brokers, the third down: a topic that wants three replicas in sync takes nothing with acks=all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.case import case
from tests.differential.cases.describe_producers import describe as describe_producers
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.transaction_log import SOON
from tests.differential.group_requests import NO_DELAY, OFFSETS_TOPIC, commit, fetch_offsets
from tests.differential.requests import fetch, list_offsets, produce, wanted
from tests.differential.transaction_moves import DOWN, MovingSide, place_internal_topics
from tests.differential.transaction_requests import STATE_TOPIC, Transactions, batched, list_own, markers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.message import Message
    from tests.differential.probe import Probe
    from tests.differential.transaction_sequences import Partition

Sent = tuple["Message", range | tuple[int, ...], "Partition"]
"""A request, its versions, and the partition whose leader receives it."""


def _own(number: int) -> tuple[tuple[str, str], ...]:
    """A cluster of a case's own: one of its brokers goes down."""
    return (*NO_DELAY, *SOON, ("transaction.max.timeout.ms", f"{910_000 + number}"))


def _side(probe: Probe) -> MovingSide:
    place_internal_topics(probe)
    probe.nodes.shut_down(DOWN)
    side = MovingSide(probe)
    for producer in side.producers:
        producer.sequences.clear()
    return side


def _begun(side: MovingSide, slot: int, *places: Partition, timeout_ms: int = 60_000) -> Transactions:
    """Return a producer whose transaction has records in these partitions."""
    producer = side.producers[slot]
    initialized: Any = side.exchange(slot, producer.init(timeout_ms), 4)
    producer.take(initialized)
    side.exchange(slot, producer.add(*places), 3)
    for place in places:
        request = produce(place[0], producer.records(*place), partition=place[1], transactional_id=producer.id)
        side.exchange(slot, request, 9, place)
    return producer


def _requests(side: MovingSide, producer: Transactions, slot: int, place: Partition, *, old: bool) -> Iterator[Sent]:
    coordinator = side.coordinator(slot)
    known = producer.producer_id, producer.epoch
    yield producer.init(), range(5 if old else 6), coordinator
    yield producer.init(given=known), (3, 4) if old else (3, 5), coordinator
    yield producer.add(place), range(4), coordinator
    yield producer.add((side.topics_in_order[1], 0)), (3,), coordinator
    for verify_only in (True, False):
        yield batched(producer.verify(place, verify_only=verify_only)), (4,) if old else (4, 5), coordinator
    yield producer.add_offsets(side.group), range(4 if old else 5), coordinator
    for committed in (True, False):
        yield producer.end(commit=committed), range(4 if old else 6), coordinator
        yield producer.end(commit=committed, producer_epoch=producer.epoch + 1), (3,) if old else (4, 5), coordinator
    records = producer.records(*place)
    for topic, partition in (place, (side.topics_in_order[1], 0)):
        versions = (8, 10) if old else (9, 11, 12)
        yield produce(topic, records, partition=partition, transactional_id=producer.id), versions, (topic, partition)
    offsets = txn_commit(
        side.group, place[0], transactional_id=producer.id, producer_id=known[0], producer_epoch=known[1]
    )
    yield offsets, range(4 if old else 6), side.group_coordinator


def _without_ends(response: Any) -> Any:
    for partition in response["responses"][0]["partitions"]:
        del partition["highWatermark"], partition["lastStableOffset"]
    return response


def _show(side: MovingSide, slot: int, note: str, *, ends: bool = True) -> None:
    """Write down the transaction, and what its partitions have.

    `ends` is false after a coordinator has moved: a marker that the former one has in flight is written too at times.
    """
    probe = side.probe
    side.producers[slot].describe(note, on=side.connection(side.coordinator(slot)))
    for connection in side.connections():
        for states in ([], ["PrepareCommit"], ["PrepareAbort", "Ongoing"]):
            list_own(probe, 0, f"{states}, {note}", on=connection, state_filters=states)
    for topic, count in side.topics.items():
        for partition in range(count):
            at = topic, partition
            side.send(at, describe_producers((topic, (partition,))), 0, only=side.named, note=note)
            for level in (0, 1):
                for stamp in (-1, -3) if ends else ():
                    request = list_offsets(topic, stamp, partition=partition, isolation_level=level)
                    side.send(at, request, 7, note=f"{note}, level {level}")
                read = fetch(topic, wanted(0, partition=partition), isolation_level=level)
                side.send(at, read, 12, note=note, only=None if ends else _without_ends)


def _prepared(probe: Probe, *, commits: bool, newest: bool) -> None:
    side = _side(probe)
    place, other = (side.topics_in_order[0], 0), (side.topics_in_order[0], 1)
    producer = _begun(side, 0, place, other)
    side.freeze(place[0], strict=True)
    side.exchange(0, producer.end(commit=commits), 5 if newest else 3)
    side.settle()
    _show(side, 0, "prepared")
    old = probe.release == "3.7.2"
    for request, versions, at in _requests(side, producer, 0, place, old=old):
        for version in versions:
            side.send(at, request, version, note="prepared")
    side.move(side.coordinator(0))
    side.settle()
    _show(side, 0, "another coordinator")
    side.exchange(0, producer.end(commit=commits), 5 if newest else 3)
    side.move(place)
    _show(side, 0, "another leader")
    entry = (producer.producer_id, producer.epoch + int(newest), not commits, {place[0]: [0]}, 0)
    side.send(place, markers(entry), 1, note="of an administrator, frozen")
    side.freeze(place[0], strict=False)
    side.settle()
    _show(side, 0, "thawed", ends=False)
    for committed in (commits, not commits):
        side.exchange(0, producer.end(commit=committed), 5 if newest else 3)
    side.settle()
    producer.write_log()


@case(brokers=3, settings=_own(1))
def a_commit_that_is_prepared(probe: Probe) -> None:
    _prepared(probe, commits=True, newest=False)


@case(brokers=3, settings=_own(2))
def an_abort_that_is_prepared(probe: Probe) -> None:
    _prepared(probe, commits=False, newest=False)


@case(brokers=3, settings=_own(3), releases=("4.3.1",))
def a_commit_of_transactions_v2_that_is_prepared(probe: Probe) -> None:
    _prepared(probe, commits=True, newest=True)


@case(brokers=3, settings=_own(4))
def coordinators_that_move_in_each_state(probe: Probe) -> None:
    side = _side(probe)
    place = side.topics_in_order[0], 0
    producer = side.producers[0]
    for note in ("empty", "open", "committed", "aborted", "fenced"):
        _begun(side, 0, *([] if note == "empty" else [place]))
        if note == "fenced":
            side.exchange(0, producer.init(), 4)
        elif note not in ("empty", "open"):
            side.exchange(0, producer.end(commit=note == "committed"), 3)
        side.settle()
        side.move(side.coordinator(0))
        side.settle()
        producer.describe(note, on=side.connection(side.coordinator(0)))
        given = producer.producer_id, producer.epoch
        side.exchange(0, producer.init(given=given), 4)
        side.settle()
        side.exchange(0, producer.init(given=given), 4)
        for version in (3,) if probe.release == "3.7.2" else (3, 5):
            side.exchange(0, producer.end(commit=False), version)
            side.settle()
        producer.describe(note, on=side.connection(side.coordinator(0)))
    producer.write_log()


@case(brokers=3, settings=_own(5))
def leaders_that_move_in_a_transaction(probe: Probe) -> None:
    """A new leader knows the open transaction from its log; it verifies only where it has none."""
    side = _side(probe)
    place, other = (side.topics_in_order[0], 0), (side.topics_in_order[0], 1)
    producer = _begun(side, 0, place)
    side.exchange(0, producer.add(other), 3)
    for note in ("once", "twice"):
        side.move(place)
        side.move(other)
        for at in (place, other, (side.topics_in_order[1], 0)):
            for version in (9, 10) if probe.release == "3.7.2" else (9, 11):
                records = producer.records(*at)
                request = produce(at[0], records, partition=at[1], transactional_id=producer.id)
                side.send(at, request, version, note=f"moved {note}")
        _show(side, 0, f"moved {note}")
    side.exchange(0, producer.end(commit=False), 3)
    side.settle()
    side.move(place)
    _show(side, 0, "aborted")


@case(brokers=3, settings=_own(6))
def a_state_topic_that_takes_no_records(probe: Probe) -> None:
    side = _side(probe)
    place = side.topics_in_order[0], 0
    producer = _begun(side, 0, place)
    idle = _begun(side, 2)
    side.freeze(STATE_TOPIC, strict=True)
    old = probe.release == "3.7.2"
    for slot, each in ((0, producer), (2, idle)):
        for request, versions, at in _requests(side, each, slot, place, old=old):
            side.send(at, request, max(versions), note="no records")
    side.move(side.coordinator(0))
    side.exchange(0, producer.end(commit=True), 3)
    side.freeze(STATE_TOPIC, strict=False)
    _show(side, 0, "thawed")
    side.exchange(0, producer.end(commit=True), 3)
    side.settle()
    for slot, each in ((0, producer), (2, idle)):
        side.exchange(slot, each.init(), 4)
        side.settle()
        each.describe("thawed", on=side.connection(side.coordinator(slot)))
        each.write_log()


@case(brokers=3, settings=(*_own(7), ("offsets.commit.timeout.ms", "600")))
def an_offsets_topic_that_takes_no_records(probe: Probe) -> None:
    """A group coordinator from 4.0 on writes with acks=1, and its writes time out, since the high watermark stays."""
    side = _side(probe)
    topic = side.topics_in_order[0]
    producer = _begun(side, 0, (topic, 0))
    side.exchange(0, producer.add_offsets(side.group), 3)
    coordinator = side.group_coordinator
    named = {
        "transactional_id": producer.id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
    }
    side.send(coordinator, commit(side.group, (topic, {0: 1})), 8)
    side.freeze(OFFSETS_TOPIC, strict=True)
    for note in ("frozen", "another coordinator"):
        for stable in (False, True):
            side.send(coordinator, fetch_offsets(side.group, everything=True, require_stable=stable), 7, note=note)
        side.send(coordinator, commit(side.group, (topic, {0: 2})), 8, note=note)
        side.send(coordinator, txn_commit(side.group, topic, **named), 3, note=note)
        for stable in (False, True):
            side.send(coordinator, fetch_offsets(side.group, everything=True, require_stable=stable), 7, note=note)
        side.move(coordinator)
    side.freeze(OFFSETS_TOPIC, strict=False)
    side.send(coordinator, commit(side.group, (topic, {1: 3})), 8, note="thawed")
    for stable in (False, True):
        side.send(coordinator, fetch_offsets(side.group, everything=True, require_stable=stable), 7, note="thawed")
    side.exchange(0, producer.end(commit=True), 3)
    side.settle()
    for stable in (False, True):
        side.send(coordinator, fetch_offsets(side.group, everything=True, require_stable=stable), 7, note="ended")
