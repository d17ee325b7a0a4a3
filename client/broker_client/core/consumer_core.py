"""Reading assigned partitions, on Deferreds. Mirrors KafkaConsumer's Fetcher without groups: assign, seek, poll.

A poll asks the leader of each partition for records from its position, without fetch sessions, and waits until some
came or the time is over. Control records are never shown. What a broker refuses as stale is asked again after a
metadata update.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import DeferredList

from broker_client.core.sender_loop import now_ms_of
from broker_client.errors import (
    BrokerError,
    ConfigError,
    ConnectionFailed,
    ProducerError,
    ProducerTimeout,
    error_of,
)
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode, ErrorFamily
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from protocol_specs.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from protocol_specs.records.record_set import iterate_any, read_any
from protocol_specs.uuids import ZERO_UUID
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from broker_client.core.client_core import ClientCore
    from broker_client.core.cluster import Cluster
    from protocol_specs.message import RecordsBuffer
    from protocol_specs.messages.fetch import PartitionData
    from protocol_specs.messages.list_offsets import ListOffsetsPartitionResponse

__all__ = ["EARLIEST", "LATEST", "ConsumerCore", "ConsumerRecord", "FetchOptions", "FetchedBatch"]

EARLIEST: Final = -2
LATEST: Final = -1
RETRY_BACKOFF_MS: Final = 100
CONSUMER_REPLICA_ID: Final = -1
_RETRIED_IN_PLACE: Final = (ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.UNKNOWN_LEADER_EPOCH)


@dataclass(slots=True, kw_only=True, frozen=True)
class FetchOptions:
    """What fetches ask for, under Kafka's names."""

    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    fetch_max_wait_ms: int = 500
    max_partition_fetch_bytes: int = 1_048_576
    auto_offset_reset: str = "earliest"

    def __post_init__(self) -> None:
        if self.auto_offset_reset not in ("earliest", "latest", "none"):
            raise ConfigError(f"auto.offset.reset={self.auto_offset_reset!r}: expected earliest, latest or none")


