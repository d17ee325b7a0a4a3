"""The events of transactions: states with their reasons and clients, markers, refusals, the last stable offset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.control.events import HighWatermarkAdvanced
from broker_sim.control.transaction_events import FENCED, transaction_event_text, transactions_of
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.broker_sim.apis.transactional_producer import TRANSACTIONAL_ID, TransactionalProducer, transactional_bench

if TYPE_CHECKING:
    from collections.abc import Callable


def lines(api: Any) -> list[str]:
    return [transaction_event_text(event) for event in transactions_of(api.cluster.journal.events)[TRANSACTIONAL_ID]]


def test_a_producer_is_fenced_by_another_one(bench: Callable[..., Any]) -> None:
    api = transactional_bench(bench)
    first, second = TransactionalProducer(api, "first"), TransactionalProducer(api, "second")
    assert first.init() is ErrorCode.NONE
    assert first.send(0) == [ErrorCode.NONE]
    assert second.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    api.settle()
    assert second.init() is ErrorCode.NONE
    assert first.end() is ErrorCode.PRODUCER_FENCED
    assert second.init() is ErrorCode.NONE
    assert lines(api) == [
        "Empty > Empty, producer 0 epoch 0; InitProducerId (client first)",
        "Empty > Ongoing, producer 0 epoch 0, partitions: orders-0",
        f"Ongoing > PrepareAbort, producer 0 epoch 1, partitions: orders-0; {FENCED} (client second)",
        "orders-0 has the abort marker of producer 0 epoch 1",
        "PrepareAbort > CompleteAbort, producer 0 epoch 1",
        "CompleteAbort > Empty, producer 0 epoch 2; InitProducerId (client second)",
        "EndTxn of first, which has producer 0 epoch 0, is refused: PRODUCER_FENCED",
        "Empty > Empty, producer 0 epoch 3; InitProducerId of the same producer (client second)",
    ]


def test_a_transaction_times_out(bench: Callable[..., Any]) -> None:
    api = transactional_bench(bench)
    producer = TransactionalProducer(api, "slow", timeout_ms=1000)
    producer.init()
    producer.send(0)
    api.reactor.run_for(ms=20_000)
    assert lines(api)[2:] == [
        "Ongoing > PrepareAbort, producer 0 epoch 1, partitions: orders-0; the transaction has timed out",
        "orders-0 has the abort marker of producer 0 epoch 1",
        "PrepareAbort > CompleteAbort, producer 0 epoch 1",
    ]


def test_a_marker_of_an_administrator_names_its_client(bench: Callable[..., Any]) -> None:
    api = transactional_bench(bench)
    producer = TransactionalProducer(api, "lost")
    producer.init()
    producer.send(0)
    topics = [WritableTxnMarkerTopic(name="orders", partition_indexes=[0, 7])]
    marker = WritableTxnMarker(
        producer_id=0, producer_epoch=0, transaction_result=False, topics=topics, coordinator_epoch=0
    )
    api.call(WriteTxnMarkersRequest(markers=[marker]), 1, client_id="admin")
    assert sorted(lines(api)[2:]) == [
        "orders-0 has the abort marker of producer 0 epoch 0, sent by client admin",
        "orders-7 refuses the abort marker of producer 0 epoch 0, sent by client admin: UNKNOWN_TOPIC_OR_PARTITION",
    ]


def test_the_last_stable_offset_is_in_the_event_of_the_high_watermark(bench: Callable[..., Any]) -> None:
    api = transactional_bench(bench)
    producer = TransactionalProducer(api, "p")
    producer.init()
    producer.send(0)
    producer.produce(0)
    producer.end()
    api.settle()
    moves = [
        (event.high_watermark, event.last_stable_offset)
        for event in api.cluster.journal.events_of(HighWatermarkAdvanced)
        if event.topic == "orders"
    ]
    assert moves == [(1, 0), (2, 0), (3, 3)]
