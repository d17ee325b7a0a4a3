"""Runs of small scenario files, for the tests of clients and scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_scenarios.evidence import Evidence, judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.virtual_run import VirtualRun

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.playing.run_history import Operation, RunHistory
    from broker_scenarios.run_record import RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A run and its judgement."""

    evidence: Evidence
    run: RunRecord

    @property
    def history(self) -> RunHistory:
        """The history of the clients."""
        assert self.evidence.operations is not None
        return self.evidence.operations

    def operations(self, f: str) -> list[Operation]:
        """The operations of one kind, in order."""
        return [each for each in self.history.operations if each.f == f]


def scenario_of(folder: Path, text: str) -> Scenario:
    """The scenario of a text."""
    path = folder / "case.yaml"
    path.write_text(text)
    return load_scenario(path)


def play(folder: Path, text: str, seed: int = 1) -> Played:
    """Run a scenario on virtual time."""
    return play_scenario(scenario_of(folder, text), seed)


def play_scenario(scenario: Scenario, seed: int = 1) -> Played:
    """Run a scenario on virtual time."""
    evidence = VirtualRun(scenario, seed).run(None)
    return Played(evidence=evidence, run=judged(evidence, engine=None))
