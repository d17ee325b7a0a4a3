"""A run whose client is a program of a few lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from broker_scenarios.drivers.installed import DriverCommand
from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.table import load_progress
from broker_scenarios.tcp_run import run_locally

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

REPORTS_AFTER_ITS_CLOSE = """
import json, socket, sys, threading
run = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
sends = []

def complete(invocation, **facts):
    run.sendall((json.dumps({**invocation, **facts}) + chr(10)).encode())

def report():
    for send in sends:
        complete(send, type="info", error="aborted", code=-1)

for line in run.makefile():
    invocation = json.loads(line)
    if invocation["f"] == "send":
        sends.append(invocation)
        continue
    if invocation["f"] == "close" and sends:
        threading.Timer(0.3, report).start()
    complete(invocation, type="ok")
"""
CASE = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients: {app: {driver: kafka-python, producer: {}, script: [{send: 3}, {close: {timeout_ms: 0}}]}}
expect: {verdict: unknown, outcome: {info: 3}, stored: 0}
"""


def test_sends_that_a_client_reports_after_its_close_have_an_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text(REPORTS_AFTER_ITS_CLOSE)
    command = DriverCommand("toy 1.0", (sys.executable, "-I", str(program)), tmp_path)
    monkeypatch.setattr("broker_scenarios.drivers.installed.command_of", lambda _: command)
    path = tmp_path / "case.yaml"
    path.write_text(CASE)
    scenario = load_scenario(path)
    with load_progress(scenario.name, scenario.records) as progress:
        run = judged(run_locally(scenario, scenario.seed, progress), engine=None)
    assert run.judgement.misses == ()
