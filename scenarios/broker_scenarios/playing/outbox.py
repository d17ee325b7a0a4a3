"""The records that one client has given its producers, with their outcomes: what an application keeps to resend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_scenarios.history import EventType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["Outbox", "SentRecord"]


@dataclass(slots=True, kw_only=True)
class SentRecord:
    """One record. A record that is sent again keeps its value."""

    topic: str
    value_id: int
    size_bytes: int
    partition: int | None = None
    key: bytes | None = None
    timestamp_ms: int | None = None
    headers: Mapping[str, str]
    on_delivery: Callable[[], None] | None = None
    """Called in the delivery callback."""
    outcome: EventType | None = None
    """None while it is open."""


class Outbox:
    """The records of one client, over all its processes."""

    def __init__(self) -> None:
        self._records: dict[int, SentRecord] = {}

    def add(self, record: SentRecord) -> None:
        """Keep a record; one that is sent again is open again."""
        record.outcome = None
        self._records[record.value_id] = record

    def unconfirmed(self) -> list[SentRecord]:
        """Every record without an acknowledgement, in the order of the sends."""
        return self._with(EventType.FAIL, EventType.INFO, None)

    def of(self, which: str) -> list[SentRecord]:
        """The records that `failed`, whose outcome is `unknown`, or that are `unconfirmed`, which is both."""
        if which == "failed":
            return self._with(EventType.FAIL)
        if which == "unknown":
            return self._with(EventType.INFO)
        return self._with(EventType.FAIL, EventType.INFO)

    def _with(self, *outcomes: EventType | None) -> list[SentRecord]:
        records: Iterable[SentRecord] = self._records.values()
        return [record for record in records if record.outcome in outcomes]
