"""The lines of a journal that explain a finding of a ledger: appends, rules that fired on them, truncations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from broker_sim.control.events import BatchAppended, LeaderElected, LogTruncated, RuleFired, TailLost
from broker_sim.control.journal_file import event_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from broker_scenarios.ledger.identities import StoredPlace
    from broker_sim.control.events import Event

__all__ = ["JournalLines"]

SHOWN_MAX: Final = 8
"""The lines of one finding."""
NOT_SHOWN: Final = ("size", "producer_epoch", "decisions", "records")


class JournalLines:
    """Finds the events about places of the logs. `numbered` are the events of a journal with their numbers."""

    def __init__(self, numbered: Iterable[tuple[int, Event]]) -> None:
        self._events: list[tuple[int, Event]] = []
        self._fired: dict[tuple[int, int], list[tuple[int, Event]]] = {}
        """The rules that fired on each request, by broker and request."""
        for number, event in numbered:
            if isinstance(event, RuleFired) and event.request_id >= 0:
                self._fired.setdefault((event.broker_id, event.request_id), []).append((number, event))
            elif isinstance(event, BatchAppended | LogTruncated | TailLost | LeaderElected):
                self._events.append((number, event))

    def about(self, places: Collection[StoredPlace]) -> list[str]:
        """Return the lines about places, as `broker-sim trace` reads them from a file, in the journal's order."""
        found: dict[int, Event] = {}
        for number, event in self._events:
            if any(_concerns(event, place) for place in places):
                found[number] = event
                if isinstance(event, BatchAppended):
                    found.update(self._fired.get((event.broker_id, event.request_id), ()))
        lines = [_line(number, found[number]) for number in sorted(found)]
        more = len(lines) - SHOWN_MAX
        return [*lines[:SHOWN_MAX], f"... and {more} more lines of the journal"] if more > 0 else lines


def _concerns(event: Event, place: StoredPlace) -> bool:
    topic, partition, offset = place
    if not isinstance(event, BatchAppended | LogTruncated | TailLost | LeaderElected):
        return False
    if (event.topic, event.partition) != (topic, partition):
        return False
    if isinstance(event, LeaderElected):
        return event.previous_leader >= 0
    if isinstance(event, BatchAppended):
        return event.base_offset <= offset <= event.last_offset
    return event.from_offset <= offset < event.to_offset


def _line(number: int, event: Event) -> str:
    fields = event_line(number, event).items()
    line = {name: value for name, value in fields if name not in NOT_SHOWN and value is not None}
    return f"journal {json.dumps(line)}"
