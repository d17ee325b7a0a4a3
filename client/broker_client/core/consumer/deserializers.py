"""Deserializes the records of a poll, up to the first that cannot be. Mirrors parseRecord of (Share)CompletedFetch.

Null keys and values stay None: no deserializer receives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_client.consumer_errors import RecordDeserializationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_client.core.consumer.fetched_batches import ConsumerRecord

__all__ = ["Deserializers", "ReadRecords"]


@dataclass(slots=True, kw_only=True, frozen=True)
class ReadRecords:
    """The records before the first that cannot be deserialized; `unread` has that one and all after it, as bytes."""

    records: list[ConsumerRecord]
    unread: Sequence[ConsumerRecord] = ()
    error: RecordDeserializationError | None = None


@dataclass(slots=True, kw_only=True, frozen=True)
class Deserializers:
    """The callables of key.deserializer and value.deserializer; with None, bytes remain.

    `outcome` is what becomes of a record that cannot be deserialized, for the text of the error.
    """

    key: Callable[[bytes], Any] | None = None
    value: Callable[[bytes], Any] | None = None
    outcome: str = "seek past it to read on"

    def __bool__(self) -> bool:
        return self.key is not None or self.value is not None

    def read(self, records: list[ConsumerRecord]) -> ReadRecords:
        """Return the records with their keys and values deserialized."""
        if not self:
            return ReadRecords(records=records)
        read: list[ConsumerRecord] = []
        for place, record in enumerate(records):
            try:
                read.append(self.record(record))
            except RecordDeserializationError as error:
                return ReadRecords(records=read, unread=records[place:], error=error)
        return ReadRecords(records=read)

    def record(self, record: ConsumerRecord) -> ConsumerRecord:
        """Return a record with its key and value deserialized.

        Raises:
            RecordDeserializationError: a deserializer raised.
        """
        key, value = record.key, record.value
        if key is not None and self.key is not None:
            try:
                key = self.key(key)
            except Exception as error:
                raise RecordDeserializationError("key", record, error, self.outcome) from error
        if value is not None and self.value is not None:
            try:
                value = self.value(value)
            except Exception as error:
                raise RecordDeserializationError("value", record, error, self.outcome) from error
        return record._replace(key=key, value=value)
