from __future__ import annotations

import re
import socket
import struct
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_client import Producer
from broker_sim import log_bridge
from broker_sim.control.events import BrokerKilled, BrokerStopped, LinkChanged
from broker_sim.errors import BrokerSimError, ConfigError
from broker_sim.faults.rule import RuleError
from broker_sim.threaded_cluster import ThreadedCluster
from sim_runtime.deadlines import DeadlineExceeded

if TYPE_CHECKING:
    from collections.abc import Callable

RULE = {"name": "slow", "select": {"api": "Produce"}, "phase": "before_append", "act": {"delay_ms": 5}}


def test_a_cluster_runs_until_it_is_closed() -> None:
    sessions = {"broker.session.timeout.ms": "400", "broker.heartbeat.interval.ms": "100"}
    with ThreadedCluster(brokers=2, topics=["orders:3:2"], config=sessions) as cluster:
        assert len(cluster.bootstrap_servers.split(",")) == 2
        assert cluster.leader_of("orders", 1) == 2
        cluster.kill(1)
        assert [event.broker_id for event in cluster.events() if isinstance(event, BrokerKilled)] == [1]
        cluster.restart(1)
        cluster.create_topic("more:1:2")
        assert cluster.log_of(1, "more", 0).log_end_offset == 0
        cluster.create_topic("compact", {"cleanup.policy": "compact"})
        assert cluster.log_of(1, "compact", 0).config.compact
        with pytest.raises(ConfigError, match=r"'cleanup\.polcy'.*did you mean 'cleanup\.policy'"):
            cluster.create_topic("others", {"cleanup.polcy": "compact"})
    cluster.close()


def test_rules_are_added_and_reported_by_name() -> None:
    with ThreadedCluster(brokers=1) as cluster:
        assert cluster.add_rule(RULE) == "slow"
        [report] = cluster.rule_reports()
        assert "slow" in report.name
        assert report.problem is not None, "a rule that never fired is a problem"
        assert cluster.release_rule("slow") == 0
        assert cluster.remove_rule("slow").fired == 0
        with pytest.raises(RuleError):
            cluster.remove_rule("slow")


def test_a_rolling_restart_is_one_call() -> None:
    with ThreadedCluster(brokers=1, config={"broker.heartbeat.interval.ms": "100"}) as cluster:
        cluster.rolling_restart()
        assert [event.broker_id for event in cluster.events() if isinstance(event, BrokerStopped)] == [1]
        assert cluster.call(cluster.cluster.pending) == []


def test_what_cannot_start_raises_and_leaves_no_thread() -> None:
    with pytest.raises(ConfigError, match=r"min\.insync\.replicas"):
        ThreadedCluster(config={"min.insync.replica": "1"})


def test_clients_that_connect_while_the_brokers_are_busy_are_accepted() -> None:
    with ThreadedCluster(brokers=1, topics=["t:1:1"]) as cluster, ExitStack() as clients:
        host, _, port = cluster.bootstrap_servers.partition(":")

        def connect_many() -> None:  # in the brokers' thread, which accepts nothing meanwhile
            for _ in range(120):
                clients.enter_context(socket.create_connection((host, int(port)), timeout=0.5))

        cluster.call(connect_many)


def test_a_verb_that_takes_too_long_is_named() -> None:
    with ThreadedCluster(brokers=1) as cluster:
        cluster.timeout_s = 0.05
        with pytest.raises(DeadlineExceeded, match="Deferred"):
            cluster.call(Deferred)
        cluster.timeout_s = 30


PRODUCE = struct.Struct(">q")


def produce(cluster: ThreadedCluster, *values: int, topic: str = "orders") -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "client.id": "writer"})
    try:
        for value in values:
            producer.send(topic, PRODUCE.pack(value), key=b"k", headers=[("h", b"v")], partition=0).result(10)
    finally:
        producer.close()


def test_records_and_requests_are_what_clients_have_sent() -> None:
    with ThreadedCluster(brokers=1, topics=["orders:2:1"]) as cluster:
        produce(cluster, 7, 8)
        records = cluster.records("orders")
        assert [(each.partition, each.offset, each.key, each.value, each.headers) for each in records] == [
            (0, 0, b"k", PRODUCE.pack(7), (("h", b"v"),)),
            (0, 1, b"k", PRODUCE.pack(8), (("h", b"v"),)),
        ]
        assert [each.sequence for each in records] == [0, 1]
        assert cluster.records("orders", 1) == []
        assert len(cluster.requests("Produce", client="writer")) == 2
        assert cluster.requests("Produce", client="reader") == []
        bodies: list[Any] = [request.body for request in cluster.requests("Produce")]
        assert [body.topic_data[0].partition_data[0].index for body in bodies] == [0, 0]
        with pytest.raises(RuleError, match="did you mean 'Produce'"):
            cluster.requests("Prodcue")
        with pytest.raises(BrokerSimError, match=r"no topic 'order'; did you mean 'orders'\?"):
            cluster.records("order")
        with pytest.raises(BrokerSimError, match="no partition orders-7; topic 'orders' has 2"):
            cluster.log_of(1, "orders", 7)


