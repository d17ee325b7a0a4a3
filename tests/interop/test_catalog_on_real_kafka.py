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
    "async-retry-reorder",
    "batch-too-large",
    "cancelled-seq-reuse-loss",
    "close-drops-buffer",
    "eof-ambiguity",
    "idempotence-silently-off",
    "inflight-retry-reorder",
    "lost-ack-duplicate",
    "malformed-produce-response",
    "not-enough-replicas-after-append",
    "one-dead-conn-amplification",
)
"""Pairs that share one cluster and take few seconds: client defects, and rules in every phase."""
ON_PROCESSES = "unclean-election-loss"
"""A pair that kills and starts brokers."""
NEWEST = RELEASES[-1]


def release_of(name: str, patch: pytest.MonkeyPatch) -> Path:
    """The folder with the jars of a release; its JVMs start soon. Skips without the tools that fetch it."""
    try:
        folder = Path(classpath(name).removesuffix("/*"))
        patch.setenv("KAFKA_OPTS", " ".join(quick_start(name)))
    except ToolMissingError as missing:
        pytest.skip(str(missing))
    return folder


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[KafkaRuns]:
    with pytest.MonkeyPatch.context() as patch, KafkaRuns(release_of(request.param, patch)) as runs:
        yield runs


@pytest.mark.parametrize("name", ON_ONE_BROKER)
def test_a_real_broker_shows_the_anomaly_and_its_flip(kafka: KafkaRuns, name: str) -> None:
    for side in load_scenario(CATALOG / f"{name}.yaml").sides():
        assert judged(kafka.run(side, side.seed), engine=None).judgement.misses == (), side.name


def test_the_command_kills_and_starts_brokers_and_counts_what_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.json"
    folder = str(release_of(NEWEST, monkeypatch))
    assert main(["catalog", "run", ON_PROCESSES, "codec-mismatch", "--kafka", folder, "--json", str(results)]) == 0
    totals = f"1 of 2 anomalies are shown, and gone in the flip, on real Kafka {NEWEST}; 1 need"
    assert totals in capsys.readouterr().out
    found = json.loads(results.read_text())
    assert (found["shown"], found["refused"]) == (1, 1)
    shown, refused = found["results"][ON_PROCESSES], found["results"]["codec-mismatch"]
    assert (shown["has_finding"], shown["is_gone_in_flip"]) == (True, True)
    assert refused["reasons"] == ["codec-mismatch: its cause is the release: 2.0.1 and 2.1.1"]
