from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from broker_scenarios.cli import main
from tests.plugin_runs import SECONDS_MAX, run_pytest

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SENDS = """
from confluent_kafka import Producer

def send(cluster, ledger, *values):
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for value in values:
        record = ledger.sent(value)
        def delivered(error, message, record=record):
            ledger.acked(record, partition=message.partition(), offset=message.offset())
        producer.produce("orders", value, on_delivery=delivered)
    assert producer.flush(10) == 0
"""


def test_a_ledger_is_checked_and_its_history_written_for_a_failed_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = run_pytest(
        tmp_path,
        f"""
import pytest
{SENDS}
pytestmark = pytest.mark.kafka_cluster(brokers=1, topics=["orders:1:1"])

def test_valid(kafka_cluster, kafka_ledger):
    ledger = kafka_ledger(kafka_cluster, "orders")
    send(kafka_cluster, ledger, "one", "two")
    ledger.check()

def test_broken(kafka_cluster, kafka_ledger):
    ledger = kafka_ledger(kafka_cluster, "orders")
    send(kafka_cluster, ledger, "one")
    ledger.acked(ledger.sent("two"), partition=0, offset=1)
    ledger.check()

def test_unchecked(kafka_cluster, kafka_ledger):
    kafka_ledger(kafka_cluster, "orders")

def test_unchecked_because_it_failed(kafka_cluster, kafka_ledger):
    kafka_ledger(kafka_cluster, "orders")
    assert 1 == 2
""",
        f"--kafka-journal={tmp_path / 'journals'}",
    )
    assert "2 failed, 2 passed, 1 error" in output, output
    assert "never checked: Ledger(orders); end the test with ledger.check()" in output, output
    assert "LedgerViolation: ledger of orders: 1 lost" in output, output
    assert "broker_scenarios/ledger/" not in output, output
    [command] = {line for line in output.splitlines() if "broker-sim check" in line and "test_broken" in line}
    assert main(shlex.split(command.partition(": ")[2])[1:]) == 1
    assert "lost-write (1)" in capsys.readouterr().out


SCENARIO = """title: All records arrive
claim: A small load arrives.
cluster: {brokers: 1}
topics:
  orders: {partitions: 1, replication_factor: 1}
load: {records: 100, producers: 1, rate_per_second: 2000}
expect: {lost: %s}
"""


def test_scenarios_are_tests_by_marker_and_by_name(tmp_path: Path) -> None:
    (tmp_path / "met.yaml").write_text(SCENARIO % 0)
    (tmp_path / "missed.scenario.yaml").write_text(SCENARIO % '">= 1"')
    output = run_pytest(
        tmp_path,
        """
import pytest

@pytest.mark.kafka_scenario("met.yaml", seeds=2, first_seed=7)
def test_met():
    pass

@pytest.mark.kafka_scenario("met.yaml", records=50)
def test_its_result(kafka_scenario_result):
    assert kafka_scenario_result.counts.acked == 50

@pytest.mark.kafka_scenario("missed.scenario.yaml")
def test_missed():
    raise AssertionError("the body is not reached")

def test_without_marker(kafka_scenario_result):
    pass
""",
        "missed.scenario.yaml",
        "--kafka-seeds=2",
        "--kafka-seed=3",
        "-vv",
    )
    assert "3 failed, 3 passed, 1 error" in output, output
    for expected in (
        "test_met[seed-7] PASSED",
        "test_met[seed-8] PASSED",
        "seed-3 FAILED",
        "seed-4 FAILED",
        "missed.scenario seed 4: valid: 100 sent, 100 acked, 100 stored",
        "not as expected: lost 0, expected at least 1",
        f"reproduce: broker-sim run {tmp_path}/missed.scenario.yaml --virtual --seed 4 --records 100",
        "kafka_scenario_result needs the marker kafka_scenario('FILE', seeds=N)",
    ):
        assert expected in output, (expected, output)


def test_wrong_markers_options_and_files_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "met.yaml").write_text(SCENARIO % 0)
    (tmp_path / "wrong.scenario.yaml").write_text("title: nothing\n")
    given = ("'met.yaml', seed=4", "'met.yaml', seeds='4'", "'met.yaml', first_seed=-1", "", "'absent.yaml'")
    for number, arguments in enumerate(given):
        text = f"import pytest\n\n@pytest.mark.kafka_scenario({arguments})\ndef test_it(): pass\n"
        (tmp_path / f"test_marker_{number}.py").write_text(text)
    output = run_pytest(tmp_path, "", ".")
    for expected in (
        "kafka_scenario(seed=...): unknown; did you mean 'seeds'?; expected seeds, first_seed, records",
        "kafka_scenario(seeds='4'): expected a whole number from 1",
        "kafka_scenario(first_seed=-1): expected a whole number from 0",
        "kafka_scenario(): expected one scenario file, such as kafka_scenario('lost.yaml', seeds=20)",
        "absent.yaml: there is no such scenario file",
        "wrong.scenario.yaml:1:1: ",
    ):
        assert expected in output, (expected, output)
    assert "--kafka-seeds 'x': expected a whole number from 1" in run_pytest(tmp_path, "", "--kafka-seeds=x")


