"""Requests of a former transaction that arrive late: the anomalies of transactions v1, and how later versions end them.

A late EndTxn decides the next transaction of the same epoch (KAFKA-17754). A late Produce opens a transaction that no
coordinator ends, and that holds the last stable offset back for ever (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from protocol_specs.messages.end_txn import EndTxnRequest
from tests.broker_sim.coordinators.transactions.transactional_producer import BILLS, ORDERS, TransactionalProducer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


def commit_of(producer: TransactionalProducer) -> EndTxnRequest:
    """The EndTxn of the present transaction, which the network delays: the producer has sent it again."""
    return EndTxnRequest(
        transactional_id=producer.id, producer_id=producer.producer_id, producer_epoch=producer.epoch, committed=True
    )


@pytest.mark.parametrize("release", ["2.8", "3.7", "4.3.1"])
def test_a_late_commit_decides_the_next_transaction_of_v1(bench: Callable[..., ApiBench], release: str) -> None:
    api = bench(release=release)
    producer = TransactionalProducer(api)
    producer.init()
    producer.add(ORDERS)
    producer.send(ORDERS, b"first")
    late = commit_of(producer)
    producer.end(commit=True)
    api.reactor.run_for(ms=500)
    producer.add(ORDERS)
    producer.send(ORDERS, b"second")
    assert api.exchange(late, 3 if release != "2.8" else 2, broker_id=producer.coordinator).error_code == 0
    api.reactor.run_for(ms=500)
    assert producer.end(commit=False).error_code == 48
    assert producer.read(ORDERS) == [b"first", b"second"]  # although the producer has aborted it


def test_transactions_v2_fence_a_late_commit(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    producer = TransactionalProducer(api)
    producer.init()
    producer.send(ORDERS, b"first", version=12)
    late = commit_of(producer)
    producer.end(commit=True, version=5)
    api.reactor.run_for(ms=500)
    producer.send(ORDERS, b"second", version=12)
    assert api.exchange(late, 5, broker_id=producer.coordinator).error_code == 90
    assert producer.end(commit=False, version=5).error_code == 0
    api.reactor.run_for(ms=500)
    assert producer.read(ORDERS) == [b"first"]


def last_stable(producer: TransactionalProducer) -> tuple[int, int]:
    """The last stable offset of ORDERS, and its high watermark."""
    log = producer.api.cluster.brokers[producer.leader(ORDERS)].replica_manager.partitions[ORDERS].log
    return log.last_stable_offset, log.high_watermark


def after_the_abort(bench: Callable[..., ApiBench], *, release: str, version: int, ends: int, **options: Any) -> Any:
    """Send a record of a transaction after it was aborted; return the producer and the error."""
    api = bench(release=release, **options)
    producer = TransactionalProducer(api)
    producer.init()
    if version < 12:
        producer.add(ORDERS, BILLS)
    producer.send(BILLS, version=version)
    epoch = producer.epoch
    producer.end(commit=False, version=ends)
    api.reactor.run_for(ms=500)
    producer.epoch = epoch  # the request was on its way before the end
    return producer, producer.send(ORDERS, b"late", version=version)


@pytest.mark.parametrize("release", ["2.8", "3.5"])
def test_a_late_record_holds_the_last_stable_offset_before_3_6(bench: Callable[..., ApiBench], release: str) -> None:
    producer, error = after_the_abort(bench, release=release, version=9, ends=3)
    assert error == 0
    api = producer.api
    api.reactor.run_for(ms=30 * 60 * 1000)
    other = TransactionalProducer(api, "other")
    other.init()
    other.add(ORDERS)
    other.send(ORDERS, b"behind")
    other.end(commit=True)
    api.reactor.run_for(ms=1000)
    offset, high_watermark = last_stable(producer)
    assert offset < high_watermark
    assert producer.state() == "CompleteAbort"
    assert producer.read(ORDERS) == []  # the committed record waits behind the late one


@pytest.mark.parametrize(("release", "version", "ends"), [("3.7", 9, 3), ("4.3.1", 9, 3), ("4.3.1", 12, 5)])
def test_a_late_record_is_refused_since_transactions_are_verified(
    bench: Callable[..., ApiBench], release: str, version: int, ends: int
) -> None:
    producer, error = after_the_abort(bench, release=release, version=version, ends=ends)
    assert error == (47 if version >= 12 else 48)
    offset, high_watermark = last_stable(producer)
    assert offset == high_watermark


def test_without_verification_a_late_record_is_taken(bench: Callable[..., ApiBench]) -> None:
    unverified = {"transaction.partition.verification.enable": "false"}
    _, error = after_the_abort(bench, release="4.3.1", version=9, ends=3, config=unverified)
    assert error == 0
