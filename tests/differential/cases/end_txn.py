"""EndTxn, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.case import case
from tests.differential.requests import produce, read_back
from tests.differential.transaction_requests import Transactions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

V2 = ("4.3.1",)


@case()
def ends_in_every_version(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin()
    for version in range(5 if probe.release == "4.3.1" else 4):
        for commit in (True, False):
            transactions.open((topic, 0))
            probe.exchange(transactions.end(commit=commit), version, note=f"commit {commit}")
            transactions.await_state("CompleteCommit", "CompleteAbort")
            probe.exchange(transactions.end(commit=commit), version, note="again")
            probe.exchange(transactions.end(commit=not commit), version, note="the other way")
    read_back(probe, topic)


@case()
def ends_of_nothing(probe: Probe) -> None:
    transactions = Transactions(probe)
    transactions.begin()
    for version in range(5 if probe.release == "4.3.1" else 4):
        for commit in (True, False):
            probe.exchange(transactions.end(commit=commit), version, note=f"commit {commit}")
    transactions.describe()


@case()
def ends_of_others(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    producer_id, epoch = transactions.producer_id, transactions.epoch
    for version in (0, 1, 2, 3):
        for fields in (
            {"transactional_id": ""},
            {"transactional_id": f"{transactions.id}-none"},
            {"producer_id": producer_id + 1_000_000},
            {"producer_epoch": epoch + 1},
            {"producer_epoch": -1},
            {"producer_id": -1, "producer_epoch": -1},
            {"producer_id": producer_id + 1_000_000, "producer_epoch": epoch + 1},
        ):
            probe.exchange(transactions.end(commit=True, **fields), version, note=str(list(fields)))
    transactions.describe()
    probe.exchange(transactions.end(commit=False), 3)


@case()
def ends_by_a_fenced_producer(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    probe.exchange(transactions.init(), 4, note="aborts what is open")
    for version in (0, 1, 2, 3):
        probe.exchange(transactions.end(commit=True), version, note="fenced")
    transactions.await_state("CompleteAbort")
    probe.exchange(transactions.init(), 4, note="the next epoch")
    for version in (0, 1, 2, 3):
        probe.exchange(transactions.end(commit=True), version, note="fenced still")
    transactions.describe()
    read_back(probe, topic)


@case(releases=V2)
def ends_of_transactions_v2(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin()
    for commit in (True, False):
        probe.exchange(produce(topic, transactions.records(topic), transactional_id=transactions.id), 12)
        transactions.describe()
        ended = probe.exchange(transactions.end(commit=commit), 5)
        transactions.await_state("CompleteCommit", "CompleteAbort")
        probe.exchange(transactions.end(commit=commit), 5, note="again")
        probe.exchange(transactions.end(commit=not commit), 5, note="the other way")
        probe.exchange(transactions.end(commit=commit), 4, note="again, as of transactions v1")
        transactions.take(ended)
        transactions.describe()
    read_back(probe, topic)


@case(releases=V2)
def ends_of_nothing_in_transactions_v2(probe: Probe) -> None:
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.end(commit=True), 5)
    aborted = probe.exchange(transactions.end(commit=False), 5)
    transactions.await_state("CompleteAbort")
    transactions.describe()
    probe.exchange(transactions.end(commit=False), 5, note="again")
    probe.exchange(transactions.end(commit=True), 5, note="the other way")
    transactions.take(aborted)
    transactions.await_state("CompleteAbort")
    probe.exchange(transactions.end(commit=True), 5, note="with the next epoch")
    transactions.take(probe.exchange(transactions.end(commit=False), 5, note="with the next epoch"))
    transactions.await_state("CompleteAbort")
    transactions.describe()
    transactions.write_log()


@case(releases=V2)
def ends_of_others_in_transactions_v2(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(produce(topic, transactions.records(topic), transactional_id=transactions.id), 12)
    producer_id, epoch = transactions.producer_id, transactions.epoch
    for fields in (
        {"transactional_id": ""},
        {"transactional_id": f"{transactions.id}-none"},
        {"producer_id": producer_id + 1_000_000},
        {"producer_epoch": epoch + 1},
        {"producer_epoch": -1},
        {"producer_id": -1, "producer_epoch": -1},
    ):
        probe.exchange(transactions.end(commit=True, **fields), 5, note=str(list(fields)))
    transactions.take(probe.exchange(transactions.end(commit=True), 5))
    transactions.await_state("CompleteCommit")
    for fields in ({"producer_epoch": epoch - 1}, {"producer_epoch": epoch + 2}, {"producer_id": 1_000_000}):
        probe.exchange(transactions.end(commit=True, **fields), 5, note=f"complete {list(fields)}")


@case(releases=V2)
def versions_of_transactions_by_turns(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin()
    for number, version in enumerate((5, 3, 5, 4, 3, 5)):
        produced = 12 if version == 5 else 9
        if version < 5:
            probe.exchange(transactions.add((topic, 0)), 3, note=f"{number}")
        records = transactions.records(topic)
        probe.exchange(produce(topic, records, transactional_id=transactions.id), produced, note=f"{number}")
        ended = probe.exchange(transactions.end(commit=True), version, note=f"{number}")
        transactions.await_state("CompleteCommit")
        if version == 5:
            transactions.take(ended)
        transactions.describe()
    transactions.write_log()
    read_back(probe, topic)
