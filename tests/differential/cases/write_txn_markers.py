"""WriteTxnMarkers, as raw probes see it: the markers of an administrator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.case import case
from tests.differential.cases.describe_producers import describe
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.group_requests import NO_DELAY, OFFSETS_TOPIC, fetch_offsets, group_of
from tests.differential.probe import SILENCE_SECONDS
from tests.differential.requests import produce, read_back
from tests.differential.transaction_requests import Transactions, markers, read
from tests.differential.transaction_requests import describe as describe_transactions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def _versions(probe: Probe) -> range:
    return range(1, 3) if probe.release == "4.3.1" else range(2)


OWN_CLUSTER = (("transaction.max.timeout.ms", "800001"),)
"""A cluster of its own: other cases leave records in internal topics that no coordinator can replay."""


@case()
def markers_of_an_open_transaction(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    transactions = Transactions(probe)
    transactions.started((topic, 0), (topic, 1))
    producer_id, epoch = transactions.producer_id, transactions.epoch
    for version in _versions(probe):
        for commit in (False, True):
            probe.exchange(markers((producer_id, epoch, commit, {topic: [0, 1]}, 0)), version, note=f"commit {commit}")
            read(probe, topic, note=f"commit {commit}")
        probe.exchange(describe((topic, (0, 1))), 0)
    request = produce(topic, transactions.records(topic), transactional_id=transactions.id)
    probe.exchange(request, 9, note="the coordinator has it open still")
    probe.exchange(transactions.end(commit=True), 3)
    transactions.await_state("CompleteCommit")
    read_back(probe, topic)


@case()
def markers_that_are_wrong(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    producer_id, epoch = transactions.producer_id, transactions.epoch
    for version in _versions(probe):
        for entry, note in (
            ((producer_id, epoch - 1, False, {topic: [0]}, 0), "an older epoch"),
            ((producer_id, epoch, False, {topic: [7]}, 0), "an unknown partition"),
            ((producer_id, epoch, False, {"unknown": [0], topic: [1]}, 0), "an unknown topic and a partition"),
            ((producer_id, epoch, False, {}, 0), "no topics"),
            ((producer_id, epoch, False, {topic: []}, 0), "no partitions"),
            ((987_654, 0, False, {topic: [0]}, 0), "an unknown producer"),
            ((-1, -1, False, {topic: [0]}, 0), "no producer"),
            ((987_655, -1, True, {topic: [0]}, -1), "no epoch"),
        ):
            probe.exchange(markers(entry), version, note=note)
        probe.exchange(markers(), version, note="none")
    read(probe, topic, committed=False)


@case()
def markers_without_a_producer(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    group_of(probe)
    for version in _versions(probe):
        for producer in ((-1, 0), (-1, -1), (47_000, -1)):
            for topics in (
                {OFFSETS_TOPIC: [0, 1, 2, 9]},
                {OFFSETS_TOPIC: [0], "unknown": [0]},
                {OFFSETS_TOPIC: [0], topic: [0]},
                {topic: [0, 7]},
                {topic: [7], "unknown": [0]},
                {},
            ):
                entry = (*producer, True, topics, 0)
                probe.exchange(markers(entry), version, note=f"{producer} {list(topics)}")
            good = (47_001, 0, True, {topic: [1]}, 0)
            probe.exchange(markers(good, (*producer, True, {topic: [0]}, 0), good), version, note="between others")
    read_back(probe, topic, partition=1)


@case()
def coordinator_epochs(probe: Probe) -> None:
    topic = probe.topic()
    for coordinator_epoch in (5, 4, 5, 6, 0, -1):
        probe.exchange(markers((45_000, 0, False, {topic: [0]}, coordinator_epoch)), 1, note=str(coordinator_epoch))
    probe.exchange(markers((45_000, 1, True, {topic: [0]}, 2)), 1, note="an older one with a newer epoch")
    probe.exchange(describe((topic, (0,))), 0)
    read_back(probe, topic)


@case()
def several_markers(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    entries = (
        (46_000, 0, False, {topic: [0]}, 1),
        (46_001, 0, True, {topic: [0, 1]}, 1),
        (46_000, 1, True, {topic: [1]}, 1),
        (46_000, 0, True, {topic: [0], "unknown": [3]}, 0),
    )
    probe.exchange(markers(*entries), 1)
    for partition in (0, 1):
        read_back(probe, topic, partition=partition)
    probe.exchange(describe((topic, (0, 1))), 0)


@case()
def markers_that_get_no_response(probe: Probe) -> None:
    """The response is sent by the end of the last append, which a marker that is not appended must not follow."""
    topic = probe.topic(partitions=9)
    unknown, empty = {"unknown": [0]}, {topic: []}
    silent = []
    for number in range(7):
        good = {topic: [number]}
        topics, is_silent = (
            ((unknown, good), False),
            ((unknown, unknown, empty), False),
            ((good, unknown, good), False),
            (({topic: [3, 8, 3, 9]},), True),
            ((good, unknown), True),
            ((good, empty), True),
            (({topic: [6, 6]}, good), True),
        )[number]
        request = markers(*((49_000 + place, 0, True, named, 0) for place, named in enumerate(topics)))
        if is_silent:
            silent.append(probe.start(request, 1, on=probe.connect(), note=str(number)))
        else:
            probe.exchange(request, 1, note=str(number))
    for parked in silent:
        probe.finish(parked, seconds=SILENCE_SECONDS / len(silent))
    for number in range(9):
        read_back(probe, topic, partition=number)


COORDINATOR_APPENDS = (("transaction.max.timeout.ms", "800002"),)


@case(settings=COORDINATOR_APPENDS, releases=("4.3.1",))
def markers_that_coordinators_write(probe: Probe) -> None:
    """The group coordinator ends its append on another thread; the last append always sends the response."""
    group_of(probe)
    offsets = {OFFSETS_TOPIC: [0, 0]}
    for number, topics in enumerate(((offsets, {}, offsets), ({}, offsets), ({"unknown": [0]}, {}, offsets))):
        entries = ((53_000 + 10 * number + place, 0, True, named, 0) for place, named in enumerate(topics))
        probe.exchange(markers(*entries), 1, note=str(number))


@case(
    settings=COORDINATOR_APPENDS,
    releases=("4.3.1",),
    races="the end of the coordinator's append against the thread that still reads the request's next marker",
)
def markers_after_one_that_coordinators_write(probe: Probe) -> None:
    """Responses come because the coordinator's append ends after the rest of the request was read, almost always."""
    topic = probe.topic(partitions=3)
    group_of(probe)
    offsets, unknown = {OFFSETS_TOPIC: [0, 0]}, {"unknown": [0]}
    for number, topics in enumerate(
        (
            (offsets | unknown, {}),
            (offsets, unknown),
            ({topic: [1]}, offsets, {}),
            ({}, {topic: [2]}, offsets, unknown),
        )
    ):
        entries = ((54_000 + 10 * number + place, 0, True, named, 0) for place, named in enumerate(topics))
        probe.exchange(markers(*entries), 1, on=probe.connect(), note=str(number))


