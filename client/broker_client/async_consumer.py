"""The consumer for programs on asyncio: it runs on the caller's event loop, without a thread. Mirrors KafkaConsumer.

    async with AsyncConsumer(bootstrap_servers="localhost:9092", group_id="billing") as consumer:
        await consumer.subscribe(["orders"])
        async for record in consumer:
            print(record.offset, record.value)

Everything is as with `Consumer`, but that calls are awaited. Heartbeats are sent while the event loop runs. Methods of
a rebalance listener and commit callbacks may be coroutine functions; a cancelled call may be repeated.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from broker_client.api_options import CLOSE_S, milliseconds, topic_names
from broker_client.consumer_groups import GroupMembershipOperation, SubscriptionPattern
from broker_client.consumer_options import consumer_options
from broker_client.core.admin.records import OffsetSpec
from broker_client.core.consumer.consumer_core import ConsumerCore
from broker_client.event_loop_consumer import EventLoopConsumer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from random import Random

    from broker_client.consumer_groups import ConsumerGroupMetadata, OffsetAndMetadata, RebalanceListener
    from broker_client.core.admin.records import ListedOffset
    from broker_client.core.consumer.fetched_batches import ConsumerRecord
    from broker_client.core.consumer.fetcher import FetchOptions
    from broker_client.records import PartitionInfo, TopicPartition

__all__ = ["AsyncConsumer"]

_ITERATION_POLL_S: Final = 1.0


class AsyncConsumer(EventLoopConsumer[ConsumerCore]):
    """Reads partitions on one event loop; one call at a time, but for `wakeup`.

    It starts with `start`, or with its first call that is awaited. Options are those of `Consumer`.

    Raises:
        ConfigError: an option is unknown, wrong or not served.
    """

    def __init__(self, *, fetch: FetchOptions | None = None, random: Random | None = None, **options: Any) -> None:
        parsed = consumer_options(options, fetch)
        super().__init__(
            parsed.client,
            parsed.make_core,
            random,
            auto_create_topics=parsed.allow_auto_create_topics,
        )

    # Subscription and assignment

    async def subscribe(
        self,
        topics: Iterable[str] | re.Pattern[str] | SubscriptionPattern,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Have the group assign partitions of these topics, or of all whose whole names match; as Consumer.subscribe.

        Raises:
            InvalidGroupId: there is no group.id.
            IllegalState: partitions were assigned by hand, or topics are given after a pattern; unsubscribe first.
            ProducerClosed: the consumer is closed. All methods raise it.
        """
        core = self._started()
        if isinstance(topics, SubscriptionPattern):
            await self._awaited(core.subscribe_broker_pattern(topics, listener))
        elif isinstance(topics, re.Pattern):
            await self._awaited(core.subscribe_pattern(topics, listener))
        else:
            await self._awaited(core.subscribe(topic_names(topics), listener))

    async def unsubscribe(self) -> None:
        """Give up all partitions, leave the group and forget the subscription.

        Raises:
            RebalanceCallbackFailed: the listener raised; the subscription is gone nevertheless.
        """
        await self._awaited(self._started().unsubscribe())

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions instead of the earlier ones; partitions that stay keep their positions.

        Raises:
            IllegalState: the consumer subscribes to topics; unsubscribe first.
        """
        wanted = list(partitions)
        if wanted:
            self._started().assign(wanted)
        else:
            await self.unsubscribe()

    def subscription(self) -> tuple[str, ...]:
        """Return the topics that the consumer subscribes to."""
        return self._started().subscription

    def assignment(self) -> tuple[TopicPartition, ...]:
        """Return the assigned partitions in the order of the assignment."""
        return self._started().assignment

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return the membership, for AsyncProducer.send_offsets_to_transaction.

        Raises:
            InvalidGroupId: there is no group.id.
        """
        return self._started().group_metadata()

    def enforce_rebalance(self, reason: str = "rebalance enforced by user") -> None:
        """Have the group rebalance: the next poll joins again (KIP-568).

        Raises:
            IllegalState: partitions were assigned by hand.
        """
        self._started().enforce_rebalance(reason)

    # Positions

    def seek(
        self, partition: TopicPartition, offset: int | OffsetAndMetadata, *, leader_epoch: int | None = None
    ) -> None:
        """Continue a partition at `offset`; the leader epoch of the record before it detects a truncated log.

        Raises:
            ProducerError: the partition is not assigned, or the offset is negative.
        """
        self._started().seek(partition, offset, leader_epoch=leader_epoch)

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

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop fetching partitions; their positions stay.

        Raises:
            ProducerError: a partition is not assigned.
        """
        self._started().pause(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Fetch paused partitions again.

        Raises:
            ProducerError: a partition is not assigned.
        """
        self._started().resume(partitions)

    def paused(self) -> tuple[TopicPartition, ...]:
        """Return the paused partitions."""
        return self._started().paused

    async def position(self, partition: TopicPartition, timeout: float | None = None) -> int:
        """Return the offset of the next record of a partition, looked up if it is not known yet.

        Raises:
            ProducerTimeout: the look-up took longer than `timeout` seconds, by default default.api.timeout.ms.
            NoOffsetForPartition: there is no position, and auto.offset.reset is none.
            ProducerError: the partition is not assigned.
        """
        return await self._awaited(self._started().known_position(partition, milliseconds(timeout)))

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the first offset of each partition.

        Raises:
            ProducerTimeout: no response came within default.api.timeout.ms.
            BrokerError: a broker refuses the request.
        """
        return await self._awaited(self._started().offsets(partitions, OffsetSpec.EARLIEST))

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the high watermark of each partition, or the last stable offset with read_committed.

        Raises:
            ProducerTimeout: no response came within default.api.timeout.ms.
            BrokerError: a broker refuses the request.
        """
        return await self._awaited(self._started().offsets(partitions, OffsetSpec.LATEST))

    async def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, ListedOffset]:
        """Return offset and time of the first record at or after a time in ms, per partition; offset -1 if none.

        Raises:
            ProducerTimeout: no response came within default.api.timeout.ms.
            BrokerError: a broker refuses the request.
        """
        return await self._awaited(self._started().offsets_for_times(times))

    def current_lag(self, partition: TopicPartition) -> int | None:
        """Return the records from the position to the end of the log; None while one is unknown: it is looked up.

        Raises:
            ProducerError: the partition is not assigned.
        """
        return self._started().current_lag(partition)

    # Topics

    async def partitions_for(self, topic: str, timeout: float | None = None) -> list[PartitionInfo]:
        """Return the partitions of a topic; none if it does not exist. It need not be subscribed to.

        Raises:
            TopicAuthorizationFailed: the client may not describe the topic.
            InvalidTopic: Kafka does not allow the name.
            ProducerTimeout: no broker responded within `timeout` seconds, by default default.api.timeout.ms.
        """
        return await self._awaited(self._started().partitions_for(topic, milliseconds(timeout)))

    async def list_topics(self, timeout: float | None = None) -> dict[str, list[PartitionInfo]]:
        """Return the partitions of all topics that the client may describe.

        Raises:
            ProducerTimeout: no broker responded within `timeout` seconds, by default default.api.timeout.ms.
        """
        return await self._awaited(self._started().list_topics(milliseconds(timeout)))

    # Commits

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None, timeout: float | None = None
    ) -> None:
        """Commit offsets, by default the positions of all partitions, and wait; raises the errors of Consumer.commit.

        Raises:
            CommitFailed: the consumer is no longer a member of the group.
            RebalanceInProgress: the group rebalances; poll, then commit again.
            ProducerTimeout: no coordinator responded within `timeout` seconds, by default default.api.timeout.ms.
        """
        await self._awaited(self._started().commit(offsets, milliseconds(timeout)))

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        callback: Callable[..., object] | None = None,
    ) -> None:
        """Send a commit of offsets, by default of the positions; a later call calls `callback(offsets, error)`.

        Raises:
            InvalidGroupId: there is no group.id.
        """
        self._started().commit_async(offsets, callback)

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of the group; None for partitions without one.

        Raises:
            InvalidGroupId: there is no group.id.
            ProducerTimeout: no coordinator responded within `timeout` seconds, by default default.api.timeout.ms.
        """
        return await self._awaited(self._started().committed(list(partitions), milliseconds(timeout)))

    # Reading

    async def poll(self, timeout: float = 0.5) -> list[ConsumerRecord]:
        """Return up to max.poll.records records as soon as some are fetched, or none after `timeout` seconds.

        Raises the errors of Consumer.poll. A cancelled poll loses no records.
        """
        return await self._awaited(self._started().poll(int(timeout * 1000)))

    async def poll_batch(self, timeout: float = 0.5) -> Any:
        """Return the records of a poll as a pyarrow Table, as Consumer.poll_batch does."""
        return await self._awaited(self._started().poll_batch(int(timeout * 1000)))

    def wakeup(self) -> None:
        """End the call that waits now, or the next one, with WakeupError; from the event loop's thread."""
        self._started().wakeup()

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """Poll for ever and yield the records one by one; raises the errors of `poll`."""
        while True:
            for record in await self.poll(_ITERATION_POLL_S):
                yield record

    async def close(
        self,
        timeout: float = CLOSE_S,
        *,
        group_membership: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        """Commit if enable.auto.commit is set, leave the group, and close the connections, within `timeout` seconds.

        By default a static member remains in the group; `group_membership` changes it (KIP-1092).

        Raises:
            RebalanceCallbackFailed: the listener raised; the consumer is closed nevertheless.
        """
        await self._close(lambda core: core.close(int(timeout * 1000), group_membership=group_membership))

    # Details

    def _seek_to(self, partitions: Iterable[TopicPartition], spec: int) -> None:
        core = self._started()
        for key in list(partitions) or core.assignment:
            core.seek_to(key, spec)
