"""The documented bugs of the installed clients, on virtual time; tests/interop shows them on TCP and on Kafka."""

from __future__ import annotations

import logging
from importlib.metadata import version

import pytest

from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.virtual_run import run_virtually
from tests.plugin_runs import ROOT


@pytest.mark.parametrize(("driver", "package"), [("aiokafka", "aiokafka"), ("kafka-python", "kafka")])
def test_each_bug_shows_and_its_other_side_does_not(monkeypatch: pytest.MonkeyPatch, driver: str, package: str) -> None:
    # Pytest keeps log records, and these the connections that a bug leaves open.
    monkeypatch.setattr(logging.getLogger(package), "propagate", False)
    found = sorted((ROOT / "scenarios" / "foreign").glob(f"*-{driver}-{version(driver)}.yaml"))
    for path in found:
        for side in load_scenario(path).sides():
            assert judged(run_virtually(side, side.seed), engine=None).judgement.misses == (), path.stem
