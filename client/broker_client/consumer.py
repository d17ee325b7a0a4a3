"""A small consumer for programs with threads: assigned partitions only. Mirrors KafkaConsumer.

with Consumer(bootstrap_servers="localhost:9092") as consumer:
    consumer.assign([TopicPartition("orders", 0)])
    for record in consumer.poll(timeout=1.0):
        print(record.offset, record.value)
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final, Self

from broker_client.client_options import client_options
from broker_client.core.client_core import ClientCore
from broker_client.core.consumer_core import EARLIEST, LATEST, ConsumerCore, ConsumerRecord, FetchOptions
from broker_client.records import TopicPartition
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Consumer", "ConsumerRecord", "FetchOptions"]

_GRACE_S: Final = 5.0


class Consumer:
    """Not for several threads at once. Positions live here alone: there is no group and nothing is committed."""

    def __init__(self, *, fetch: FetchOptions | None = None, random: Random | None = None, **options: object) -> None:
        parsed = client_options(options, client_id="consumer-1")
        self._limit_s = parsed.default_api_timeout_ms / 1000 + _GRACE_S
        self._thread = ReactorThread(f"kafka-consumer-network-thread | {parsed.network.client_id}")
        reactor = self._thread.reactor
        self._core: ClientCore = self._thread.call(
            lambda: ClientCore(
                parsed,
                reactor,
                random if random is not None else Random(),
                call_from_thread=reactor.callFromThread,
            )
        )
        self._consumer = ConsumerCore(self._core, fetch or FetchOptions())

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions from now on."""
        self._thread.call(self._consumer.assign, [TopicPartition(*key) for key in partitions])

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read a partition on from `offset`."""
        self._thread.call(self._consumer.seek, TopicPartition(*partition), offset)

    def position(self, partition: TopicPartition) -> int | None:
        """The next offset to be read of a partition, None before the first poll."""
        return self._thread.call(self._consumer.position, TopicPartition(*partition))

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return self._offsets(partitions, EARLIEST)

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the last readable record of each partition."""
        return self._offsets(partitions, LATEST)

    def poll(self, timeout: float = 0.5) -> list[ConsumerRecord]:
        """Records as soon as there are some, or none after `timeout` seconds."""
        return self._thread.call(self._consumer.poll, int(timeout * 1000), timeout_s=self._limit_s + timeout)

    def poll_table(self, timeout: float = 0.5) -> Any:
        """The same as a pyarrow Table of topic, partition, offset, timestamp, key, value and headers; without records

        it is empty. Needs the extra `arrow`.
        """
        return self._thread.call(self._consumer.poll_table, int(timeout * 1000), timeout_s=self._limit_s + timeout)

    def close(self) -> None:
        """Close the connections and end the thread; twice does nothing."""
        if self._thread.running:
            self._thread.call(self._core.close)
            self._thread.stop()

    def _offsets(self, partitions: Iterable[TopicPartition], timestamp: int) -> dict[TopicPartition, int]:
        keys = [TopicPartition(*key) for key in partitions]
        return self._thread.call(lambda: self._consumer.offsets(keys, timestamp), timeout_s=self._limit_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
