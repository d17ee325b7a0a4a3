"""A consumer for programs with threads. Mirrors KafkaConsumer.

    with Consumer(bootstrap_servers="localhost:9092", group_id="billing") as consumer:
        consumer.subscribe(["orders"])
        while True:
            for record in consumer.poll(timeout=1.0):
                print(record.offset, record.value)

With `group.id` the consumer shares the partitions of its topics with the other members of the group and commits its
positions. Without, `assign` chooses partitions, and positions exist in the consumer alone. If the log was truncated
below a position (KIP-320) or ends before it, auto.offset.reset chooses a new position; with "none" the consumer raises
LogTruncated or BrokerError.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from broker_client.api_options import CLOSE_S, milliseconds, topic_names
from broker_client.consumer_groups import GroupMembershipOperation, SubscriptionPattern
from broker_client.consumer_options import consumer_options
from broker_client.core.admin.records import ListedOffset, OffsetSpec
from broker_client.core.consumer.consumer_core import ConsumerCore, table_of
from broker_client.core.consumer.fetched_batches import ConsumerRecord
from broker_client.core.consumer.fetcher import FetchOptions
from broker_client.records import PartitionInfo, TopicPartition
from broker_client.threaded_consumer import ThreadedConsumer
from protocol_specs.errors import RecordBatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from random import Random

    from broker_client.consumer_groups import ConsumerGroupMetadata, OffsetAndMetadata, RebalanceListener
    from broker_client.errors import ProducerError

__all__ = ["Consumer", "ConsumerRecord", "FetchOptions", "ListedOffset"]


class Consumer(ThreadedConsumer[ConsumerCore]):
    """Reads partitions; for one thread at a time, but for `wakeup`.

    Options are Kafka's configurations of consumers, with underscores. `fetch` sets those of fetching together.
    Rebalance listeners and commit callbacks are called within the consumer's methods, on the thread that called.

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

    def subscribe(
        self,
        topics: Iterable[str] | re.Pattern[str] | SubscriptionPattern,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Have the group assign partitions of these topics, or of all whose whole names match; replaces the earlier.

        A compiled pattern is matched here, a SubscriptionPattern by the brokers (group.protocol=consumer). The group
        is joined by the next polls.

        Raises:
            InvalidGroupId: there is no group.id.
            IllegalState: partitions were assigned by hand, or topics are given after a pattern; unsubscribe first.
            ProducerClosed: the consumer is closed. All methods raise it.
        """
        core = self._consumer
        if isinstance(topics, SubscriptionPattern):
            self._call(core.subscribe_broker_pattern, topics, listener)
        elif isinstance(topics, re.Pattern):
            self._call(core.subscribe_pattern, topics, listener)
        else:
            self._call(core.subscribe, topic_names(topics), listener)

    def subscription(self) -> tuple[str, ...]:
        """Return the topics that the consumer subscribes to."""
        return self._direct(lambda: self._consumer.subscription)

    def unsubscribe(self) -> None:
        """Give up all partitions, leave the group and forget the subscription.

        Raises:
            RebalanceCallbackFailed: the listener raised; the subscription is gone nevertheless.
        """
        self._call(self._consumer.unsubscribe)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions instead of the earlier ones; partitions that stay keep their positions.

        Raises:
            IllegalState: the consumer subscribes to topics; unsubscribe first.
        """
        wanted = list(partitions)
        if wanted:
            self._direct(self._consumer.assign, wanted)
        else:
            self.unsubscribe()

    def assignment(self) -> tuple[TopicPartition, ...]:
        """Return the assigned partitions in the order of the assignment."""
        return self._direct(lambda: self._consumer.assignment)

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return the membership, for Producer.send_offsets_to_transaction.

        Raises:
            InvalidGroupId: there is no group.id.
        """
        return self._direct(self._consumer.group_metadata)

    def enforce_rebalance(self, reason: str = "rebalance enforced by user") -> None:
        """Have the group rebalance: the next poll joins again (KIP-568).

        Raises:
            IllegalState: partitions were assigned by hand.
        """
        self._direct(self._consumer.enforce_rebalance, reason)

    # Positions

    def seek(
        self, partition: TopicPartition, offset: int | OffsetAndMetadata, *, leader_epoch: int | None = None
    ) -> None:
        """Continue a partition at `offset`; the leader epoch of the record before it detects a truncated log.

        Raises:
            ProducerError: the partition is not assigned, or the offset is negative.
        """
        self._direct(self._consumer.seek, partition, offset, leader_epoch=leader_epoch)

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
        self._direct(self._consumer.pause, partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Fetch paused partitions again.

        Raises:
            ProducerError: a partition is not assigned.
        """
        self._direct(self._consumer.resume, partitions)

    def paused(self) -> tuple[TopicPartition, ...]:
        """Return the paused partitions."""
        return self._direct(lambda: self._consumer.paused)

    def position(self, partition: TopicPartition, timeout: float | None = None) -> int:
        """Return the offset of the next record of a partition, looked up if it is not known yet.

        Raises:
            ProducerTimeout: the look-up took longer than `timeout` seconds, by default default.api.timeout.ms.
            NoOffsetForPartition: there is no position, and auto.offset.reset is none.
            ProducerError: the partition is not assigned.
        """
        return self._call(self._consumer.known_position, partition, milliseconds(timeout))

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
        return self._call(self._consumer.offsets_for_times, times)

    def current_lag(self, partition: TopicPartition) -> int | None:
        """Return the records from the position to the end of the log; None while one is unknown: it is looked up.

        Raises:
            ProducerError: the partition is not assigned.
        """
        return self._direct(self._consumer.current_lag, partition)

    # Topics

    def partitions_for(self, topic: str, timeout: float | None = None) -> list[PartitionInfo]:
        """Return the partitions of a topic; none if it does not exist. It need not be subscribed to.

        Raises:
            TopicAuthorizationFailed: the client may not describe the topic.
            InvalidTopic: Kafka does not allow the name.
            ProducerTimeout: no broker responded within `timeout` seconds, by default default.api.timeout.ms.
        """
        return self._call(self._consumer.partitions_for, topic, milliseconds(timeout), timeout=timeout)

    def list_topics(self, timeout: float | None = None) -> dict[str, list[PartitionInfo]]:
        """Return the partitions of all topics that the client may describe.

        Raises:
            ProducerTimeout: no broker responded within `timeout` seconds, by default default.api.timeout.ms.
        """
        return self._call(self._consumer.list_topics, milliseconds(timeout), timeout=timeout)

    # Commits

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None, timeout: float | None = None
    ) -> None:
        """Commit offsets, by default the positions of all partitions, and wait. Mirrors commitSync.

        Raises:
            InvalidGroupId: there is no group.id.
            CommitFailed: the consumer is no longer a member of the group.
            RebalanceInProgress: the group rebalances; poll, then commit again.
            FencedInstanceId: another consumer has the same group.instance.id.
            ProducerTimeout: no coordinator responded within `timeout` seconds, by default default.api.timeout.ms.
        """
        self._call(self._consumer.commit, offsets, milliseconds(timeout), timeout=timeout)

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        callback: Callable[[Mapping[TopicPartition, OffsetAndMetadata], ProducerError | None], object] | None = None,
    ) -> None:
        """Send a commit of offsets, by default of the positions; a later call of the consumer calls the callback.

        Raises:
            InvalidGroupId: there is no group.id.
        """
        self._direct(self._consumer.commit_async, offsets, callback)

    def committed(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of the group; None for partitions without one.

        Raises:
            InvalidGroupId: there is no group.id.
            ProducerTimeout: no coordinator responded within `timeout` seconds, by default default.api.timeout.ms.
        """
        return self._call(self._consumer.committed, list(partitions), milliseconds(timeout), timeout=timeout)

    # Reading

    def poll(self, timeout: float = 0.5) -> list[ConsumerRecord]:
        """Return up to max.poll.records records as soon as some are fetched, or none after `timeout` seconds.

        Raises:
            BrokerError: a broker refuses the request, and a retry would not help.
            NoOffsetForPartition, LogTruncated: there is no valid position, and auto.offset.reset is none.
            ProducerTimeout: no broker responded for default.api.timeout.ms.
            WakeupError: `wakeup` was called.
            RebalanceCallbackFailed: the rebalance listener raised.
            RecordDeserializationError: the next record cannot be deserialized; seek past it to read on.
            ProducerError: no partition is assigned, or a batch cannot be decoded.
        """
        core = self._consumer
        portions = self._call(core.poll_portions, int(timeout * 1000), timeout=timeout)
        # Decoded on this thread: the network thread fetches meanwhile.
        read = core.records_of(portions)
        if read.error is not None:
            self._direct(core.move_back, read)
        return core.intercepted(read.records)

    def poll_batch(self, timeout: float = 0.5) -> Any:
        """Return the records of a poll as a pyarrow Table; it is empty if there are none.

        Columns are topic, partition, offset, timestamp (ms), key, value and headers. It has all that was fetched:
        max.poll.records does not limit it. Needs the extra `arrow`; raises the errors of `poll`.
        """
        batches = self._call(self._consumer.poll_batches, int(timeout * 1000), timeout=timeout)
        try:
            return table_of(batches)
        except RecordBatchError as error:
            return table_of(self._direct(self._consumer.readable, batches, error))

    def wakeup(self) -> None:
        """End the call that waits now, or the next one, with WakeupError; from any thread."""
        self._thread.reactor.callFromThread(self._consumer.wakeup)

    def close(
        self,
        timeout: float = CLOSE_S,
        *,
        group_membership: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        """Commit if enable.auto.commit is set, leave the group, and close the connections, within `timeout` seconds.

        By default a static member remains in the group; `group_membership` changes it (KIP-1092). A second call has no
        effect.

        Raises:
            RebalanceCallbackFailed: the listener raised; the consumer is closed nevertheless.
        """
        self._close(partial(self._consumer.close, group_membership=group_membership), timeout)

    # Details

    def _seek_to(self, partitions: Iterable[TopicPartition], spec: int) -> None:
        def seek() -> None:
            for key in list(partitions) or self._consumer.assignment:
                self._consumer.seek_to(key, spec)

        self._direct(seek)

    def _offsets(self, partitions: Iterable[TopicPartition], spec: int) -> dict[TopicPartition, int]:
        keys = [TopicPartition.of(key) for key in partitions]
        return self._call(self._consumer.offsets, keys, spec)
