"""The markers of a transaction, with links that are held and coordinators that die."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from protocol_specs.messages.write_txn_markers import WriteTxnMarkersRequest
from tests.broker_sim.coordinators.transactions.transactional_producer import BILLS, ORDERS, TransactionalProducer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


def test_a_reader_waits_for_the_marker_of_its_partition(bench: Callable[..., ApiBench]) -> None:
    # With one replica the coordinator decides by itself while it cannot reach the other brokers.
    api = bench(config={"transaction.state.log.replication.factor": "1"})
    producer = TransactionalProducer(api)
    producer.init()
    producer.add(ORDERS, BILLS)
    producer.send(ORDERS)
    producer.send(BILLS)
    others = [broker_id for broker_id in api.cluster.brokers if broker_id != producer.coordinator]
    for broker_id in others:
        api.cluster.links.link(producer.coordinator, broker_id).hold()
    held = [partition for partition in (ORDERS, BILLS) if producer.leader(partition) in others]
    assert held
    assert producer.end(commit=True).error_code == 0
    api.reactor.run_for(ms=500)
    assert [producer.read(partition) for partition in held] == [[] for _ in held]
    assert producer.state() == "PrepareCommit"
    for broker_id in others:
        api.cluster.links.link(producer.coordinator, broker_id).release()
    api.reactor.run_for(ms=500)
    assert [producer.read(partition) for partition in held] == [[b"v"] for _ in held]
    assert producer.state() == "CompleteCommit"


@pytest.mark.parametrize("commit", [True, False])
def test_another_coordinator_completes_what_was_decided(bench: Callable[..., ApiBench], *, commit: bool) -> None:
    api = bench()
    producer = TransactionalProducer(api)
    producer.init()
    producer.add(ORDERS, BILLS)
    producer.send(ORDERS)
    producer.send(BILLS)
    former = producer.coordinator
    assert producer.end(commit=commit).error_code == 0
    api.cluster.kill(former)  # before it sends a marker
    api.reactor.run_for(ms=60_000)
    assert producer.coordinator != former
    assert producer.state() == ("CompleteCommit" if commit else "CompleteAbort")
    expected = [b"v"] if commit else []
    assert [producer.read(ORDERS), producer.read(BILLS)] == [expected, expected]
    assert producer.add(ORDERS) == 0
    assert producer.end(commit=True).error_code == 0


def test_a_deleted_topic_does_not_keep_a_transaction_open(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    producer = TransactionalProducer(api)
    producer.init()
    producer.add(ORDERS, BILLS)
    producer.send(ORDERS)
    api.cluster.delete_topic("bills")
    api.reactor.run_for(ms=500)
    assert producer.end(commit=True).error_code == 0
    api.reactor.run_for(ms=500)
    assert producer.state() == "CompleteCommit"
    assert producer.read(ORDERS) == [b"v"]


def test_a_marker_goes_to_the_leader_of_the_next_round_and_shares_its_request(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    producer = TransactionalProducer(api)
    producer.init()
    producer.add(ORDERS, BILLS)
    host = api.cluster.broker(producer.coordinator)
    assert host is not None
    channel = host.coordinators.transactions.markers
    sent: list[tuple[int, int]] = []
    call = host.links.call

    def counted(source: int, target: int, request: Any, *arguments: Any, **options: Any) -> None:
        if isinstance(request, WriteTxnMarkersRequest):
            sent.append((target, sum(len(topic.partition_indexes) for topic in request.markers[0].topics)))
        call(source, target, request, *arguments, **options)

    with patch.object(host.links, "call", counted), patch.object(channel, "_route", wraps=channel._route) as route:
        assert producer.end(commit=True).error_code == 0
        api.reactor.run_for(ms=500)
    assert route.call_count == 1
    assert sorted(sent) == sorted(Counter(producer.leader(each) for each in (ORDERS, BILLS)).items())
    assert producer.state() == "CompleteCommit"
