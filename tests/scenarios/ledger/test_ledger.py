from __future__ import annotations

import json
import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from broker_client import Producer
from broker_scenarios.cli import main
from broker_scenarios.errors import ScenarioError
from broker_scenarios.ledger import Ledger, LedgerViolation
from broker_sim import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def shared() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, topics=["orders:2:1"]) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared: ThreadedCluster) -> ThreadedCluster:
    shared.reset()
    return shared


@contextmanager
def producing(cluster: ThreadedCluster, ledger: Ledger, **options: Any) -> Iterator[Any]:
    """A function that sends a value to partition 0, waits for it, and hands it in."""
    with Producer(bootstrap_servers=cluster.bootstrap_servers, **options) as producer:

        def send(value: str, key: str | None = None) -> int:
            record = ledger.sent(value, key=key)
            given = None if key is None else key.encode()
            metadata = producer.send("orders", value.encode(), given, partition=0).result(10)
            ledger.acked(record, partition=metadata.partition, offset=metadata.offset)
            return metadata.offset

        yield send


def test_a_ledger_of_what_is_stored_and_consumed_is_valid(cluster: ThreadedCluster) -> None:
    ledger = Ledger(cluster, "orders")
    with producing(cluster, ledger) as send:
        for value in ("one", "two", "two"):
            ledger.consumed(value, key="k", partition=0, offset=send(value, "k"))
    verdict = ledger.check()
    assert verdict.valid
    assert [verdict.lost, verdict.duplicated, verdict.reordered, verdict.undelivered] == [[], [], [], []]


def test_an_acknowledged_record_that_no_log_holds_is_lost(cluster: ThreadedCluster) -> None:
    ledger = Ledger(cluster, "orders")
    with producing(cluster, ledger) as send:
        send("stored")
    ledger.acked(ledger.sent("never sent"), partition=0, offset=1)
    ledger.acked(ledger.sent("without a place"))
    with pytest.raises(LedgerViolation) as caught:
        ledger.check()
    assert caught.value.verdict.lost == ["never sent", "without a place"]
    text = str(caught.value)
    assert text.startswith("ledger of orders: 2 lost\nbroken: ")
    assert "orders-0: never sent: offset 1, missing in the log: no truncation and no election explains it" in text


def test_equal_records_are_distinguished_by_their_offsets(cluster: ThreadedCluster) -> None:
    ledger = Ledger(cluster, "orders")
    with producing(cluster, ledger) as send:
        send("same")
        send("same")
    ledger.acked(ledger.sent("same"), partition=0, offset=2)
    assert ledger.verdict().lost == ["same#3"]


def test_a_copy_is_explained_by_the_rule_on_its_first_request(cluster: ThreadedCluster) -> None:
    cluster.add_rule(
        {"name": "lose", "select": {"api": "Produce", "nth": 1}, "phase": "before_response", "act": "disconnect"}
    )
    ledger = Ledger(cluster, "orders")
    with producing(cluster, ledger, enable_idempotence=False) as send:
        send("one")
    with pytest.raises(LedgerViolation, match="1 duplicated") as caught:
        ledger.check()
    lines = [line.strip() for line in str(caught.value).splitlines() if line.strip().startswith("journal ")]
    events = [json.loads(line.removeprefix("journal ")) for line in lines]
    assert [event["kind"] for event in events] == ["BatchAppended", "RuleFired", "BatchAppended"]
    assert events[1]["rule"] == "lose"

    permitted = Ledger(cluster, "orders", promises={"enable.idempotence": False})
    permitted.acked(permitted.sent("one", partition=0), partition=0, offset=1)
    assert permitted.check().judged.found("duplicate")[0].allowed is not None


def test_records_out_of_their_order_are_reordered(cluster: ThreadedCluster) -> None:
    ledger = Ledger(cluster, "orders")
    first = ledger.sent("first", partition=0)
    with producing(cluster, ledger) as send:
        second = send("second")
    with producing(cluster, Ledger(cluster, "orders")) as send:
        ledger.acked(first, partition=0, offset=send("first"))
    assert second == 0
    with pytest.raises(LedgerViolation, match="1 reordered") as caught:
        ledger.check()
    assert len(caught.value.verdict.reordered) == 1


def test_a_stored_record_that_no_consumer_received_is_not_delivered(cluster: ThreadedCluster) -> None:
    produced = Ledger(cluster, "orders")
    with producing(cluster, produced) as send:
        send("one")
        send("two")
    consumed = Ledger(cluster, "orders")
    consumed.consumed("one", partition=0, offset=0)
    with pytest.raises(LedgerViolation, match="1 never delivered") as caught:
        consumed.check()
    assert caught.value.verdict.undelivered == ["two"]
    consumed.check(all_delivered=False)
    produced.check()


