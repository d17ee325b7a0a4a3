from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from broker_sim.control.journal_file import read_journal
from tests.plugin_runs import ROOT, SECONDS_MAX, run_pytest

if TYPE_CHECKING:
    from pathlib import Path


def test_the_fixtures_give_fresh_clusters(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import pytest

def test_three_brokers(kafka_cluster):
    assert len(kafka_cluster.bootstrap_servers.split(",")) == 3

@pytest.mark.kafka_cluster(brokers=1, topics=["orders:6:1"])
def test_a_shape_of_its_own(kafka_cluster):
    assert kafka_cluster.leader_of("orders", 5) == 1

def test_two_clusters(kafka_cluster_factory):
    assert kafka_cluster_factory(brokers=1).bootstrap_servers != kafka_cluster_factory(brokers=1).bootstrap_servers
""",
    )
    assert "3 passed" in output, output


def test_a_rule_that_never_fired_fails_its_test_and_is_named(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
def test_it(kafka_cluster_factory):
    rule = {"name": "never-fires", "select": {"api": "Produce"}, "act": "hold"}
    kafka_cluster_factory(brokers=1).add_rule(rule)
""",
    )
    assert "1 error" in output, output
    assert "never-fires" in output


def test_a_rule_on_a_broker_that_is_not_there_or_dead_fails_its_test(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
def test_not_there(kafka_cluster):
    kafka_cluster.add_rule({"name": "k77", "act": {"kill": 77}})

def test_dead(kafka_cluster):
    kafka_cluster.kill(1)
    kafka_cluster.add_rule({"name": "late", "act": {"kill": 1}})
""",
    )
    assert "1 failed, 1 passed, 1 error" in output, output
    assert "RuleError: act.kill: there is no broker 77: they are [1, 2, 3]" in output, output
    assert "rule 'late': never fired, nearest miss: broker 1 is not running" in output, output


def test_the_report_of_a_failed_test_shows_its_cluster(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import socket

def frame(api_key, version, correlation_id):
    body = b"".join(part.to_bytes(size, "big") for part, size in ((api_key, 2), (version, 2), (correlation_id, 4)))
    body += len("probe").to_bytes(2, "big") + b"probe"
    return len(body).to_bytes(4, "big") + body

def test_it(kafka_cluster_factory):
    cluster = kafka_cluster_factory(brokers=2, topics=["orders:1:2"])
    cluster.add_rule({"name": "slow", "select": {"api": "Produce"}, "act": {"delay_ms": 5}, "optional": True})
    cluster.kill(1)
    assert cluster.wait_for_leader("orders") == 2
    host, port = cluster.bootstrap_servers.split(",")[1].split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(frame(18, 0, 7))
        assert connection.recv(4)
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1 \\r\\n\\r\\n")
        assert connection.recv(1) == b""
    assert 1 == 2
""",
        f"--kafka-journal={tmp_path / 'journals'}",
    )
    assert "1 failed" in output, output
    section = output.partition("kafka cluster")[2]
    for expected in (
        "2 brokers of release 4.3.1",
        "down: 1",
        "slow: delay_ms, fired 0 times, 0 requests fitted",
        "BrokerKilled broker=1",
        "LeaderElected broker=2 orders-0 previous_leader=1",
        "broker 2 ApiVersions v0 client=probe correlation_id=7",
        "refused requests:",
        "closing connection",  # caplog has the log of the brokers
    ):
        assert expected in output, (expected, output)
    [journal] = (tmp_path / "journals").iterdir()
    assert f"journal: broker-sim trace {journal}" in section
    assert sum(1 for _ in read_journal(journal)) > 5


def test_the_groups_of_a_failed_test_are_in_its_report(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
from confluent_kafka import Consumer, TopicPartition

def test_it(kafka_cluster_factory):
    cluster = kafka_cluster_factory(brokers=1, topics=["orders:2:1"])
    options = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "the bill", "client.id": "shop"}
    consumer = Consumer(options)
    consumer.subscribe(["orders"])
    while not consumer.assignment():
        consumer.poll(0.1)
    consumer.commit(offsets=[TopicPartition("orders", 1, 0)], asynchronous=False)
    consumer.close()
    assert 1 == 2
