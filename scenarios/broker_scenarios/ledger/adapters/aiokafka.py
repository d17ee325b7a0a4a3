"""aiokafka: the futures of an AIOKafkaProducer, and the records of an AIOKafkaConsumer."""

from __future__ import annotations

from typing import Any, Final

from broker_scenarios.ledger.adapters.wrapped_client import AsyncTransactions, KafkaPythonCalls, contents_of

__all__ = ["AioKafkaConsumer", "AioKafkaProducer"]

PARAMETERS: Final = ("value", "key", "partition", "timestamp_ms", "headers")


class AioKafkaProducer(AsyncTransactions):
    """An aiokafka.AIOKafkaProducer."""

    async def send(self, topic: str, *arguments: Any, **options: Any) -> Any:
        """Send a record and return its future."""
        given = {**dict(zip(PARAMETERS, arguments, strict=False)), **options}
        serializes = _is_set(self._client, "_key_serializer", "_value_serializer")
        contents = contents_of(given.get("key"), given.get("value"), serialized=serializes)
        record = self._sending(topic, contents, given.get("partition"))
        try:
            future = await self._client.send(topic, *arguments, **options)
        except BaseException as error:
            self._not_accepted(record, error)
            raise
        if record is not None:

            def delivered(done: Any) -> None:
                if done.cancelled():
                    self._failed(record, "cancelled")
                elif (error := done.exception()) is not None:
                    self._failed(record, error)
                else:
                    self._acked(record, done.result().partition, done.result().offset)

            future.add_done_callback(delivered)
        return future

    async def send_and_wait(self, topic: str, *arguments: Any, **options: Any) -> Any:
        """Send a record and wait for its metadata."""
        return await (await self.send(topic, *arguments, **options))

    async def send_batch(self, *_: Any, **__: Any) -> Any:
        """Not followed. Raises ScenarioError."""
        return self._refuse("send_batch")

    def transaction(self) -> Any:
        """Return the client's context of a transaction; it calls this producer."""
        return type(self._client.transaction())(self)


class AioKafkaConsumer(KafkaPythonCalls):
    """An aiokafka.AIOKafkaConsumer, which is an asynchronous iterator, too."""

    async def getone(self, *partitions: Any) -> Any:
        """Return the next record."""
        record = await self._client.getone(*partitions)
        self._took((record,))
        return record

    async def getmany(self, *partitions: Any, **options: Any) -> Any:
        """Return the next records by partition."""
        batches = await self._client.getmany(*partitions, **options)
        self._took(record for batch in batches.values() for record in batch)
        return batches

    def __aiter__(self) -> Any:
        self._client.__aiter__()
        return self

    async def __anext__(self) -> Any:
        record = await self._client.__anext__()
        self._took((record,))
        return record

    async def seek_to_beginning(self, *partitions: Any) -> Any:
        """Read on at the beginning."""
        result = await self._client.seek_to_beginning(*partitions)
        self._has_sought_all(partitions, "beginning")
        return result

    async def seek_to_end(self, *partitions: Any) -> Any:
        """Read on at the end."""
        result = await self._client.seek_to_end(*partitions)
        self._has_sought_all(partitions, "end")
        return result

    def _took(self, records: Any) -> None:
        self._received(records, serialized=_is_set(self._client, "_key_deserializer", "_value_deserializer"))


def _is_set(client: object, *names: str) -> bool:
    return any(getattr(client, name, None) is not None for name in names)