def test_a_record_that_differs_from_the_stored_one_is_found(cluster: ThreadedCluster) -> None:
    ledger = Ledger(cluster, "orders")
    with producing(cluster, ledger) as send:
        offset = send("one")
    ledger.consumed("won", partition=0, offset=offset)
    assert {each.name for each in ledger.verdict().judged.findings} >= {"misdelivered", "inconsistent-offsets"}


def test_a_record_of_another_producer_is_expected_if_the_ledger_states_it(cluster: ThreadedCluster) -> None:
    with producing(cluster, Ledger(cluster, "orders")) as send:
        send("foreign")
    ledgers = [Ledger(cluster, "orders"), Ledger(cluster, "orders", other_producers=True)]
    for number, ledger in enumerate(ledgers):
        with producing(cluster, ledger) as send:
            send(f"own {number}")
    strict, lenient = ledgers
    lenient.check()
    assert [each.name for each in strict.verdict().judged.findings if each.allowed is None] == ["misdelivered"] * 2


def test_an_unknown_outcome_is_permitted_and_a_missing_one_is_not_judged(cluster: ThreadedCluster) -> None:
    ledger = Ledger(cluster, "orders")
    with producing(cluster, ledger) as send:
        send("one")
    ledger.failed(ledger.sent("two"), "timed out")
    ledger.check()
    ledger.sent("three")
    with pytest.raises(LedgerViolation, match=r"1 send open at the end, before delivery\.timeout\.ms"):
        ledger.check()


def test_a_ledger_without_entries_is_not_valid(cluster: ThreadedCluster) -> None:
    with pytest.raises(LedgerViolation, match="no record was acknowledged or consumed: nothing was tested"):
        Ledger(cluster, "orders").check()


def test_a_ledger_is_judged_again_by_the_command(
    cluster: ThreadedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = Ledger(cluster, "orders")
    with producing(cluster, ledger) as send:
        send("one")
    ledger.acked(ledger.sent("two"), partition=0, offset=1)
    assert main(shlex.split(ledger.verdict().write(tmp_path))[1:]) == 1
    assert "lost-write (1)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("topics", "promises", "problem"),
    [
        ((), None, "a ledger needs the name of a topic"),
        (("orders",), {"ack": "1"}, "'ack' is no promise; did you mean 'acks'"),
        (("orders",), {"acks": "2"}, "acks='2': expected all, -1, 0 or 1"),
    ],
)
def test_a_ledger_that_cannot_be_is_refused(
    cluster: ThreadedCluster, topics: tuple[str, ...], promises: dict[str, str] | None, problem: str
) -> None:
    with pytest.raises(ScenarioError, match=problem):
        Ledger(cluster, *topics, promises=promises)


def test_unknown_topics_are_refused_by_name(cluster: ThreadedCluster) -> None:
    ledger = Ledger(cluster, "order", "payments")
    with pytest.raises(ScenarioError, match="topic=None: expected one of the ledger's topics, order, payments"):
        ledger.sent("one")
    with pytest.raises(ScenarioError, match="there is no such topic; did you mean 'orders'"):
        ledger.check()


def test_a_loss_with_the_leader_is_explained_by_the_journal() -> None:
    with ThreadedCluster(brokers=2, topics=["orders:1:2"], quick_failover=True) as cluster:
        ledgers = [Ledger(cluster, "orders"), Ledger(cluster, "orders", promises={"acks": "1"})]
        leader = cluster.leader_of("orders")
        assert leader is not None
        follower = 3 - leader
        for source, target in ((leader, follower), (follower, leader)):
            cluster.cut_link(source, target)
        with Producer(bootstrap_servers=cluster.bootstrap_servers, acks="1") as producer:
            records = [ledger.sent("one", partition=0) for ledger in ledgers]
            offset = producer.send("orders", b"one").result(10).offset
            for ledger, record in zip(ledgers, records, strict=True):
                ledger.acked(record, partition=0, offset=offset)
        cluster.kill(leader)
        for source, target in ((leader, follower), (follower, leader)):
            cluster.restore_link(source, target)
        assert cluster.wait_for_leader("orders") == follower
        cluster.restart(leader)
        cluster.wait_for_isr("orders")
        with pytest.raises(LedgerViolation, match=f"broker {leader} rejoined behind leader {follower}") as caught:
            ledgers[0].check()
        assert "LogTruncated" in str(caught.value)
        [loss] = ledgers[1].check().judged.found("lost-write")
        assert loss.allowed == "acks=1: the leader confirms alone; what its followers had not fetched is lost with it"
