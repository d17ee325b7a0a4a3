from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred

from broker_sim.control.events import BrokerKilled, BrokerStopped
from broker_sim.errors import ConfigError
from broker_sim.faults.rule import RuleError
from broker_sim.threaded_cluster import ThreadedCluster
from sim_runtime.deadlines import DeadlineExceeded

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
    cluster.close()


def test_rules_are_added_and_reported_by_name() -> None:
    with ThreadedCluster(brokers=1) as cluster:
        assert cluster.add_rule(RULE) == "slow"
        [report] = cluster.rule_reports()
        assert "slow" in report.name
        assert report.problem is not None, "a rule that never struck is a problem"
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


def test_a_verb_that_takes_too_long_is_named() -> None:
    with ThreadedCluster(brokers=1) as cluster:
        cluster.timeout_s = 0.05
        with pytest.raises(DeadlineExceeded, match="Deferred"):
            cluster.call(Deferred)
        cluster.timeout_s = 30
