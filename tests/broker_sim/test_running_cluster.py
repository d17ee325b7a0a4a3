from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from broker_sim.errors import BrokerSimError
from broker_sim.running_cluster import AttachedCluster, ControlledCluster, HttpControl
from sim_runtime.deadlines import DeadlineExceeded
from tests.interop.served_cluster import command, environment
from tests.plugin_runs import run_pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "a-token-of-the-tests"


@contextmanager
def serving(*options: str) -> Iterator[dict[str, str]]:
    """The lines that `broker-sim serve` prints, by name, while it runs."""
    arguments = ["serve", "--brokers", "1", "--port", "0", "--control", "127.0.0.1:0", *options]
    with subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        try:
            yield dict(process.stdout.readline().strip().split("=", 1) for _ in range(3))
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    token_file = tmp_path_factory.mktemp("control") / "token"
    token_file.write_text(f"{TOKEN}\n")
    with serving("--control-token-file", str(token_file)) as lines:
        yield {**lines, "TOKEN_FILE": str(token_file)}


def test_the_verbs_of_a_controlled_cluster(served: dict[str, str], tmp_path: Path) -> None:
    control = HttpControl(served["CONTROL_URL"], TOKEN)
    cluster = ControlledCluster(control, brokers=2, topics={"orders": 1}, quick_failover=True)
    assert cluster.bootstrap_servers != served["BOOTSTRAP_SERVERS"]
    cluster.create_topic("payments:2:2", {"retention.ms": 60000})
    leader = cluster.wait_for_leader("payments")
    assert cluster.leader_of("payments") == leader
    assert cluster.add_rule({"select": {"api": "Produce"}, "act": "hold"}) == "rule-1"
    with pytest.raises(DeadlineExceeded, match="rule 'rule-1' to fire"):
        cluster.wait_for_rule("rule-1", timeout_s=0.01)
    assert cluster.rule_problems()[0].startswith("rule 'rule-1': never fired")
    assert cluster.release_rule("rule-1") == 0
    assert cluster.remove_rule("rule-1").fired == 0
    for source, target in ((1, 2), (2, 1)):
        cluster.cut_link(source, target)
        cluster.restore_link(source, target)
        cluster.hold_link(source, target)
        cluster.release_link(source, target)
        cluster.slow_link(source, target, 0)
    cluster.isolate(1)
    cluster.rejoin(1)
    cluster.stop(leader)
    assert cluster.wait_for_leader("payments", other_than=leader) == 3 - leader
    cluster.restart(leader)
    cluster.wait_until_quiet()
    assert set(cluster.wait_for_isr("payments", brokers=(1, 2))) == {1, 2}
    cluster.kill(leader)
    assert [broker.running for broker in cluster.brokers()].count(True) == 1
    assert {topic.name for topic in cluster.topics()} >= {"orders", "payments"}
    assert [cluster.records("orders"), cluster.connections(), cluster.groups(), cluster.transactions()] == [
        [],
        [],
        [],
        [],
    ]
    assert "2 brokers of release" in cluster.report()
    cluster.write_journal(tmp_path / "journal.jsonl")
    assert '"BrokerKilled"' in (tmp_path / "journal.jsonl").read_text()
    with pytest.raises(BrokerSimError, match="there is no broker 7"):
        cluster.kill(7)
    with pytest.raises(BrokerSimError, match="respond needs a cluster in the process of the test"):
        cluster.respond("Produce", lambda _: None)
    cluster.reset()
    assert "payments" not in {topic.name for topic in cluster.topics()}
    cluster.close()
    with pytest.raises(BrokerSimError, match="there is no cluster"):
        cluster.brokers()


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        ({"data_dir": "/tmp"}, "data_dir cannot be given over HTTP control; expected name, brokers,"),
        ({"topics": [7]}, r"topics: \[7\] cannot be given over HTTP control"),
        ({"release": "9.9"}, "release '9.9' is not emulated"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(served: dict[str, str], shape: dict[str, object], problem: str) -> None:
    with pytest.raises(BrokerSimError, match=problem):
        ControlledCluster(HttpControl(served["CONTROL_URL"], TOKEN), **shape)


def test_an_address_without_server_and_a_wrong_token_are_refused(served: dict[str, str]) -> None:
    with pytest.raises(BrokerSimError, match=r"--kafka-control http://127\.0\.0\.1:1: .*refused"):
        ControlledCluster(HttpControl("http://127.0.0.1:1"))
    with pytest.raises(BrokerSimError, match=r"Authorization: Bearer TOKEN \(--kafka-control-token-file\)"):
        ControlledCluster(HttpControl(served["CONTROL_URL"], "wrong"))


def test_an_attached_cluster_has_its_address_alone() -> None:
    cluster = AttachedCluster("127.0.0.1:9092")
    with pytest.raises(BrokerSimError, match="kill needs the process of the cluster, and --kafka-bootstrap names its"):
        cluster.kill(1)
    with pytest.raises(AttributeError, match="'AttachedCluster' object has no attribute 'kil'"):
        cluster.kil(1)


TEST = """
import pytest
from confluent_kafka import Producer

def test_it(kafka_cluster):
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap_servers})
    producer.produce("orders", b"\\xff", key=b"k", headers=[("h", b"v")])
    assert producer.flush(10) == 0
"""


def test_verbs_of_an_administrator_work_over_http(served: dict[str, str]) -> None:
    config = {"group.initial.rebalance.delay.ms": 0}
    cluster = ControlledCluster(
        HttpControl(served["CONTROL_URL"], TOKEN), brokers=2, controllers=3, topics=["orders:1:2"], config=config
    )
    assert cluster.release()
    cluster.delete_records("orders")
    cluster.pause(1)
    cluster.resume(1)
    killed = cluster.kill_controller()
    assert cluster.wait_for_controller(other_than=killed) != killed
    cluster.restart_controller(killed)
    cluster.jump_clock(1, 1000)
    cluster.drift_clock(1, 5)
    leader = cluster.wait_for_leader("orders")
    cluster.elect_leader("orders", broker_id=3 - leader)
    assert cluster.leader_of("orders") == 3 - leader
    assert cluster.do({"add_partitions": {"topic": "orders", "count": 2}}) == "rule-1"
    assert [len(each.partitions) for each in cluster.topics() if each.name == "orders"] == [3]
    cluster.reassign("orders", 2, [leader])
    cluster.add_partitions("orders", 3)
    cluster.alter_config({"retention.ms": 60_000}, topic="orders")
    [orders] = [each for each in cluster.topics() if each.name == "orders"]
    assert (len(orders.partitions), orders.configs) == (6, {"retention.ms": "60000"})
    cluster.recreate_topic("orders")
    cluster.create_scram_user("ann", "secret")
    cluster.delete_scram_user("ann")
    with pytest.raises(BrokerSimError, match="ghosts"):
        cluster.delete_group("ghosts")
    with pytest.raises(BrokerSimError, match="delay_ms acts on requests"):
        cluster.do({"delay_ms": 5})
    with pytest.raises(BrokerSimError, match="ghosts"):
        cluster.force_rebalance("ghosts")
    assert [report.act for report in cluster.remove_rules()] == ["add_partitions", "alter_config"]
    cluster.check_rules()
    cluster.rolling_restart()
    cluster.delete_topic("orders")
    kinds = [event.kind for event in cluster.events()]
    assert kinds.count("ControllerKilled") == 1
    assert cluster.dropped_events() == 0
    cluster.create_topic("payments:1:2")
    with pytest.raises(DeadlineExceeded, match=r"1 records of payments \(now: 0\)"):
        cluster.wait_for_records("payments", timeout_s=0.01)
    with pytest.raises(DeadlineExceeded, match="transaction"):
        cluster.wait_for_transaction("t", timeout_s=0.01)
    cluster.close()


def test_tests_run_against_clusters_of_another_process(served: dict[str, str], tmp_path: Path) -> None:
    text = f"""{TEST}
    [record] = kafka_cluster.records("orders")
    assert (record.key, record.value, record.headers) == (b"k", b"\\xff", (("h", b"v"),))

def test_again(kafka_cluster_session):
    kafka_cluster_session.create_topic("orders")

def test_and_again(kafka_cluster_session):
    kafka_cluster_session.create_topic("orders")
    kafka_cluster_session.add_rule({{"name": "never", "select": {{"api": "Produce"}}, "act": "hold"}})
"""
    options = [f"--kafka-control={served['CONTROL_URL']}", f"--kafka-control-token-file={served['TOKEN_FILE']}"]
    output = run_pytest(tmp_path, text, *options)
    assert "3 passed, 1 error" in output, output
    assert "rule 'never': never fired" in output, output


def test_tests_run_against_a_running_cluster(served: dict[str, str], tmp_path: Path) -> None:
    text = f"""{TEST}
    kafka_cluster.kill(1)

def test_a_shape(kafka_cluster_factory):
    kafka_cluster_factory(brokers=2)
"""
    output = run_pytest(tmp_path, text, f"--kafka-bootstrap={served['BOOTSTRAP_SERVERS']}")
    assert "2 failed" in output, output
    assert "BrokerSimError: kill needs the process of the cluster" in output, output
    assert "brokers: a cluster that runs already (--kafka-bootstrap) has its own shape" in output, output
    both = run_pytest(tmp_path, text, "--kafka-bootstrap=127.0.0.1:1", "--kafka-control=http://127.0.0.1:1")
    assert "--kafka-bootstrap and --kafka-control exclude each other" in both, both
