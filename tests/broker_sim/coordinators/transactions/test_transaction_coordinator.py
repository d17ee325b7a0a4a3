"""Transactions from the first request to the end, on virtual time."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import pytest

from tests.broker_sim.coordinators.transactions.transactional_producer import BILLS, ORDERS, TransactionalProducer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


RELEASES = ("0.11", "2.4", "2.8", "3.5", "3.7", "4.0", "4.3.1")
SOON = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}


@pytest.mark.parametrize("release", RELEASES)
def test_a_commit_is_read_and_an_abort_is_not(bench: Callable[..., ApiBench], release: str) -> None:
    producer = TransactionalProducer(bench(release=release))
    producer.init()
    for commit in (True, False, True):
        assert producer.add(ORDERS, BILLS) == 0
        assert [producer.send(partition, str(commit).encode()) for partition in (ORDERS, BILLS)] == [0, 0]
        assert producer.end(commit=commit).error_code == 0
    producer.api.reactor.run_for(ms=1000)
    for partition in (ORDERS, BILLS):
        assert producer.read(partition) == [b"True", b"True"]
        assert producer.read(partition, committed=False) == [b"True", b"False", b"True"]
    assert producer.state() == "CompleteCommit"


@pytest.mark.parametrize("release", ["2.8", "3.7", "4.3.1"])
def test_a_new_producer_aborts_and_fences_the_one_before(bench: Callable[..., ApiBench], release: str) -> None:
    api = bench(release=release)
    zombie, successor = TransactionalProducer(api), TransactionalProducer(api)
    zombie.init()
    zombie.add(ORDERS)
    zombie.send(ORDERS, b"zombie")
    successor.init()
    assert (successor.producer_id, successor.epoch) == (zombie.producer_id, zombie.epoch + 2)
    assert zombie.end(commit=True).error_code == 90
    assert zombie.send(ORDERS, b"late") != 0
    assert successor.read(ORDERS) == []
    assert successor.read(ORDERS, committed=False) == [b"zombie"]


@pytest.mark.parametrize("release", ["2.8", "3.7", "4.3.1"])
def test_a_transaction_that_takes_too_long_is_aborted(bench: Callable[..., ApiBench], release: str) -> None:
    producer = TransactionalProducer(bench(release=release, config=SOON))
    producer.init(timeout_ms=5000)
    producer.add(ORDERS)
    producer.send(ORDERS)
    producer.api.reactor.run_for(ms=4000)
    assert producer.state() == "Ongoing"
    producer.api.reactor.run_for(ms=3000)
    assert producer.state() == "CompleteAbort"
    assert producer.end(commit=True).error_code in (47, 90)
    assert producer.read(ORDERS) == []


@pytest.mark.parametrize(("add", "end", "read"), [(True, 3, [b"first", b"open"]), (False, 5, [b"first"])])
def test_a_late_end_ends_the_next_transaction_only_in_v1(
    bench: Callable[..., ApiBench], *, add: bool, end: int, read: list[bytes]
) -> None:
    """KAFKA-17754: a copy of EndTxn that the network has kept; transactions v2 have an epoch each."""
    producer = TransactionalProducer(bench())
    producer.init()
    for value in (b"first", b"open"):
        if add:
            assert producer.add(ORDERS) == 0
        assert producer.send(ORDERS, value, version=9 if add else 12) == 0
        if value == b"first":
            late = copy(producer)
            assert producer.end(commit=True, version=end).error_code == 0
    assert late.end(commit=True, version=end).error_code == (0 if add else 90)
    producer.api.reactor.run_for(ms=1000)
    assert producer.read(ORDERS) == read


@pytest.mark.parametrize(("release", "error"), [("2.8", 0), ("3.5", 0), ("3.7", 48), ("4.3.1", 48)])
def test_a_late_record_begins_a_transaction_that_never_ends_before_verification(
    bench: Callable[..., ApiBench], release: str, error: int
) -> None:
    """KIP-890: a record that comes after the end of its transaction holds back the last stable offset."""
    producer = TransactionalProducer(bench(release=release, config=SOON))
    producer.init(timeout_ms=5000)
    producer.add(ORDERS)
    producer.send(ORDERS, b"first")
    producer.end(commit=True)
    producer.api.reactor.run_for(ms=1000)
    assert producer.send(ORDERS, b"late") == error
    producer.api.reactor.run_for(ms=20_000)
    other = TransactionalProducer(producer.api, "other")
    other.init()
    other.add(ORDERS)
    other.send(ORDERS, b"second")
    other.end(commit=True)
    producer.api.reactor.run_for(ms=1000)
    assert producer.read(ORDERS) == ([b"first", b"second"] if error else [b"first"])


def test_an_unused_id_expires(bench: Callable[..., ApiBench]) -> None:
    expiring = {
        "transactional.id.expiration.ms": "60000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "10000",
    }
    api = bench(config=expiring)
    producer, busy = TransactionalProducer(api), TransactionalProducer(api, "busy")
    producer.init()
    busy.init()
    busy.add(ORDERS)
    api.reactor.run_for(ms=80_000)
    first_id = producer.producer_id
    assert busy.state() in ("Ongoing", "CompleteAbort")
    assert producer.add(ORDERS) == 49
    producer.init()
    assert (producer.producer_id != first_id, producer.epoch) == (True, 0)
