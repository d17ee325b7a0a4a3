from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import pytest

from broker_sim import serve
from broker_sim.control.events import RequestReceived
from broker_sim.control.journal_file import read_journal
from protocol_specs.framing import encode_request
from protocol_specs.messages.api_versions import ApiVersionsRequest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
SECONDS_MAX = 30
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_signal_and_ends_with_0(ending: signal.Signals) -> None:
    command = [sys.executable, "-m", "broker_sim", "--brokers", "2", "--topic", "orders:1:2"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        name, _, servers = process.stdout.readline().strip().partition("=")
        assert name == "BOOTSTRAP_SERVERS"
        for server in servers.split(","):
            host, port = server.rsplit(":", 1)
            socket.create_connection((host, int(port)), SECONDS_MAX).close()
        process.send_signal(ending)
        process.send_signal(ending)  # an impatient user, whom Twisted's handler would show an error
        assert process.wait(SECONDS_MAX) == 0
        assert process.stderr.read() == ""


def test_a_journal_on_disk_has_the_requests_of_clients(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    command = [sys.executable, "-m", "broker_sim", "--brokers", "1", "--journal", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        host, port = process.stdout.readline().strip().partition("=")[2].rsplit(":", 1)
        with socket.create_connection((host, int(port)), SECONDS_MAX) as client:
            client.sendall(encode_request(ApiVersionsRequest(), 0, correlation_id=7, client_id="curious"))
            assert client.recv(4)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS_MAX) == 0
    [received] = [
        event for _, event in read_journal(path) if isinstance(event, RequestReceived) and event.client_id == "curious"
    ]
    assert (received.api, received.api_version) == ("ApiVersions", 0)


def test_rules_of_a_file_apply_and_are_reported_at_the_end(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "slow: {select: {api: ApiVersions}, phase: before_response, act: {delay_ms: 1}}\n"
        "idle: {act: {kill: 1}, when: {appended_records: 9}}\n"
    )
    command = [sys.executable, "-m", "broker_sim", "--brokers", "1", "--rules", str(rules), "--control", "127.0.0.1:0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = dict(process.stdout.readline().strip().split("=") for _ in range(3))
        added = b'{"name": "added", "select": {"api": "Fetch"}, "act": "disconnect"}'
        urlopen(Request(f"{lines['CONTROL_URL']}/clusters/default/rules", added), timeout=SECONDS_MAX).close()
        host, port = lines["BOOTSTRAP_SERVERS"].rsplit(":", 1)
        with socket.create_connection((host, int(port)), SECONDS_MAX) as client:
            client.sendall(encode_request(ApiVersionsRequest(), 0, correlation_id=7, client_id="curious"))
            assert client.recv(4)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS_MAX) == 0
        slow, idle, over_http = process.stderr.read().splitlines()
    assert slow == "rule slow (delay_ms) has fired 1 time"
    assert idle.startswith("rule idle (kill) has fired 0 times: ")
    assert over_http.startswith("rule added (disconnect) has fired 0 times: ")


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        ("act: {kill: 7}", ":1:14: late.act.kill: there is no broker 7"),
        ("act: disconnect, when: {acked_share: 0.5}", ":1:32: late.when.acked_share: only a scenario"),
    ],
)
def test_a_rule_that_the_cluster_cannot_apply_ends_it_with_its_place(rule: str, named: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(f"late: {{{rule}}}\n")
    command = [sys.executable, "-m", "broker_sim", "--rules", str(rules)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS_MAX, env=ENVIRONMENT)
    assert (run.returncode, run.stdout) == (2, "")
    assert f"{rules}{named}" in run.stderr


def test_each_listener_has_a_line_of_its_own() -> None:
    listeners = (
        "listeners=PLAINTEXT://127.0.0.1:0,EXTERNAL://:0",
        "advertised.listeners=PLAINTEXT://127.0.0.1:0,EXTERNAL://127.0.0.1:0",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT",
    )
    options = [part for text in listeners for part in ("-o", text)]
    command = [sys.executable, "-m", "broker_sim", "--brokers", "2", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = dict(process.stdout.readline().strip().split("=", 1) for _ in range(2))
        assert list(lines) == ["BOOTSTRAP_SERVERS", "BOOTSTRAP_SERVERS_EXTERNAL"]
        servers = ",".join(lines.values()).split(",")
        assert len(set(servers)) == 4
        for server in servers:
            host, port = server.rsplit(":", 1)
            socket.create_connection((host, int(port)), SECONDS_MAX).close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS_MAX) == 0
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--journal", "/no/such/folder/j.jsonl"], "/no/such/folder/j.jsonl (--journal)"),
        (
            ["--control", "127.0.0.1:0", "--control-token-file", "/no/such"],
            "cannot read /no/such (--control-token-file): No such file",
        ),
        (["--topic", "orders:x"], "orders:x"),
        (["--topic", "or ders:1:1"], "topic 'or ders': Topic name is invalid"),
        (["--topic", "orders:1:1", "--topic", "orders:2:1"], "topics: 'orders' is given twice"),
        (["--brokers", "3", "--port", "65535"], "ports: 65536 (number 2) is no port; expected 0 to 65535"),
        (["--controller-port", "65535"], "controller_ports: 65536 (number 2) is no port; expected 0 to 65535"),
        (["--host", "0.0.0.0"], "host: clients cannot connect to 0.0.0.0"),
        (["--brokers", "2", "--topic", "orders:1:3"], "orders"),
        (["-o", "min.insync.replica=2"], "min.insync.replicas"),
        (["-o", "broken"], "-o 'broken'"),
        (["--add-scram", "SCRAM-SHA-256=[name=a]"], "You must supply one of 'password' or 'saltedpassword'"),
        (
            ["--release", "3.4", "--add-scram", "SCRAM-SHA-256=[name=a,password=b]"],
            "metadata.version 3.5-IV2",
        ),
        (["--release", "9.9"], "9.9"),
        (["--port", "9092", "-o", "listeners=PLAINTEXT://:0"], "both set the address of broker 1"),
        (["-o", "listeners=PLAINTEXT://0.0.0.0:0"], "nonroutable meta-address 0.0.0.0"),
    ],
)
def test_an_option_that_cannot_be_used_ends_it_with_one_line(arguments: list[str], named: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "broker_sim", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS_MAX,
        env=ENVIRONMENT,
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert named in run.stderr
    assert run.stderr.count("\n") == 1, run.stderr


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        run = subprocess.run(
            [sys.executable, "-m", "broker_sim", "--brokers", "1", "--port", port],
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS_MAX,
            env=ENVIRONMENT,
        )
    assert run.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port} " in run.stderr
    assert run.stderr.endswith(": Address already in use\n")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--brokers", "0"], ["--brokers", "x"], ["--port", "70000"]])
