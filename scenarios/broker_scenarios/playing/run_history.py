"""The history of a run: the sends of its clients as events, everything else as operations.

An operation has the neutral form of histories: an invocation and at most one completion, with micro-operations. The
sends of a transaction are part of its operation as well: their outcome is that of the transaction.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.history import EventType, HistoryRecorder
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Operation", "RunHistory", "name_of_error"]

MicroOperation = list[Any]


@dataclass(slots=True, kw_only=True)
class Operation:
    """One operation of a process, from its invocation to its completion; without one it never ended."""

    process: int
    f: str
    invoked_us: int
    mops: list[MicroOperation]
    group: str | None = None
    completed_us: int = -1
    type: EventType | None = None
    results: list[MicroOperation] = field(default_factory=list)
    error: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    """Other fields of the neutral form: rebalanced, final, assigned, auto, offsets."""


class RunHistory:
    """The history of one run. `now_us` is the clock of the journal."""

    def __init__(self, run_id: str, now_us: Callable[[], int]) -> None:
        self.recorder: Final = HistoryRecorder(run_id)
        self.now_us: Final = now_us
        self.operations: list[Operation] = []
        self.outcomes: Counter[str] = Counter()
        """The ended sends by outcome and by the name of their error."""
        self._processes = 0

    def new_process(self) -> int:
        """Return the number of the next process."""
        self._processes += 1
        return self._processes - 1

    def invoke(
        self, process: int, f: str, mops: list[MicroOperation], *, group: str | None = None, **facts: Any
    ) -> Operation:
        """Begin an operation."""
        operation = Operation(process=process, f=f, invoked_us=self.now_us(), mops=mops, group=group, facts=dict(facts))
        self.operations.append(operation)
        return operation

    def complete(
        self,
        operation: Operation,
        outcome: EventType,
        results: list[MicroOperation] | None = None,
        error: BaseException | None = None,
        **facts: Any,
    ) -> None:
        """End an operation; a second end has no effect."""
        if operation.type is not None:
            return
        operation.type = outcome
        operation.completed_us = self.now_us()
        operation.results = operation.mops if results is None else results
        operation.error = None if error is None else name_of_error(error)
        operation.facts.update(facts)

    def transactions(self) -> Counter[str]:
        """How many transactions ended with ok, fail, info, with an error by its name, or are open."""
        return _counted([each for each in self.operations if each.f == "txn"])

    def calls(self) -> Counter[str]:
        """The same of all other operations."""
        return _counted([each for each in self.operations if each.f != "txn"])


def _counted(operations: list[Operation]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for each in operations:
        counted["open" if each.type is None else each.type.value] += 1
        if each.error is not None:
            counted[each.error] += 1
    return counted


def name_of_error(error: BaseException) -> str:
    """The name of an error: Kafka's name of its code if it has one of a broker, else the name of its class."""
    code: Mapping[str, object] | ErrorCode | None = getattr(error, "error_code", None)
    if isinstance(code, ErrorCode) and code is not ErrorCode.UNKNOWN_SERVER_ERROR:
        return code.name
    return type(error).__name__
