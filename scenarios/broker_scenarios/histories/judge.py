"""Judges a history of any client against any broker: `broker-sim check`, and `broker_scenarios.check_history`.

Findings minus what the promises permit, as for the runs of scenarios: `broken` if a finding is not permitted, else
`unknown` if something could not be judged, else `valid`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.checks.history_check import check_whole
from broker_scenarios.checks.over_time.liveness import covered_from_us
from broker_scenarios.checks.per_partition.unresolved import is_overdue, without_outcome
from broker_scenarios.checks.per_partition.unseen import unread
from broker_scenarios.checks.whole_history import WholeHistory, is_read
from broker_scenarios.errors import HistoryError, ScenarioError
from broker_scenarios.findings import Finding, FindingKind
from broker_scenarios.garbage import without_collections
from broker_scenarios.histories.circumstances import Circumstances, circumstances_of, read_circumstances
from broker_scenarios.histories.fault_explanations import FaultExplainer
from broker_scenarios.histories.history_verdict import HistoryVerdict, JudgedFinding
from broker_scenarios.histories.json_text import DuplicateKeyError, parse_json
from broker_scenarios.histories.neutral_fold import NeutralFold
from broker_scenarios.operations import numbered_operations, split_key
from broker_scenarios.verdict import Validity
from sim_runtime.spelling import plural, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from broker_scenarios.checks.analysis import Analysis
    from broker_scenarios.checks.calls import Send
    from broker_scenarios.explanations import Explainer
    from broker_scenarios.history import TruncatedRecord
    from broker_scenarios.operations import Op

__all__ = [
    "BrokerEvidence",
    "add_log",
    "check_history",
    "is_table",
    "judge_history",
    "read_logs",
    "sorted_findings",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEvidence:
    """The evidence of simulated brokers: the records that replicas cut off, and the causes of losses."""

    truncated: Sequence[TruncatedRecord]
    explainer: Explainer
    caveats: Sequence[str] = ()
    """The reasons for which the verdict is unknown if nothing breaks a promise."""


_TABLES: Final = (".parquet", ".arrow", ".arrows", ".feather")
"""The endings of histories and logs in the Arrow schema; a folder of Parquet files is one too."""
_STATES = ("aborted", "open")
_CONTROLS = ("commit", "abort")


def check_history(
    history: Path | Iterable[Op],
    promises: Path | Mapping[str, Any],
    logs: Path | Mapping[str, Any] | None = None,
    brokers: BrokerEvidence | None = None,
) -> HistoryVerdict:
    """Judge a history of the neutral form.

    Args:
        history: a file with one operation per line, a table of sends, or the operations in their order.
        promises: a JSON or YAML file, or its mapping: `topics`, Kafka's configurations, claims, faults.
        logs: what each partition holds at the end, a JSON file or its mapping `topic-partition` -> list of
            [offset, value] or [offset, value, attributes]; null for a partition that is not known. For a table of
            sends also a table, which has the records of all partitions.
        brokers: what the brokers' journal shows beside their logs, if they are simulated.

    Raises:
        ScenarioError: an input is malformed (HistoryError for the history); the message names file, line and key.
    """
    circumstances = read_circumstances(promises) if isinstance(promises, Path) else circumstances_of(promises)
    if isinstance(history, Path) and is_table(history):
        if brokers is not None:
            raise ScenarioError(f"{history}: the evidence of brokers is for a history of operations, not for a table")
        # Imported for a table alone: it needs this module.
        from broker_scenarios.histories.table_judgement import judge_table

        return judge_table(history, circumstances, logs)
    if isinstance(logs, Path) and is_table(logs):
        raise ScenarioError(f"{logs}: a table of logs belongs to a history that is a table: expected JSON")
    with without_collections():
        whole = _whole_history(history, circumstances, logs)
        if brokers is None:
            return judge_history(whole, circumstances)
        for cut in brokers.truncated:
            analysis = whole.analyses.get(f"{cut.topic}-{cut.partition}")
            if analysis is not None:
                analysis.truncated.setdefault(cut.value_id, []).append(cut.offset)
        return judge_history(whole, circumstances, brokers)


def judge_history(
    history: WholeHistory, circumstances: Circumstances, brokers: BrokerEvidence | None = None
) -> HistoryVerdict:
    """Judge a folded history; the brokers' evidence explains losses."""
    result = check_whole(history)
    if brokers is not None:
        brokers.explainer.explain_all(result.findings)
    explainer = FaultExplainer(history, circumstances)
    judged: list[JudgedFinding] = []
    for finding in result.findings:
        explainer.explain(finding)
        allowance = circumstances.promises.allowance_for(finding)
        judged.append(_judged(finding, None if allowance is None else allowance.reason))
    unknown = [f"check {crash.kind} crashed: {crash.detail}" for crash in result.crashes]
    unknown += [*_not_judged(history), *(brokers.caveats if brokers is not None else ())]
    broken = any(finding.allowed is None for finding in judged)
    return HistoryVerdict(
        validity=Validity.BROKEN if broken else Validity.UNKNOWN if unknown else Validity.VALID,
        findings=tuple(sorted_findings(judged)),
        unknown=tuple(unknown),
        calls=len(history.calls),
    )


