"""Looks up topics in the metadata, and requests updates for unknown ones. Mirrors KafkaProducer.waitOnMetadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.errors import InvalidTopic, MetadataTimeout, ProducerError, TopicAuthorizationFailed
from broker_client.record_values import checked_topic, whole_number
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_client.core.network.cluster import Cluster
    from broker_client.core.network.metadata import Metadata

__all__ = ["KnownTopic", "TopicLookup"]


class KnownTopic:
    """A topic's partition count in the snapshot in which it was looked up."""

    __slots__ = ("cluster", "partition_count", "touched_ms")

    def __init__(self, cluster: Cluster, partition_count: int, touched_ms: int) -> None:
        self.cluster = cluster
        self.partition_count = partition_count
        self.touched_ms = touched_ms


class TopicLookup:
    """The topics of one producer. `check_open` raises once the producer is closed; `wakeup` wakes its Sender."""

    __slots__ = ("_check_open", "_connection_problems", "_max_block_ms", "_metadata", "_refused_by", "_wakeup", "known")

    def __init__(
        self,
        *,
        metadata: Metadata,
        check_open: Callable[[], None],
        wakeup: Callable[[], None],
        connection_problems: Callable[[], Sequence[str]],
        max_block_ms: int,
    ) -> None:
        self._metadata = metadata
        self._check_open = check_open
        self._wakeup = wakeup
        self._connection_problems = connection_problems
        self._max_block_ms = max_block_ms
        self._refused_by: dict[str, Cluster] = {}
        self.known: dict[str, KnownTopic] = {}
        """By name; an entry is valid while its snapshot is the newest."""

    def look_up(self, topic: str, now_ms: int) -> KnownTopic | None:
        """Return the topic in the newest snapshot, or None after an update was requested.

        Raises:
            ProducerError: the topic cannot be used, or the producer is closed.
        """
        self._check_open()
        metadata = self._metadata
        cluster = metadata.cluster
        checked_topic(topic)
        if topic in cluster.invalid_topics:
            raise InvalidTopic(topic)
        metadata.add(topic, now_ms)
        count = cluster.partition_count(topic)
        if count:
            known = self.known[topic] = KnownTopic(cluster, count, now_ms)
            return known
        if topic in cluster.unauthorized_topics and self._refused_by.get(topic) is not cluster:
            # Raised once per response: the next record requests an update. Mirrors Metadata.clearErrorsAndMaybeThrow.
            self._refused_by[topic] = cluster
            raise TopicAuthorizationFailed(topic)
        fatal = metadata.take_fatal_error()
        if fatal is not None:
            raise fatal
        metadata.request_update_for_topic(topic)
        self._wakeup()
        return None

    def checked_partition(self, topic: str, partition: int, known: KnownTopic) -> int | None:
        """Return the partition as a number; None after an update was requested because the snapshot does not have it.

        Raises:
            ProducerError: it is no partition number, or the producer is closed.
        """
        partition = whole_number("partition", partition)
        if partition < 0:
            raise ProducerError(f"partition {partition} of topic {topic!r}: a partition is never negative")
        if partition < known.partition_count:
            return partition
        self._check_open()
        self._metadata.request_update_for_topic(topic)
        self._wakeup()
        return None

    def timeout(self, topic: str, partition: int | None) -> MetadataTimeout:
        """The error of a wait for metadata that took max.block.ms, with the known reason."""
        count = self._metadata.cluster.partition_count(topic)
        if partition is not None and count:
            which = f"partition {partition} of topic {topic!r} with partition count {count}"
        else:
            which = f"topic {topic!r}"
        text = f"{which} not present in metadata after {self._max_block_ms} ms"
        code = self._metadata.topic_error(topic)
        if code is not ErrorCode.NONE:
            text += f" (the brokers return {code.name})"
        problems = self._connection_problems()
        if problems:
            text += f" (bootstrap.servers: {'; '.join(problems)})"
        return MetadataTimeout(text, "max.block.ms")
