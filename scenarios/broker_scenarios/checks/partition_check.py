"""All checks over one topic-partition: the one function that Spark and a run in one process both call.

A check that crashes yields a CheckCrash, and the other checks continue: the verdict is then unknown, never valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from broker_scenarios.checks.analysis import Analysis, by_partition
from broker_scenarios.checks.per_partition.aborted_reads import aborted_reads
from broker_scenarios.checks.per_partition.double_completions import double_completions
from broker_scenarios.checks.per_partition.duplicates import duplicates
from broker_scenarios.checks.per_partition.failed_but_stored import failed_but_stored
from broker_scenarios.checks.per_partition.ghost_reads import ghost_reads
from broker_scenarios.checks.per_partition.inconsistent_offsets import inconsistent_offsets
from broker_scenarios.checks.per_partition.lost_writes import lost_writes
from broker_scenarios.checks.per_partition.misdelivered import misdelivered
from broker_scenarios.checks.per_partition.recovered import recovered
from broker_scenarios.checks.per_partition.set_losses import set_losses
from broker_scenarios.checks.per_partition.unresolved import unresolved
from broker_scenarios.checks.per_partition.unseen import unseen
from broker_scenarios.checks.per_partition.wrong_offsets import wrong_offsets
from broker_scenarios.checks.per_process.nonmonotonic_sends import (
    fewest_out_of_order,
    nonmonotonic_sends,
    placed_sends,
)
from broker_scenarios.findings import CheckCrash, CheckResult, Finding, FindingKind, Outcome, RecordResult

if TYPE_CHECKING:
    from broker_scenarios.checks.calls import Send
    from broker_scenarios.history import HistoryEvent, LogRecord
    from broker_scenarios.operations import Value

__all__ = ["CHECKS", "check_all", "check_analysis", "check_partition", "run_checks"]

T = TypeVar("T")

_LOSSES: Final = (FindingKind.LOST_WRITE, FindingKind.SET_LOSS)
Check = Callable[[Analysis], Iterable[Finding]]

CHECKS: Final[Mapping[str, Check]] = {
    FindingKind.LOST_WRITE.value: lost_writes,
    FindingKind.SET_LOSS.value: set_losses,
    FindingKind.UNSEEN.value: unseen,
    FindingKind.DUPLICATE.value: duplicates,
    FindingKind.NONMONOTONIC_SEND.value: nonmonotonic_sends,
    FindingKind.INCONSISTENT_OFFSETS.value: inconsistent_offsets,
    FindingKind.OFFSET_ORACLE.value: wrong_offsets,
    FindingKind.MISDELIVERED.value: misdelivered,
    FindingKind.FAILED_BUT_STORED.value: failed_but_stored,
    FindingKind.G1A.value: aborted_reads,
    FindingKind.GHOST_READ.value: ghost_reads,
    FindingKind.UNRESOLVED.value: unresolved,
    FindingKind.DOUBLE_COMPLETION.value: double_completions,
    FindingKind.RECOVERED.value: recovered,
}


def check_partition(
    topic: str,
    partition: int,
    history: Iterable[HistoryEvent],
    logs: Iterable[LogRecord],
    checks: Mapping[str, Check] = CHECKS,
) -> CheckResult:
    """Check the events of one partition against its log records."""
    result = CheckResult()
    try:
        analysis = Analysis.of(topic, partition, history, logs)
    except Exception as error:  # noqa: BLE001  (a crashed check is a result: unknown)
        result.crashes.append(_crash(topic, partition, "analysis", error))
        return result
    check_analysis(analysis, result, checks)
    result.records = _record_results(analysis, result.findings)
    return result


def check_analysis(analysis: Analysis, result: CheckResult, checks: Mapping[str, Check] = CHECKS) -> None:
    """Add the findings and crashes of all checks of one partition."""
    run_checks(checks, analysis, result, analysis.topic, analysis.partition)


def run_checks(
    checks: Mapping[str, Callable[[T], Iterable[Finding]]],
    subject: T,
    result: CheckResult,
    topic: str = "",
    partition: int = -1,
) -> None:
    """Add the findings and crashes of all checks of a subject; one of several partitions has no topic."""
    for name, check in checks.items():
        try:
            found = list(check(subject))
        except Exception as error:  # noqa: BLE001  (a crashed check is a result: unknown; the other checks continue)
            result.crashes.append(_crash(topic, partition, name, error))
        else:
            result.findings += found


def check_all(
    history: Iterable[HistoryEvent], logs: Iterable[LogRecord], checks: Mapping[str, Check] = CHECKS
) -> CheckResult:
    """Check every partition in this process, in the order of their names, as Spark does with applyInArrow."""
    result = CheckResult()
    for (topic, partition), (events, records) in by_partition(history, logs).items():
        result.extend(check_partition(topic, partition, events, records, checks))
    return result


def _record_results(analysis: Analysis, findings: list[Finding]) -> list[RecordResult]:
    lost = {finding.value_id: None for finding in findings if finding.kind in _LOSSES}
    reordered: dict[Value, None] = {}
    for placed in placed_sends(analysis).values():
        out = fewest_out_of_order([offset for offset, _ in placed])
        reordered.update((placed[position].send.value_id, None) for position in out)
    results: list[RecordResult] = []
    for value_id, sends in analysis.sends_of.items():
        send = sends[0] if len(sends) == 1 else _best_send(sends)
        results.append(
            RecordResult(
                topic=analysis.topic,
                partition=analysis.partition,
                value_id=value_id,
                process=send.process,
                producer_id=send.producer_id,
                index=send.index,
                outcome=send.outcome,
                invoke_us=send.invoke_us,
                complete_us=send.complete_us,
                ack_offset=send.ack_offset,
                copies=len(stored := analysis.stored.get(value_id, ())),
                lost=value_id in lost,
                duplicated=len(stored) > 1,
                reordered=value_id in reordered,
                error_code=send.error_code,
                error=send.error,
            )
        )
    return results


def _best_send(sends: list[Send]) -> Send:
    """Return the send that decides about a value: an acknowledged one, else an unknown one, else the last failure."""
    for outcome in (Outcome.ACKED, Outcome.UNKNOWN):
        for send in sends:
            if send.outcome is outcome:
                return send
    return sends[-1]


def _crash(topic: str, partition: int, check: str, error: Exception) -> CheckCrash:
    return CheckCrash(topic=topic, partition=partition, kind=check, detail=f"{type(error).__name__}: {error}")