def sorted_findings(findings: Iterable[JudgedFinding]) -> list[JudgedFinding]:
    """Return findings in the order of a verdict: what breaks a promise first, then by name and partition."""
    order = {kind.value: number for number, kind in enumerate(FindingKind)}
    return sorted(findings, key=lambda each: (each.allowed is not None, order[each.name], each.key))


def is_table(path: Path) -> bool:
    """True if a path is that of a table: a history of sends, or their logs."""
    return path.is_dir() or path.suffix in _TABLES


def read_logs(path: Path) -> Mapping[str, Any]:
    """Read a logs file. Raises ScenarioError if it cannot be read."""
    try:
        data = parse_json(path.read_text(encoding="utf-8"))
    except DuplicateKeyError as error:
        raise ScenarioError(f"{path}: {error}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ScenarioError(f"cannot read the logs {path}: {reason_of(error)}") from None
    if not isinstance(data, dict):
        raise ScenarioError(f"{path}: expected an object with the records of each partition")
    return data


def _whole_history(
    history: Path | Iterable[Op], circumstances: Circumstances, logs: Path | Mapping[str, Any] | None
) -> WholeHistory:
    fold = NeutralFold(circumstances.partitions)
    for where, op in numbered_operations(history):
        fold.add(op, where)
    if isinstance(history, Path) and not fold.calls:
        raise HistoryError(f"{history}: the history has no operations")
    held = read_logs(logs) if isinstance(logs, Path) else logs or {}
    for key, records in held.items():
        add_log(fold, key, records, str(logs) if isinstance(logs, Path) else "logs")
    return fold.whole(circumstances)


def add_log(fold: NeutralFold, key: str, records: object, where: str) -> None:
    """Add what the log of a partition holds, as a logs file has it. Raises ScenarioError if it is malformed."""
    try:
        split_key(key)
    except ValueError as error:
        raise ScenarioError(f"{where}: {error}") from None
    analysis = fold.analysis_of(key, where, "logs")
    if records is None:
        return
    if not isinstance(records, list):
        raise ScenarioError(f"{where}: {key!r}: expected a list of records or null")
    analysis.log_known = True
    for record in records:
        _add_record(analysis, record, f"{where}: {key!r}")


def _add_record(analysis: Analysis, record: object, where: str) -> None:
    if not isinstance(record, list) or not 2 <= len(record) <= 3:
        raise ScenarioError(f"{where}: expected [offset, value] or [offset, value, attributes], not {record!r}")
    offset, value = record[0], record[1]
    attributes = record[2] if len(record) == 3 else None
    if type(offset) is not int or offset < 0:
        raise ScenarioError(f"{where}: expected an offset, not {offset!r}")
    if attributes is not None and (
        not isinstance(attributes, dict)
        or not attributes.keys() <= {"state", "control"}
        or attributes.get("state", "open") not in _STATES
        or attributes.get("control", "commit") not in _CONTROLS
    ):
        raise ScenarioError(f"{where}: expected a state ({', '.join(_STATES)}) or a control, not {attributes!r}")
    if attributes and "control" in attributes:
        return
    if type(value) is not int and type(value) is not str:
        raise ScenarioError(f"{where}: expected a value at offset {offset}, not {value!r}")
    analysis.add_record(value, offset, (attributes or {}).get("state"))


def _judged(finding: Finding, allowed: str | None) -> JudgedFinding:
    return JudgedFinding(
        name=finding.kind.value,
        values=() if finding.kind in _ONLY_COUNTED else finding.values,
        allowed=allowed,
        key=f"{finding.topic}-{finding.partition}" if finding.topic else "",
        ops=finding.ops,
        detail=finding.detail,
    )


_ONLY_COUNTED = (
    FindingKind.NONMONOTONIC_POLL,
    FindingKind.NONMONOTONIC_SEND,
    FindingKind.INT_NONMONOTONIC_POLL,
    FindingKind.INT_NONMONOTONIC_SEND,
    FindingKind.KEY_ORDER,
)


def _not_judged(history: WholeHistory) -> Iterator[str]:
    for key, analysis in sorted(history.analyses.items()):
        if not analysis.log_known:
            read_until_us = analysis.final_poll_us if analysis.finally_polled else -1
            count = sum(1 for send in unread(analysis) if send.complete_us > read_until_us)
            if count:
                yield f"{key}: {plural(count, 'acknowledged value')} not read, without a log or final polls"
        still_open = sum(
            1 for value in analysis.open_values if any(send.acked for send in analysis.sends_of.get(value, ()))
        )
        if still_open:
            yield f"{key}: {plural(still_open, 'acknowledged value')} in a transaction that is open in the log"
        early = sum(1 for send in without_outcome(analysis) if not is_overdue(analysis, send))
        if early:
            yield f"{key}: {plural(early, 'send')} open at the end, before delivery.timeout.ms"
    for call in history.calls:
        if call.proven and call.transactional and any(_may_still_be_read(history, send) for send in call.sends):
            yield f"i={call.name_index}: a transaction of unknown outcome is read in part"
    deadline_us = history.limits.liveness_deadline_us
    if deadline_us is not None and history.end_us < covered_from_us(history) + deadline_us:
        yield "liveness: the history is shorter than liveness.deadline.ms after the last fault"


def _may_still_be_read(history: WholeHistory, send: Send) -> bool:
    analysis = history.analyses[send.key]
    return not analysis.log_known and not analysis.finally_polled and not is_read(history, send)
