"""broker_client: the delivery callbacks of its producers, and the records of its consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.ledger.adapters.wrapped_client import (
    AsyncTransactions,
    SubscriptionCalls,
    Transactions,
    WrappedConsumer,
    WrappedProducer,
    contents_of,
)

if TYPE_CHECKING:
    from broker_scenarios.ledger.book import SentRecord

__all__ = ["OurAsyncConsumer", "OurAsyncProducer", "OurConsumer", "OurProducer"]

PARAMETERS: Final = ("value", "key", "partition", "headers", "timestamp_ms", "on_delivery")


class _Producer(WrappedProducer):
    """The sends of both producers."""

    def _begin_send(self, topic: str, arguments: Any, options: Any) -> tuple[SentRecord | None, dict[str, Any]]:
        """Record a send; returns the record and the arguments with which the client is called."""
        given = {**dict(zip(PARAMETERS, arguments, strict=False)), **options}
        serializes = self._client.config.key_serializer or self._client.config.value_serializer
        contents = contents_of(given.get("key"), given.get("value"), serialized=bool(serializes))
        record = self._sending(topic, contents, given.get("partition"))
        if record is not None:
            of_application = given.get("on_delivery")

            def delivered(metadata: Any, error: Any) -> None:
                if error is None:
                    self._acked(record, metadata.partition, metadata.offset)
                else:
                    self._failed(record, error)
                if of_application is not None:
                    of_application(metadata, error)

            given["on_delivery"] = delivered
        return record, given


class OurProducer(_Producer, Transactions):
    """A broker_client.Producer."""

    def send(self, topic: str, *arguments: Any, **options: Any) -> Any:
        """Append a record and return its future."""
        record, given = self._begin_send(topic, arguments, options)
        try:
            return self._client.send(topic, **given)
        except BaseException as error:
            self._not_accepted(record, error)
            raise

    def send_batch(self, *_: Any, **__: Any) -> Any:
        """Not followed. Raises ScenarioError."""
        return self._refuse("send_batch")


class OurAsyncProducer(_Producer, AsyncTransactions):
    """A broker_client.AsyncProducer."""

    async def send(self, topic: str, *arguments: Any, **options: Any) -> Any:
        """Append a record and return its future."""
        record, given = self._begin_send(topic, arguments, options)
        try:
            return await self._client.send(topic, **given)
        except BaseException as error:
            self._not_accepted(record, error)
            raise

    async def send_and_wait(self, topic: str, *arguments: Any, **options: Any) -> Any:
        """Send a record and wait for its metadata."""
        return await (await self.send(topic, *arguments, **options))

    async def send_batch(self, *_: Any, **__: Any) -> Any:
        """Not followed. Raises ScenarioError."""
        return self._refuse("send_batch")


class _Consumer(WrappedConsumer):
    """The calls that both consumers have in one form. An application's deserializers show in its records alone."""

    def seek(self, partition: Any, offset: int, *arguments: Any, **options: Any) -> None:
        """Read on at an offset."""
        self._client.seek(partition, offset, *arguments, **options)
        self._has_sought({(partition.topic, partition.partition): offset})

    def seek_to_beginning(self, *partitions: Any) -> None:
        """Read on at the beginning."""
        self._client.seek_to_beginning(*partitions)
        self._has_sought_all(partitions, "beginning")

    def seek_to_end(self, *partitions: Any) -> None:
        """Read on at the end."""
        self._client.seek_to_end(*partitions)
        self._has_sought_all(partitions, "end")


class OurConsumer(SubscriptionCalls, _Consumer):
    """A broker_client.Consumer."""

    def poll(self, *arguments: Any, **options: Any) -> Any:
        """Return the next records."""
        records = self._client.poll(*arguments, **options)
        self._received(records)
        return records


class OurAsyncConsumer(_Consumer):
    """A broker_client.AsyncConsumer, which is an asynchronous iterator, too."""

    async def poll(self, *arguments: Any, **options: Any) -> Any:
        """Return the next records."""
        records = await self._client.poll(*arguments, **options)
        self._received(records)
        return records

    async def __aiter__(self) -> Any:
        async for record in self._client:
            self._received((record,))
            yield record

    async def subscribe(self, topics: Any, *arguments: Any, **options: Any) -> None:
        """Subscribe to topics or a pattern."""
        await self._client.subscribe(topics, *arguments, **options)
        self._has_subscribed(topics)

    async def unsubscribe(self) -> None:
        """End the subscription."""
        await self._client.unsubscribe()
        self._has_unsubscribed()

    async def assign(self, partitions: Any) -> None:
        """Assign partitions."""
        wanted = list(partitions)
        await self._client.assign(wanted)
        self._has_assigned(wanted)
