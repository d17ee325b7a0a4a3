"""AddPartitionsToTxn, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.case import case
from tests.differential.requests import produce
from tests.differential.transaction_requests import STATE_TOPIC, Transactions, batched

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case()
def partitions_in_every_version(probe: Probe) -> None:
    topic, other = probe.topic(partitions=4), probe.topic("u", partitions=2)
    transactions = Transactions(probe)
    transactions.begin()
    for version in range(4):
        probe.exchange(transactions.add((topic, version)), version)
        probe.exchange(transactions.add((topic, version)), version, note="again")
        probe.exchange(transactions.add((topic, 3), (other, 1), (topic, 0), (other, 0)), version, note="several")
        transactions.describe()
    transactions.ended(commit=True)
    transactions.describe()
    transactions.write_log()


@case()
def partitions_that_are_wrong(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    transactions = Transactions(probe)
    transactions.begin()
    for version in range(4):
        for partitions in (
            [],
            [(topic, 2)],
            [(topic, -1)],
            [("unknown", 0)],
            [(topic, 0), ("unknown", 0), (topic, 1)],
            [(topic, 0), (topic, 5)],
            [("", 0)],
            [(topic, 0), (topic, 0)],
            [("__consumer_offsets", 999)],
        ):
            probe.exchange(transactions.add(*partitions), version, note=str([index for _, index in partitions]))
    probe.exchange(transactions.add((STATE_TOPIC, 0)), 3, note="an internal topic")
    transactions.describe()


@case()
def producers_that_are_wrong(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin()
    for version in range(4):
        for fields in (
            {"v3_and_below_transactional_id": ""},
            {"v3_and_below_transactional_id": f"{transactions.id}-none"},
            {"v3_and_below_producer_id": 1_000_000},
            {"v3_and_below_producer_id": -1},
            {"v3_and_below_producer_epoch": transactions.epoch + 1},
            {"v3_and_below_producer_epoch": transactions.epoch - 1},
            {"v3_and_below_producer_id": 1_000_000, "v3_and_below_producer_epoch": transactions.epoch + 1},
        ):
            probe.exchange(transactions.add((topic, 0), **fields), version, note=str(list(fields)))
            probe.exchange(transactions.add(("unknown", 0), **fields), version, note=f"unknown {list(fields)}")
    transactions.describe()


@case()
def partitions_after_the_end(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    for commit in (True, False):
        transactions.ended(commit=commit)
        probe.exchange(transactions.add((topic, 1)), 3)
        transactions.describe()
    transactions.ended(commit=False)
    probe.exchange(transactions.init(), 4)
    probe.exchange(transactions.add((topic, 1)), 3, note="fenced")
    probe.exchange(transactions.add((topic, 1)), 1, note="fenced")


@case()
def transactions_that_a_broker_verifies(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    first, second = Transactions(probe), Transactions(probe, "u")
    first.started((topic, 0), (topic, 1))
    second.begin()
    for version in (4, 5) if probe.release == "4.3.1" else (4,):
        for transactions in (first, second):
            probe.exchange(batched(transactions.verify((topic, 0), (topic, 2))), version)
            for fields in (
                {"transactional_id": ""},
                {"transactional_id": f"{transactions.id}-none"},
                {"producer_id": 1_000_000},
                {"producer_epoch": transactions.epoch + 1},
                {"producer_epoch": transactions.epoch - 1},
            ):
                probe.exchange(batched(transactions.verify((topic, 0), **fields)), version, note=str(list(fields)))
        probe.exchange(batched(first.verify((topic, 7), (topic, 0))), version, note="an unknown partition")
        probe.exchange(batched(first.verify(("unknown", 0))), version, note="an unknown topic")
        probe.exchange(batched(first.verify((topic, 0)), second.verify((topic, 1))), version, note="two")
        probe.expect_silence(batched(), version, on=probe.connect(), note="none")
        probe.exchange(batched(first.verify()), version, note="no partitions")


@case()
def transactions_that_a_broker_adds(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    first, second = Transactions(probe), Transactions(probe, "u")
    first.begin()
    second.begin()
    version = 5 if probe.release == "4.3.1" else 4
    probe.exchange(batched(first.verify((topic, 0), verify_only=False)), version)
    added = batched(first.verify((topic, 1), verify_only=False), second.verify((topic, 1), (topic, 2)))
    probe.exchange(added, version, note="adds one, verifies the other")
    probe.exchange(batched(second.verify(("unknown", 0), (topic, 0), verify_only=False)), version, note="unknown")
    probe.exchange(batched(second.verify((topic, 0), producer_epoch=9, verify_only=False)), version, note="fenced")
    first.describe()
    second.describe()
    first.write_log()
    request = produce(topic, first.records(topic), transactional_id=first.id)
    probe.exchange(request, 9, note="to a partition that a broker has added")
    first.ended(commit=True)