def test_strict_mode_fails_a_test_whose_client_is_wrong(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import socket
import pytest

pytestmark = pytest.mark.kafka_cluster(brokers=1)

def send_nonsense(cluster):
    host, port = cluster.bootstrap_servers.split(",")[0].split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1 \\r\\n\\r\\n")
        assert connection.recv(1) == b""

def test_lenient(kafka_cluster):
    send_nonsense(kafka_cluster)

@pytest.mark.kafka_strict
def test_strict(kafka_cluster):
    send_nonsense(kafka_cluster)

@pytest.mark.kafka_strict(allow=["wire-unreadable"])
def test_allowed(kafka_cluster):
    send_nonsense(kafka_cluster)

@pytest.mark.kafka_strict(allow=["wire-unredable"])
def test_misspelt(kafka_cluster):
    pass

@pytest.mark.kafka_strict("wire-rate")
def test_no_list(kafka_cluster):
    pass

def test_shared_by_all(kafka_cluster_session):
    send_nonsense(kafka_cluster_session)

@pytest.mark.kafka_strict
def test_shared_after_the_others(kafka_cluster_session):
    pass

@pytest.mark.kafka_strict
def test_shared(kafka_cluster_session):
    send_nonsense(kafka_cluster_session)
""",
    )
    assert "6 passed, 4 errors" in output, output
    reports = output.partition("short test summary info")[0]
    assert reports.count("bytes that no broker of the release can read") == 2, output
    for expected in (
        "strict mode: wire-unreadable (1): bytes that no broker of the release can read, or a corrupt batch",
        "to broker 1: the client speaks HTTP: this is a listener for Kafka's protocol (frame of 1195725856 bytes",
        "permitted by @pytest.mark.kafka_strict(allow=['wire-unreadable'])",
        "kafka_strict(allow=['wire-unredable']): unknown; did you mean 'wire-unreadable'?",
        "kafka_strict('wire-rate'): expected a list of checks, such as allow=['wire-rate']",
    ):
        assert expected in output, (expected, output)


def test_current_clients_pass_in_strict_mode(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import aiokafka, asyncio, confluent_kafka, kafka, pytest
import broker_client

pytestmark = pytest.mark.kafka_cluster(topics=["orders:1:3"])

def produce(cluster):
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True})
    for number in range(20):
        producer.produce("orders", str(number))
    assert producer.flush(20) == 0

def test_confluent_kafka(kafka_cluster_module):
    produce(kafka_cluster_module)
    kafka_cluster_module.kill(kafka_cluster_module.leader_of("orders"))
    produce(kafka_cluster_module)
    options = {"bootstrap.servers": kafka_cluster_module.bootstrap_servers, "group.id": "g"}
    consumer = confluent_kafka.Consumer({**options, "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    received = 0
    while received < 40:
        received += len(consumer.consume(40, 0.1))
    consumer.close()

def test_kafka_python(kafka_cluster_module):
    producer = kafka.KafkaProducer(bootstrap_servers=kafka_cluster_module.bootstrap_servers)
    for future in [producer.send("orders", b"one") for _ in range(20)]:
        future.get(20)
    producer.close()

def test_aiokafka(kafka_cluster_module):
    async def run():
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=kafka_cluster_module.bootstrap_servers) as producer:
            for _ in range(20):
                await producer.send_and_wait("orders", b"one")
    asyncio.run(run())

def test_broker_client(kafka_cluster_module):
    with broker_client.Producer(bootstrap_servers=kafka_cluster_module.bootstrap_servers) as producer:
        for future in [producer.send("orders", b"one") for _ in range(20)]:
            future.result(20)
""",
        "--kafka-strict",
    )
    assert "4 passed" in output, output


def test_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import sys, broker_scenarios.pytest_plugin; "
        "print([m for m in ('twisted', 'protocol_specs', 'yaml') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=SECONDS_MAX)
    assert run.stdout.strip() == "[]"
