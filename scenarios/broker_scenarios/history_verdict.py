"""Joins what the operations of a run show with the verdict over its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.findings import Cause, Finding, FindingKind
from broker_scenarios.history_of_run import claims_of, logs_of, operations_of
from broker_scenarios.judge_history import judge_history
from broker_scenarios.verdict import FindingGroup, Validity

if TYPE_CHECKING:
    from broker_scenarios.evidence import Evidence
    from broker_scenarios.history_checks.facts import Found
    from broker_scenarios.judge_history import JudgedFinding
    from broker_scenarios.verdict import RunVerdict

__all__ = ["add_history"]

_OF_RECORDS: Final = frozenset(
    {
        FindingKind.LOST_WRITE,
        FindingKind.DUPLICATE,
        FindingKind.NONMONOTONIC_SEND,
        FindingKind.INCONSISTENT_OFFSETS,
        FindingKind.OFFSET_ORACLE,
        FindingKind.MISDELIVERED,
        FindingKind.FAILED_BUT_STORED,
        FindingKind.UNRESOLVED,
        FindingKind.DOUBLE_COMPLETION,
        FindingKind.RECOVERED,
        FindingKind.SET_LOSS,
    }
)
"""The anomalies that the checks of records find themselves, with their causes."""
_EXAMPLES_MAX: Final = 3


def add_history(verdict: RunVerdict, evidence: Evidence) -> None:
    """Judge the operations of a run in which a client polled or used transactions."""
    history = evidence.operations
    if history is None or not isinstance(evidence.history, list):
        return
    if not any(each.f in {"poll", "txn"} for each in history.operations):
        return
    ops = operations_of(history, evidence.history, evidence.truth)
    judgement = judge_history(ops, claims_of(evidence), logs_of(evidence.truth))
    permitted = {
        finding.value_id: allowance.reason
        for finding in verdict.findings_of(FindingKind.LOST_WRITE)
        if (allowance := verdict.promises.allowance_for(finding)) is not None
    }
    for found in judgement.findings:
        kind = FindingKind(found.name)
        if kind not in _OF_RECORDS:
            _add(verdict, kind, found, permitted)


def _add(verdict: RunVerdict, kind: FindingKind, judged: JudgedFinding, permitted: dict[int, str]) -> None:
    total = next(each for each in verdict.judged if each.kind is kind)
    for each in judged.found:
        allowed = judged.allowed or _follows(each, permitted)
        total.found += 1
        if allowed is None:
            _break(verdict, f"{kind.value}: {total.meaning}")
        else:
            total.permitted += 1
            if allowed not in total.reasons:
                total.reasons.append(allowed)
        _group(verdict, kind, each, allowed)


def _follows(found: Found, permitted: dict[int, str]) -> str | None:
    """The reason of the permitted losses that are all that the finding shows."""
    reasons = [permitted.get(value) for value in found.values]
    return reasons[0] if reasons and all(reasons) else None


def _break(verdict: RunVerdict, reason: str) -> None:
    if verdict.validity is not Validity.BROKEN:
        verdict.reasons = [] if verdict.validity is Validity.VALID else verdict.reasons
        verdict.validity = Validity.BROKEN
    if reason not in verdict.reasons:
        verdict.reasons.append(reason)


def _group(verdict: RunVerdict, kind: FindingKind, found: Found, allowed: str | None) -> None:
    topic, _, partition = (found.key or "").rpartition("-")
    number = int(partition) if partition.isdecimal() else -1
    group = next(
        (
            each
            for each in verdict.groups
            if (each.kind, each.topic, each.partition, each.permitted_because) == (kind, topic, number, allowed)
        ),
        None,
    )
    if group is None:
        processes = ", ".join(dict.fromkeys(f"process {call.process}" for call in found.calls))
        group = FindingGroup(
            kind=kind, topic=topic, partition=number, cause=Cause.UNEXPLAINED, permitted_because=allowed, why=processes
        )
        verdict.groups.append(group)
    group.count += 1
    if len(group.examples) < _EXAMPLES_MAX:
        value = next((value for value in found.values if isinstance(value, int)), -1)
        detail = f"values {', '.join(map(str, found.values))}" if found.values else "no values"
        group.examples.append(Finding(kind=kind, topic=topic, partition=number, value_id=value, detail=detail))
