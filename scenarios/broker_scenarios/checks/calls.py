"""The calls of a client: an operation's invocation joined with its completion, and its sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_scenarios.findings import Outcome
from broker_scenarios.history import NO_OFFSET, EventType
from broker_scenarios.operations import Function

if TYPE_CHECKING:
    from broker_scenarios.operations import Op, Process, Value

__all__ = ["OUTCOME_OF", "Call", "Send"]

OUTCOME_OF: Final[dict[str, Outcome]] = {
    EventType.OK: Outcome.ACKED,
    EventType.FAIL: Outcome.FAILED,
    EventType.INFO: Outcome.UNKNOWN,
}
"""The outcome of a send by the type of its completion."""


@dataclass(slots=True, kw_only=True, eq=False)
class Call:
    """One operation of a process. Times are microseconds; an open call has the type `invoke`."""

    number: int
    """Its place among the calls, in the order of invocation."""
    invoked_at: int
    """The place of its invocation in the history."""
    process: Process
    f: Function
    index: int
    """The `i` of its invocation."""
    invoked_us: int
    group: str | None = None
    type: EventType = EventType.INVOKE
    completed_us: int = -1
    completed_at: int = -1
    """The place of its completion in the history."""
    completion_index: int = -1
    sends: list[Send] | tuple[()] = ()
    polls: list[tuple[str, list[tuple[int, Value]]]] | tuple[()] = ()
    """The key and the records of each list that it polled, in order."""
    details: Op | None = None
    """Its last line with all that both lines have, where that is more than sends and polls."""
    proven: bool = False
    """An ok poll has read one of its writes: although its outcome is unknown, it has happened."""
    overdue: bool = False
    """A send that was open still when a flush or close of its process had ended well."""
    crashed: bool = False
    """Its process crashed, hence no outcome is to come."""

    @property
    def ok(self) -> bool:
        """True if it succeeded."""
        return self.type is EventType.OK

    @property
    def transactional(self) -> bool:
        """True for a transaction."""
        return self.f is Function.TXN

    @property
    def name_index(self) -> int:
        """The `i` that names it: that of its completion if there is one."""
        return self.index if self.type is EventType.INVOKE else self.completion_index

    def reads(self) -> dict[str, list[tuple[int, Value]]]:
        """Its records by key, in order, without keys of which it read nothing."""
        found: dict[str, list[tuple[int, Value]]] = {}
        for key, pairs in self.polls:
            if not pairs:
                continue
            before = found.get(key)
            found[key] = pairs if before is None else [*before, *pairs]
        return found


@dataclass(slots=True, kw_only=True, eq=False)
class Send:
    """One send of one value: its invoke and its completions."""

    process: Process
    producer_id: int = -1
    index: int
    """The place among the sends of its process."""
    value_id: Value
    invoke_us: int
    outcome: Outcome = Outcome.UNKNOWN
    completions: tuple[EventType, ...] = ()
    complete_us: int = -1
    ack_offset: int = NO_OFFSET
    error_code: int = 0
    error: str | None = None
    key: str = ""
    """Its partition, if it has an operation."""
    call: Call | None = None
    """Its operation; None if each send of the history stands for itself."""

    @property
    def acked(self) -> bool:
        """True if the client reported the record as stored."""
        return self.outcome is Outcome.ACKED

    @property
    def committed(self) -> bool:
        """True if it was acknowledged, or its outcome is unknown and a read of its operation's writes proves it."""
        if self.outcome is Outcome.UNKNOWN:
            return self.call is not None and self.call.proven
        return self.outcome is Outcome.ACKED

    @property
    def transactional(self) -> bool:
        """True if it belongs to a transaction."""
        return self.call is not None and self.call.transactional
