from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from broker_scenarios.ledger.judgement import judge_book, read_brokers, wait_until_replicated
from broker_scenarios.served.wire_book import WireBook
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.ledger.ledger_verdict import LedgerVerdict

PATIENCE_S = 20
PROMISES = {"acks": "all", "enable.idempotence": True, "replication.factor": 1, "min.insync.replicas": 1}


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"]) as running:
        yield running


@pytest.fixture
def wire(cluster: ThreadedCluster) -> WireBook:
    book: WireBook = cluster.call(lambda: WireBook(cluster.cluster, ["orders"]))
    return book


def produce(cluster: ThreadedCluster, *values: bytes, **config: object) -> None:
    """Send all values in one batch."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 200, **config})
    for value in values:
        producer.produce("orders", value)
    assert producer.flush(PATIENCE_S) == 0


def outcomes(wire: WireBook) -> list[list[tuple[str, str | None]]]:
    return [[(each.type.value, each.error) for each in send.completions] for send in wire.book.sends]


def judged(cluster: ThreadedCluster, wire: WireBook, **promises: Any) -> LedgerVerdict:
    cluster.call(wait_until_replicated, cluster.cluster, ["orders"], PATIENCE_S * 1000)
    cluster.call(wire.close)
    brokers = cluster.call(read_brokers, cluster.cluster, ("orders",))
    return judge_book(wire.book, brokers, {**PROMISES, **promises}, all_delivered=False, other_producers=False)


def test_acknowledged_records_have_their_places_though_their_contents_are_equal(
    cluster: ThreadedCluster, wire: WireBook
) -> None:
    produce(cluster, b"same", b"same", b"other", acks=1)
    produce(cluster, b"same", acks=1)
    verdict = judged(cluster, wire)
    assert outcomes(wire) == [[("ok", None)]] * 4
    assert [send.acked_place for send in wire.book.sends] == [("orders", 0, offset) for offset in range(4)]
    assert verdict.valid, verdict.text()
    assert (wire.weakest_acks, wire.all_idempotent) == (1, False)


def test_a_batch_that_is_sent_again_after_a_lost_response_is_stored_twice(
    cluster: ThreadedCluster, wire: WireBook
) -> None:
    rule = {"select": {"api": "Produce", "nth": 1}, "phase": "before_response", "act": "disconnect"}
    cluster.add_rule(rule)
    produce(cluster, b"one", b"two")
    verdict = judged(cluster, wire)
    assert outcomes(wire) == [[("ok", None)]] * 2
    assert verdict.duplicated == ["one", "two"]


def test_an_idempotent_producer_sends_the_same_record_again(cluster: ThreadedCluster, wire: WireBook) -> None:
    rule = {"select": {"api": "Produce", "nth": 1}, "phase": "before_response", "act": "disconnect"}
    cluster.add_rule(rule)
    produce(cluster, b"same", b"same", **{"enable.idempotence": True})
    verdict = judged(cluster, wire)
    assert outcomes(wire) == [[("ok", None)]] * 2
    assert verdict.valid, verdict.text()
    assert (wire.weakest_acks, wire.all_idempotent) == (-1, True)


def test_a_refused_record_has_failed() -> None:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"], config={"message.max.bytes": 100}) as cluster:
        wire: WireBook = cluster.call(lambda: WireBook(cluster.cluster, ["orders"]))
        produce(cluster, b"x" * 500)
        judged(cluster, wire)
    assert outcomes(wire) == [[("fail", "MESSAGE_TOO_LARGE")]]
    assert wire.refused == {"MESSAGE_TOO_LARGE": 1}


def test_an_injected_error_after_the_append_does_not_hide_what_the_log_holds(
    cluster: ThreadedCluster, wire: WireBook
) -> None:
    act = {"error": "CORRUPT_MESSAGE"}
    cluster.add_rule({"select": {"api": "Produce", "nth": 1}, "phase": "after_append", "act": act})
    produce(cluster, b"one", retries=0)
    verdict = judged(cluster, wire)
    assert outcomes(wire) == [[("fail", "CORRUPT_MESSAGE, injected by a rule")]]
    assert [each.name for each in verdict.judged.findings] == ["failed-but-stored"]


def test_an_error_that_can_follow_an_append_leaves_the_outcome_unknown(
    cluster: ThreadedCluster, wire: WireBook
) -> None:
    act = {"error": "UNKNOWN_SERVER_ERROR"}
    cluster.add_rule({"select": {"api": "Produce", "nth": 1}, "phase": "after_append", "act": act})
    produce(cluster, b"one", retries=0)
    verdict = judged(cluster, wire)
    assert outcomes(wire) == [[("info", "UNKNOWN_SERVER_ERROR, injected by a rule")]]
    assert [each.name for each in verdict.judged.findings] == ["recovered"]


def test_an_injected_error_that_the_producer_retries_is_no_outcome(cluster: ThreadedCluster, wire: WireBook) -> None:
    cluster.add_rule({"select": {"api": "Produce", "nth": 1}, "act": {"error": "NOT_LEADER_OR_FOLLOWER"}})
    produce(cluster, b"one", b"two")
    verdict = judged(cluster, wire)
    assert outcomes(wire) == [[("ok", None)]] * 2
    assert verdict.valid, verdict.text()
    assert wire.injected == {"NOT_LEADER_OR_FOLLOWER": 1}


def test_a_record_without_a_response_of_a_broker_is_unknown(cluster: ThreadedCluster, wire: WireBook) -> None:
    cluster.add_rule({"select": {"api": "Produce", "nth": 1}, "phase": "before_response", "act": "disconnect"})
    produce(cluster, b"lost response", retries=0)
    cluster.add_rule({"select": {"api": "Produce", "nth": 1}, "act": {"error": "CORRUPT_MESSAGE"}})
    produce(cluster, b"injected", retries=0)
    judged(cluster, wire)
    assert outcomes(wire) == [
        [("info", "no response was written")],
        [("fail", "CORRUPT_MESSAGE, injected by a rule")],
    ]
    assert (wire.refused, wire.injected) == ({}, {"CORRUPT_MESSAGE": 1})


def test_records_without_acknowledgements_are_complete_at_once(cluster: ThreadedCluster, wire: WireBook) -> None:
    produce(cluster, b"sent", acks=0)
    cluster.wait_until_quiet()
    assert outcomes(wire) == [[("ok", None)]]
    assert wire.weakest_acks == 0


def test_records_of_a_transaction_end_with_it(cluster: ThreadedCluster, wire: WireBook) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "t"})
    producer.init_transactions(PATIENCE_S)
    for value, end in ((b"kept", producer.commit_transaction), (b"gone", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce("orders", value)
        assert producer.flush(PATIENCE_S) == 0
        end(PATIENCE_S)
    verdict = judged(cluster, wire)
    ends = [each.end.type.value for each in wire.book.transactions if each.end is not None]
    assert ends == ["ok", "fail"]
    assert verdict.valid, verdict.text()