@case()
def markers_of_negative_producers(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    for producer in ((-2, 0), (-2, 32_767), (50_000, -2), (50_000, 3), (50_000, -2), (-3, -3)):
        for version in _versions(probe):
            probe.exchange(markers((*producer, True, {topic: [0]}, 0)), version, note=str(producer))
    for coordinator_epoch in (-2, -1, -128, 0, -1):
        entry = (50_002, 0, True, {topic: [2]}, coordinator_epoch)
        probe.exchange(markers(entry), 1, note=f"coordinator epoch {coordinator_epoch}")
    for entries in (
        ((50_001, 0, True, {topic: [0]}, 0), (-1, 0, True, {topic: [1]}, 0)),
        ((-1, 0, True, {topic: [1, 2]}, 0), (-1, 5, False, {"unknown": [1]}, 0)),
        ((-1, 0, True, {topic: [1, 2]}, 0), (-1, 5, False, {}, 0), (50_001, 1, True, {}, 0)),
        ((50_001, 1, True, {}, 0), (-1, 5, False, {}, 0)),
    ):
        probe.exchange(markers(*entries), 1, note=str([entry[3] for entry in entries]))
    probe.exchange(describe((topic, (0, 1, 2))), 0)
    read_back(probe, topic)


@case(settings=OWN_CLUSTER)
def markers_of_many_partitions(probe: Probe) -> None:
    topics = {
        probe.topic(suffix, partitions=count): list(range(count))
        for suffix, count in zip("abc", (3, 9, 2), strict=True)
    }
    group_of(probe)
    for count in (1, 2, 3):
        named = dict(list(topics.items())[:count])
        entries = [(producer_id, 0, True, named, 1) for producer_id in (48_000, 2**33 + 5, 47_999, 3)]
        probe.exchange(markers(*entries), 1, note=f"{count} topics")
    unknown = {f"unknown-{number}": [3, 1, 2] for number in range(4)}
    probe.exchange(markers((3, 0, True, topics | unknown, 1)), 1, note="unknown topics too")
    probe.exchange(markers((3, 0, True, {OFFSETS_TOPIC: [2, 0]}, 1)), 1, note="the offsets topic")


@case(releases=("4.3.1",))
def versions_of_the_transaction(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    transactions = Transactions(probe)
    transactions.started((topic, 0), (topic, 1), (topic, 2))
    producer_id, epoch = transactions.producer_id, transactions.epoch
    for version in (2, 1, 0):
        for step in (0, 1, 1, 0, 2):
            request = markers((producer_id, epoch + step, False, {topic: [version]}, 0), version=version)
            probe.exchange(request, 2, note=f"transactions v{version}, epoch +{step}")
    probe.exchange(describe((topic, (0, 1, 2))), 0)


@case(settings=OWN_CLUSTER, releases=("4.3.1",))
def versions_of_transactions_that_do_not_exist(probe: Probe) -> None:
    topic = probe.topic(partitions=6)
    group_of(probe)
    for number, version in enumerate((3, -1, 127, -128, 2, 0)):
        for topics in ({topic: [number]}, {topic: [number], "unknown": [0]}, {OFFSETS_TOPIC: [0]}):
            for epoch, coordinator_epoch in ((0, 5), (1, 5), (1, 4), (0, 5)):
                request = markers((51_000 + number, epoch, True, topics, coordinator_epoch), version=version)
                probe.exchange(request, 2, note=f"transactions v{version}, {epoch} {coordinator_epoch}")
    probe.exchange(describe((topic, tuple(range(6)))), 0)


@case(settings=NO_DELAY, releases=("4.3.1",))
def versions_of_transactional_offsets(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.add_offsets(group), 3)
    named = {
        "transactional_id": transactions.id,
        "producer_id": transactions.producer_id,
        "producer_epoch": transactions.epoch,
    }
    probe.exchange(txn_commit(group, topic, **named), 3)
    described: Any = probe.quiet(describe_transactions(transactions.id), 0)
    [[partition]] = [each.partitions for each in described.transaction_states[0].topics]
    for version, step in ((2, 0), (2, 1), (2, 1), (0, 0), (0, 1)):
        entry = (transactions.producer_id, transactions.epoch + step, False, {OFFSETS_TOPIC: [partition]}, 0)
        probe.exchange(markers(entry, version=version), 2, note=f"transactions v{version}, epoch +{step}")
        probe.exchange(fetch_offsets(group, (topic, [0]), require_stable=True), 7)
