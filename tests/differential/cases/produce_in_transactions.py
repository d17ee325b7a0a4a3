"""Produce in open transactions of every kind, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.case import case
from tests.differential.cases.describe_producers import describe
from tests.differential.requests import batch, idempotent, produce, produce_all, read_back
from tests.differential.transaction_requests import STATE_TOPIC, Transactions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

V2 = ("4.3.1",)


def _versions(probe: Probe) -> range:
    return range(3, 11) if probe.release == "3.7.2" else range(3, 13)


@case()
def every_version_in_an_open_transaction(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    for version in _versions(probe):
        for partition in (0, 1) if version < 12 else (0,):
            records = transactions.records(topic, partition)
            request = produce(topic, records, partition=partition, transactional_id=transactions.id)
            probe.exchange(request, version, note=f"partition {partition}")
            if partition:
                transactions.sequences[topic, 1] = 0
    transactions.describe()
    probe.exchange(describe((topic, (0, 1))), 0)
    transactions.ended(commit=True)
    read_back(probe, topic)


@case()
def partitions_of_which_some_are_not_added(probe: Probe) -> None:
    topic, other = probe.topic(partitions=4), probe.topic("u")
    transactions = Transactions(probe)
    transactions.started((topic, 0), (topic, 2))
    producer = transactions.producer_id, transactions.epoch
    for version in (3, 7, 9, 10):
        entries = [(topic, index, idempotent(*producer, 0, b"w", is_transactional=True)) for index in (1, 3)]
        entries.append((topic, 2, transactions.records(topic, 2)))
        entries.append((other, 0, idempotent(*producer, 0, is_transactional=True)))
        entries.append(("unknown", 0, idempotent(*producer, 0, is_transactional=True)))
        entries.append((topic, 7, idempotent(*producer, 0, is_transactional=True)))
        probe.exchange(produce_all(*entries, transactional_id=transactions.id), version)
    probe.exchange(describe((topic, (0, 1, 2, 3)), (other, (0,))), 0)
    transactions.describe()


@case()
def internal_topics(probe: Probe) -> None:
    """A transaction is verified before its records are refused. It stays open: a marker there may never be written."""
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin(600_000)
    records = idempotent(transactions.producer_id, transactions.epoch, 0, is_transactional=True)
    request = produce_all((STATE_TOPIC, 0, records), (topic, 0, records), transactional_id=transactions.id)
    for added in (False, True):
        if added:
            probe.exchange(transactions.add((STATE_TOPIC, 0)), 3)
        for version in _versions(probe):
            probe.exchange(request, version, note=f"added {added}")
    transactions.describe()
    read_back(probe, topic)


@case()
def acknowledgements(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    for acks in (1, 0, 2, -2, -1):
        for partition in (1, 0):
            producer = transactions.producer_id, transactions.epoch
            sequence = 0 if partition else transactions.sequences[topic, 0]
            records = idempotent(*producer, sequence, is_transactional=True)
            request = produce(topic, records, partition=partition, acks=acks, transactional_id=transactions.id)
            connection = probe.connect()
            if acks:
                probe.exchange(request, 9, on=connection, note=f"acks {acks}, partition {partition}")
            else:
                probe.expect_silence(request, 9, on=connection, note=f"acks {acks}, partition {partition}")
            if not partition and acks in (1, 0, -1):
                transactions.sequences[topic, 0] += 1
    probe.exchange(describe((topic, (0, 1))), 0)


@case()
def transactional_ids_that_do_not_fit(probe: Probe) -> None:
    topic = probe.topic()
    transactions, other = Transactions(probe), Transactions(probe, "o")
    other.begin()
    transactions.started((topic, 0))
    for version in (3, 9, 10) if probe.release == "3.7.2" else (3, 9, 10, 11, 12):
        for name in (None, "", other.id, f"{transactions.id}-none"):
            records = idempotent(transactions.producer_id, transactions.epoch, 1, is_transactional=True)
            probe.exchange(produce(topic, records, transactional_id=name), version, note=f"id {str(name)[-4:]}")
            transactions.describe()
        probe.exchange(produce(topic, idempotent(-1, -1, -1), transactional_id=transactions.id), version, note="plain")
    probe.exchange(describe((topic, (0,))), 0)


@case()
def batches_of_two_producers(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    first, second = Transactions(probe, "a"), Transactions(probe, "b")
    first.started((topic, 0))
    second.started((topic, 1))
    for version in (3, 9) if probe.release == "3.7.2" else (3, 9, 11, 12):
        for entries, note in (
            (((topic, 0, first.records(topic)), (topic, 1, second.records(topic, 1))), "both"),
            (((topic, 0, first.records(topic)), (topic, 2, idempotent(9_000, 0, 0))), "one is idempotent"),
            (((topic, 2, batch(b"plain")), (topic, 0, first.records(topic))), "one is plain"),
        ):
            probe.exchange(produce_all(*entries, transactional_id=first.id), version, note=note)
    probe.exchange(describe((topic, (0, 1))), 0)
    for partition in (0, 1, 2):
        read_back(probe, topic, partition=partition)


@case()
def plain_batches_between(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    producer = transactions.producer_id, transactions.epoch
    for version in (3, 9):
        for name in (None, transactions.id):
            probe.exchange(produce(topic, batch(b"plain"), transactional_id=name), version, note="plain")
            records = idempotent(*producer, 1)
            probe.exchange(produce(topic, records, transactional_id=name), version, note="its own, idempotent")
    probe.exchange(produce(topic, idempotent(7_777, 0, 0)), 9, note="of another, idempotent")
    read_back(probe, topic)


@case()
def sequences_of_transactions_v1(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin()
    producer = transactions.producer_id, transactions.epoch

    def send(sequence: int, *values: bytes, version: int = 9) -> Any:
        records = idempotent(*producer, sequence, *values, is_transactional=True)
        request = produce(topic, records, transactional_id=transactions.id)
        return probe.exchange(request, version, note=f"sequence {sequence}")

    for number in range(3):
        probe.exchange(transactions.add((topic, 0)), 3, note=f"{number}")
        for sequence in (5, 0, 1, 1, 3, 2):
            send(number * 10 + sequence, b"v")
        send(number * 10 + 3, b"v", b"v")
        send(number * 10 + 3, b"v", b"v")
        send(number * 10 + 3, b"v")
        send(number * 10 + 4, b"v", b"v")
        probe.exchange(describe((topic, (0,))), 0, note=f"{number}")
        probe.exchange(transactions.end(commit=number != 1), 3)
        transactions.await_state("CompleteCommit", "CompleteAbort")
        send(number * 10 + 3, b"v", b"v")
        send(number * 10 + 5, b"v")
        probe.exchange(describe((topic, (0,))), 0, note=f"{number}, ended")


@case(releases=V2)
def sequences_of_transactions_v2(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin()
    for number in range(3):
        for sequence in (5, 0, 1, 1, 3, 2, 5):
            records = idempotent(transactions.producer_id, transactions.epoch, sequence, is_transactional=True)
            probe.exchange(produce(topic, records, transactional_id=transactions.id), 12, note=f"{number} {sequence}")
            transactions.describe()
        ended = probe.exchange(transactions.end(commit=number != 1), 5)
        transactions.await_state("CompleteCommit", "CompleteAbort")
        late = idempotent(transactions.producer_id, transactions.epoch, 3, is_transactional=True)
        for version in (9, 11, 12):
            probe.exchange(produce(topic, late, transactional_id=transactions.id), version, note="late")
        transactions.take(ended)
        early = idempotent(transactions.producer_id, transactions.epoch, 0, is_transactional=True)
        for version in (9, 11):
            probe.exchange(produce(topic, early, transactional_id=transactions.id), version, note="not added")
        probe.exchange(describe((topic, (0,))), 0, note=f"{number}")
    read_back(probe, topic)


@case()
def epochs_of_producers(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    old = transactions.epoch
    transactions.ended(commit=True)
    transactions.begin()
    for added in (False, True):
        if added:
            probe.exchange(transactions.add((topic, 0)), 3)
        for version in (3, 9, 10) if probe.release == "3.7.2" else (3, 9, 10, 11, 12):
            for epoch, sequence in ((old, 1), (old, 0), (old + 2, 0), (old + 1, 3), (-1, 0), (32_767, 0)):
                records = idempotent(transactions.producer_id, epoch, sequence, is_transactional=True)
                request = produce(topic, records, transactional_id=transactions.id)
                probe.exchange(request, version, note=f"epoch {epoch - old}, sequence {sequence}")
        probe.exchange(describe((topic, (0,))), 0)
        transactions.describe()
    probe.exchange(produce(topic, transactions.records(topic), transactional_id=transactions.id), 9)
    read_back(probe, topic)


@case()
def batches_after_a_fence(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    transactions = Transactions(probe)
    transactions.started((topic, 0), (topic, 1))
    probe.exchange(transactions.init(), 4)
    transactions.await_state("CompleteAbort")
    versions = (3, 9, 10) if probe.release == "3.7.2" else (3, 9, 10, 11, 12)
    for version in versions:
        records = idempotent(transactions.producer_id, transactions.epoch, 1, is_transactional=True)
        probe.exchange(produce(topic, records, transactional_id=transactions.id), version, note="fenced")
    newer = probe.exchange(transactions.init(), 4)
    transactions.take(newer)
    for version in versions:
        for epoch in (-2, -1, 0):
            records = idempotent(newer.producer_id, newer.producer_epoch + epoch, 0, is_transactional=True)
            request = produce(topic, records, transactional_id=transactions.id)
            probe.exchange(request, version, note=f"epoch {epoch}")
    transactions.describe()
    probe.exchange(describe((topic, (0, 1))), 0)


@case(releases=V2)
def partitions_that_produce_adds(probe: Probe) -> None:
    topic, other = probe.topic(partitions=3), probe.topic("u")
    ids = {topic: probe.topic_id(topic), other: probe.topic_id(other)}
    transactions = Transactions(probe)
    transactions.begin()

    def send(*places: tuple[str, int], version: int, acks: int = -1) -> None:
        entries = [(name, index, transactions.records(name, index)) for name, index in places]
        request = produce_all(*entries, transactional_id=transactions.id, topic_ids=ids, acks=acks)
        probe.exchange(request, version, note=f"v{version}, acks {acks}")
        transactions.describe()

    send((topic, 0), (topic, 2), version=12)
    send((topic, 0), version=13)
    send((topic, 1), (topic, 2), ("unknown", 0), version=12)
    send((topic, 1), (topic, 2), (other, 0), version=13, acks=1)
    send((topic, 5), (topic, 2), version=12)
    send((topic, 0), version=9)
    probe.exchange(transactions.add((topic, 0), (topic, 7)), 3, note="one does not exist")
    probe.exchange(transactions.add((topic, 1)), 3)
    probe.exchange(transactions.end(commit=True), 4, note="as of transactions v1")
    transactions.await_state("CompleteCommit")
    transactions.describe()
    transactions.write_log()
    send((topic, 0), version=12)
    transactions.take(probe.exchange(transactions.end(commit=False), 5))
    transactions.await_state("CompleteAbort")
    transactions.write_log()
    read_back(probe, topic)
