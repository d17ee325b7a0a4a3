"""Pairs of the catalogue on real brokers: the anomaly is Kafka's, not the simulator's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.cli import main
from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.targets.catalog_targets import KafkaRuns
from tests.interop.kafka_release import RELEASES, ToolMissingError, classpath
from tests.interop.prepared_release import quick_start

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.interop

CATALOG = Path(__file__).parents[2] / "scenarios" / "catalog"
ON_ONE_BROKER = (
    "batch-too-large",
    "callback-deadlock",
    "close-drops-buffer",
    "correlation-mismatch",
    "eof-ambiguity",
    "fake-success",
    "inflight-retry-reorder",
    "lost-ack-duplicate",
    "malformed-produce-response",
    "metadata-flap-sequence-reset-loss",
    "not-enough-replicas-after-append",
    "oversize-frame",
    "possibly-persisted-desync-fatal",
    "reset-skips",
    "retry-queue-reorder",
    "sequence-wrap",
    "silent-local-drop",
    "split-double-free",
    "stale-pid-request",
)
"""Pairs on one cluster, whose runs take a second or less."""
PROCESSES = "unclean-election-loss"
"""A pair that kills and starts brokers."""


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        try:
            patch.setenv("KAFKA_OPTS", " ".join(quick_start(request.param)))
            classpath(request.param)
        except ToolMissingError as missing:
            pytest.skip(str(missing))
        yield request.param


@pytest.fixture(scope="module")
def kafka(release: str) -> Iterator[KafkaRuns]:
    with KafkaRuns(folder_of(release)) as runs:
        yield runs


def folder_of(release: str) -> Path:
    return Path(classpath(release).removesuffix("/*"))


@pytest.mark.parametrize("name", [*ON_ONE_BROKER, PROCESSES])
def test_a_real_broker_shows_the_anomaly_and_its_flip(kafka: KafkaRuns, name: str) -> None:
    for side in load_scenario(CATALOG / f"{name}.yaml").sides():
        assert judged(kafka.run(side, side.seed), engine=None).judgement.misses == (), side.name


def test_the_command_counts_what_a_release_shows(
    release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.json"
    names = ["lost-ack-duplicate", "codec-mismatch"]
    assert main(["catalog", "run", *names, "--kafka", str(folder_of(release)), "--json", str(results)]) == 0
    totals = f"1 of 2 anomalies are shown, and gone in the flip, on real Kafka {release}; 1 need"
    assert totals in capsys.readouterr().out
    found = json.loads(results.read_text())
    assert (found["shown"], found["refused"]) == (1, 1)
    assert found["results"]["lost-ack-duplicate"]["has_finding"]
    assert found["results"]["lost-ack-duplicate"]["is_gone_in_flip"]
    assert found["results"]["codec-mismatch"]["reasons"] == [
        "codec-mismatch: its cause is the release: 2.0.1 and 2.1.1"
    ]
