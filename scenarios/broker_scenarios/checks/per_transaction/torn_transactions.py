"""torn-txn: some writes of a transaction are visible, and others definitely are not.

The writes are those that were invoked: a client that commits although one of its records has failed tears its
transaction as well. A write is invisible for certain if its log does not hold it as committed, if readers passed it, if
final polls did not return a committed one, or if a consumer that has read up to the last stable offset did not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.checks.per_partition.lost_writes import passed_by_readers
from broker_scenarios.findings import Finding, FindingKind
from broker_scenarios.operations import Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis
    from broker_scenarios.checks.calls import Send
    from broker_scenarios.checks.whole_history import WholeHistory
    from broker_scenarios.operations import Process, Value

__all__ = ["torn_transactions"]


def torn_transactions(history: WholeHistory) -> Iterator[Finding]:
    """Find transactions that are visible in part; one finding per transaction, with the invisible values."""
    caught_up = _caught_up(history)
    passed: dict[str, dict[Value, None]] = {}

    def is_invisible(send: Send) -> bool:
        analysis = history.analyses[send.key]
        if send.value_id in analysis.readers:
            return False
        if analysis.log_known:
            return _is_missing(analysis, send)
        if send.key not in passed:
            passed[send.key] = {each.value_id: None for each, _ in passed_by_readers(analysis)}
        if send.value_id in passed[send.key]:
            return True
        if send.committed and analysis.finally_polled:
            return True
        return any(first < send.ack_offset < stable for first, stable in caught_up.get(send.key, ()))

    for call in history.calls:
        if not call.transactional or len(call.sends) < 2:
            continue
        if any(_is_visible(history.analyses[send.key], send) for send in call.sends):
            invisible = [send for send in call.sends if is_invisible(send)]
            if invisible:
                detail = f"{len(invisible)} of {len(call.sends)} writes of a transaction are not visible"
                values = tuple(send.value_id for send in invisible)
                yield history.finding(FindingKind.TORN_TXN, invisible[0].key, [call], detail, values=values)


def _is_visible(analysis: Analysis, send: Send) -> bool:
    return send.value_id in analysis.readers or send.value_id in analysis.stored


def _is_missing(analysis: Analysis, send: Send) -> bool:
    if 0 <= send.ack_offset < analysis.log_start:
        return False
    return send.value_id not in analysis.stored and send.value_id not in analysis.open_values


def _caught_up(history: WholeHistory) -> dict[str, list[tuple[int, int]]]:
    """Return what processes have read without a gap, by partition: from their first offset to a last stable offset.

    A poll that returns nothing has reached the last stable offset.
    """
    first: dict[tuple[Process, str], int] = {}
    reached: dict[tuple[Process, str], int] = {}
    for call in history.calls:
        if not call.ok or call.f is Function.TXN:
            continue
        reads = call.reads() if call.polls else {}
        for key, pairs in reads.items():
            first.setdefault((call.process, key), pairs[0][0])
        if call.details is not None and call.details.offsets:
            for key, offsets in call.details.offsets.items():
                at = call.process, key
                if key not in reads and at in first:
                    reached[at] = max(reached.get(at, -1), offsets.last_stable_offset)
    found: dict[str, list[tuple[int, int]]] = {}
    for (process, key), stable in reached.items():
        found.setdefault(key, []).append((first[process, key], stable))
    return found
