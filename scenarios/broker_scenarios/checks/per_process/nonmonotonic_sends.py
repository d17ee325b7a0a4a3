"""nonmonotonic-send and int-nonmonotonic-send: records stored in another order than the one of sending.

Over ok and info sends of one process to one partition, as Jepsen does; records of one operation are internal. Records
without a known place, with several places, or that the application sent twice have no place in the order. A record
stored twice counts where it is stored first, so that a duplicate alone is no reordering.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_scenarios.findings import Cause, Finding, FindingKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from broker_scenarios.checks.analysis import Analysis
    from broker_scenarios.checks.calls import Send
    from broker_scenarios.operations import Process

__all__ = ["fewest_out_of_order", "nonmonotonic_sends", "placed_sends"]


class PlacedSend(NamedTuple):
    """A send and the offset of its record."""

    offset: int
    send: Send


_WORST_FIRST: Final = (Cause.UNEXPLAINED, Cause.PIPELINED, Cause.LATE_APPEND)


def nonmonotonic_sends(analysis: Analysis) -> Iterator[Finding]:
    """Find each record that is stored ahead of the one that its process sent before it."""
    for placed in placed_sends(analysis).values():
        yield from _descents(analysis, placed)


def placed_sends(analysis: Analysis) -> dict[Process, list[PlacedSend]]:
    """Return the sends that have a place, per process in the order of sending."""
    found: dict[Process, list[PlacedSend]] = {}
    for send in analysis.sends:
        if send.outcome is not Outcome.FAILED and len(analysis.sends_of[send.value_id]) == 1:
            offset = analysis.place_of(send.value_id)
            if offset is not None:
                found.setdefault(send.process, []).append(PlacedSend(offset, send))
    return found


def fewest_out_of_order(offsets: Sequence[int]) -> list[int]:
    """Return the positions of the fewest elements whose removal leaves the sequence ascending.

    They are what the longest ascending run leaves over: one late record behind a thousand is one.
    """
    if all(before < after for before, after in pairwise(offsets)):
        return []
    tails: list[int] = []
    tail_positions: list[int] = []
    previous: list[int] = []
    for position, offset in enumerate(offsets):
        length = bisect_left(tails, offset)
        previous.append(tail_positions[length - 1] if length else -1)
        if length == len(tails):
            tails.append(offset)
            tail_positions.append(position)
        else:
            tails[length] = offset
            tail_positions[length] = position
    kept = [False] * len(offsets)
    position = tail_positions[-1]
    while position >= 0:
        kept[position] = True
        position = previous[position]
    return [position for position, keep in enumerate(kept) if not keep]


def _descents(analysis: Analysis, placed: list[PlacedSend]) -> Iterator[Finding]:
    """Return a finding for each send below the one before; its cause is the worst of the run that it begins."""
    if all(before.offset < after.offset for before, after in pairwise(placed)):
        return
    finding: Finding | None = None
    causes = _causes(placed)
    before = placed[0]
    for now, cause in zip(placed[1:], causes[1:], strict=True):
        if now.offset <= before.offset:
            if finding is not None:
                yield finding
            finding = _finding(analysis, before, now)
            finding.cause = cause or Cause.UNEXPLAINED
        elif finding is not None and cause is not None:
            finding.cause = min(finding.cause, cause, key=_WORST_FIRST.index)
        before = now
    if finding is not None:
        yield finding


def _finding(analysis: Analysis, before: PlacedSend, now: PlacedSend) -> Finding:
    first, second = before.send, now.send
    detail = (
        f"send {first.index} of process {first.process} is stored at offset {before.offset}, behind its send "
        f"{second.index} at offset {now.offset}"
    )
    internal = first.call is not None and first.call is second.call
    kind = FindingKind.INT_NONMONOTONIC_SEND if internal else FindingKind.NONMONOTONIC_SEND
    finding = analysis.finding(kind, first, detail, offset=before.offset, other=second.value_id)
    finding.values = (first.value_id, second.value_id)
    if second.call is not None and not internal:
        finding.ops = (*finding.ops, second.call.name_index)
    return finding


def _causes(placed: Iterable[PlacedSend]) -> list[Cause | None]:
    """Return for each record the worst way in which an earlier send stands behind it; None without one.

    A producer that knows a record to be stored before it sends the next one keeps their order. One that has several
    records on the way may not; and a request that it gave up may still wait in a broker, which appends it late.
    """
    causes: list[Cause | None] = []
    on_the_way: list[tuple[int, int]] = []
    known = acked = highest = -1
    for offset, send in placed:
        while on_the_way and on_the_way[0][0] <= send.invoke_us:
            known = max(known, heappop(on_the_way)[1])
        if known > offset:
            causes.append(Cause.UNEXPLAINED)
        elif acked > offset and send.acked:
            causes.append(Cause.PIPELINED)
        else:
            causes.append(Cause.LATE_APPEND if highest > offset else None)
        highest = max(highest, offset)
        if send.acked:
            acked = max(acked, offset)
            heappush(on_the_way, (send.complete_us, offset))
    return causes
