"""A consumer of a share group for programs with threads. Mirrors KafkaShareConsumer (KIP-932).

    with ShareConsumer(bootstrap_servers="localhost:9092", group_id="jobs") as consumer:
        consumer.subscribe(["orders"])
        while True:
            for record in consumer.poll(timeout=1.0):
                print(record.offset, record.delivery_count, record.value)

The members of a share group read the same partitions; each record is locked for one of them. By default the next `poll`
accepts the records of the last one. With share.acknowledgement.mode=explicit `acknowledge` decides each record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_client.api_options import CLOSE_S, milliseconds, topic_names
from broker_client.core.share.share_consumer_core import ShareConsumerCore
from broker_client.errors import ProducerClosed
from broker_client.share_consumer_options import share_consumer_options
from broker_client.share_groups import AcknowledgeType
from broker_client.threaded_consumer import ThreadedConsumer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from broker_client.core.consumer.fetched_batches import ConsumerRecord
    from broker_client.errors import ProducerError
    from broker_client.share_groups import AcknowledgementCommitCallback, TopicIdPartition

__all__ = ["ShareConsumer"]


class ShareConsumer(ThreadedConsumer[ShareConsumerCore]):
    """Reads records of a share group; for one thread at a time, but for `wakeup`.

    Options are Kafka's configurations of share consumers, with underscores. The acknowledgement commit callback is
    called within the consumer's methods, on the thread that called; it may not call the consumer.

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

    def subscribe(self, topics: Iterable[str]) -> None:
        """Share the partitions of these topics with the group; replaces the earlier topics. The next poll joins.

        Raises:
            IllegalState: a topic name is empty.
            ProducerClosed: the consumer is closed. All methods raise it.
        """
        self._call(self._consumer.subscribe, topic_names(topics))

    def unsubscribe(self) -> None:
        """Leave the group and forget the subscription; share sessions stay open until `close`."""
        self._call(self._consumer.unsubscribe)

    def subscription(self) -> tuple[str, ...]:
        """Return the topics that the consumer subscribes to."""
        return self._direct(lambda: self._consumer.subscription)

    def poll(self, timeout: float = 0.5) -> list[ConsumerRecord]:
        """Return records as soon as some are acquired, or none after `timeout` seconds.

        Records that the poll before returned are accepted, if they are not acknowledged otherwise (implicit). Whole
        batches are returned: there may be more than max.poll.records.

        Raises:
            IllegalState: there is no subscription, or records of the poll before are not acknowledged (explicit).
            CorruptRecords: a batch fails its checksum; it is rejected.
            RecordDeserializationError: the next record cannot be deserialized; it is released.
            TopicAuthorizationFailed, GroupAuthorizationFailed: the client may not read the topic, or use the group.
            UnsupportedVersion: the brokers do not serve share groups, or not what an option or RENEW needs.
            ProducerTimeout: no broker responded for default.api.timeout.ms.
            WakeupError: `wakeup` was called.
        """
        return self._call(self._consumer.poll, int(timeout * 1000), timeout=timeout)

    def acknowledge(self, record: ConsumerRecord, kind: AcknowledgeType = AcknowledgeType.ACCEPT) -> None:
        """Choose the outcome of a record of the last poll; the next poll, commit or close sends it.

        Raises:
            IllegalState: share.acknowledgement.mode is implicit, or the record is not in flight.
        """
        self._open_core.acknowledge(record, kind)

    def acknowledge_offset(self, topic: str, partition: int, offset: int, kind: AcknowledgeType) -> None:
        """Choose the outcome of a record that could not be read: one of CorruptRecords or RecordDeserializationError.

        Raises:
            IllegalState: share.acknowledgement.mode is implicit, or the last poll did not raise for the record.
        """
        self._open_core.acknowledge_offset(topic, partition, offset, kind)

    def commit_sync(self, timeout: float | None = None) -> dict[TopicIdPartition, ProducerError | None]:
        """Send the acknowledgements and return the error of each partition, or None.

        Raises:
            ProducerTimeout: a broker did not respond within `timeout` seconds, by default default.api.timeout.ms.
            WakeupError: `wakeup` was called; the acknowledgements are sent nevertheless.
        """
        return self._call(self._consumer.commit_sync, milliseconds(timeout), timeout=timeout)

    def commit_async(self) -> None:
        """Send the acknowledgements; the acknowledgement commit callback reports their results."""
        self._call(self._consumer.commit_async)

    def set_acknowledgement_commit_callback(self, callback: AcknowledgementCommitCallback | None) -> None:
        """Have later calls call `callback(offsets, error)` with the results of acknowledgements; None ends that.

        It is called once per partition, with {TopicIdPartition: offsets} and the error or None.
        """
        self._direct(self._consumer.set_acknowledgement_commit_callback, callback)

    def acquisition_lock_timeout_ms(self) -> int | None:
        """Return the time in ms for which the records of the last poll are locked; None before the first records."""
        return self._direct(lambda: self._consumer.acquisition_lock_timeout_ms)

    def wakeup(self) -> None:
        """End the call that waits now, or the next one, with WakeupError; from any thread."""
        self._thread.reactor.callFromThread(self._consumer.wakeup)

    def close(self, timeout: float = CLOSE_S) -> None:
        """Send acknowledgements, end the share sessions, leave the group and close the connections.

        Records without an acknowledgement are released, those of the last poll of implicit mode too. It takes at most
        `timeout` seconds, and request.timeout.ms. A second call has no effect.
        """
        self._close(self._consumer.close, timeout)

    @property
    def _open_core(self) -> ShareConsumerCore:
        """The core, for calls that only choose outcomes: they need not wait for the reactor's thread."""
        if self._closed:
            raise ProducerClosed("the consumer is closed")
        return self._consumer
