"""A consumer of a share group for programs on asyncio, without a thread. Mirrors KafkaShareConsumer (KIP-932).

    async with AsyncShareConsumer(bootstrap_servers="localhost:9092", group_id="jobs") as consumer:
        await consumer.subscribe(["orders"])
        for record in await consumer.poll(1.0):
            print(record.offset, record.delivery_count)

Everything is as with `ShareConsumer`, but that calls are awaited. The acknowledgement commit callback may be a
coroutine function.
"""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any

from broker_client.api_options import CLOSE_S, milliseconds, topic_names
from broker_client.core.share.share_consumer_core import ShareConsumerCore
from broker_client.event_loop_consumer import EventLoopConsumer
from broker_client.share_consumer_options import share_consumer_options
from broker_client.share_groups import AcknowledgeType

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from broker_client.core.consumer.fetched_batches import ConsumerRecord
    from broker_client.errors import ProducerError
    from broker_client.share_groups import AcknowledgementCommitCallback, TopicIdPartition

__all__ = ["AsyncShareConsumer"]


class AsyncShareConsumer(EventLoopConsumer[ShareConsumerCore]):
    """Reads records of a share group on one event loop; one call at a time, but for `wakeup`.

    It starts with `start`, or with its first other call. Options are those of `ShareConsumer`.

    Raises:
        InvalidGroupId: there is no group.id.
        ConfigError: an option is unknown, wrong, not served, or not for share groups.
    """

    def __init__(self, *, random: Random | None = None, **options: Any) -> None:
        parsed = share_consumer_options(options)
        super().__init__(
            parsed.client,
            parsed.make_core,
            random,
            auto_create_topics=parsed.allow_auto_create_topics,
        )

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Share the partitions of these topics with the group; as ShareConsumer.subscribe.

        Raises:
            IllegalState: a topic name is empty.
            ProducerClosed: the consumer is closed. All methods raise it.
        """
        await self._awaited(self._started().subscribe(topic_names(topics)))

    async def unsubscribe(self) -> None:
        """Leave the group and forget the subscription; share sessions stay open until `close`."""
        await self._awaited(self._started().unsubscribe())

    def subscription(self) -> tuple[str, ...]:
        """Return the topics that the consumer subscribes to."""
        return self._started().subscription

    async def poll(self, timeout: float = 0.5) -> list[ConsumerRecord]:
        """Return records as soon as some are acquired, or none after `timeout` seconds; as ShareConsumer.poll.

        Raises the errors of ShareConsumer.poll. The records of a cancelled poll are returned by the next one.
        """
        core = self._started()
        try:
            return await self._awaited(core.poll(int(timeout * 1000)))
        except CancelledError:
            core.poll_was_cancelled()
            raise

    def acknowledge(self, record: ConsumerRecord, kind: AcknowledgeType = AcknowledgeType.ACCEPT) -> None:
        """Choose the outcome of a record of the last poll; the next poll, commit or close sends it.

        Raises:
            IllegalState: share.acknowledgement.mode is implicit, or the record is not in flight.
        """
        self._started().acknowledge(record, kind)

    def acknowledge_offset(self, topic: str, partition: int, offset: int, kind: AcknowledgeType) -> None:
        """Choose the outcome of a record that could not be read: one of CorruptRecords or RecordDeserializationError.

        Raises:
            IllegalState: share.acknowledgement.mode is implicit, or the last poll did not raise for the record.
        """
        self._started().acknowledge_offset(topic, partition, offset, kind)

    async def commit_sync(self, timeout: float | None = None) -> dict[TopicIdPartition, ProducerError | None]:
        """Send the acknowledgements and return the error of each partition, or None.

        Raises:
            ProducerTimeout: a broker did not respond within `timeout` seconds, by default default.api.timeout.ms.
            WakeupError: `wakeup` was called; the acknowledgements are sent nevertheless.
        """
        return await self._awaited(self._started().commit_sync(milliseconds(timeout)))

    async def commit_async(self) -> None:
        """Send the acknowledgements; the acknowledgement commit callback reports their results."""
        await self._awaited(self._started().commit_async())

    def set_acknowledgement_commit_callback(self, callback: AcknowledgementCommitCallback | None) -> None:
        """Have later calls call `callback(offsets, error)` with the results of acknowledgements; None ends that."""
        self._started().set_acknowledgement_commit_callback(callback)

    def acquisition_lock_timeout_ms(self) -> int | None:
        """Return the time in ms for which the records of the last poll are locked; None before the first records."""
        return self._started().acquisition_lock_timeout_ms

    def wakeup(self) -> None:
        """End the call that waits now, or the next one, with WakeupError; from the event loop's thread."""
        self._started().wakeup()

    async def close(self, timeout: float = CLOSE_S) -> None:
        """Send acknowledgements, end the share sessions, leave the group and close the connections.

        Records without an acknowledgement are released. It takes at most `timeout` seconds, and request.timeout.ms.
        """
        await self._close(lambda core: core.close(int(timeout * 1000)))
