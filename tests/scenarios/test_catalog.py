"""Every pair of the catalogue: side A shows the finding, the flip does not, on the same seed, and the cause is in A."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.language.steps import Act, Repeat, Wait
from broker_scenarios.virtual_run import VirtualRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.evidence import Evidence
    from broker_scenarios.expectations import Expectation
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.language.steps import Script, Step

CATALOG = sorted((Path(__file__).parents[2] / "scenarios" / "catalog").glob("*.yaml"))
PAIRS = [path for path in CATALOG if re.search(r"^flip:", path.read_text(), re.MULTILINE)]
WITHOUT_FAULTS: Final = {
    "abort-does-not-rewind": "the application, which does not seek after its abort",
    "auth-failure-storm": "the password of the clients, and their back-off",
    "batch-too-large": "the topic's max.message.bytes",
    "cert-expires-midrun": "the validity of the brokers' certificate",
    "codec-mismatch": "the release of the broker",
    "connection-rate-quota": "max.connection.creation.rate",
    "idle-close-race": "the connections.max.idle.ms of both sides",
    "lso-head-of-line": "the isolation.level of the reader",
    "old-format": "the topic's message.format.version",
    "pid-explosion": "a producer for each record",
    "producer-id-mapping-expired": "transactional.id.expiration.ms",
    "read-uncommitted-dirty": "the isolation.level of the reader",
    "timeout-looks-like-fencing": "the application, which commits after transaction.timeout.ms",
    "timestamp-reject-or-vanish": "message.timestamp.before.max.ms and retention.ms",
    "unknown-producer-id": "the release of the broker",
}
"""The pairs without rules, defects and acts, and what causes their finding: their flip is the only run without it."""


def run(side: Scenario) -> Evidence:
    return VirtualRun(side, side.seed).run(None)


def misses(evidence: Evidence, expectation: Expectation | None = None) -> tuple[str, ...]:
    if expectation is not None:
        evidence = replace(evidence, scenario=replace(evidence.scenario, expectation=expectation))
    return judged(evidence, engine=None).judgement.misses


def without_faults(script: Script) -> Iterator[Step]:
    """The steps without acts, and without waits for what rules and acts would do."""
    for step in script:
        if isinstance(step, Repeat):
            yield replace(step, steps=tuple(without_faults(step.steps)))
        elif isinstance(step, Wait):
            yield replace(step, rule=None, event=None)
        elif not isinstance(step, Act):
            yield step


def bare(side: Scenario) -> Scenario:
    """The same clients and configurations, without rules, defects and acts."""
    clients = tuple(replace(each, defects=(), script=tuple(without_faults(each.script))) for each in side.clients)
    return replace(side, clients=clients, rules=(), rule_texts={}, broker_defects=())


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: path.stem)
def test_side_a_shows_the_anomaly_and_the_flip_removes_it(path: Path) -> None:
    side_a = load_scenario(path)
    flip = side_a.flip
    assert flip is not None
    with_cause, without = run(side_a), run(flip)
    assert misses(with_cause) == ()
    assert misses(without) == ()
    assert misses(without, side_a.expectation), "the run of the flip is what side A expects"
    assert misses(with_cause, flip.expectation), "the run of side A is what the flip expects"


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: path.stem)
def test_side_a_is_not_met_without_its_rules_defects_and_acts(path: Path) -> None:
    side_a = load_scenario(path)
    if path.stem in WITHOUT_FAULTS:
        assert bare(side_a) == side_a, "it has faults: take it from the list"
    else:
        assert misses(run(bare(side_a)))


def test_each_name_without_faults_is_a_pair() -> None:
    assert set(WITHOUT_FAULTS) <= {path.stem for path in PAIRS}


def test_a_refused_commit_has_another_error_without_the_second_version_of_transactions() -> None:
    pair = load_scenario(CATALOG[0].with_name("failed-commit-reported-ok.yaml"))
    for side in pair.sides():
        assert misses(run(replace(side, release="3.7.2"))) == ()


def test_each_documented_anomaly_has_a_pair() -> None:
    assert len(PAIRS) == 133
