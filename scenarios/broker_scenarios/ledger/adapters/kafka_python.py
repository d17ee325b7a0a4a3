"""kafka-python: the futures of a KafkaProducer, and the records of a KafkaConsumer."""

from __future__ import annotations

from typing import Any, Final

from broker_scenarios.ledger.adapters.wrapped_client import KafkaPythonCalls, Transactions, contents_of

__all__ = ["KafkaPythonConsumer", "KafkaPythonProducer"]

PARAMETERS: Final = ("value", "key", "headers", "partition", "timestamp_ms")


class KafkaPythonProducer(Transactions):
    """A kafka.KafkaProducer."""

    def send(self, topic: str, *arguments: Any, **options: Any) -> Any:
        """Send a record and return its future."""
        given = {**dict(zip(PARAMETERS, arguments, strict=False)), **options}
        config = self._client.config
        serializes = config["key_serializer"] is not None or config["value_serializer"] is not None
        contents = contents_of(given.get("key"), given.get("value"), serialized=serializes)
        record = self._sending(topic, contents, given.get("partition"))
        try:
            future = self._client.send(topic, *arguments, **options)
        except BaseException as error:
            self._not_accepted(record, error)
            raise
        if record is not None:
            future.add_callback(lambda metadata: self._acked(record, metadata.partition, metadata.offset))
            future.add_errback(lambda error: self._failed(record, error))
        return future


class KafkaPythonConsumer(KafkaPythonCalls):
    """A kafka.KafkaConsumer, which is an iterator, too."""

    def poll(self, *arguments: Any, **options: Any) -> Any:
        """Return the next records by partition."""
        batches = self._client.poll(*arguments, **options)
        self._took(record for batch in batches.values() for record in batch)
        return batches

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        record = next(self._client)
        self._took((record,))
        return record

    def seek_to_beginning(self, *partitions: Any) -> None:
        """Read on at the beginning."""
        self._client.seek_to_beginning(*partitions)
        self._has_sought_all(partitions, "beginning")

    def seek_to_end(self, *partitions: Any) -> None:
        """Read on at the end."""
        self._client.seek_to_end(*partitions)
        self._has_sought_all(partitions, "end")

    def _took(self, records: Any) -> None:
        config = self._client.config
        deserializes = config["key_deserializer"] is not None or config["value_deserializer"] is not None
        self._received(records, serialized=deserializes)
