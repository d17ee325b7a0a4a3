"""Scenarios with foreign clients on virtual time: the files, players and verdicts are those of every run."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import threading
import time
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer
from kafka.producer.sender import Sender

from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.virtual_run import VirtualRun
from tests.interop_python.test_drivers import HEAD, KILLED, READS_AND_WRITES, TRANSACTIONS

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.evidence import Evidence
    from broker_scenarios.run_record import RunRecord


DRIVERS = ("aiokafka", "kafka-python")


def run(folder: Path, text: str, driver: str = "aiokafka", seed: int = 1) -> tuple[Evidence, RunRecord, str]:
    path = folder / "case.yaml"
    path.write_text(HEAD + text.replace("DRIVER", driver))
    virtual = VirtualRun(load_scenario(path), seed)
    evidence = virtual.run(None)
    return evidence, judged(evidence, engine=None), virtual.world.fingerprint()


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("text", [READS_AND_WRITES, TRANSACTIONS, KILLED], ids=["reads", "transactions", "killed"])
def test_a_scenario_of_real_sockets_runs_on_virtual_time(tmp_path: Path, text: str, driver: str) -> None:
    evidence, record, fingerprint = run(tmp_path, text, driver)
    assert evidence.problems == ()
    assert record.judgement.misses == ()
    assert run(tmp_path, text, driver)[2] == fingerprint


@pytest.mark.parametrize("driver", DRIVERS)
def test_seeds_differ(tmp_path: Path, driver: str) -> None:
    assert run(tmp_path, READS_AND_WRITES, driver, seed=1)[2] != run(tmp_path, READS_AND_WRITES, driver, seed=2)[2]


BOTH = """
clients:
  app: {driver: kafka-python, producer: {acks: all}, load: {records: 30, rate_per_second: 100}}
  reader:
    driver: aiokafka
    consumer: {group.id: g, auto.offset.reset: earliest}
    script: [{subscribe: [orders]}, {poll: {records: 30}}, close]
expect: {lost: 0, outcome: {ok: 30}}
"""


def test_clients_of_both_kinds_share_a_world(tmp_path: Path) -> None:
    _, record, fingerprint = run(tmp_path, BOTH)
    assert record.judgement.misses == ()
    assert run(tmp_path, BOTH)[2] == fingerprint


FAULTS = """
clients:
  app: {driver: DRIVER, producer: {acks: all}, load: {records: 30, rate_per_second: 100}}
rules:
  kill: {when: {acked_records: 10}, act: {kill_client: app}}
expect: {lost: 0}
"""


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_killed_client_leaves_open_records_and_no_warnings(tmp_path: Path, driver: str) -> None:
    evidence, record, _ = run(tmp_path, FAULTS, driver)
    assert evidence.problems == ()
    assert record.verdict.counts.unknown > 0
    gc.collect()


@pytest.mark.parametrize(("driver", "package"), [("aiokafka", "aiokafka"), ("kafka-python", "kafka")])
def test_the_process_is_as_before(tmp_path: Path, driver: str, package: str) -> None:
    handlers = list(logging.getLogger(package).handlers)
    modules = [vars(each).copy() for each in (time, threading, threading.Thread)]
    state = random.getstate()
    run(tmp_path, TRANSACTIONS, driver)
    assert ([vars(each).copy() for each in (time, threading, threading.Thread)], random.getstate()) == (modules, state)
    assert logging.getLogger(package).handlers == handlers


def test_a_client_that_needs_real_sockets_is_refused_by_name(tmp_path: Path) -> None:
    wanted = "client 'app': driver confluent-kafka needs real sockets, not virtual time"
    with pytest.raises(ScenarioError, match=wanted):
        run(tmp_path, TRANSACTIONS, "confluent-kafka")


def test_threads_without_greenlet_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker_scenarios.virtual_clients.driver.find_spec", lambda _: None)
    with pytest.raises(ScenarioError, match=r"needs greenlet: pip install 'broker-sim\[threads\]'"):
        run(tmp_path, TRANSACTIONS, "kafka-python")


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


def test_an_error_that_ends_a_thread_is_a_problem_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Sender) -> None:
        raise ValueError("a bug of the client")

    monkeypatch.setattr(Sender, "run", fail)
    evidence, _, _ = run(tmp_path, FAULTS, "kafka-python")
    assert evidence.problems[0].startswith(
        "client app: driver kafka-python reported an error that ended thread app-network-"
    )
    assert evidence.problems[0].endswith("ValueError('a bug of the client')")