def test_numbers_out_of_range_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        parse(*arguments)
    assert refused.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_the_defaults_are_three_brokers_of_the_newest_release() -> None:
    args = parse()
    assert (args.brokers, args.host, args.port, args.release, args.topic, args.config) == (
        3,
        "127.0.0.1",
        0,
        "4.3.1",
        [],
        [],
    )


def test_what_is_served_from_a_data_directory_outlives_the_process(tmp_path: Path) -> None:
    from confluent_kafka import Consumer, Producer, TopicPartition

    options = ["--brokers", "3", "--topic", "orders:6:3", "--data-dir", str(tmp_path)]
    command = [sys.executable, "-m", "broker_sim", *options]

    def serve_and(use: Callable[[str], None], ending: signal.Signals) -> None:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
            assert process.stdout is not None
            use(process.stdout.readline().strip().partition("=")[2])
            process.send_signal(ending)
            process.wait(SECONDS_MAX)

    def produce(servers: str) -> None:
        producer = Producer({"bootstrap.servers": servers, "log_level": 0})
        producer.produce("orders", b"kept", partition=0)
        assert producer.flush(SECONDS_MAX) == 0

    read: list[bytes | None] = []

    def consume(servers: str) -> None:
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "log_level": 0})
        consumer.assign([TopicPartition("orders", 0, 0)])
        for _ in range(2):
            message = consumer.poll(SECONDS_MAX)
            assert message is not None
            assert message.error() is None
            read.append(message.value())
        consumer.close()

    serve_and(produce, signal.SIGKILL)
    serve_and(produce, signal.SIGTERM)
    serve_and(consume, signal.SIGTERM)
    assert read == [b"kept", b"kept"]


def test_a_data_directory_in_use_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "broker_sim", "--brokers", "1", "--data-dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        second = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
        assert (second.returncode, second.stdout) == (2, "")
        assert f"{tmp_path}/controller/.lock is locked: another cluster is at work there" in second.stderr
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS_MAX) == 0
