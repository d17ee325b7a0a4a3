"""Fault rules on the markers that a transaction coordinator sends to the leaders of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.control.events import TransactionMarkerWritten
from broker_sim.faults.grammar import parse_rule
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_transactions import DescribeTransactionsRequest
from tests.broker_sim.apis.transactional_producer import (
    TRANSACTIONAL_ID,
    TransactionalProducer,
    coordinator_of,
    transactional_bench,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SELECT = {"api": "WriteTxnMarkers", "replica": "any", "broker": "leader of orders-1", "producer_id": 0}


def state(api: Any) -> str:
    request = DescribeTransactionsRequest(transactional_ids=[TRANSACTIONAL_ID])
    [described] = api.exchange(request, 0, broker_id=coordinator_of(api)).transaction_states
    return str(described.transaction_state)


def markers(api: Any) -> list[str]:
    return [f"{event.topic}-{event.partition}" for event in api.cluster.journal.events_of(TransactionMarkerWritten)]


def commit(bench: Callable[..., Any], act: Any, **rule: Any) -> Any:
    """Commit a transaction on two brokers under a rule."""
    api = transactional_bench(bench, brokers=2)
    select = SELECT | rule.pop("select", {})
    api.cluster.faults.add(parse_rule({"name": "rule", "select": select, "act": act, **rule}))
    producer = TransactionalProducer(api, "p")
    assert producer.init() is ErrorCode.NONE
    assert producer.send(0, 1) == [ErrorCode.NONE] * 2
    assert producer.end() is ErrorCode.NONE
    api.settle()
    return api


def test_a_marker_is_held(bench: Callable[..., Any]) -> None:
    api = commit(bench, "hold", select={"producer_epoch": 0})
    assert (markers(api), state(api)) == (["orders-0"], "PrepareCommit")
    assert api.cluster.log_of(api.cluster.leader_of("orders", 1), "orders", 1).last_stable_offset == 0
    assert api.cluster.faults.release("rule") == 1
    api.settle()
    assert (markers(api), state(api)) == (["orders-0", "orders-1"], "CompleteCommit")


def test_a_marker_is_late(bench: Callable[..., Any]) -> None:
    api = commit(bench, {"delay_ms": 500})
    api.reactor.run_for(ms=480)
    assert state(api) == "PrepareCommit"
    api.reactor.run_for(ms=20)
    assert (markers(api), state(api)) == (["orders-0", "orders-1"], "CompleteCommit")


@pytest.mark.parametrize(
    ("act", "phase", "written"),
    [
        ("disconnect", "before_append", ["orders-0", "orders-1"]),
        ("disconnect", "before_response", ["orders-0", "orders-1", "orders-1"]),
        ({"error": "NOT_LEADER_OR_FOLLOWER"}, "before_append", ["orders-0", "orders-1"]),
        ("drop_response", "before_response", ["orders-0", "orders-1", "orders-1"]),
    ],
)
def test_a_lost_marker_is_sent_again(bench: Callable[..., Any], act: Any, phase: str, written: list[str]) -> None:
    api = commit(bench, act, phase=phase, times=1)
    assert state(api) == "PrepareCommit"
    api.reactor.run_for(ms=31_000)
    assert (markers(api), state(api)) == (written, "CompleteCommit")


def test_the_marker_of_another_producer_goes_on(bench: Callable[..., Any]) -> None:
    api = commit(bench, "hold", select={"producer_id": [1, 2]}, optional=True)
    assert (markers(api), state(api)) == (["orders-0", "orders-1"], "CompleteCommit")
    [report] = api.cluster.faults.reports()
    assert report.fired == 0
