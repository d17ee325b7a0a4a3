"""Defects of transactions, as a read_committed consumer sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client.errors import ProducerError
from tests.client.defects.defect_room import Room, outcome, read, result_of

if TYPE_CHECKING:
    from broker_client.core.producer.producer_core import ProducerCore

BEFORE_V2 = "3.7.2"
"""A release without transaction.version 2."""


def transactional(room: Room, *defects: str, **options: Any) -> ProducerCore:
    producer = room.producer(*defects, transactional_id="t", **options)
    assert result_of(room, producer.transactional.init_transactions()) == "ok"
    return producer


def send(producer: ProducerCore, value: bytes, partition: int = 0) -> Any:
    return producer.send("orders", value, partition=partition)


def committed(room: Room, producer: ProducerCore) -> str:
    return result_of(room, producer.transactional.commit_transaction())


@pytest.mark.parametrize(("defects", "result"), [((), "ProducerFenced"), (("refused-commit-succeeds",), "ok")])
def test_a_refused_commit_is_reported_as_done(defects: tuple[str, ...], result: str) -> None:
    room = Room()
    producer = transactional(room, *defects)
    producer.transactional.begin_transaction()
    send(producer, b"1")
    room.run(500)
    newer = room.producer(host="newer", transactional_id="t")
    assert result_of(room, newer.transactional.init_transactions()) == "ok"
    assert committed(room, producer) == result
    assert read(room) == []


UNKNOWN = {"select": {"api": "EndTxn"}, "times": 1, "act": {"error": "UNKNOWN_SERVER_ERROR"}}


@pytest.mark.parametrize(("defects", "result"), [((), "ProducerError"), (("unknown-error-is-a-commit",), "ok")])
def test_an_unknown_error_is_taken_for_a_commit(defects: tuple[str, ...], result: str) -> None:
    room = Room()
    producer = transactional(room, *defects)
    producer.transactional.begin_transaction()
    send(producer, b"1")
    room.run(500)
    room.rule("unknown", **UNKNOWN)
    assert committed(room, producer) == result
    assert read(room) == []


@pytest.mark.parametrize(("defects", "values"), [((), [b"2"]), (("failed-commit-stays-open",), [b"1", b"2"])])
def test_the_next_transaction_joins_the_failed_one(defects: tuple[str, ...], values: list[bytes]) -> None:
    room = Room()
    producer = transactional(room, *defects)
    producer.transactional.begin_transaction()
    send(producer, b"1")
    room.run(500)
    room.rule("unknown", **UNKNOWN)
    assert committed(room, producer) == "ProducerError"
    aborted = result_of(room, producer.transactional.abort_transaction())
    assert aborted == ("ok" if defects else "TransactionInError")
    try:
        producer.transactional.begin_transaction()
    except ProducerError:
        producer = transactional(room, host="again")
        producer.transactional.begin_transaction()
    send(producer, b"2")
    assert committed(room, producer) == "ok"
    assert read(room) == values


@pytest.mark.parametrize(
    ("defects", "result", "values"),
    [((), "ProducerError", []), (("commits-without-expired-records",), "ok", [b"1"])],
)
def test_a_transaction_is_committed_in_part(defects: tuple[str, ...], result: str, values: list[bytes]) -> None:
    room = Room(brokers=2, topics=["orders:2:1"])
    producer = transactional(room, *defects, request_timeout_ms=2_000, delivery_timeout_ms=3_000)
    room.rule("stall", select={"api": "Produce", "partition": 1}, act="hold")
    producer.transactional.begin_transaction()
    send(producer, b"1", 0)
    expired = send(producer, b"2", 1)
    assert committed(room, producer) == result
    assert outcome(expired) == "BatchExpired"
    assert read(room, partitions=[0, 1]) == values


@pytest.mark.parametrize("release", [BEFORE_V2, "4.3.1"])
@pytest.mark.parametrize(
    ("defects", "result", "values"),
    [((), "TransactionInError", []), (("new-epoch-in-transaction",), "ok", [b"2"])],
)
def test_a_new_epoch_ends_the_transaction(
    defects: tuple[str, ...], result: str, values: list[bytes], release: str
) -> None:
    room = Room(release=release)
    producer = transactional(room, *defects)
    producer.transactional.begin_transaction()
    send(producer, b"1")
    room.run(500)
    room.rule("gap", select={"api": "Produce", "partition": 0}, times=1, act={"error": "OUT_OF_ORDER_SEQUENCE_NUMBER"})
    send(producer, b"2")
    room.run(3_000)
    assert committed(room, producer) == result
    assert read(room) == values


@pytest.mark.parametrize(
    ("defects", "result", "ends"),
    [((), "TransactionInError", 0), (("failed-add-forgets-partitions",), "ok", 0)],
)
def test_a_commit_sends_no_end(defects: tuple[str, ...], result: str, ends: int) -> None:
    room = Room(topics=["orders:2:1"], release=BEFORE_V2)
    producer = transactional(room, *defects, transaction_timeout_ms=5_000)
    producer.transactional.begin_transaction()
    stored = send(producer, b"1", 0)
    room.run(500)
    room.rule("denied", select={"api": "AddPartitionsToTxn"}, times=1, act={"error": "TOPIC_AUTHORIZATION_FAILED"})
    denied = send(producer, b"2", 1)
    room.run(500)
    assert (outcome(stored), outcome(denied) is None) == (0, False)
    assert committed(room, producer) == result
    assert len(room.requests("EndTxn")) == ends
    room.run(30_000)
    assert read(room, partitions=[0, 1]) == []


@pytest.mark.parametrize(("defects", "is_storm"), [((), False), (("no-transaction-backoff",), True)])
def test_concurrent_transactions_are_retried_at_once(defects: tuple[str, ...], *, is_storm: bool) -> None:
    room = Room()
    producer = transactional(room, *defects, max_block_ms=2_000)
    producer.transactional.begin_transaction()
    send(producer, b"1")
    room.run(500)
    room.rule("markers", select={"api": "EndTxn"}, act={"error": "CONCURRENT_TRANSACTIONS"})
    assert committed(room, producer) == "TransactionTimeout"
    assert (len(room.requests("EndTxn")) > 200) is is_storm
    assert is_storm or len(room.requests("EndTxn")) < 30


@pytest.mark.parametrize(("defects", "result"), [((), "ok"), (("partition-stays-pending",), "TransactionInError")])
def test_a_partition_never_joins(defects: tuple[str, ...], result: str) -> None:
    room = Room(topics=["orders:2:1"], release=BEFORE_V2)
    producer = transactional(room, *defects, delivery_timeout_ms=10_000, request_timeout_ms=5_000)
    room.rule("slow", select={"api": "AddPartitionsToTxn"}, act={"delay_ms": 500})
    producer.transactional.begin_transaction()
    send(producer, b"1", 0)
    room.run(200)
    late = send(producer, b"2", 1)
    room.run(20_000)
    assert outcome(late) == (0 if result == "ok" else "BatchExpired")
    assert committed(room, producer) == result


@pytest.mark.parametrize(("defects", "first"), [((), 0), (("assumes-transaction-version-2",), "BrokerError")])
def test_the_second_protocol_below_its_version(defects: tuple[str, ...], first: int | str) -> None:
    room = Room(release=BEFORE_V2)
    producer = transactional(room, *defects)
    producer.transactional.begin_transaction()
    sent = send(producer, b"1")
    room.run(5_000)
    assert outcome(sent) == first


@pytest.mark.parametrize(("defects", "second"), [((), "ok"), (("late-init-cannot-be-repeated",), "IllegalState")])
def test_init_transactions_is_called_again(defects: tuple[str, ...], second: str) -> None:
    room = Room()
    room.rule("slow", select={"api": "InitProducerId"}, phase="before_response", times=1, act={"delay_ms": 2_000})
    producer = room.producer(*defects, transactional_id="t", max_block_ms=1_500)
    room.run(1_000)
    assert result_of(room, producer.transactional.init_transactions()) == "TransactionTimeout"
    assert result_of(room, producer.transactional.init_transactions()) == second


@pytest.mark.parametrize(
    ("defects", "code", "result"),
    [
        ((), "REQUEST_TIMED_OUT", "ok"),
        (("init-timeout-is-fatal",), "REQUEST_TIMED_OUT", "ProducerError"),
        ((), "PRODUCER_FENCED", "ProducerFenced"),
        (("fenced-init-is-retried",), "PRODUCER_FENCED", "ok"),
    ],
)
def test_an_error_of_init_producer_id(defects: tuple[str, ...], code: str, result: str) -> None:
    room = Room()
    room.rule("refuse", select={"api": "InitProducerId"}, times=3, act={"error": code})
    producer = room.producer(*defects, transactional_id="t")
    assert result_of(room, producer.transactional.init_transactions()) == result
