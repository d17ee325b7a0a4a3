"""Scenarios with aiokafka on virtual time: the files, players and verdicts are those of every run."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import time
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer

from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.virtual_run import VirtualRun
from tests.interop_python.test_drivers import HEAD, KILLED, READS_AND_WRITES, TRANSACTIONS

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.evidence import Evidence
    from broker_scenarios.run_record import RunRecord


def run(folder: Path, text: str, driver: str = "aiokafka", seed: int = 1) -> tuple[Evidence, RunRecord, str]:
    path = folder / "case.yaml"
    path.write_text(HEAD + text.replace("DRIVER", driver))
    virtual = VirtualRun(load_scenario(path), seed)
    evidence = virtual.run(None)
    return evidence, judged(evidence, engine=None), virtual.world.fingerprint()


@pytest.mark.parametrize("text", [READS_AND_WRITES, TRANSACTIONS, KILLED], ids=["reads", "transactions", "killed"])
def test_a_scenario_of_real_sockets_runs_on_virtual_time(tmp_path: Path, text: str) -> None:
    evidence, record, fingerprint = run(tmp_path, text)
    assert evidence.problems == ()
    assert record.judgement.misses == ()
    assert run(tmp_path, text)[2] == fingerprint


def test_seeds_differ(tmp_path: Path) -> None:
    assert run(tmp_path, READS_AND_WRITES, seed=1)[2] != run(tmp_path, READS_AND_WRITES, seed=2)[2]


FAULTS = """
clients:
  app: {driver: aiokafka, producer: {acks: all}, load: {records: 30, rate_per_second: 100}}
rules:
  kill: {when: {acked_records: 10}, act: {kill_client: app}}
expect: {lost: 0}
"""


def test_a_killed_client_leaves_open_records_and_no_warnings(tmp_path: Path) -> None:
    evidence, record, _ = run(tmp_path, FAULTS)
    assert evidence.problems == ()
    assert record.verdict.counts.unknown > 0
    gc.collect()


def test_the_process_is_as_before(tmp_path: Path) -> None:
    handlers = list(logging.getLogger("aiokafka").handlers)
    clocks, state = vars(time).copy(), random.getstate()
    run(tmp_path, TRANSACTIONS)
    assert (vars(time), random.getstate()) == (clocks, state)
    assert logging.getLogger("aiokafka").handlers == handlers


@pytest.mark.parametrize("driver", ["confluent-kafka", "kafka-python"])
def test_a_client_that_needs_real_sockets_is_refused_by_name(tmp_path: Path, driver: str) -> None:
    with pytest.raises(ScenarioError, match=rf"client 'app': driver {driver} needs real sockets, not virtual time"):
        run(tmp_path, TRANSACTIONS, driver)


def test_a_version_is_the_installed_one(tmp_path: Path) -> None:
    run(tmp_path, TRANSACTIONS, f'{{name: aiokafka, version: "{version("aiokafka")}"}}')
    with pytest.raises(ScenarioError, match=r"driver aiokafka 0\.8\.0 on virtual time is the installed one"):
        run(tmp_path, TRANSACTIONS, '{name: aiokafka, version: "0.8.0"}')


def test_a_client_that_cannot_start_is_a_problem_of_the_run(tmp_path: Path) -> None:
    evidence, _, _ = run(tmp_path, TRANSACTIONS.replace("transactional.id: t", "transactional.id: t, acks: 1"))
    assert evidence.problems[0].startswith("client app: driver aiokafka could not make its client: ValueError: ")


def test_an_error_that_the_client_leaves_behind_is_a_problem_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ValueError("a bug of the client")

    async def flush(_: AIOKafkaProducer) -> None:
        asyncio.get_running_loop().call_soon(fail)

    monkeypatch.setattr(AIOKafkaProducer, "flush", flush)
    evidence, _, _ = run(tmp_path, READS_AND_WRITES)
    (problem,) = evidence.problems
    assert problem.startswith("client app: driver aiokafka reported Exception in callback")
    assert problem.endswith("ValueError('a bug of the client')")
