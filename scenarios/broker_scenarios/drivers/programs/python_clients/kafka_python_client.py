"""The driver of kafka-python."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import kafka.errors
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from .lines import (
    REQUEST_TIMED_OUT,
    UNKNOWN,
    Run,
    headers_of,
    key_of,
    partition_of,
    polled,
    serve,
    underscored,
    value_of,
)

NOT_SENT = ("MessageSizeTooLargeError", "RecordTooLargeError")


class Moves(ConsumerRebalanceListener):  # type: ignore[misc]  # the client has no types
    """The partitions that a rebalance has moved."""

    def __init__(self) -> None:
        self.keys: dict[str, None] = {}

    def on_partitions_revoked(self, revoked: Any) -> None:
        self.keys.update(dict.fromkeys(f"{each.topic}-{each.partition}" for each in revoked))

    def on_partitions_assigned(self, assigned: Any) -> None:
        self.keys.update(dict.fromkeys(f"{each.topic}-{each.partition}" for each in assigned))


class Client:
    """A producer, a consumer, or both."""

    def __init__(self, run: Run, start: dict[str, Any]) -> None:
        self._run = run
        shared = {"bootstrap_servers": start["bootstrap_servers"].split(","), "client_id": start["client_id"]}
        self.producer = self.consumer = None
        if start["producer"] is not None:
            self.producer = KafkaProducer(**underscored(start["producer"]), **shared)
        if start["consumer"] is not None:
            self.consumer = KafkaConsumer(**underscored(start["consumer"]), **shared)
        self._moves = Moves()

    def _failed(self, invocation: dict[str, Any], error: BaseException) -> None:
        code = getattr(error, "errno", UNKNOWN)
        if isinstance(error, kafka.errors.KafkaTimeoutError):
            code = REQUEST_TIMED_OUT
        known = isinstance(code, int) and code > 0
        self._run.failed(
            invocation,
            f"{type(error).__name__}: {error}",
            code if known else UNKNOWN,
            certain=type(error).__name__ in NOT_SENT,
        )

    def _call(self, invocation: dict[str, Any], call: Any, *arguments: Any, **named: Any) -> None:
        try:
            call(*arguments, **named)
        except kafka.errors.KafkaError as error:
            self._failed(invocation, error)
        else:
            self._run.complete(invocation)

    # Producer

    def do_send(self, invocation: dict[str, Any]) -> None:
        assert self.producer is not None
        try:
            future = self.producer.send(
                invocation["topic"],
                value_of(invocation),
                key_of(invocation),
                headers_of(invocation),
                invocation["partition"],
                invocation["timestamp_ms"],
            )
        except kafka.errors.KafkaError as error:
            # The client has not taken the record.
            self._run.failed(invocation, f"{type(error).__name__}: {error}", certain=True)
            return
        future.add_callback(
            lambda metadata: self._run.sent(invocation, metadata.partition, metadata.offset, metadata.timestamp or -1)
        )
        future.add_errback(lambda error: self._failed(invocation, error))

    def do_flush(self, invocation: dict[str, Any]) -> None:
        assert self.producer is not None
        self._call(invocation, self.producer.flush)

    def do_init(self, invocation: dict[str, Any]) -> None:
        assert self.producer is not None
        self._call(invocation, self.producer.init_transactions)

    def do_begin(self, invocation: dict[str, Any]) -> None:
        assert self.producer is not None
        self._call(invocation, self.producer.begin_transaction)

    def do_commit_transaction(self, invocation: dict[str, Any]) -> None:
        assert self.producer is not None
        self._call(invocation, self.producer.commit_transaction)

    def do_abort_transaction(self, invocation: dict[str, Any]) -> None:
        assert self.producer is not None
        self._call(invocation, self.producer.abort_transaction)

    # Consumer

    def do_assign(self, invocation: dict[str, Any]) -> None:
        assert self.consumer is not None
        keys = [TopicPartition(*partition_of(key)) for key in invocation["mops"][0][1]]
        self._call(invocation, self.consumer.assign, keys)

    def do_subscribe(self, invocation: dict[str, Any]) -> None:
        assert self.consumer is not None
        topics = invocation["mops"][0][1]
        if topics:
            self._call(invocation, self.consumer.subscribe, topics, listener=self._moves)
        else:
            self._call(invocation, self.consumer.unsubscribe)

    def do_seek(self, invocation: dict[str, Any]) -> None:
        assert self.consumer is not None
        for name, to in invocation["mops"][0][1].items():
            key = TopicPartition(*partition_of(name))
            if to == "beginning":
                self.consumer.seek_to_beginning(key)
            elif to == "end":
                self.consumer.seek_to_end(key)
            else:
                self.consumer.seek(key, to)
        self._run.complete(invocation)

    def do_poll(self, invocation: dict[str, Any]) -> None:
        assert self.consumer is not None
        self._moves.keys.clear()
        try:
            batches = self.consumer.poll(invocation["timeout_ms"], max_records=invocation["records"])
        except kafka.errors.KafkaError as error:
            self._failed(invocation, error)
            return
        records = [(each.topic, each.partition, each.offset, each.value) for part in batches.values() for each in part]
        assigned = [f"{each.topic}-{each.partition}" for each in self.consumer.assignment()]
        self._run.complete(invocation, mops=[polled(records)], rebalanced=list(self._moves.keys), assigned=assigned)

    def do_ends(self, invocation: dict[str, Any]) -> None:
        assert self.consumer is not None
        ends = self.consumer.end_offsets([TopicPartition(*partition_of(key)) for key in invocation["keys"]])
        self._run.complete(invocation, offsets={f"{key.topic}-{key.partition}": end for key, end in ends.items()})

    def do_committed(self, invocation: dict[str, Any]) -> None:
        assert self.consumer is not None
        offsets = {key: self.consumer.committed(TopicPartition(*partition_of(key))) for key in invocation["keys"]}
        self._run.complete(invocation, offsets=offsets)

    def do_commit(self, invocation: dict[str, Any]) -> None:
        assert self.consumer is not None
        # The leader epoch is a field of later versions.
        rest = [""] if len(OffsetAndMetadata._fields) == 2 else ["", -1]
        offsets = {
            TopicPartition(*partition_of(key)): OffsetAndMetadata(to, *rest)
            for key, to in invocation["mops"][0][1].items()
        }
        self._call(invocation, self.consumer.commit, offsets)

    # Both

    def do_close(self, invocation: dict[str, Any]) -> None:
        if self.producer is not None:
            self.producer.close(timeout=invocation["timeout_ms"] / 1000)
        if self.consumer is not None:
            self.consumer.close()
        self._run.complete(invocation)


if __name__ == "__main__":
    serve(version("kafka-python"), Client)
