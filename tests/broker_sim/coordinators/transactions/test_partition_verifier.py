from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.coordinators.transactions.partition_verifier import PartitionVerifier
from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
from broker_sim.links.node_links import LinkFailure
from broker_sim.topic_partition import TopicPartition
from protocol_specs import releases
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ORDERS = TopicPartition("orders", 0)


class Coordinator:
    """A coordinator whose requests are kept until the test responds."""

    def __init__(self, *, leader: int | None = 2, release: str = "4.3.1") -> None:
        self.requests: list[tuple[Any, Callable[..., Any], Callable[..., Any]]] = []
        registration = None if leader is None else SimpleNamespace(leader=leader)
        image = SimpleNamespace(partition=lambda *_: registration, is_active=lambda _: True)
        host: Any = SimpleNamespace(
            id=1,
            links=SimpleNamespace(call=self._call),
            metadata_cache=SimpleNamespace(image=image),
            protocol=releases.get(release),
        )
        self.verifier = PartitionVerifier(host, lambda _: 0)

    def _call(self, _source: int, _target: int, request: Any, *callbacks: Callable[..., Any], version: int) -> None:
        assert version >= 4
        on_response, on_failure = callbacks
        self.requests.append((request, on_response, on_failure))

    def verify(self, transactional_id: str = "t", epoch: int = 0) -> list[Any]:
        found: list[Any] = []
        producer = ProducerIdAndEpoch(7, epoch)
        self.verifier.verify(transactional_id, producer, [ORDERS], found.append, adds=False)
        return found

    def respond(self, error_code: ErrorCode = ErrorCode.NONE, *, top_level: ErrorCode = ErrorCode.NONE) -> None:
        request, on_response, _ = self.requests[-1]
        result = AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=error_code)
        topics = [AddPartitionsToTxnTopicResult(name="orders", results_by_partition=[result])]
        response = AddPartitionsToTxnResponse(
            error_code=top_level,
            results_by_transaction=[
                AddPartitionsToTxnResult(transactional_id=each.transactional_id, topic_results=topics)
                for each in request.transactions
            ],
        )
        on_response(response, 0)


@pytest.mark.parametrize(
    ("error_code", "expected"),
    [
        (ErrorCode.NONE, {}),
        (ErrorCode.TRANSACTION_ABORTABLE, {ORDERS: ErrorCode.TRANSACTION_ABORTABLE}),
        (ErrorCode.PRODUCER_FENCED, {ORDERS: ErrorCode.INVALID_PRODUCER_EPOCH}),
    ],
)
def test_the_partitions_that_are_not_in_the_transaction_are_returned(error_code: ErrorCode, expected: Any) -> None:
    coordinator = Coordinator()
    found = coordinator.verify()
    coordinator.respond(error_code)
    assert found == [expected]


def test_a_refused_broker_writes_nothing() -> None:
    coordinator = Coordinator()
    found = coordinator.verify()
    coordinator.respond(top_level=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert found == [{ORDERS: ErrorCode.INVALID_TXN_STATE}]


def test_without_a_coordinator_the_producer_tries_again() -> None:
    assert Coordinator(leader=None).verify() == [{ORDERS: ErrorCode.COORDINATOR_NOT_AVAILABLE}]


def test_a_lost_connection_is_a_network_error() -> None:
    coordinator = Coordinator()
    found = coordinator.verify()
    _, _, on_failure = coordinator.requests[0]
    on_failure(LinkFailure("gone"), 0)
    assert found == [{ORDERS: ErrorCode.NETWORK_EXCEPTION}]


def test_transactions_wait_while_a_request_is_in_flight_and_are_sent_together() -> None:
    coordinator = Coordinator()
    coordinator.verify()
    waiting = [coordinator.verify("a"), coordinator.verify("b")]
    assert len(coordinator.requests) == 1
    coordinator.respond()
    assert [each.transactional_id for each in coordinator.requests[1][0].transactions] == ["a", "b"]
    coordinator.respond()
    assert waiting == [[{}], [{}]]


def test_of_one_transactional_id_the_newest_epoch_waits() -> None:
    coordinator = Coordinator()
    coordinator.verify("in flight")
    first, second, third, late = (coordinator.verify(epoch=epoch) for epoch in (1, 1, 2, 0))
    assert first == [{ORDERS: ErrorCode.NETWORK_EXCEPTION}]
    assert second == [{ORDERS: ErrorCode.INVALID_PRODUCER_EPOCH}]
    assert late == [{ORDERS: ErrorCode.INVALID_PRODUCER_EPOCH}]
    coordinator.respond()
    coordinator.respond()
    assert third == [{}]


def test_a_coordinator_that_cannot_verify_allows_everything() -> None:
    coordinator = Coordinator(release="3.5.2")
    found = coordinator.verify()
    assert (found, coordinator.requests) == ([{}], [])


def test_a_stopped_broker_sends_nothing() -> None:
    coordinator = Coordinator()
    coordinator.verifier.stop()
    assert (coordinator.verify(), coordinator.requests) == ([], [])
