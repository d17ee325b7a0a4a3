"""A consumer for programs with threads: assigned partitions only. Mirrors KafkaConsumer.

    with Consumer(bootstrap_servers="localhost:9092", isolation_level="read_committed") as consumer:
        consumer.assign([TopicPartition("orders", 0)])
        for record in consumer.poll(timeout=1.0):
            print(record.offset, record.value)

There is no group, and nothing is committed: positions live in the consumer alone. Where the log was truncated below a
position (KIP-320), or ends before it, auto.offset.reset decides; with "none" that is raised: LogTruncated, BrokerError.
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
    """Not for several threads at once.

    Options are the client's and those of FetchOptions, with underscores; `fetch` gives the latter at once.
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
        """Read these partitions from now on; what was assigned before keeps its position."""
        self._open_thread.call(self._consumer.assign, list(partitions))

    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions that are read, in the order in which they were assigned."""
        return self._open_thread.call(lambda: self._consumer.assignment)

    def seek(self, partition: TopicPartition, offset: int, *, leader_epoch: int | None = None) -> None:
        """Read a partition on from `offset`; with the epoch of the record before, a truncated log is recognised."""
        self._open_thread.call(lambda: self._consumer.seek(partition, offset, leader_epoch=leader_epoch))

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Read on from the first record that there is when the position is asked for; without arguments, everywhere."""
        self._seek_to(partitions, OffsetSpec.EARLIEST)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Read only what comes; with read_committed from the last stable offset. Without arguments, everywhere."""
        self._seek_to(partitions, OffsetSpec.LATEST)

    def seek_to_time(self, timestamp_ms: int, *partitions: TopicPartition) -> None:
        """Read on from the first record at or after a time in ms; from the end where there is none."""
        self._seek_to(partitions, timestamp_ms)

    def pause(self, *partitions: TopicPartition) -> None:
        """Fetch these no more; their positions stay."""
        self._open_thread.call(self._consumer.pause, partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Fetch these again."""
        self._open_thread.call(self._consumer.resume, partitions)

    def paused(self) -> tuple[TopicPartition, ...]:
        """The partitions that are paused."""
        return self._open_thread.call(lambda: self._consumer.paused)

    def position(self, partition: TopicPartition) -> int:
        """The next offset to be read of a partition; asks for it where none is known yet.

        Raises ProducerTimeout after default.api.timeout.ms, NoOffsetForPartition with auto.offset.reset=none.
        """
        return self._open_thread.call(lambda: self._consumer.known_position(partition), timeout_s=self._limit_s)

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return self._offsets(partitions, OffsetSpec.EARLIEST)

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the last readable record of each partition; with read_committed the last stable offset."""
        return self._offsets(partitions, OffsetSpec.LATEST)

    def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, ListedOffset]:
        """The first record at or after a time in ms of each partition; offset -1 where there is none."""
        return self._open_thread.call(lambda: self._consumer.offsets_for_times(times), timeout_s=self._limit_s)

    def poll(self, timeout: float = 0.5) -> list[ConsumerRecord]:
        """Records as soon as there are some, or none after `timeout` seconds.

        Raises what a broker refuses for good, and ProducerTimeout when none has answered for default.api.timeout.ms.
        """
        return self._open_thread.call(self._consumer.poll, int(timeout * 1000), timeout_s=self._limit_s + timeout)

    def poll_table(self, timeout: float = 0.5) -> Any:
        """The same as a pyarrow Table of topic, partition, offset, timestamp, key, value and headers.

        Without records it is empty. Needs the extra `arrow`.
        """
        return self._open_thread.call(self._consumer.poll_table, int(timeout * 1000), timeout_s=self._limit_s + timeout)

    def close(self) -> None:
        """Close the connections and end the thread; twice does nothing."""
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
