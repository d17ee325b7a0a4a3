"""Judges a history of any client: every anomaly that it shows, whether it is permitted, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.errors import ScenarioError
from broker_scenarios.history_checks.claims import Claims
from broker_scenarios.history_checks.facts import Facts, Found, LoggedRecord
from broker_scenarios.history_checks.over_time import hung, liveness, realtime_lag
from broker_scenarios.history_checks.per_key import key_order
from broker_scenarios.history_checks.per_partition import (
    aborted_read,
    duplicate,
    failed_but_stored,
    ghost_read,
    inconsistent_offsets,
    lost_write,
    misdelivered,
    offset_oracle,
    set_loss,
    unseen,
)
from broker_scenarios.history_checks.per_process import (
    auto_commit,
    consume_counts,
    nonmonotonic_send,
    polls_in_one_call,
    polls_of_a_process,
    precommitted_read,
    sends_in_one_call,
    unresolved,
)
from broker_scenarios.history_checks.per_transaction import abort_class, cycles, torn
from broker_scenarios.verdict import Validity

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.operations import Op

__all__ = ["CHECKS", "HistoryJudgement", "JudgedFinding", "judge_history", "read_logs"]

Check = Callable[[Facts], Iterable[Found]]

CHECKS: Final[Mapping[str, Check]] = {
    "lost-write": lost_write.check,
    "unseen": unseen.check,
    "set-loss": set_loss.check,
    "G1a": aborted_read.check,
    "precommitted-read": precommitted_read.check,
    "misdelivered": misdelivered.check,
    "ghost-read": ghost_read.check,
    "offset-oracle": offset_oracle.check,
    "failed-but-stored": failed_but_stored.check,
    "unresolved": unresolved.check,
    "consume-counts": consume_counts.check,
    "duplicate": duplicate.check,
    "inconsistent-offsets": inconsistent_offsets.check,
    "poll-skip": polls_of_a_process.check,
    "int-poll-skip": polls_in_one_call.check,
    "int-send-skip": sends_in_one_call.check,
    "nonmonotonic-send": nonmonotonic_send.check,
    "G1c": cycles.check,
    "torn-txn": torn.check,
    "abort-class": abort_class.check,
    "hung-txn": hung.check,
    "liveness": liveness.check,
    "realtime-lag": realtime_lag.check,
    "key-order": key_order.check,
    "auto-commit": auto_commit.check,
}
"""Each check by the anomaly that it finds, or the first of several."""

COUNTED: Final = frozenset(
    ("nonmonotonic-poll", "nonmonotonic-send", "int-nonmonotonic-poll", "int-nonmonotonic-send", "G0", "G1c",
     "G1c-process", "G1c-realtime", "hung-txn", "liveness", "realtime-lag", "key-order")
)  # fmt: skip
"""The anomalies that have no values: only their number counts."""


@dataclass(slots=True, kw_only=True)
class JudgedFinding:
    """All findings of one anomaly that share the reason why they are permitted, or have none."""

    name: str
    allowed: str | None
    found: list[Found] = field(default_factory=list)

    @property
    def values(self) -> list[Any]:
        """Every value, each once, in the order of the history."""
        return list(dict.fromkeys(value for each in self.found for value in each.values))


@dataclass(slots=True, kw_only=True)
class HistoryJudgement:
    """The verdict of a history; `reasons` explain one that is unknown."""

    verdict: Validity
    findings: list[JudgedFinding]
    reasons: list[str]

    def count(self, name: str) -> int:
        """How often an anomaly was found, permitted or not."""
        return sum(len(each.found) for each in self.findings if each.name == name)

    def as_json(self) -> dict[str, Any]:
        """The judgement in the form that `broker-sim check --json` prints."""
        return {
            "verdict": self.verdict.value,
            "findings": [
                {
                    "name": each.name,
                    "values": each.values,
                    "count": len(each.found),
                    "allowed": each.allowed,
                    "ops": [call.ops for found in each.found[:_OPS_MAX] for call in found.calls[:_OPS_MAX]],
                }
                for each in self.findings
            ],
            "reasons": self.reasons,
        }


_OPS_MAX: Final = 20
"""How many findings of one kind, and operations of one finding, are named."""


def judge_history(
    ops: Sequence[Op],
    claims: Claims | Mapping[str, Any] | None = None,
    logs: Mapping[str, Sequence[LoggedRecord] | None] | None = None,
    checks: Mapping[str, Check] = CHECKS,
) -> HistoryJudgement:
    """Judge the operations of a history, in their order.

    `claims` are the contents of a promises file; `logs` what the partitions hold, None for one that is not known.

    Raises:
        HistoryError: the operations do not fit together.
        ScenarioError: a promise is unknown or wrong.
    """
    if not isinstance(claims, Claims):
        claims = Claims.parse(claims or {})
    facts = Facts(ops=ops, claims=claims, logs=logs or {})
    judged: dict[tuple[str, str | None], JudgedFinding] = {}
    for check in checks.values():
        for found in check(facts):
            at = (found.name, found.allowed)
            judged.setdefault(at, JudgedFinding(name=found.name, allowed=found.allowed)).found.append(found)
    findings = list(judged.values())
    _permit_what_follows(findings)
    reasons = list(_open_questions(facts))
    if any(each.allowed is None for each in findings):
        verdict = Validity.BROKEN
    else:
        verdict = Validity.UNKNOWN if reasons else Validity.VALID
    return HistoryJudgement(verdict=verdict, findings=findings, reasons=reasons)


def _permit_what_follows(findings: list[JudgedFinding]) -> None:
    """A permitted loss also permits the conflict of its offset, and that nothing reads it."""
    permitted = {
        value: each.allowed
        for each in findings
        if each.name in {"lost-write", "set-loss", "unseen"} and each.allowed is not None
        for value in each.values
    }
    for each in list(findings):
        if each.name not in {"inconsistent-offsets", "unseen", "ghost-read"} or each.allowed is not None:
            continue
        moved = [found for found in each.found if any(value in permitted for value in found.values)]
        for found in moved:
            each.found.remove(found)
            why = next(permitted[value] for value in found.values if value in permitted)
            target = next((one for one in findings if one.name == each.name and one.allowed == why), None)
            if target is None:
                target = JudgedFinding(name=each.name, allowed=why)
                findings.append(target)
            target.found.append(found)
        if not each.found:
            findings.remove(each)


def _open_questions(facts: Facts) -> Iterator[str]:
    """Return the reasons why something could not be judged."""
    unread = [
        write
        for write in facts.writes
        if write.call.is_ok
        and not facts.has_log(write.key)
        and write.key not in facts.final_keys
        and not facts.is_read(write.key, write.value)
    ]
    if unread:
        keys = ", ".join(dict.fromkeys(write.key for write in unread))
        yield f"{len(unread)} acknowledged values were not read, and {keys} has no log and no final polls"
    proved = [
        write
        for write in facts.writes
        if write.is_transactional
        and id(write.call) in facts.proved
        and not facts.has_log(write.key)
        and not facts.is_read(write.key, write.value)
        and write.key not in facts.final_keys
    ]
    if proved:
        yield f"{len(proved)} writes of transactions with an unknown end that a read proves were not read yet"
    waiting = [call for call, is_over in unresolved.open_sends(facts) if not is_over]
    if waiting:
        yield f"{len(waiting)} sends are open, and delivery.timeout.ms is not over"
    if liveness.is_too_short(facts):
        yield "the history ends before liveness.deadline.ms is over"


def read_logs(path: Path) -> dict[str, list[LoggedRecord] | None]:
    """Read a logs file: partition -> [[offset, value, attributes?]], or null. Raises ScenarioError."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"logs {path}: {error.strerror}") from None
    except ValueError as error:
        raise ScenarioError(f"logs {path}: no JSON: {error}") from None
    if not isinstance(given, dict):
        raise ScenarioError(f"logs {path}: expected an object of partitions")
    return {key: None if records is None else _log(records, f"logs {path}: {key}") for key, records in given.items()}


def _log(records: object, where: str) -> list[LoggedRecord]:
    if not isinstance(records, list):
        raise ScenarioError(f"{where}: expected a list of [offset, value], not {records!r}")
    log: list[LoggedRecord] = []
    for place, record in enumerate(records):
        at = f"{where}[{place}]"
        if not isinstance(record, list) or not 2 <= len(record) <= 3 or not isinstance(record[0], int):
            raise ScenarioError(f"{at}: expected [offset, value] or [offset, value, attributes], not {record!r}")
        attributes = record[2] if len(record) == 3 else {}
        if not isinstance(attributes, dict):
            raise ScenarioError(f"{at}: expected an object of attributes, not {attributes!r}")
        for key in attributes:
            if key not in {"control", "state"}:
                raise ScenarioError(f"{at}: {key}: unknown attribute; expected control or state")
        if "control" in attributes:
            if attributes["control"] not in {"commit", "abort"}:
                raise ScenarioError(f"{at}: control: expected commit or abort, not {attributes['control']!r}")
            continue
        state = attributes.get("state", "committed")
        if state not in {"committed", "aborted", "open"}:
            raise ScenarioError(f"{at}: state: expected aborted or open, not {state!r}")
        log.append(LoggedRecord(record[0], record[1], state))
    return log
