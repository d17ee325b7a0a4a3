from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.cli import main
from broker_scenarios.errors import ScenarioError
from broker_scenarios.targets.broker_processes import ACTIONS, CommandedProcesses
from broker_sim.threaded_cluster import ThreadedCluster
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from pathlib import Path

CASE = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app:
    producer: {}
    script: [{send: {wait: true}}, {act: {pause: 1}}, {act: {resume: 1}}, {act: {stop: 1}}, close]
rules: {again: {act: {restart: 1}}}
expect: {outcome: {ok: 1}}
"""


def do(command: str, *actions: str) -> None:
    with ReactorThread("processes") as thread:
        processes: Any = CommandedProcesses(command, thread.reactor)
        for action in actions:
            thread.call(lambda each=action: processes.do(each, 3))
        assert processes.problem() is None


def test_a_command_gets_the_action_and_the_broker(tmp_path: Path) -> None:
    log = tmp_path / "log"
    do(f"echo {{action}} {{id}} >> {log}", *ACTIONS)
    assert log.read_text().splitlines() == ["kill 3", "stop 3", "start 3", "pause 3", "unpause 3"]


def test_a_command_that_fails_is_named() -> None:
    with pytest.raises(ScenarioError, match="'echo no; false' has failed with exit code 1: no"):
        do("echo no; false", "kill")


def test_rules_and_acts_on_brokers_call_the_command(tmp_path: Path) -> None:
    log, path = tmp_path / "log", tmp_path / "case.yaml"
    path.write_text(CASE)
    with ThreadedCluster(brokers=1) as cluster:
        options = ["--attach", cluster.bootstrap_servers, "--control", f"echo {{action}} {{id}} >> {log}"]
        assert main(["run", str(path), *options, "--report", str(tmp_path / "report.html")]) == 0
    assert log.read_text().splitlines() == ["kill 1", "start 1", "pause 1", "unpause 1", "stop 1", "start 1"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--control", "kill {id} {action}"], "--control is for the processes of the cluster of --attach"),
        (["--attach", "127.0.0.1:1", "--control", "kill {id}"], "expected {action} in it"),
        (["--kafka", "nowhere"], "--kafka nowhere: there is no libs/kafka_2.13-*.jar"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    tmp_path: Path, options: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(CASE)
    assert main(["run", str(path), *options]) == 2
    assert problem in capsys.readouterr().err
