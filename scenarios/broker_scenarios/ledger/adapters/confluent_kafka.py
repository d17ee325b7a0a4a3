"""confluent-kafka: a Producer's delivery callbacks, and the messages of a Consumer.

A callback in the producer's own configuration (`on_delivery`) is called for records without a callback of their own; a
wrapped producer gives each record one. Hand such a callback to each `produce` instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.ledger.adapters.wrapped_client import Transactions, WrappedConsumer, contents_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ConfluentConsumer", "ConfluentProducer"]

PLAIN: Final = ("value", "key", "partition", "callback", "on_delivery", "timestamp", "headers")
SERIALIZING: Final = ("key", "value", "partition", "on_delivery", "timestamp", "headers")
"""The parameters of `produce` after the topic, in their order."""
NOT_SENT: Final = ("_QUEUE_FULL", "_PURGE_QUEUE", "_INVALID_ARG", "_STATE")
"""The errors of records that have not left the client."""
POSITIONS: Final[dict[int, str]] = {-2: "beginning", -1: "end"}


class ConfluentProducer(Transactions):
    """A confluent_kafka.Producer or SerializingProducer."""

    def produce(self, topic: str, *arguments: Any, **options: Any) -> None:
        """Produce a record; raises what the client raises."""
        serializes = any(base.__name__ == "SerializingProducer" for base in type(self._client).__mro__)
        given = {**dict(zip(SERIALIZING if serializes else PLAIN, arguments, strict=False)), **options}
        contents = contents_of(given.get("key"), given.get("value"), serialized=serializes)
        record = self._sending(topic, contents, given.get("partition"))
        if record is None:
            self._client.produce(topic, *arguments, **options)
            return
        callbacks = [given.pop("callback", None), given.pop("on_delivery", None)]
        of_application = next((each for each in callbacks if each is not None), None)

        def delivered(error: Any, message: Any) -> None:
            if error is None:
                self._acked(record, message.partition(), message.offset())
            else:
                self._failed(record, f"{error.name()}: {error.str()}", certain=error.name() in NOT_SENT)
            if of_application is not None:
                of_application(error, message)

        try:
            self._client.produce(topic, **given, on_delivery=delivered)
        except BaseException as error:
            self._not_accepted(record, error)
            raise

    def produce_batch(self, *_: Any, **__: Any) -> Any:
        """Not followed. Raises ScenarioError."""
        return self._refuse("produce_batch")


class ConfluentConsumer(WrappedConsumer):
    """A confluent_kafka.Consumer or DeserializingConsumer."""

    def poll(self, *arguments: Any, **options: Any) -> Any:
        """Return the next message."""
        message = self._client.poll(*arguments, **options)
        self._received_messages(() if message is None else (message,))
        return message

    def consume(self, *arguments: Any, **options: Any) -> Any:
        """Return the next messages."""
        messages = self._client.consume(*arguments, **options)
        self._received_messages(messages)
        return messages

    def subscribe(self, topics: list[str], *arguments: Any, **options: Any) -> None:
        """Subscribe to topics."""
        self._client.subscribe(topics, *arguments, **options)
        self._has_subscribed(topics)

    def unsubscribe(self) -> None:
        """End the subscription."""
        self._client.unsubscribe()
        self._has_unsubscribed()

    def assign(self, partitions: list[Any]) -> None:
        """Assign partitions; those with an offset begin there."""
        self._client.assign(partitions)
        self._has_assigned(partitions)
        self._moved(each for each in partitions if each.offset >= 0 or each.offset in POSITIONS)

    def incremental_assign(self, partitions: list[Any]) -> None:
        """Assign further partitions."""
        self._client.incremental_assign(partitions)
        self._has_assigned(self._client.assignment())

    def incremental_unassign(self, partitions: list[Any]) -> None:
        """Give partitions up."""
        self._client.incremental_unassign(partitions)
        self._has_assigned(self._client.assignment())

    def unassign(self) -> None:
        """Give all partitions up."""
        self._client.unassign()
        self._has_assigned(())

    def seek(self, partition: Any) -> None:
        """Read on at the offset of a TopicPartition."""
        self._client.seek(partition)
        self._moved((partition,))

    def _moved(self, partitions: Iterable[Any]) -> None:
        self._has_sought({(each.topic, each.partition): POSITIONS.get(each.offset, each.offset) for each in partitions})

    def _received_messages(self, messages: Iterable[Any]) -> None:
        deserializes = any(base.__name__ == "DeserializingConsumer" for base in type(self._client).__mro__)
        self._book.poll(
            self._name,
            [
                (
                    message.topic(),
                    message.partition(),
                    message.offset(),
                    contents_of(message.key(), message.value(), serialized=deserializes),
                )
                for message in messages
                if message.error() is None
            ],
        )
