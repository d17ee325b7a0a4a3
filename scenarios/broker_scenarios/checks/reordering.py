"""nonmonotonic-send: records of one client stored in another order than the one in which it sent them.

Over ok and info sends of one process, as Jepsen does. A value stored twice counts where it is stored first, so that a
duplicate alone is no reordering; a value that the application sent twice has no single place in the order and is
ignored. The findings are the fewest records that would have to move: one late record behind a thousand is one finding.
They are what the longest ascending run leaves over.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from broker_scenarios.checks.analysis import Analysis, Send
from broker_scenarios.findings import Cause, Finding, FindingKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["fewest_out_of_order", "reordering"]

_Placed = tuple[int, Send]
_BEYOND_ALL: Final = 2**63
"""Above every offset."""


def reordering(analysis: Analysis) -> Iterator[Finding]:
    """Find the fewest records of each process that stand out of its sending order."""
    by_process: dict[int, list[_Placed]] = {}
    for send in analysis.sends:
        offsets = analysis.stored.get(send.value_id)
        sent_once = len(analysis.sends_of[send.value_id]) == 1
        if offsets and send.outcome is not Outcome.FAILED and sent_once:
            by_process.setdefault(send.process, []).append((offsets[0], send))
    for placed in by_process.values():
        yield from _displaced(analysis, placed)


def fewest_out_of_order(offsets: Sequence[int]) -> list[int]:
    """Return the positions of the fewest elements whose removal leaves the sequence ascending."""
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


def _displaced(analysis: Analysis, placed: list[_Placed]) -> Iterator[Finding]:
    out = fewest_out_of_order([offset for offset, _ in placed])
    if not out:
        return
    moved = dict.fromkeys(out)
    kept_before: list[int] = []
    last_kept = -1
    for position in range(len(placed)):
        kept_before.append(last_kept)
        if position not in moved:
            last_kept = position
    kept_after = [-1] * len(placed)
    next_kept = -1
    for position in range(len(placed) - 1, -1, -1):
        kept_after[position] = next_kept
        if position not in moved:
            next_kept = position
    late = _late_appends(placed)
    for position in out:
        offset, send = placed[position]
        before, after = kept_before[position], kept_after[position]
        if before >= 0 and placed[before][0] > offset:
            other_offset, other = placed[before]
            relation = "ahead of"
        else:
            other_offset, other = placed[after]
            relation = "behind"
        detail = (
            f"send {send.index} of process {send.process} is stored at offset {offset}, {relation} its send "
            f"{other.index} at offset {other_offset}"
        )
        finding = analysis.finding(FindingKind.NONMONOTONIC_SEND, send, detail, offset=offset, other=other.value_id)
        if late[position]:
            finding.cause = Cause.LATE_APPEND
        yield finding


def _late_appends(placed: list[_Placed]) -> list[bool]:
    """Return for each record whether only records of unknown outcome contradict its place.

    A producer with one request in flight keeps the order of the records that it knows to be stored. A record whose
    request it gave up (a timeout) may still wait in a broker, which appends it behind later records.
    """
    highest = [offset if send.acked else -1 for offset, send in placed]
    lowest = [offset if send.acked else _BEYOND_ALL for offset, send in placed]
    highest_before = accumulate([-1, *highest[:-1]], max)
    lowest_after = reversed(list(accumulate([_BEYOND_ALL, *lowest[:0:-1]], min)))
    return [
        not send.acked or before < offset < after
        for (offset, send), before, after in zip(placed, highest_before, lowest_after, strict=True)
    ]
