"""torn-txn: of the writes of one transaction, as invoked, some are visible and some certainly are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found
from broker_scenarios.history_checks.per_partition.lost_write import lost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.history_checks.facts import Write
    from broker_scenarios.operations import Value


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each transaction, with its invisible writes."""
    by_call: dict[int, list[Write]] = {}
    for write in facts.writes:
        if write.is_transactional:
            by_call.setdefault(id(write.call), []).append(write)
    if not by_call:
        return
    gone = {(write.key, write.value) for write in lost(facts)}
    passed = _passed_by_lso(facts)
    for writes in by_call.values():
        visible = [write for write in writes if _is_visible(facts, write)]
        invisible = [write for write in writes if write not in visible and _is_invisible(facts, write, gone, passed)]
        if visible and invisible:
            values = [write.value for write in invisible]
            yield Found(name="torn-txn", values=values, allowed=_allowed(facts, invisible), calls=[writes[0].call])


def _is_visible(facts: Facts, write: Write) -> bool:
    if facts.has_log(write.key):
        return write.value in facts.committed_in[write.key]
    return facts.is_read(write.key, write.value)


def _is_invisible(facts: Facts, write: Write, gone: set[tuple[str, Value]], passed: dict[str, int]) -> bool:
    if facts.has_log(write.key):
        return write.value not in facts.committed_in[write.key]
    if (write.key, write.value) in gone or write.key in facts.final_keys:
        return True
    return 0 <= write.offset < passed.get(write.key, 0)


def _passed_by_lso(facts: Facts) -> dict[str, int]:
    """Key -> the offset up to which polls have read everything that is stable: above it nothing is certain."""
    highest: dict[str, int] = {}
    for read in facts.reads:
        highest[read.key] = max([highest.get(read.key, -1), *(offset for offset, _ in read.pairs)])
    stable: dict[str, int] = {}
    for call in facts.calls:
        offsets = None if call.completed is None else call.completed.offsets
        for key, found in (offsets or {}).items():
            stable[key] = max(stable.get(key, 0), found.get("lso", 0))
    return {key: min(offset, highest.get(key, -1) + 1) for key, offset in stable.items()}


def _allowed(facts: Facts, invisible: list[Write]) -> str | None:
    reasons = [facts.loss_allowance(write.key, write.value, write.offset) for write in invisible]
    return reasons[0] if all(reasons) else None
