"""nonmonotonic-send: records of one client stored in another order than the one in which it sent them.

Over ok and info sends of one process, as Jepsen does. A value stored twice counts where it is stored first, so
that a mere duplicate is no reordering; one that the application sent twice has no one place in the order and is
left out. Found are the fewest records that would have to move: one late record
behind a thousand is one finding, not a thousand. They are what the longest ascending run leaves over.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

from broker_scenarios.checks.analysis import Analysis, Send
from broker_scenarios.findings import Finding, FindingKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["fewest_out_of_order", "reordering"]

_Placed = tuple[int, Send]


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
    """Positions of the fewest elements whose removal leaves the sequence ascending."""
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
        yield analysis.finding(FindingKind.NONMONOTONIC_SEND, send, detail, offset=offset, other=other.value_id)
