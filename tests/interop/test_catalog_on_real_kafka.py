"""Pairs of the catalogue on real brokers, behind the proxy: the anomaly is Kafka's, not the simulator's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.table import load_progress
from broker_scenarios.tcp_run import run_attached
from tests.interop.kafka_release import ToolMissingError
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.real_kafka import RealKafka

pytestmark = pytest.mark.interop

CATALOG = Path(__file__).parents[2] / "scenarios" / "catalog"
ON_ONE_BROKER = (
    "inflight-retry-reorder",
    "lost-ack-duplicate",
    "not-enough-replicas-after-append",
    "one-dead-conn-amplification",
)
"""The pairs that show their anomaly on one broker with a real broker's own configurations."""


@pytest.fixture(scope="module", params=["3.7.2", "4.3.1"])
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    try:
        with real_kafka(request.param) as running:
            yield running
    except ToolMissingError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("name", ON_ONE_BROKER)
def test_a_real_broker_shows_the_anomaly_and_its_flip(kafka: RealKafka, name: str) -> None:
    host, _, port = kafka.bootstrap_servers.partition(",")[0].rpartition(":")
    for side in load_scenario(CATALOG / f"{name}.yaml").sides():
        with load_progress(side.name, side.records) as progress:
            run = judged(run_attached(side, side.seed, progress, (host, int(port))), engine=None)
        assert run.judgement.misses == (), side.name