""",
        f"--kafka-journal={tmp_path / 'journals'}",
    )
    assert "1 failed" in output, output
    groups = output.partition("groups:\n")[2].partition("last 20 requests")[0]
    [journal] = (tmp_path / "journals").iterdir()
    for expected in (
        "the bill: Empty\n",
        "shop joins from /127.0.0.1: shop-",
        "Empty > PreparingRebalance, generation 0, members: 1;",
        "CompletingRebalance > Stable, generation 1, members: 1",
        "shop is removed:",
        f"broker-sim trace {journal} --group 'the bill'\n",
        "committed: orders-1 0 (lag 0)\n",
    ):
        assert expected in groups, (expected, output)


def test_the_transactions_of_a_failed_test_are_in_its_report(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import pytest
from confluent_kafka import KafkaException, Producer

def test_it(kafka_cluster_factory):
    cluster = kafka_cluster_factory(brokers=1, topics=["orders:2:1"])
    options = {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "the bill"}
    first, second = (Producer({**options, "client.id": name}) for name in ("shop-a", "shop-b"))
    first.init_transactions(20)
    first.begin_transaction()
    first.produce("orders", b"paid", partition=1)
    first.flush(20)
    second.init_transactions(20)
    with pytest.raises(KafkaException):
        first.commit_transaction(20)
    assert 1 == 2
""",
        f"--kafka-journal={tmp_path / 'journals'}",
    )
    assert "1 failed" in output, output
    transactions = output.partition("transactions:\n")[2].partition("last 20 requests")[0]
    [journal] = (tmp_path / "journals").iterdir()
    for expected in (
        "the bill: Empty\n",
        "Empty > Ongoing, producer 0 epoch 0, partitions: orders-1\n",
        "partitions: orders-1; InitProducerId fences the producer (client shop-b)\n",
        "orders-1 has the abort marker of producer 0 epoch 1\n",
        "EndTxn of shop-a, which has producer 0 epoch 0, is refused: PRODUCER_FENCED\n",
        f"broker-sim trace {journal} --transaction 'the bill'\n",
    ):
        assert expected in transactions, (expected, output)


def test_a_rule_problem_shows_the_cluster_of_its_test(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
def test_it(kafka_cluster):
    kafka_cluster.add_rule({"name": "late", "select": {"api": "Produce"}, "act": "hold"})
""",
        f"--kafka-journal={tmp_path / 'journals'}",
    )
    assert "rule 'late': never fired" in output, output
    assert "late: hold, fired 0 times" in output, output


def test_a_mistake_of_a_test_is_shown_without_our_frames(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import pytest

def test_it(kafka_cluster_factory):
    kafka_cluster_factory(config={"min.insync.replica": 2})

def test_verb(kafka_cluster):
    kafka_cluster.kill(7)

@pytest.mark.kafka_cluster(brokers=2, topics=["orders:1:3"])
def test_marker(kafka_cluster):
    pass
""",
    )
    assert "did you mean 'min.insync.replicas'?" in output, output
    assert "kafka_cluster: topic 'orders': replication factor 3 with 2 brokers" in output, output
    assert "During handling of the above exception" not in output, output
    assert "there is no broker 7: they are [1, 2, 3]" in output, output
    assert "broker_sim/" not in output.replace("-p broker_sim", ""), output


@pytest.mark.parametrize(
    ("marker", "problem"),
    [
        ("2", "kafka_cluster(2): expected arguments with names, such as kafka_cluster(brokers=2)"),
        ("broker=2", "kafka_cluster(broker=...): unknown; did you mean 'brokers'?"),
        ("config=['a']", "kafka_cluster: config: ['a'] is no mapping"),
    ],
)
def test_a_marker_that_no_cluster_has_is_refused(tmp_path: Path, marker: str, problem: str) -> None:
    text = f"import pytest\n\n@pytest.mark.kafka_cluster({marker})\ndef test_it(kafka_cluster):\n    pass\n"
    output = run_pytest(tmp_path, text)
    assert "1 error" in output, output
    assert problem in output, output


