"""A finished run in the neutral form of histories: operations, logs and claims."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_scenarios.history import EventType
from broker_scenarios.history_checks.claims import Claims
from broker_scenarios.history_checks.facts import LoggedRecord
from broker_scenarios.operations import Op

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_scenarios.evidence import Evidence
    from broker_scenarios.history import HistoryEvent
    from broker_scenarios.playing.run_history import Operation, RunHistory
    from broker_scenarios.truth import Truth

__all__ = ["claims_of", "logs_of", "operations_of"]

_SINGLE = -1


def operations_of(history: RunHistory, sends: Sequence[HistoryEvent], truth: Truth) -> list[Op]:
    """The operations in the order of their times. A send whose partition no response has named has that of its log."""
    place_of = {record.value_id: f"{record.topic}-{record.partition}" for record in truth.stored}
    place_of |= {record.value_id: f"{record.topic}-{record.partition}" for record in truth.uncommitted}
    in_transactions = {
        mop[2] for operation in history.operations if operation.f == "txn" for mop in operation.mops if mop[0] == "send"
    }
    begin_us = min([*(event.time_us for event in sends), *(each.invoked_us for each in history.operations)], default=0)
    lines: list[tuple[int, int, Op]] = []
    partition_of = {event.value_id: event.partition for event in sends if event.partition >= 0}
    for event in sends:
        if event.value_id in in_transactions:
            continue
        partition = partition_of.get(event.value_id, _SINGLE)
        key = f"{event.topic}-{partition}" if partition >= 0 else place_of.get(event.value_id, f"{event.topic}-0")
        is_result = event.type == EventType.OK
        value: Any = [event.offset, event.value_id] if is_result else event.value_id
        op = Op(
            index=0,
            process=event.process,
            type=EventType(event.type),
            f="send",
            mops=[["send", key, value]],
            t_ms=(event.time_us - begin_us) / 1000,
            error=event.error,
        )
        lines.append((event.time_us, _SINGLE, op))
    for number, operation in enumerate(history.operations):
        lines += _lines_of(operation, number, begin_us, place_of)
    lines.sort(key=lambda line: line[:2])
    return [replace(op, index=index) for index, (_, _, op) in enumerate(lines)]


def _lines_of(
    operation: Operation, number: int, begin_us: int, place_of: Mapping[int, str]
) -> list[tuple[int, int, Op]]:
    facts = operation.facts
    common: dict[str, Any] = {
        "process": operation.process,
        "f": operation.f,
        "group": operation.group,
        "final": facts.get("final", False),
        "assigned": None if facts.get("assigned") is None else tuple(facts["assigned"]),
        "auto": facts.get("auto", False),
    }
    invoked = Op(
        index=0,
        type=EventType.INVOKE,
        mops=[_placed(mop, place_of) for mop in operation.mops],
        t_ms=(operation.invoked_us - begin_us) / 1000,
        **common,
    )
    lines = [(operation.invoked_us, 2 * number, invoked)]
    if operation.type is not None:
        completed = Op(
            index=0,
            type=operation.type,
            mops=[_placed(mop, place_of) for mop in operation.results],
            t_ms=(operation.completed_us - begin_us) / 1000,
            error=operation.error,
            rebalanced=tuple(facts.get("rebalanced", ())),
            offsets=facts.get("offsets"),
            **common,
        )
        lines.append((operation.completed_us, 2 * number + 1, completed))
    return lines


def _placed(mop: list[Any], place_of: Mapping[int, str]) -> list[Any]:
    """A send of a transaction whose partition no response has named."""
    if mop[0] == "send" and mop[1].endswith("-None"):
        return ["send", place_of.get(mop[2], f"{mop[1].removesuffix('-None')}-0"), mop[2]]
    return mop


def logs_of(truth: Truth) -> dict[str, list[LoggedRecord] | None]:
    """The records of each partition whose log was read."""
    logs: dict[str, list[LoggedRecord] | None] = {f"{topic}-{partition}": [] for topic, partition in truth.log_starts}
    for record in truth.stored:
        _log(logs, record.topic, record.partition).append(LoggedRecord(record.offset, record.value_id))
    for other in truth.uncommitted:
        _log(logs, other.topic, other.partition).append(LoggedRecord(other.offset, other.value_id, other.state))
    for records in logs.values():
        if records is not None:
            records.sort(key=lambda record: record.offset)
    return logs


def _log(logs: dict[str, list[LoggedRecord] | None], topic: str, partition: int) -> list[LoggedRecord]:
    found = logs.setdefault(f"{topic}-{partition}", [])
    assert found is not None, "every log of a run is known"
    return found


def claims_of(evidence: Evidence) -> Claims:
    """Return the configurations and claims of the scenario."""
    scenario = evidence.scenario
    consumers = [group.consumer for group in scenario.clients if group.consumer is not None]
    isolations = {config.get("isolation.level", "read_uncommitted") for config in consumers}
    timeouts = [
        float(group.producer.get("transaction.timeout.ms", 60_000))
        for group in scenario.clients
        if group.producer is not None
    ]
    sends = evidence.history if isinstance(evidence.history, list) else []
    stated = Claims.parse(scenario.claims)
    return replace(
        stated,
        read_committed=isolations == {"read_committed"},
        transaction_timeout_ms=max(timeouts, default=60_000),
        is_compacted=any("compact" in topic.configs.get("cleanup.policy", "") for topic in scenario.topics),
        keys={event.value_id: event.key.decode() for event in sends if event.key is not None},
        log_start={f"{topic}-{partition}": start for (topic, partition), start in evidence.truth.log_starts.items()},
    )
