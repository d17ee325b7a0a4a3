"""Transactions from the first request to the end, on virtual time."""

from __future__ import annotations

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
