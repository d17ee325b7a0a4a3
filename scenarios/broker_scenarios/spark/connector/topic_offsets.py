"""The partitions of a source and their offsets, as the cluster reports them now. Mirrors KafkaOffsetReader."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from broker_client import Admin, Consumer, TopicPartition
from broker_client.errors import ProducerError
from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.connector.options import EARLIEST, LATEST
from broker_scenarios.text_forms import partition_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_scenarios.spark.connector.options import Offsets, Place, SourceOptions

__all__ = ["TopicOffsets", "client_configs", "reading_client"]

_TIMESTAMP_TYPE: Final = "message.timestamp.type"
_LOG_APPEND_TIME: Final = "LogAppendTime"
_OF_EVERY_CLIENT: Final = ("bootstrap.servers", "request.timeout.ms", "default.api.timeout.ms")
_OF_SECURITY: Final = ("security.", "ssl.", "sasl.")


def client_configs(configs: Mapping[str, str]) -> dict[str, Any]:
    """Return the configurations that every client has: where the cluster is, and how to connect."""
    return {name: value for name, value in configs.items() if name in _OF_EVERY_CLIENT or name.startswith(_OF_SECURITY)}


def reading_client(consumer: Mapping[str, str], **options: str) -> Consumer:
    """Return a consumer of given configurations that commits nothing."""
    given: dict[str, Any] = {**consumer, **options}
    return Consumer(**given)


class TopicOffsets:
    """The partitions that the options name. Close it after use."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._consumer = reading_client(options.consumer)
        self._timestamp_types: dict[str, int] = {}

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    def partitions(self) -> list[Place]:
        """Return the partitions of the source.

        Raises:
            ScenarioError: a topic or an assigned partition does not exist.
        """
        options = self._options
        if options.pattern is not None:
            found = self._consumer.list_topics()
            topics = [topic for topic in sorted(found) if re.fullmatch(options.pattern, topic)]
        else:
            topics = list(options.topics or dict.fromkeys(topic for topic, _ in options.assigned))
        existing = [(topic, each) for topic in topics for each in self._numbers(topic)]
        if not options.assigned:
            return existing
        for key in options.assigned:
            if key not in existing:
                raise ScenarioError(f"assign: {partition_name(*key)} does not exist")
        return list(options.assigned)

    def beginnings(self, keys: Iterable[Place]) -> dict[Place, int]:
        """Return the first offset of each partition."""
        return dict(self._consumer.beginning_offsets(map(TopicPartition.of, keys)).items())

    def ends(self, keys: Iterable[Place]) -> dict[Place, int]:
        """Return the end of each partition, as the isolation level of the consumer shows it."""
        return dict(self._consumer.end_offsets(map(TopicPartition.of, keys)).items())

    def resolved(self, offsets: Offsets, keys: list[Place]) -> dict[Place, int]:
        """Return the offset of each partition, with EARLIEST and LATEST looked up.

        Raises:
            ScenarioError: the option lacks a partition, or names one that is not read.
        """
        for key in offsets.of_each:
            if key not in keys:
                raise ScenarioError(
                    f"{offsets.option}: {partition_name(*key)} is not read: expected the partitions that are read"
                )
        given = {key: offsets.of(key) for key in keys}
        for special, look_up in ((EARLIEST, self.beginnings), (LATEST, self.ends)):
            wanted = [key for key, offset in given.items() if offset == special]
            if wanted:
                given.update(look_up(wanted))
        return given

    def timestamp_types(self, topics: Iterable[str]) -> dict[str, int]:
        """Return 1 for each topic whose brokers set the timestamps, 0 for the others; each is looked up once.

        Raises:
            ScenarioError: the configurations of a topic cannot be read.
        """
        new = [topic for topic in dict.fromkeys(topics) if topic not in self._timestamp_types]
        if new:
            with Admin(**client_configs(self._options.consumer)) as admin:
                self._timestamp_types |= {topic: _timestamp_type(admin, topic) for topic in new}
        return self._timestamp_types

    def _numbers(self, topic: str) -> list[int]:
        try:
            found = self._consumer.partitions_for(topic)
        except ProducerError as error:
            raise ScenarioError(f"topic {topic!r} cannot be read: {error}") from None
        if not found:
            raise ScenarioError(f"topic {topic!r} does not exist")
        return sorted(each.partition for each in found)


def _timestamp_type(admin: Admin, topic: str) -> int:
    try:
        return int(admin.describe_topic_configs(topic)[_TIMESTAMP_TYPE].value == _LOG_APPEND_TIME)
    except ProducerError as error:
        raise ScenarioError(
            f"topic {topic!r}: timestampType needs {_TIMESTAMP_TYPE} (DescribeConfigs): {error}"
        ) from None
