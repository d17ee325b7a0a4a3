"""The driver of aiokafka: the calls of a script one after another on an event loop, also on one of virtual time."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition, errors

from .lines import (
    REQUEST_TIMED_OUT,
    UNKNOWN,
    Completions,
    headers_of,
    key_of,
    partition_of,
    polled,
    serve_on_a_loop,
    underscored,
    value_of,
)

NOT_SENT = ("MessageSizeTooLargeError", "ProducerClosed")


class Moves(ConsumerRebalanceListener):  # type: ignore[misc]  # the client has no types
    """The partitions that a rebalance has moved."""

    def __init__(self) -> None:
        self.keys: dict[str, None] = {}

    async def on_partitions_revoked(self, revoked: Any) -> None:
        self.keys.update(dict.fromkeys(f"{each.topic}-{each.partition}" for each in revoked))

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self.keys.update(dict.fromkeys(f"{each.topic}-{each.partition}" for each in assigned))


class Client:
    """A producer, a consumer, or both."""

    def __init__(self, run: Completions) -> None:
        self._run = run
        self._moves = Moves()
        self.producer: Any = None
        self.consumer: Any = None

    async def start(self, invocation: dict[str, Any]) -> None:
        shared = {"bootstrap_servers": invocation["bootstrap_servers"], "client_id": invocation["client_id"]}
        if invocation["producer"] is not None:
            self.producer = AIOKafkaProducer(**underscored(invocation["producer"]), **shared)
            await self.producer.start()
        if invocation["consumer"] is not None:
            self.consumer = AIOKafkaConsumer(**underscored(invocation["consumer"]), **shared)
            await self.consumer.start()

    def _failed(self, invocation: dict[str, Any], error: BaseException) -> None:
        code = getattr(error, "errno", UNKNOWN)
        if isinstance(error, errors.KafkaTimeoutError):
            code = REQUEST_TIMED_OUT
        known = isinstance(code, int) and code > 0
        self._run.failed(
            invocation,
            f"{type(error).__name__}: {error}",
            code if known else UNKNOWN,
            certain=type(error).__name__ in NOT_SENT,
        )

    async def _call(self, invocation: dict[str, Any], call: Any) -> None:
        try:
            await call
        except errors.KafkaError as error:
            self._failed(invocation, error)
        else:
            self._run.complete(invocation)

    # Producer

    async def do_send(self, invocation: dict[str, Any]) -> None:
        try:
            future = await self.producer.send(
                invocation["topic"],
                value_of(invocation),
                key_of(invocation),
                invocation["partition"],
                invocation["timestamp_ms"],
                headers_of(invocation),
            )
        except errors.KafkaError as error:
            self._failed(invocation, error)
            return

        def delivered(done: Any) -> None:
            error = done.exception()
            if error is not None:
                self._failed(invocation, error)
            else:
                metadata = done.result()
                self._run.sent(invocation, metadata.partition, metadata.offset, metadata.timestamp or -1)

        future.add_done_callback(delivered)

    async def do_flush(self, invocation: dict[str, Any]) -> None:
        await self._call(invocation, self.producer.flush())

    async def do_begin(self, invocation: dict[str, Any]) -> None:
        await self._call(invocation, self.producer.begin_transaction())

    async def do_commit_transaction(self, invocation: dict[str, Any]) -> None:
        await self._call(invocation, self.producer.commit_transaction())

    async def do_abort_transaction(self, invocation: dict[str, Any]) -> None:
        await self._call(invocation, self.producer.abort_transaction())

    async def do_init(self, invocation: dict[str, Any]) -> None:
        # The start of this client's producer is its initTransactions.
        self._run.complete(invocation)

    # Consumer

    async def do_assign(self, invocation: dict[str, Any]) -> None:
        keys = [TopicPartition(*partition_of(key)) for key in invocation["mops"][0][1]]

        async def assign() -> None:
            self.consumer.assign(keys)

        await self._call(invocation, assign())

    async def do_subscribe(self, invocation: dict[str, Any]) -> None:
        topics = invocation["mops"][0][1]

        async def subscribe() -> None:
            if topics:
                self.consumer.subscribe(topics, listener=self._moves)
            else:
                self.consumer.unsubscribe()

        await self._call(invocation, subscribe())

    async def do_seek(self, invocation: dict[str, Any]) -> None:
        await self._call(invocation, self._seek(invocation["mops"][0][1]))

    async def _seek(self, places: dict[str, Any]) -> None:
        for name, to in places.items():
            key = TopicPartition(*partition_of(name))
            if to == "beginning":
                await self.consumer.seek_to_beginning(key)
            elif to == "end":
                await self.consumer.seek_to_end(key)
            else:
                self.consumer.seek(key, to)

    async def do_poll(self, invocation: dict[str, Any]) -> None:
        self._moves.keys.clear()
        try:
            batches = await self.consumer.getmany(
                timeout_ms=invocation["timeout_ms"], max_records=invocation["records"]
            )
        except errors.KafkaError as error:
            self._failed(invocation, error)
            return
        records = [(each.topic, each.partition, each.offset, each.value) for part in batches.values() for each in part]
        assigned = [f"{each.topic}-{each.partition}" for each in self.consumer.assignment()]
        self._run.complete(invocation, mops=[polled(records)], rebalanced=list(self._moves.keys), assigned=assigned)

    async def do_ends(self, invocation: dict[str, Any]) -> None:
        keys = [TopicPartition(*partition_of(key)) for key in invocation["keys"]]
        ends = await self.consumer.end_offsets(keys)
        self._run.complete(invocation, offsets={f"{key.topic}-{key.partition}": end for key, end in ends.items()})

    async def do_committed(self, invocation: dict[str, Any]) -> None:
        keys = {key: TopicPartition(*partition_of(key)) for key in invocation["keys"]}
        offsets = {name: await self.consumer.committed(key) for name, key in keys.items()}
        self._run.complete(invocation, offsets=offsets)

    async def do_commit(self, invocation: dict[str, Any]) -> None:
        offsets = {TopicPartition(*partition_of(key)): to for key, to in invocation["mops"][0][1].items()}
        await self._call(invocation, self.consumer.commit(offsets))

    # Both

    async def do_close(self, invocation: dict[str, Any]) -> None:
        async def close() -> None:
            if self.producer is not None:
                await asyncio.wait_for(self.producer.stop(), invocation["timeout_ms"] / 1000 or 0.001)
            if self.consumer is not None:
                await self.consumer.stop()

        await self._call(invocation, close())


if __name__ == "__main__":
    serve_on_a_loop(version("aiokafka"), Client)
