"""`broker-sim serve SCENARIO.yaml` with a foreign client, as a user starts it."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from xml.etree import ElementTree as ET

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from broker_scenarios.cli import main
from tests.interop.served_cluster import command, environment

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 30
SCENARIO = """
title: A response is lost
cluster: {{brokers: 1}}
topics: {{orders: {{partitions: 1, replication_factor: 1}}}}
load: {{records: 5, producers: 1, rate_per_second: 100}}
rules:
  lose-a-response: {{select: {{api: Produce, nth: 1}}, phase: before_response, act: disconnect}}
expect: {expect}
"""


def written(folder: Path, expect: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(SCENARIO.format(expect=expect))
    return path


@pytest.mark.parametrize(
    ("expect", "status", "last"),
    [
        ("{acked: 5, duplicated: 5, lost: 0, unseen: 0, ghost-read: 0}", 0, "as expected"),
        ("{duplicated: 0}", 1, "NOT as expected"),
    ],
)
def test_the_verdict_is_about_the_users_own_client(tmp_path: Path, expect: str, status: int, last: str) -> None:
    journal, junit, results = tmp_path / "journal.jsonl", tmp_path / "junit.xml", tmp_path / "results.jsonl"
    files = ("--journal", str(journal), "--junit", str(junit), "--json", str(results))
    serve = command("serve", str(written(tmp_path, expect)), *files, "--control", "127.0.0.1:0")
    with subprocess.Popen(
        serve, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        name, _, servers = process.stdout.readline().strip().partition("=")
        assert name == "BOOTSTRAP_SERVERS"
        control = process.stdout.readline().strip().removeprefix("CONTROL_URL=")
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 200})
        for number in range(5):
            producer.produce("orders", f"value {number}")
        assert producer.flush(PATIENCE_S) == 0
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "billing", "enable.auto.commit": False})
        consumer.assign([TopicPartition("orders", 0, 0)])
        assert len(consumer.consume(10, PATIENCE_S)) == 10
        consumer.commit(offsets=[TopicPartition("orders", 0, 8)], asynchronous=False)
        with urlopen(f"{control}/clusters/default/wait/rule?rule=lose-a-response", timeout=PATIENCE_S) as response:
            assert json.load(response) == {"fired": 1}
        for method, path in (("POST", "/reset"), ("DELETE", "")):
            with pytest.raises(HTTPError) as refused:
                urlopen(Request(f"{control}/clusters/default{path}", method=method), timeout=PATIENCE_S)
            assert "is that of a scenario" in json.load(refused.value)["detail"]
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == status
    lines = printed.splitlines()
    assert lines[0] == "mine: 5 sent, 5 acked, 5 stored, 0 failed, 0 unknown"
    assert lines[1] == "group billing, orders-0: 10 read from 0 to 10, committed 8, 2 read and not committed"
    assert lines[-1] == last
    assert "duplicate (5): stored at two or more offsets" in lines
    assert "rule lose-a-response (disconnect) has fired 1 time" in lines
    assert ("not as expected: duplicated 5, expected exactly 0" in lines) is bool(status)
    assert "BatchAppended" in journal.read_text()
    (case,) = ET.parse(junit).getroot().iter("testcase")
    assert (case.get("name"), len(case)) == ("mine seed 0", status)
    result = json.loads(results.read_text())
    assert (result["as_expected"], result["counts"]["acked"]) == (not status, 5)
    assert (result["groups"][0]["group"], result["groups"][0]["uncommitted"]) == ("billing", 2)


def test_without_a_client_nothing_was_tested(tmp_path: Path) -> None:
    serve = command("serve", str(written(tmp_path, "{lost: 0}")), "--duration", "1")
    run = subprocess.run(serve, capture_output=True, text=True, check=False, timeout=PATIENCE_S, env=environment())
    assert run.returncode == 1
    assert "not as expected: rule 'lose-a-response' never fired" in run.stdout
    assert "not as expected: verdict unknown, expected valid: no record was acknowledged" in run.stdout


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["{file}", "--brokers", "2"], "--brokers: {file} decides it"),
        (["{file}", "-o", "a=b"], "-o: {file} decides it"),
        (["{file}", "--control", "0.0.0.0:0"], "--control 0.0.0.0: other machines can reach this address"),
        (["--duration", "3"], "--duration is for `serve SCENARIO.yaml`"),
        (["--junit", "x.xml"], "--junit is for `serve SCENARIO.yaml`"),
    ],
)
def test_an_option_that_the_file_decides_is_refused(
    options: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(written(tmp_path, "{lost: 0}"))
    assert main(["serve", *(each.format(file=path) for each in options)]) == 2
    assert capsys.readouterr().err.startswith(problem.format(file=path))


@pytest.mark.parametrize(
    "expect", ["{auto-commit: 0}", "{wire-seq: 0}", "{outcome: {ok: 5}}", "{calls: {FENCED_INSTANCE_ID: 1}}"]
)
def test_what_only_the_clients_of_the_file_can_show_is_refused(
    expect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, expect)
    assert main(["serve", str(path)]) == 2
    name = expect[1:].partition(":")[0]
    assert capsys.readouterr().err.startswith(f"{path}: expect.{name}: only the file's own clients can show it")


def test_certificates_that_no_client_from_outside_can_trust_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "{lost: 0}")
    text = path.read_text()
    assert "brokers: 1" in text
    path.write_text(text.replace("brokers: 1", "brokers: 1, certificates: {broker: {}}", 1))
    assert main(["serve", str(path)]) == 2
    assert "cluster.certificates: clients from outside cannot trust" in capsys.readouterr().err
