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


def test_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import sys, broker_scenarios.pytest_plugin; "
        "print([m for m in ('twisted', 'protocol_specs', 'yaml') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=SECONDS_MAX)
    assert run.stdout.strip() == "[]"