def test_a_wait_ends_with_the_next_leader_and_the_whole_isr() -> None:
    with ThreadedCluster(brokers=2, topics=["orders:1:2"], quick_failover=True) as cluster:
        cluster.kill(1)
        assert cluster.wait_for_leader("orders") == 2
        cluster.restart(1)
        assert sorted(cluster.wait_for_isr("orders")) == [1, 2]
        with pytest.raises(DeadlineExceeded, match=r"a running leader of orders-0 other than broker 2 \(now: 2\)"):
            cluster.wait_for_leader("orders", other_than=2, timeout_s=0.1)


def test_a_wait_ends_with_the_next_controller() -> None:
    with ThreadedCluster(brokers=2, release="2.3", config={"zookeeper.session.timeout.ms": "100"}) as cluster:
        dead = cluster.kill_controller()
        active = cluster.wait_for_controller(other_than=dead)
        assert active == cluster.active_controller != dead
        with pytest.raises(DeadlineExceeded, match=rf"an active controller other than node {active} \(now: {active}\)"):
            cluster.wait_for_controller(other_than=active, timeout_s=0.1)


@pytest.mark.parametrize(
    ("wait", "problem"),
    [
        (
            lambda cluster: cluster.wait_for_group("g", "Stabel"),
            "no group has a state 'Stabel'; did you mean 'Stable'?",
        ),
        (lambda cluster: cluster.wait_for_transaction("t", "Done"), "no transactional id has a state 'Done'; expected"),
        (lambda cluster: cluster.wait_for_isr("orders", brokers=[9]), "there is no broker 9: they are [1]"),
        (lambda cluster: cluster.wait_for_leader("orders", timeout_s=-1), "timeout_s: -1 is no time"),
        (lambda cluster: cluster.respond("Produce", 3), "respond: 3 is no function; expected one that takes a request"),
    ],
)
def test_a_wait_for_what_cannot_come_is_refused(wait: Callable[[ThreadedCluster], object], problem: str) -> None:
    with (
        ThreadedCluster(brokers=1, topics=["orders:1:1"]) as cluster,
        pytest.raises((BrokerSimError, RuleError), match=re.escape(problem)),
    ):
        wait(cluster)


def test_a_wait_ends_when_a_rule_has_fired() -> None:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"]) as cluster:
        name = cluster.add_rule({"select": {"api": "Produce"}, "act": {"delay_ms": 1}})
        assert name == "rule-1"
        assert cluster.add_rule({"select": {"api": "Fetch"}, "act": "hold", "optional": True}) == "rule-2"
        with pytest.raises(DeadlineExceeded, match=r"rule 'rule-1' to fire 1 time \(now: 0\)"):
            cluster.wait_for_rule(name, timeout_s=0.1)
        produce(cluster, 1)
        assert cluster.wait_for_rule(name) == 1


@pytest.mark.parametrize("rule", ["hold", None, {"when": {"acked_share": 0.5}, "act": {"kill": 1}}])
def test_a_rule_that_cannot_be_used_is_refused(rule: Any) -> None:
    with ThreadedCluster(brokers=1) as cluster:
        with pytest.raises(RuleError, match="expected"):
            cluster.add_rule(rule)
        assert cluster.rule_reports() == []


def test_the_end_of_a_with_block_reports_a_rule_that_never_fired() -> None:
    with pytest.raises(RuleError, match=r"rules: rule 'late': never fired"), ThreadedCluster(brokers=1) as cluster:
        cluster.add_rule({"name": "late", "select": {"api": "Produce"}, "act": "hold"})


def test_links_are_held_cut_and_slowed_by_verbs() -> None:
    with ThreadedCluster(brokers=2) as cluster:
        verbs = [
            lambda: cluster.hold_link(1, 2),
            lambda: cluster.release_link(1, 2),
            lambda: cluster.cut_link(1, 2),
            lambda: cluster.restore_link(1, 2),
            lambda: cluster.slow_link(1, 2, 5),
        ]
        for verb in verbs:
            verb()
        changes = [event.state for event in cluster.events() if isinstance(event, LinkChanged)]
        assert changes == ["held", "released", "cut", "restored", "delayed"]
        with pytest.raises(BrokerSimError, match="no broker 9"):
            cluster.hold_link(1, 9)


def test_the_log_of_a_cluster_reaches_logging(caplog: pytest.LogCaptureFixture) -> None:
    users = len(log_bridge._users)
    with ThreadedCluster(brokers=1) as cluster:
        assert len(log_bridge._users) == users + 1
        host, port = cluster.bootstrap_servers.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert connection.recv(1) == b""
    [record] = [record for record in caplog.records if record.name == "broker_sim.network.processor"]
    assert record.levelname == "WARNING"
    assert "closing connection" in record.getMessage()
    assert len(log_bridge._users) == users


def test_quick_groups_have_the_offsets_topic_from_the_start() -> None:
    with ThreadedCluster(brokers=2, topics=["orders:1:2"], quick_groups=True) as cluster:
        counts = cluster.call(lambda: cluster.cluster.partition_counts)
        assert counts == {"orders": 1, "__consumer_offsets": 3}
        assert cluster.cluster.config["group.initial.rebalance.delay.ms"] == 0
    with ThreadedCluster(brokers=1, quick_groups=True, config={"offsets.topic.replication.factor": 3}) as cluster:
        assert cluster.call(lambda: cluster.cluster.partition_counts) == {}