def test_factories_of_a_module_and_a_session_keep_a_cluster_between_tests(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import pytest

@pytest.fixture(scope="module")
def of_module(kafka_cluster_module_factory):
    return kafka_cluster_module_factory(brokers=1)

@pytest.fixture(scope="session")
def of_session(kafka_cluster_session_factory):
    return kafka_cluster_session_factory(brokers=1)

seen = []

@pytest.mark.parametrize("number", [1, 2])
def test_it(of_module, of_session, number):
    seen.append((of_module.bootstrap_servers, of_session.bootstrap_servers))
    assert len(set(seen)) == 1
""",
    )
    assert "2 passed" in output, output


def test_the_plugin_imports_nothing_heavy() -> None:
    code = "import sys, broker_sim.pytest_plugin; print([m for m in ('twisted', 'protocol_specs') if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS_MAX,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert run.stdout.strip() == "[]"


def test_clusters_of_a_module_and_a_session_are_reset_after_each_test(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import pytest

pytestmark = pytest.mark.kafka_cluster(brokers=1, topics=["orders:1:1"])
addresses = set()

def user_topics(cluster):
    return [topic.name for topic in cluster.topics() if not topic.name.startswith("__")]

@pytest.mark.parametrize("number", [1, 2])
def test_of_a_module(kafka_cluster_module, number):
    assert user_topics(kafka_cluster_module) == ["orders"]
    kafka_cluster_module.create_topic("more:1:1")
    kafka_cluster_module.add_rule({"act": {"kill": 1}})
    kafka_cluster_module.wait_for_rule("rule-1")
    addresses.add(kafka_cluster_module.bootstrap_servers)
    assert len(addresses) == 1

def test_of_a_session(kafka_cluster_session):
    kafka_cluster_session.create_topic("more:1:1")

def test_of_a_session_again(kafka_cluster_session):
    assert user_topics(kafka_cluster_session) == []
    kafka_cluster_session.add_rule({"name": "never", "select": {"api": "Produce"}, "act": "hold"})

def test_the_rule_is_gone(kafka_cluster_session):
    assert kafka_cluster_session.rule_reports() == []
""",
    )
    assert "5 passed, 1 error" in output, output
    assert "rule 'never': never fired" in output


def test_a_marker_of_one_test_for_a_cluster_of_several_is_refused(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import pytest

@pytest.mark.kafka_cluster(brokers=1)
def test_of_a_session(kafka_cluster_session):
    pass

@pytest.mark.kafka_cluster(brokers=1)
def test_of_both(kafka_cluster, kafka_cluster_session):
    assert len(kafka_cluster.brokers()) == 1
""",
    )
    assert "1 passed, 1 error" in output, output
    assert "is on one test, and other tests use kafka_cluster_session too" in output, output
    assert "or a fixture that calls kafka_cluster_session_factory" in output, output


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--kafka-bootstrap", "nohost"], "--kafka-bootstrap 'nohost': expected HOST:PORT"),
        (["--kafka-control", "127.0.0.1:1"], "--kafka-control 127.0.0.1:1: expected a URL, such as http://"),
        (["--kafka-control", "http://127.0.0.1:1"], "--kafka-control http://127.0.0.1:1: Connection refused"),
        (
            ["--kafka-control", "http://127.0.0.1:1", "--kafka-control-token-file", "none"],
            "--kafka-control-token-file none: No such file or directory",
        ),
    ],
)
def test_an_address_that_cannot_be_used_is_named_with_its_option(
    tmp_path: Path, options: list[str], problem: str
) -> None:
    assert problem in run_pytest(tmp_path, "def test_it(kafka_cluster):\n    pass\n", *options)


def test_options_and_ini_hold_for_clusters_that_do_not_state_their_own(tmp_path: Path) -> None:
    text = """
def test_it(kafka_cluster_factory):
    assert kafka_cluster_factory(brokers=1).cluster.config.release == "{}"
    assert kafka_cluster_factory(brokers=1, release="2.8.2").cluster.config.release == "2.8.2"
"""
    assert "1 passed" in run_pytest(tmp_path, text.format("3.7.2"), "--kafka-release", "3.7")
    assert "1 passed" in run_pytest(tmp_path, text.format("3.6.2"), "-o", "kafka_release=3.6", "--kafka-seed", "7")
    output = run_pytest(tmp_path, text.format(""), "--kafka-release", "9.9")
    assert "release '9.9' is not emulated" in output
    assert "--kafka-seed 'x' is not a whole number" in run_pytest(tmp_path, text, "--kafka-seed", "x")
