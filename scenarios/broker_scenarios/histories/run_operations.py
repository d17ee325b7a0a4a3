"""A finished run as a whole history: its operations, its logs and its circumstances."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_scenarios.checks.whole_history import StableOffset
from broker_scenarios.histories.circumstances import Circumstances, circumstances_of
from broker_scenarios.histories.neutral_fold import NeutralFold
from broker_scenarios.histories.send_operations import send_operations
from broker_scenarios.history import NO_OFFSET, EventType
from broker_scenarios.operations import (
    Assign,
    Commit,
    Function,
    Mop,
    Op,
    Poll,
    PolledOffsets,
    Seek,
    Send,
    Subscribe,
)
from broker_sim.control.events import HighWatermarkAdvanced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from broker_scenarios.checks.whole_history import WholeHistory
    from broker_scenarios.evidence import Evidence
    from broker_scenarios.history import HistoryEvent
    from broker_scenarios.operations import Value
    from broker_scenarios.playing.run_history import Operation, RunHistory
    from broker_scenarios.truth import Truth

__all__ = ["LIVENESS_DEADLINE", "circumstances_of_run", "operations_of", "whole_history"]

LIVENESS_DEADLINE = "liveness.deadline.ms"
_UNKNOWN = -1
_FUNCTIONS = frozenset(function.value for function in Function)
"""The calls of a run that the neutral form has; others, such as the begin of a transaction, show in what follows."""


def whole_history(evidence: Evidence, circumstances: Circumstances) -> WholeHistory:
    """Fold the operations of a run, whose clients have several calls open at a time, and join them with its logs."""
    assert evidence.operations is not None, "checked by the caller"
    sends = evidence.history if isinstance(evidence.history, list) else []
    fold = NeutralFold(one_at_a_time=False)
    for op in operations_of(evidence.operations, sends, evidence.truth):
        fold.add(op, f"i={op.index}")
    _add_logs(fold, evidence.truth)
    whole = fold.whole(circumstances)
    whole.stable_offsets = list(_stable_offsets(evidence.truth))
    return whole


def _stable_offsets(truth: Truth) -> Iterator[StableOffset]:
    """Return the offsets of the clients' partitions; a broker of another cluster keeps no journal."""
    for event in truth.journal:
        if type(event) is HighWatermarkAdvanced and (event.topic, event.partition) in truth.log_starts:
            key = f"{event.topic}-{event.partition}"
            yield StableOffset(key, event.time_us, event.last_stable_offset, event.high_watermark)


def operations_of(history: RunHistory, sends: Sequence[HistoryEvent], truth: Truth) -> list[Op]:
    """The operations in the order of their times. A send whose partition no response has named has that of its log."""
    place_of = {record.value_id: f"{record.topic}-{record.partition}" for record in truth.stored}
    place_of |= {record.value_id: f"{record.topic}-{record.partition}" for record in truth.uncommitted}
    in_transactions = {
        mop[2] for operation in history.operations if operation.f == "txn" for mop in operation.mops if mop[0] == "send"
    }
    begin_us = min([*(event.time_us for event in sends), *(each.invoked_us for each in history.operations)], default=0)
    lines: list[tuple[int, int, Op]] = []
    outside = [event for event in sends if event.value_id not in in_transactions]
    lines += ((time_us, _UNKNOWN, op) for time_us, op in send_operations(outside, begin_us, place_of))
    judged = [operation for operation in history.operations if operation.f in _FUNCTIONS]
    for number, operation in enumerate(judged):
        lines += _lines_of(operation, number, begin_us, place_of)
    lines.sort(key=lambda line: line[:2])
    return [replace(op, index=index) for index, (_, _, op) in enumerate(lines)]


