"""The evidence of a run, and its judgement: the record for the table and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_scenarios.expectations import judge
from broker_scenarios.journal_view import JournalView
from broker_scenarios.measurements import measure
from broker_scenarios.promises import Promises
from broker_scenarios.run_record import RunRecord
from broker_scenarios.text_forms import plural
from broker_scenarios.timeline import build_timeline
from broker_scenarios.verdict import check_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.truth import Truth
    from broker_scenarios.verdict import CheckEngine, History
    from broker_sim.faults.engine import RuleReport

__all__ = ["Evidence", "judged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One finished run: the history of the clients, the records in the logs and the reports of the rules."""

    scenario: Scenario
    seed: int
    history: History
    truth: Truth
    rules: Sequence[RuleReport]
    facts: Mapping[str, str]
    problems: tuple[str, ...] = ()
    """Why the run did not end by itself, such as its deadline."""


def judged(evidence: Evidence, *, engine: CheckEngine | None, reproduce: str = "") -> RunRecord:
    """Check every record and compare the verdict with what the file expects."""
    scenario = evidence.scenario
    view = JournalView.of(evidence.truth.journal)
    promises = Promises.from_configs(
        scenario.producer_config,
        scenario.loaded_topic.configs,
        scenario.broker_config,
        replication_factor=scenario.loaded_topic.replication_factor,
    )
    verdict = check_run(
        history=evidence.history,
        stored=evidence.truth.stored,
        truncated=evidence.truth.truncated,
        journal=view,
        promises=promises,
        engine=engine,
        caveats=evidence.truth.caveats,
    )
    measurements = measure(verdict.records, view, end_us=verdict.end_us)
    never = tuple(f"rule {rule.name!r} {rule.problem}" for rule in evidence.rules if rule.problem)
    return RunRecord(
        name=scenario.name,
        verdict=verdict,
        judgement=judge(verdict, measurements, scenario.expectation, (*evidence.problems, *never)),
        expectation=scenario.expectation,
        description=f"{scenario.title}\n\n{scenario.claim}".strip(),
        timeline=build_timeline(verdict, view),
        measurements=measurements,
        facts=evidence.facts,
        rules=[_rule_line(rule, scenario.rule_texts[rule.name]) for rule in evidence.rules],
        reproduce=reproduce,
    )


def _rule_line(rule: RuleReport, text: str) -> str:
    fired = f"{rule.name}: {text}: fired {plural(rule.fired, 'time')}"
    return f"{fired}; {rule.problem}" if rule.problem else fired
