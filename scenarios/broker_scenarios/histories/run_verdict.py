"""Joins what the operations of a run show with the verdict over its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.checks.history_check import check_whole
from broker_scenarios.checks.partition_check import CHECKS
from broker_scenarios.findings import Finding, FindingKind
from broker_scenarios.histories.fault_explanations import FaultExplainer
from broker_scenarios.histories.run_operations import circumstances_of_run, whole_history

if TYPE_CHECKING:
    from broker_scenarios.evidence import Evidence
    from broker_scenarios.operations import Value
    from broker_scenarios.verdict import Judged, RunVerdict

__all__ = ["add_history"]

_OF_READS: Final = {
    kind.value: CHECKS[kind.value]
    for kind in (FindingKind.UNSEEN, FindingKind.G1A, FindingKind.GHOST_READ, FindingKind.INCONSISTENT_OFFSETS)
}
"""The checks of partitions that need polls; the verdict over the records has the others, with their causes."""


def add_history(verdict: RunVerdict, evidence: Evidence) -> None:
    """Judge the operations of a run in which a client polled or used transactions."""
    history = evidence.operations
    if history is None or not isinstance(evidence.history, list):
        return
    if not any(each.f in {"poll", "txn"} for each in history.operations):
        return
    circumstances = circumstances_of_run(evidence)
    whole = whole_history(evidence, circumstances)
    result = check_whole(whole, _OF_READS)
    explainer = FaultExplainer(whole, circumstances)
    permitted: dict[Value, str] = {
        finding.value_id: allowance.reason
        for kind in (FindingKind.LOST_WRITE, FindingKind.SET_LOSS)
        for finding in verdict.findings_of(kind)
        if (allowance := verdict.promises.allowance_for(finding)) is not None
    }
    known = {_place(finding) for finding in verdict.findings_of(FindingKind.INCONSISTENT_OFFSETS)}
    stored: set[Value] = {record.value_id for record in evidence.truth.stored}
    found: list[Judged] = []
    for finding in result.findings:
        if finding.kind is FindingKind.INCONSISTENT_OFFSETS and _place(finding) in known:
            continue
        explainer.explain(finding)
        allowance = circumstances.promises.allowance_for(finding)
        found.append((finding, _follows(finding, permitted, stored) if allowance is None else allowance.reason))
    verdict.add(found, [f"check {crash.kind} crashed: {crash.detail}" for crash in result.crashes])


def _place(finding: Finding) -> tuple[str, int, int]:
    return finding.topic, finding.partition, finding.offset


def _follows(finding: Finding, permitted: dict[Value, str], stored: set[Value]) -> str | None:
    """The reason of the permitted losses that are all that the finding shows.

    Of the values at one offset, one is stored there now; the others were lost.
    """
    values = finding.values
    if finding.kind is FindingKind.INCONSISTENT_OFFSETS:
        values = tuple(value for value in values if value not in stored)
    reasons = [permitted.get(value) for value in values]
    return reasons[0] if reasons and all(reasons) else None
