"""A client's sends as history events: turns the reports of a producer into invoke, ok, fail and info.

Works with any producer whose delivery callback is called once per record with its metadata and its error; the
errors are those of broker_client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from broker_client.errors import BrokerError, ProducerError
from broker_scenarios.history import EventType, HistoryRecorder
from broker_scenarios.outcomes import completion_of

__all__ = ["NOWHERE", "DeliveredRecord", "DeliveryCallback", "Sends", "class_of"]


class DeliveredRecord(Protocol):
    """The metadata that a delivery callback receives; offset and timestamp are -1 where there is none."""

    @property
    def partition(self) -> int:
        """The partition of the record, -1 if none was chosen."""

    @property
    def offset(self) -> int:
        """The offset of the record."""

    @property
    def timestamp_ms(self) -> int:
        """The timestamp of the record."""


DeliveryCallback = Callable[[DeliveredRecord, ProducerError | None], None]


class Sends:
    """Numbers the sends of one process and records their events. `now_us` is the clock of the journal."""

    def __init__(self, recorder: HistoryRecorder, *, process: int, producer_id: int, now_us: Callable[[], int]) -> None:
        self._recorder = recorder
        self._process = process
        self._producer_id = producer_id
        self._now_us = now_us
        self.invoked = 0
        self.completed = 0

    def invoke(self, *, topic: str, key: bytes | None, value_id: int, size_bytes: int) -> DeliveryCallback:
        """Record that a send begins; returns the delivery callback of the send."""
        index = self.invoked
        self.invoked += 1
        record, process, producer_id, now_us = self._recorder.record, self._process, self._producer_id, self._now_us
        record(
            EventType.INVOKE,
            process=process,
            producer_id=producer_id,
            index=index,
            time_us=now_us(),
            topic=topic,
            key=key,
            value_id=value_id,
            size_bytes=size_bytes,
        )

        def delivered(metadata: DeliveredRecord, error: ProducerError | None) -> None:
            self.completed += 1
            record(
                EventType.OK if error is None else class_of(error),
                process=process,
                producer_id=producer_id,
                index=index,
                time_us=now_us(),
                topic=topic,
                partition=metadata.partition,
                key=key,
                value_id=value_id,
                size_bytes=size_bytes,
                offset=metadata.offset if error is None else -1,
                timestamp_ms=metadata.timestamp_ms,
                error_code=0 if error is None else int(error.error_code),
                error=None if error is None else f"{type(error).__name__}: {error}",
            )

        return delivered


def class_of(error: ProducerError) -> EventType:
    """The class of a send that ended with this error."""
    return completion_of(
        int(error.error_code), maybe_written=error.maybe_written, from_broker=isinstance(error, BrokerError)
    )


@dataclass(frozen=True, slots=True)
class _Nowhere:
    partition: int = -1
    offset: int = -1
    timestamp_ms: int = -1


NOWHERE: Final[Any] = _Nowhere()
"""The metadata of a record that its client refused."""
