"""Documented bugs of foreign clients: one version shows it and the fixed one does not, here and on a real broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.drivers.installed import install
from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.table import load_progress
from broker_scenarios.tcp_run import run_attached, run_locally
from tests.interop.kafka_release import ToolMissingError
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.language.scenario import Scenario
    from tests.interop.real_kafka import RealKafka

pytestmark = pytest.mark.interop

FOLDER = Path(__file__).parents[2] / "scenarios" / "foreign"
PAIRS = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    with real_kafka("4.3.1") as running:
        yield running


def sides_of(name: str) -> tuple[Scenario, ...]:
    """Both sides of a pair, with the versions of their clients installed."""
    sides = load_scenario(FOLDER / f"{name}.yaml").sides()
    for group in (group for side in sides for group in side.clients):
        if group.driver is not None and group.driver.version is not None:
            try:
                install(group.driver)
            except ScenarioError as missing:
                raise ToolMissingError(str(missing)) from None
    return sides


@pytest.mark.parametrize("name", PAIRS)
def test_one_version_shows_the_bug_and_the_fixed_one_does_not(name: str) -> None:
    for side in sides_of(name):
        with load_progress(side.name, side.records) as progress:
            run = judged(run_locally(side, side.seed, progress), engine=None)
        assert run.judgement.misses == (), side.name


@pytest.mark.parametrize("name", PAIRS)
def test_the_same_on_a_real_broker(kafka: RealKafka, name: str) -> None:
    host, _, port = kafka.bootstrap_servers.partition(",")[0].rpartition(":")
    for side in sides_of(name):
        with load_progress(side.name, side.records) as progress:
            run = judged(run_attached(side, side.seed, progress, (host, int(port))), engine=None)
        assert run.judgement.misses == (), side.name


def test_there_are_pairs_of_each_python_client() -> None:
    clients = {
        group.driver.driver.name
        for name in PAIRS
        for group in load_scenario(FOLDER / f"{name}.yaml").clients
        if group.driver is not None
    }
    assert clients >= {"aiokafka", "confluent-kafka", "kafka-python"}
    assert len(PAIRS) >= 7
