"""The driver of confluent-kafka, the Python client on librdkafka."""

from __future__ import annotations

import threading
from importlib.metadata import version
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from .lines import (
    FLUSH_S,
    REQUEST_TIMED_OUT,
    UNKNOWN,
    Run,
    headers_of,
    key_of,
    partition_of,
    polled,
    serve,
    value_of,
)

POLL_S = 0.05
NOT_SENT = frozenset((KafkaError._QUEUE_FULL, KafkaError._PURGE_QUEUE, KafkaError._INVALID_ARG, KafkaError._STATE))
"""Errors of records that have not left the client."""
TIMED_OUT = frozenset((KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT))


class Client:
    """A producer, a consumer, or both."""

    def __init__(self, run: Run, start: dict[str, Any]) -> None:
        self._run = run
        shared = {"bootstrap.servers": start["bootstrap_servers"], "client.id": start["client_id"]}
        self.closed = threading.Event()
        if start["producer"] is not None:
            self.producer = Producer({**start["producer"], **shared})
            threading.Thread(target=self._serve_callbacks, daemon=True).start()
        if start["consumer"] is not None:
            self.consumer = Consumer({"group.id": "none", **start["consumer"], **shared})
            self._moved: dict[str, None] = {}

    def _serve_callbacks(self) -> None:
        while not self.closed.is_set():
            self.producer.poll(POLL_S)

    def _failed(self, invocation: dict[str, Any], error: Any) -> None:
        code = error.code()
        number = REQUEST_TIMED_OUT if code in TIMED_OUT else max(code, UNKNOWN)
        self._run.failed(invocation, f"{error.name()}: {error.str()}", number, certain=code in NOT_SENT)

    def _call(self, invocation: dict[str, Any], call: Any, *arguments: Any) -> None:
        try:
            call(*arguments)
        except KafkaException as error:
            self._failed(invocation, error.args[0])
        else:
            self._run.complete(invocation)

    # Producer

    def do_send(self, invocation: dict[str, Any]) -> None:
        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                self._failed(invocation, error)
            else:
                self._run.sent(invocation, message.partition(), message.offset(), message.timestamp()[1])

        given: dict[str, Any] = {}
        if invocation["partition"] is not None:
            given["partition"] = invocation["partition"]
        if invocation["timestamp_ms"] is not None:
            given["timestamp"] = invocation["timestamp_ms"]
        if invocation["headers"]:
            given["headers"] = headers_of(invocation)
        try:
            self.producer.produce(
                invocation["topic"], value_of(invocation), key_of(invocation), on_delivery=delivered, **given
            )
        except BufferError as error:
            self._run.failed(invocation, f"_QUEUE_FULL: {error}", certain=True)
        except KafkaException as error:
            self._failed(invocation, error.args[0])

    def do_flush(self, invocation: dict[str, Any]) -> None:
        self.producer.flush(FLUSH_S)
        self._run.complete(invocation)

    def do_init(self, invocation: dict[str, Any]) -> None:
        self._call(invocation, self.producer.init_transactions)

    def do_begin(self, invocation: dict[str, Any]) -> None:
        self._call(invocation, self.producer.begin_transaction)

    def do_commit_transaction(self, invocation: dict[str, Any]) -> None:
        self._call(invocation, self.producer.commit_transaction)

    def do_abort_transaction(self, invocation: dict[str, Any]) -> None:
        self._call(invocation, self.producer.abort_transaction)

    # Consumer

    def do_assign(self, invocation: dict[str, Any]) -> None:
        keys = [TopicPartition(*partition_of(key)) for key in invocation["mops"][0][1]]
        self._call(invocation, self.consumer.assign, keys)

    def do_subscribe(self, invocation: dict[str, Any]) -> None:
        topics = invocation["mops"][0][1]
        if not topics:
            self._call(invocation, self.consumer.unsubscribe)
            return

        def moved(_: Any, partitions: Any) -> None:
            self._moved.update(dict.fromkeys(f"{each.topic}-{each.partition}" for each in partitions))

        self.consumer.subscribe(topics, on_assign=moved, on_revoke=moved)
        self._run.complete(invocation)

    def do_seek(self, invocation: dict[str, Any]) -> None:
        special = {"beginning": confluent_kafka.OFFSET_BEGINNING, "end": confluent_kafka.OFFSET_END}
        places = {
            partition_of(key): special[to] if isinstance(to, str) else to
            for key, to in invocation["mops"][0][1].items()
        }
        # A seek is allowed only once the fetcher runs; an assignment with offsets is not held up.
        kept = [each for each in self.consumer.assignment() if (each.topic, each.partition) not in places]
        sought = [TopicPartition(*key, to) for key, to in places.items()]
        self._call(invocation, self.consumer.assign, kept + sought)

    def do_poll(self, invocation: dict[str, Any]) -> None:
        messages = self.consumer.consume(invocation["records"], invocation["timeout_ms"] / 1000)
        reported = [error for message in messages if (error := message.error()) is not None]
        errors = [error for error in reported if error.code() != KafkaError._PARTITION_EOF]
        records = [
            (message.topic(), message.partition(), message.offset(), message.value())
            for message in messages
            if message.error() is None
        ]
        moved, self._moved = self._moved, {}
        if errors and not records:
            self._failed(invocation, errors[0])
        else:
            assigned = [f"{each.topic}-{each.partition}" for each in self.consumer.assignment()]
            self._run.complete(invocation, mops=[polled(records)], rebalanced=list(moved), assigned=assigned)

    def do_ends(self, invocation: dict[str, Any]) -> None:
        ends = {}
        for key in invocation["keys"]:
            _, ends[key] = self.consumer.get_watermark_offsets(TopicPartition(*partition_of(key)), timeout=FLUSH_S)
        self._run.complete(invocation, offsets=ends)

    def do_committed(self, invocation: dict[str, Any]) -> None:
        keys = [TopicPartition(*partition_of(key)) for key in invocation["keys"]]
        found = self.consumer.committed(keys, timeout=FLUSH_S)
        offsets = {f"{each.topic}-{each.partition}": each.offset for each in found}
        self._run.complete(invocation, offsets={key: to if to >= 0 else None for key, to in offsets.items()})

    def do_commit(self, invocation: dict[str, Any]) -> None:
        offsets = [TopicPartition(*partition_of(key), to) for key, to in invocation["mops"][0][1].items()]
        try:
            self.consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            self._failed(invocation, error.args[0])
        else:
            self._run.complete(invocation)

    # Both

    def do_close(self, invocation: dict[str, Any]) -> None:
        if hasattr(self, "producer"):
            timeout_s = invocation["timeout_ms"] / 1000
            self.producer.flush(timeout_s)
            self.producer.purge()
            self.producer.flush(0)
            self.closed.set()
        if hasattr(self, "consumer"):
            self.consumer.close()
        self._run.complete(invocation)


if __name__ == "__main__":
    serve(version("confluent-kafka"), Client)