@dataclass(slots=True, kw_only=True, frozen=True)
class ConsumerRecord:
    """A record as it stands in a log."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int


@dataclass(slots=True, kw_only=True, frozen=True)
class FetchedBatch:
    """A batch as it was fetched; those of its records count that are at `position` or after it."""

    topic_partition: TopicPartition
    position: int
    leader_epoch: int
    batch: bytes | memoryview

    def records(self) -> Iterator[ConsumerRecord]:
        """Its records, one by one."""
        topic, partition = self.topic_partition
        for record in read_any(self.batch):
            if record.offset >= self.position:
                yield ConsumerRecord(
                    topic=topic,
                    partition=partition,
                    offset=record.offset,
                    timestamp_ms=record.timestamp,
                    key=record.key,
                    value=record.value,
                    headers=tuple(record.headers),
                    leader_epoch=self.leader_epoch,
                )


class ConsumerCore:
    """Call everything on the reactor's thread; one poll at a time."""

    def __init__(self, core: ClientCore, options: FetchOptions) -> None:
        self._core = core
        self._options = options
        self._positions: dict[TopicPartition, int | None] = {}

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, from where `seek` or auto.offset.reset says; replaces the assignment before."""
        self._positions = {TopicPartition(*key): self._positions.get(TopicPartition(*key)) for key in partitions}

    def seek(self, key: TopicPartition, offset: int) -> None:
        """Read on from `offset`; raises ProducerError for a partition that is not assigned."""
        if key not in self._positions:
            raise ProducerError(f"{TopicPartition(*key)} is not assigned: assign it before seeking")
        self._positions[TopicPartition(*key)] = offset

    def position(self, key: TopicPartition) -> int | None:
        """The next offset to be read, None before it is known."""
        return self._positions.get(key)

    async def offsets(
        self, partitions: Iterable[TopicPartition], timestamp: int, *, timeout_ms: int = 30_000
    ) -> dict[TopicPartition, int]:
        """ListOffsets for EARLIEST, LATEST or a time in milliseconds; -1 where no record is that young."""
        found: dict[TopicPartition, int] = {}
        missing = [TopicPartition(*key) for key in partitions]
        deadline_ms = now_ms_of(self._core.reactor) + timeout_ms
        refresh = False
        while missing:
            if now_ms_of(self._core.reactor) >= deadline_ms:
                names = ", ".join(map(str, missing))
                raise ProducerTimeout(f"no offsets of {names} after {timeout_ms} ms", "default.api.timeout.ms")
            cluster = await self._core.cluster_with({key.topic: None for key in missing}, refresh=refresh)
            for node_id, keys in _by_leader(cluster, missing).items():
                try:
                    response: ListOffsetsResponse = await self._core.request(
                        ListOffsetsRequest,
                        lambda _, keys=keys: _list_offsets(keys, timestamp),  # type: ignore[misc]
                        node_id=node_id,
                    )
                except (ConnectionFailed, ProducerTimeout):
                    continue
                for topic in response.topics:
                    for answer in topic.partitions:
                        code = ErrorCode(answer.error_code)
                        if code is ErrorCode.NONE:
                            found[TopicPartition(topic.name, answer.partition_index)] = _offset_of(answer)
                        elif not code.retriable:
                            raise error_of(code, f"ListOffsets of {topic.name}-{answer.partition_index}")
            missing = [key for key in missing if key not in found]
            if missing:
                refresh = True
                await sleep(self._core.reactor, RETRY_BACKOFF_MS)
        return found

    async def poll(self, timeout_ms: int) -> list[ConsumerRecord]:
        """Records of the assigned partitions, in offset order within each; empty when none came in time."""
        return [record for batch in await self._poll_batches(timeout_ms) for record in batch.records()]

    async def poll_table(self, timeout_ms: int) -> Any:
        """The same as an Arrow table, read by the column: see fetched_table.SCHEMA."""
        from broker_client.core.fetched_table import table_of  # only who reads tables needs pyarrow and numpy

        return table_of(await self._poll_batches(timeout_ms))

    # Details

    async def _poll_batches(self, timeout_ms: int) -> list[FetchedBatch]:
        deadline_ms = now_ms_of(self._core.reactor) + timeout_ms
        while True:
            await self._reset_positions()
            left_ms = max(deadline_ms - now_ms_of(self._core.reactor), 0)
            batches = await self._fetch_once(min(left_ms, self._options.fetch_max_wait_ms))
            if batches or now_ms_of(self._core.reactor) >= deadline_ms:
                return batches

    async def _reset_positions(self) -> None:
        unknown = [key for key, position in self._positions.items() if position is None]
        if not unknown:
            return
        reset = self._options.auto_offset_reset
        if reset == "none":
            raise ProducerError(f"{unknown[0]} has no position: seek, or set auto.offset.reset to earliest or latest")
        offsets = await self.offsets(unknown, EARLIEST if reset == "earliest" else LATEST)
        self._positions.update(offsets)

    async def _fetch_once(self, max_wait_ms: int) -> list[FetchedBatch]:
        cluster = await self._core.cluster_with({key.topic: None for key in self._positions})
        by_leader = _by_leader(cluster, list(self._positions))
        if not by_leader:
            self._core.metadata.request_update()
            await sleep(self._core.reactor, min(RETRY_BACKOFF_MS, max(max_wait_ms, 1)))
            return []
        answers = await DeferredList(
            [
                self._core.request(
                    FetchRequest,
                    lambda _, keys=keys: self._fetch_request(cluster, keys, max_wait_ms),  # type: ignore[misc]
                    node_id=node_id,
                )
                for node_id, keys in by_leader.items()
            ],
            consumeErrors=True,
        )
        batches: list[FetchedBatch] = []
        stale = False
        for succeeded, answer in answers:
            if not succeeded:
                answer.trap(ConnectionFailed, ProducerTimeout)
                stale = True
                continue
            stale |= self._take(cluster, answer, batches)
        if stale:
            self._core.metadata.request_update()
            await sleep(self._core.reactor, RETRY_BACKOFF_MS)
        return batches

    def _fetch_request(self, cluster: Cluster, keys: Sequence[TopicPartition], max_wait_ms: int) -> FetchRequest:
        topics: dict[str, FetchTopic] = {}
        for key in keys:
            topic = topics.get(key.topic)
            if topic is None:
                topic_id = cluster.topic_id(key.topic) or ZERO_UUID
                topic = topics[key.topic] = FetchTopic(topic=key.topic, topic_id=topic_id)
            position = self._positions[key]
            assert position is not None, "positions were reset before"
            topic.partitions.append(
                FetchPartition(
                    partition=key.partition,
                    current_leader_epoch=cluster.leader_epoch_for(key),
                    fetch_offset=position,
                    partition_max_bytes=self._options.max_partition_fetch_bytes,
                )
            )
        return FetchRequest(
            replica_id=CONSUMER_REPLICA_ID,
            max_wait_ms=max_wait_ms,
            min_bytes=self._options.fetch_min_bytes,
            max_bytes=self._options.fetch_max_bytes,
            topics=list(topics.values()),
        )

    def _take(self, cluster: Cluster, response: FetchResponse, batches: list[FetchedBatch]) -> bool:
        """Collect the batches of a response; answers whether the metadata is stale."""
        if response.error_code:
            raise BrokerError(ErrorCode(response.error_code), "Fetch")
        names = {topic.topic_id: name for name, topic in cluster.topics.items() if topic.topic_id is not None}
        stale = False
        for topic in response.responses:
            name = topic.topic or names.get(topic.topic_id, "")
            for partition in topic.partitions:
                key = TopicPartition(name, partition.partition_index)
                if key in self._positions:
                    stale |= self._take_partition(key, partition, batches)
        return stale

    def _take_partition(self, key: TopicPartition, partition: PartitionData, batches: list[FetchedBatch]) -> bool:
        code = ErrorCode(partition.error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            if self._options.auto_offset_reset == "none":
                raise BrokerError(code, f"{key} at {self._positions[key]}; auto.offset.reset would choose another")
            self._positions[key] = None
            return False
        if code is not ErrorCode.NONE:
            if code.family is ErrorFamily.INVALID_METADATA or code in _RETRIED_IN_PLACE or code.retriable:
                return True
            raise error_of(code, f"Fetch of {key}", topic=key.topic)
        position = self._positions[key]
        assert position is not None, "it was asked for"
        for header, batch in iterate_any(_joined(partition.records)):
            if header.last_offset < position:
                continue
            if not header.is_control:
                batches.append(
                    FetchedBatch(
                        topic_partition=key,
                        position=position,
                        leader_epoch=header.partition_leader_epoch,
                        batch=batch,
                    )
                )
            position = header.next_offset
        self._positions[key] = position
        return False


def _by_leader(cluster: Cluster, keys: Sequence[TopicPartition]) -> Mapping[int, list[TopicPartition]]:
    by_leader: dict[int, list[TopicPartition]] = {}
    for key in keys:
        leader = cluster.leader_for(key)
        if leader is not None:
            by_leader.setdefault(leader.id, []).append(key)
    return by_leader


def _list_offsets(keys: Sequence[TopicPartition], timestamp: int) -> ListOffsetsRequest:
    topics: dict[str, ListOffsetsTopic] = {}
    for key in keys:
        topic = topics.setdefault(key.topic, ListOffsetsTopic(name=key.topic))
        topic.partitions.append(ListOffsetsPartition(partition_index=key.partition, timestamp=timestamp))
    return ListOffsetsRequest(replica_id=CONSUMER_REPLICA_ID, topics=list(topics.values()))


def _offset_of(answer: ListOffsetsPartitionResponse) -> int:
    """The offset; version 0 answers a list, here of one or none."""
    return answer.old_style_offsets[0] if answer.old_style_offsets else answer.offset


def _joined(records: RecordsBuffer | None) -> bytes | memoryview:
    if records is None:
        return b""
    return b"".join(records) if isinstance(records, list) else records
