"""A consumer for programs with threads: assigned partitions only. Mirrors KafkaConsumer.

    with Consumer(bootstrap_servers="localhost:9092", isolation_level="read_committed") as consumer:
        consumer.assign([TopicPartition("orders", 0)])
        for record in consumer.poll(timeout=1.0):
            print(record.offset, record.value)

Consumer groups are not served yet, and no offsets are committed: positions exist in the consumer alone. If the log was
truncated below a position (KIP-320) or ends before it, auto.offset.reset chooses a new position; with "none" the
consumer raises LogTruncated or BrokerError.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, Final, Self

from broker_client.client_options import client_options, parsed_options
from broker_client.config.consumer_keys import CONSUMER_KEYS, FETCH_KEYS
from broker_client.core.admin.records import ListedOffset, OffsetSpec
from broker_client.core.consumer.consumer_core import ConsumerCore
from broker_client.core.consumer.fetched_batches import ConsumerRecord
from broker_client.core.consumer.fetcher import FetchOptions
from broker_client.core.network.client_core import ClientCore
from broker_client.errors import ProducerClosed
from broker_client.records import TopicPartition
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Consumer", "ConsumerRecord", "FetchOptions", "ListedOffset"]

_GRACE_S: Final = 5.0


class Consumer:
    """Reads assigned partitions; for one thread at a time.

    Options are Kafka's configurations of consumers, with underscores. `fetch` sets those of fetching together.

    Raises:
        ConfigError: an option is unknown, wrong or not served; `group.id` is not served yet.
    """

    def __init__(self, *, fetch: FetchOptions | None = None, random: Random | None = None, **options: Any) -> None:
        given = parsed_options(CONSUMER_KEYS, options)
        of_fetches: dict[str, Any] = {name.replace(".", "_"): given[name] for name in FETCH_KEYS if name in given}
        fetching = replace(fetch or FetchOptions(), **of_fetches)
        parsed = client_options(given, client_id="consumer-1")
        self._limit_s = parsed.default_api_timeout_ms / 1000 + _GRACE_S
        self._thread = ReactorThread(f"kafka-consumer-network-thread | {parsed.network.client_id}")
        reactor = self._thread.reactor

        def start() -> tuple[ClientCore, ConsumerCore]:
            core = ClientCore(
                parsed,
                reactor,
                random if random is not None else Random(),
                call_from_thread=reactor.callFromThread,
            )
            return core, ConsumerCore(core, fetching)

        self._core, self._consumer = self._thread.call(start)
        self._closed = False

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions instead of the earlier ones; partitions that stay keep their positions.

        Raises:
            ProducerClosed: the consumer is closed. All methods raise it.
        """
        self._open_thread.call(self._consumer.assign, list(partitions))

    def assignment(self) -> tuple[TopicPartition, ...]:
        """Return the assigned partitions in the order of the assignment."""
        return self._open_thread.call(lambda: self._consumer.assignment)

    def seek(self, partition: TopicPartition, offset: int, *, leader_epoch: int | None = None) -> None:
        """Continue a partition at `offset`; the leader epoch of the record before it detects a truncated log.

        Raises:
            ProducerError: the partition is not assigned, or the offset is negative.
        """
        self._open_thread.call(lambda: self._consumer.seek(partition, offset, leader_epoch=leader_epoch))

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Continue at the first record of the log, looked up by the next poll; without arguments, in all partitions.

        Raises:
            ProducerError: a partition is not assigned.
        """
        self._seek_to(partitions, OffsetSpec.EARLIEST)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Continue at the end of the log, or at the last stable offset with read_committed; without arguments, in all.

        Raises:
            ProducerError: a partition is not assigned.
        """
        self._seek_to(partitions, OffsetSpec.LATEST)

    def seek_to_time(self, timestamp_ms: int, *partitions: TopicPartition) -> None:
        """Continue at the first record at or after a time in ms since 1970, or at the end if there is none.

        Raises:
            ProducerError: a partition is not assigned.
        """
        self._seek_to(partitions, timestamp_ms)

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop fetching partitions; their positions stay.

        Raises:
            ProducerError: a partition is not assigned.
        """
        self._open_thread.call(self._consumer.pause, partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Fetch paused partitions again.

        Raises:
            ProducerError: a partition is not assigned.
        """
        self._open_thread.call(self._consumer.resume, partitions)

    def paused(self) -> tuple[TopicPartition, ...]:
        """Return the paused partitions."""
        return self._open_thread.call(lambda: self._consumer.paused)

    def position(self, partition: TopicPartition) -> int:
        """Return the offset of the next record of a partition, looked up if it is not known yet.

        Raises:
            ProducerTimeout: the look-up took longer than default.api.timeout.ms.
            NoOffsetForPartition: there is no position, and auto.offset.reset is none.
            ProducerError: the partition is not assigned.
        """
        return self._open_thread.call(lambda: self._consumer.known_position(partition), timeout_s=self._limit_s)

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the first offset of each partition.

        Raises:
            ProducerTimeout: no response came within default.api.timeout.ms.
            BrokerError: a broker refuses the request.
        """
        return self._offsets(partitions, OffsetSpec.EARLIEST)

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the high watermark of each partition, or the last stable offset with read_committed.

        Raises:
            ProducerTimeout: no response came within default.api.timeout.ms.
            BrokerError: a broker refuses the request.
        """
        return self._offsets(partitions, OffsetSpec.LATEST)

    def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, ListedOffset]:
        """Return offset and time of the first record at or after a time in ms, per partition; offset -1 if none.

        Raises:
            ProducerTimeout: no response came within default.api.timeout.ms.
            BrokerError: a broker refuses the request.
        """
        return self._open_thread.call(lambda: self._consumer.offsets_for_times(times), timeout_s=self._limit_s)

    def poll(self, timeout: float = 0.5) -> list[ConsumerRecord]:
        """Return records as soon as some are fetched, or none after `timeout` seconds.

        Raises:
            BrokerError: a broker refuses the request, and a retry would not help.
            NoOffsetForPartition, LogTruncated: there is no valid position, and auto.offset.reset is none.
            ProducerTimeout: no broker responded for default.api.timeout.ms.
            ProducerError: no partition is assigned, or a batch cannot be decoded.
        """
        return self._open_thread.call(self._consumer.poll, int(timeout * 1000), timeout_s=self._limit_s + timeout)

    def poll_table(self, timeout: float = 0.5) -> Any:
        """Return the records of a poll as a pyarrow Table; it is empty if there are none.

        Columns are topic, partition, offset, timestamp (ms), key, value and headers. Needs the extra `arrow`; raises
        the errors of `poll`.
        """
        return self._open_thread.call(self._consumer.poll_table, int(timeout * 1000), timeout_s=self._limit_s + timeout)

    def close(self) -> None:
        """Close the connections and stop the network thread; a second call has no effect."""
        self._closed = True
        if self._thread.running:
            self._thread.call(self._core.close)
            self._thread.stop()

    @property
    def _open_thread(self) -> ReactorThread:
        if self._closed:
            raise ProducerClosed("the consumer is closed")
        return self._thread

    def _seek_to(self, partitions: Iterable[TopicPartition], spec: int) -> None:
        def seek() -> None:
            for key in list(partitions) or self._consumer.assignment:
                self._consumer.seek_to(key, spec)

        self._open_thread.call(seek)

    def _offsets(self, partitions: Iterable[TopicPartition], spec: int) -> dict[TopicPartition, int]:
        keys = [TopicPartition(*key) for key in partitions]
        return self._open_thread.call(lambda: self._consumer.offsets(keys, spec), timeout_s=self._limit_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
