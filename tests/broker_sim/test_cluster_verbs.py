from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from broker_sim import ThreadedCluster
from broker_sim.errors import BrokerSimError
from broker_sim.faults.rule import RuleError
from sim_runtime.deadlines import DeadlineExceeded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=2, topics=["orders:1:2"], quick_groups=True) as running:
        yield running


def test_topics_are_changed_and_deleted(cluster: ThreadedCluster) -> None:
    cluster.add_partitions("orders", 2)
    (topic,) = (each for each in cluster.topics() if each.name == "orders")
    assert len(topic.partitions) == 3
    cluster.alter_config({"retention.ms": 1000}, topic="orders")
    cluster.recreate_topic("orders")
    (again,) = (each for each in cluster.topics() if each.name == "orders")
    assert (len(again.partitions), again.id == topic.id) == (3, False)
    assert cluster.call(cluster.cluster.admin.config_of, "topic", "orders") == {"retention.ms": "1000"}
    cluster.alter_config({"retention.ms": None}, topic="orders")
    assert cluster.call(cluster.cluster.admin.config_of, "topic", "orders") == {}
    cluster.delete_topic("orders")
    assert "orders" not in {each.name for each in cluster.topics()}


def test_leaders_are_elected_and_partitions_move(cluster: ThreadedCluster) -> None:
    leader = cluster.leader_of("orders")
    other = 2 if leader == 1 else 1
    cluster.elect_leader("orders", 0, broker_id=other)
    assert cluster.leader_of("orders") == other
    cluster.elect_leader("orders")
    assert cluster.leader_of("orders") == leader
    cluster.reassign("orders", 0, [other])
    assert cluster.wait_for_leader("orders", other_than=leader) == other
    with pytest.raises(BrokerSimError, match="it is the leader"):
        cluster.elect_leader("orders", 0, broker_id=other)
    with pytest.raises(BrokerSimError, match="ghosts"):
        cluster.delete_records("ghosts")


def test_records_are_waited_for(cluster: ThreadedCluster) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0})
    producer.produce("orders", b"one")
    assert [record.value for record in cluster.wait_for_records("orders")] == [b"one"]
    with pytest.raises(DeadlineExceeded, match=r"2 records of orders \(now: 1\)"):
        cluster.wait_for_records("orders", 2, timeout_s=0.01)
    with pytest.raises(BrokerSimError, match="there is no topic 'ordres'; did you mean 'orders'"):
        cluster.wait_for_records("ordres")


def test_a_first_idempotent_producer_does_not_wait_for_producer_ids(cluster: ThreadedCluster) -> None:
    cluster.wait_until_quiet()
    assert isinstance(cluster.call(cluster.cluster.broker(2).producer_ids.generate), int)


def test_clocks_jump_and_drift(cluster: ThreadedCluster) -> None:
    cluster.jump_clock(1, -60_000)
    cluster.drift_clock(2, 500)
    clocks = [cluster.cluster.broker(each).clock for each in (1, 2)]
    assert cluster.call(lambda: clocks[0].now_ms() - clocks[1].now_ms()) < -50_000
    with pytest.raises(BrokerSimError, match="there is no broker 7"):
        cluster.jump_clock(7, 1)


def test_an_action_is_done_when_the_call_returns(cluster: ThreadedCluster) -> None:
    name = cluster.do({"kill": 1})
    assert [each.running for each in cluster.brokers()] == [False, True]
    assert [str(each) for each in cluster.rule_reports()] == [f"rule {name} (kill) has fired 1 time"]
    cluster.do({"restart": 1})
    assert [each.running for each in cluster.brokers()] == [True, True]


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ({"kill": 7}, "there is no broker 7"),
        ({"delay_ms": 5}, "delay_ms acts on requests: add it as a rule"),
        ({"recreate_topic": "ghosts"}, "ghosts"),
        ({"kil": 1}, "did you mean 'kill'"),
        ({"force_rebalance": "ghosts"}, "force_rebalance: "),
    ],
)
def test_an_action_that_is_impossible_is_an_error_and_leaves_no_rule(
    act: dict[str, object], problem: str, cluster: ThreadedCluster
) -> None:
    with pytest.raises((BrokerSimError, RuleError), match=problem):
        cluster.do(act)
    assert cluster.rule_reports() == []


def test_log_directories_fail_and_are_mended(tmp_path: Path) -> None:
    config = {"log.dirs": "a,b"}
    with ThreadedCluster(brokers=1, topics=["orders:4:1"], data_dir=str(tmp_path), config=config) as cluster:
        cluster.slow_fsync(1, 5, topic="orders")
        cluster.fail_log_dir(1)
        failed = [each for each in cluster.events() if each.kind == "LogDirFailed"]
        assert len(failed) == 1
        cluster.mend_log_dir(1)
        reports = cluster.remove_rules()
    assert [each.act for each in reports] == ["slow_fsync", "fail_log_dir", "mend_log_dir"]
