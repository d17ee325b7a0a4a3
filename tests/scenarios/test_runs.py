"""`broker-sim run` with scenarios as users write them: the output names the errors, and stays short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LOST_RESPONSES = """
title: A lost response stores a record twice without idempotence
cluster: {brokers: 3}
topics: {orders: {partitions: 3, replication_factor: 3}}
load: {records: 1500, producers: 2, rate_per_second: 2000}
producer: {acks: all, enable.idempotence: false, request.timeout.ms: 500}
rules:
  lose-responses: {select: {api: Produce, share: 0.05}, phase: before_response, act: drop_response}
expect: {acked: 1500, lost: 0, duplicated: ">= 1"}
"""

SLOW_FOLLOWER = """
title: A slow follower leaves the ISR, and the leader refuses records
cluster: {brokers: 3, config: {replica.lag.time.max.ms: 2000}}
topics: {orders: {partitions: 3, replication_factor: 3, config: {min.insync.replicas: 3}}}
load: {records: 2000, producers: 2, rate_per_second: 500}
producer: {acks: all, delivery.timeout.ms: 3000, request.timeout.ms: 1000, linger.ms: 0}
rules:
  slow: {when: {acked_share: 0.2}, select: {api: Fetch, replica: 3, broker: leader of orders-0}, act: {delay_ms: 6000}}
expect: {lost: 0, failed: ">= 1", errors: {NOT_ENOUGH_REPLICAS: ">= 1"}}
"""


def output_of(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Standard output and standard error of a run that ends as its scenario expects."""
    path = folder / "case.yaml"
    path.write_text(text)
    status = main(["run", str(path), "--virtual", "--seed", "1"])
    captured = capsys.readouterr()
    assert status == 0, captured.out
    return captured.out, captured.err


def test_lost_responses_give_duplicates_and_no_errors_of_the_producer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, log = output_of(tmp_path, LOST_RESPONSES, capsys)
    assert [line for line in log.splitlines() if "case " not in line] == []


def test_failed_records_are_reported_with_their_error_and_the_pause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed, _ = output_of(tmp_path, SLOW_FOLLOWER, capsys)
    assert " failed in orders-0 with REQUEST_TIMED_OUT, " in printed
    assert " batches for orders-0 with NOT_ENOUGH_REPLICAS\n" in printed
    assert "case: acknowledgement latency: p50 " in printed
    assert "case: orders-0 acknowledged nothing for " in printed


def test_a_finding_that_needs_virtual_time_is_refused_on_sockets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(f"{LOST_RESPONSES}only_virtual: a buffer of a simulated connection\n")
    assert main(["run", str(path), "--local"]) == 2
    assert "case: only virtual time shows it: a buffer of a simulated connection" in capsys.readouterr().err


def test_a_rule_that_never_fires_on_tcp_is_a_difference_and_no_mistake_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(
        """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients: {app: {producer: {linger.ms: 0}, script: [{send: {wait: true}}, close]}}
rules: {late: {select: {api: Produce, nth: 5}, phase: before_response, act: disconnect}}
expect: {lost: 0}
"""
    )
    assert main(["run", str(path), "--local", "--report", str(tmp_path / "report.html")]) == 1
    assert "not as expected: rule 'late' never fired" in " ".join(capsys.readouterr().out.split())