def _lines_of(
    operation: Operation, number: int, begin_us: int, place_of: Mapping[Value, str]
) -> list[tuple[int, int, Op]]:
    facts = operation.facts
    common: dict[str, Any] = {
        "process": operation.process,
        "f": Function(operation.f),
        "group": operation.group,
        "final": facts.get("final", False),
        "assigned": tuple(facts.get("assigned") or ()),
        "auto": facts.get("auto", False),
    }
    invoked = Op(
        index=0,
        type=EventType.INVOKE,
        mops=[_mop(mop, place_of, invocation=True) for mop in operation.mops],
        time_ms=(operation.invoked_us - begin_us) / 1000,
        **common,
    )
    lines = [(operation.invoked_us, 2 * number, invoked)]
    if operation.type is not None:
        offsets = facts.get("offsets")
        completed = Op(
            index=0,
            type=operation.type,
            mops=[_mop(mop, place_of, invocation=False) for mop in operation.results],
            time_ms=(operation.completed_us - begin_us) / 1000,
            error=operation.error,
            rebalanced=tuple(facts.get("rebalanced", ())),
            offsets=offsets and {key: PolledOffsets(each["lso"], each["hw"]) for key, each in offsets.items()},
            **common,
        )
        lines.append((operation.completed_us, 2 * number + 1, completed))
    return lines


def _mop(mop: list[Any], place_of: Mapping[Value, str], *, invocation: bool) -> Mop:
    match mop:
        case ["send", str(key), [int(offset), int(value)]]:
            return Send(_placed(key, value, place_of), value, NO_OFFSET if invocation else offset)
        case ["send", str(key), int(value)]:
            return Send(_placed(key, value, place_of), value)
        case ["poll", dict(records)] if not invocation:
            return Poll({key: [(offset, value) for offset, value in pairs] for key, pairs in records.items()})
        case ["poll", *_]:
            return Poll(None if invocation else {})
        case ["assign", keys]:
            return Assign(tuple(keys))
        case ["seek", dict(positions)]:
            return Seek(positions)
        case ["subscribe", topics]:
            return Subscribe(tuple(topics))
        case ["commit", dict(offsets)]:
            return Commit(offsets)
        case ["commit", *_]:
            return Commit({})
    raise AssertionError(f"a run records no such micro-operation: {mop!r}")


def _placed(key: str, value: int, place_of: Mapping[Value, str]) -> str:
    """The key of a send of a transaction, if no response has named its partition that of its log."""
    return place_of.get(value, f"{key.removesuffix('-None')}-0") if key.endswith("-None") else key


def _add_logs(fold: NeutralFold, truth: Truth) -> None:
    for topic, partition in truth.log_starts:
        analysis = fold.analysis_of(f"{topic}-{partition}", "logs")
        analysis.log_known = True
        analysis.log_start = truth.log_starts[topic, partition]
    for record in truth.stored:
        analysis = fold.analysis_of(f"{record.topic}-{record.partition}", "logs")
        analysis.add_record(record.value_id, record.offset)
    for cut in truth.truncated:
        truncated = fold.analysis_of(f"{cut.topic}-{cut.partition}", "logs").truncated
        truncated.setdefault(cut.value_id, []).append(cut.offset)
    for other in truth.uncommitted:
        analysis = fold.analysis_of(f"{other.topic}-{other.partition}", "logs")
        analysis.add_record(other.value_id, other.offset, other.state)


def circumstances_of_run(evidence: Evidence) -> Circumstances:
    """Return the configurations and claims of the scenario."""
    scenario = evidence.scenario
    consumers = [group.consumer for group in scenario.clients if group.consumer is not None]
    isolations = {config.get("isolation.level", "read_uncommitted") for config in consumers}
    timeouts = [
        round(float(group.producer.get("transaction.timeout.ms", 60_000)) * 1000)
        for group in scenario.clients
        if group.producer is not None and "transactional.id" in group.producer
    ]
    sends = evidence.history if isinstance(evidence.history, list) else []
    # Liveness is judged with the journal, which knows the faults and how long the run was.
    stated = circumstances_of({name: it for name, it in scenario.claims.items() if name != LIVENESS_DEADLINE}, "claims")
    return replace(
        stated,
        promises=replace(stated.promises, read_committed=isolations == {"read_committed"}, appends_are_known=True),
        limits=replace(stated.limits, transaction_timeout_us=max(timeouts, default=60_000_000)),
        compacted=any("compact" in topic.configs.get("cleanup.policy", "") for topic in scenario.topics),
        message_keys={str(event.value_id): event.key.decode() for event in sends if event.key is not None},
        log_start={f"{topic}-{partition}": start for (topic, partition), start in evidence.truth.log_starts.items()},
    )
