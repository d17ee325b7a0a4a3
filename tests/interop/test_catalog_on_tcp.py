"""Pairs of the catalogue on TCP: sockets and the time of the machine show what virtual time shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.targets.catalog_targets import LocalRuns

pytestmark = pytest.mark.interop

CATALOG = Path(__file__).parents[2] / "scenarios" / "catalog"
QUICK = (
    "abort-seq-reuse-loss",
    "async-retry-reorder",
    "batch-too-large",
    "broker-no-dedup-epoch-bump",
    "cancelled-seq-reuse-loss",
    "close-drops-buffer",
    "codec-mismatch",
    "dedup-window-5",
    "eof-ambiguity",
    "inflight-retry-reorder",
    "lost-ack-duplicate",
    "malformed-produce-response",
    "not-enough-replicas-after-append",
    "read-uncommitted-dirty",
    "wrong-offset-in-ack",
)
"""Pairs that take a second, and expect no time that a busy machine misses."""


@pytest.mark.parametrize("name", QUICK)
def test_an_anomaly_shows_on_tcp_and_is_gone_in_the_flip(name: str) -> None:
    for side in load_scenario(CATALOG / f"{name}.yaml").sides():
        assert judged(LocalRuns().run(side, side.seed), engine=None).judgement.misses == (), side.name
