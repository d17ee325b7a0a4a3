"""Ledgers and strict mode of tests whose clusters are in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.broker_sim.test_running_cluster import serving
from tests.plugin_runs import run_pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TESTS = """
import pytest
from confluent_kafka import Consumer, Producer

LOSE = {"name": "lose", "select": {"api": "Produce", "nth": 1}, "phase": "before_response", "act": "disconnect"}


def send(ledger, cluster, *values, **config):
    producer = ledger.wrap(Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 50, **config}))
    for value in values:
        producer.produce(ledger.book.topics[0], value)
    assert producer.flush(20) == 0


def test_all_is_stored(kafka_cluster, kafka_ledger):
    kafka_cluster.create_topic("orders:1:3")
    ledger = kafka_ledger(kafka_cluster, "orders")
    send(ledger, kafka_cluster, "one", "two")
    consumer = ledger.wrap(Consumer({
        "bootstrap.servers": kafka_cluster.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest",
    }))
    consumer.subscribe(["orders"])
    assert len(consumer.consume(2, 20)) == 2
    consumer.close()
    assert ledger.check().valid


def test_a_record_is_stored_twice(kafka_cluster, kafka_ledger):
    kafka_cluster.create_topic("orders:1:3")
    kafka_cluster.add_rule(LOSE)
    ledger = kafka_ledger(kafka_cluster, "orders")
    send(ledger, kafka_cluster, "one")
    verdict = ledger.verdict()
    assert verdict.duplicated == ["one"]
    assert '"RuleFired"' in verdict.text()


def test_transactions(kafka_cluster, kafka_ledger):
    kafka_cluster.create_topic("orders:1:3")
    ledger = kafka_ledger(kafka_cluster, "orders")
    config = {"bootstrap.servers": kafka_cluster.bootstrap_servers, "transactional.id": "t"}
    producer = ledger.wrap(Producer(config))
    producer.init_transactions(20)
    for value, end in (("kept", producer.commit_transaction), ("gone", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce("orders", value)
        end(20)
    assert ledger.check().valid


def test_an_unknown_topic(kafka_cluster, kafka_ledger):
    kafka_ledger(kafka_cluster, "ghosts").check()


@pytest.mark.kafka_strict
def test_a_strict_client(kafka_cluster, kafka_ledger):
    kafka_cluster.create_topic("orders:1:3")
    ledger = kafka_ledger(kafka_cluster, "orders")
    send(ledger, kafka_cluster, "one", **{"enable.idempotence": True})
    ledger.check()


@pytest.mark.kafka_strict
def test_bytes_that_nobody_reads(kafka_cluster):
    import socket

    host, _, port = kafka_cluster.bootstrap_servers.partition(",")[0].rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(bytes.fromhex("0000000affff0000"))
        connection.sendall(bytes(6))
        assert connection.recv(1) == b""
"""


@pytest.fixture(scope="module")
def served() -> Iterator[dict[str, str]]:
    with serving() as lines:
        yield lines


def test_ledgers_and_strict_mode_over_http_control(served: dict[str, str], tmp_path: Path) -> None:
    output = run_pytest(tmp_path, TESTS, f"--kafka-control={served['CONTROL_URL']}")
    assert "ScenarioError: a ledger of 'ghosts': there is no such topic" in output, output
    assert "strict mode: wire-unreadable (1)" in output, output
    assert "1 failed, 5 passed, 1 error" in output, output


def test_ledgers_of_a_cluster_of_which_the_address_alone_is_known(served: dict[str, str], tmp_path: Path) -> None:
    text = (
        TESTS.partition("def test_all_is_stored")[0]
        + """
def test_it(kafka_cluster, kafka_ledger):
    ledger = kafka_ledger(kafka_cluster, "here")
    send(ledger, kafka_cluster, "one", "two")
    assert ledger.check().valid

@pytest.mark.kafka_strict
def test_strict(kafka_cluster):
    pass
"""
    )
    output = run_pytest(tmp_path, text, f"--kafka-bootstrap={served['BOOTSTRAP_SERVERS']}")
    assert "2 passed, 1 error" in output, output
    assert "strict mode needs the journal of the cluster, and --kafka-bootstrap names its address alone" in output, (
        output
    )
