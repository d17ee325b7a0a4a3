"""The partition of an internal topic that has the state of a key. Mirrors GroupCoordinatorService.partitionFor."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from broker_sim.metadata.topic_names import (
    GROUP_METADATA_TOPIC_NAME,
    SHARE_GROUP_STATE_TOPIC_NAME,
    TRANSACTION_STATE_TOPIC_NAME,
)
from protocol_specs.java_hash import HASHES_KEPT_MAX, string_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.metadata.metadata_image import MetadataImage

__all__ = ["InternalPartitions", "partition_for", "state_partition"]

STATE_TOPICS: Final = {"group": GROUP_METADATA_TOPIC_NAME, "transaction": TRANSACTION_STATE_TOPIC_NAME}
_INT32_MIN: Final = -(2**31)
_CONFIGURED: Final = {
    GROUP_METADATA_TOPIC_NAME: "offsets.topic.num.partitions",
    TRANSACTION_STATE_TOPIC_NAME: "transaction.state.log.num.partitions",
    SHARE_GROUP_STATE_TOPIC_NAME: "share.coordinator.state.topic.num.partitions",
}


class InternalPartitions:
    """The numbers of partitions over which this run of a broker spreads keys, by internal topic.

    A coordinator counts them when it starts; a topic that does not exist then has the configured number. The numbers
    stay when the topic is made with another number, or grows.
    """

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._counts: dict[str, int] = {}

    def count(self, image: MetadataImage) -> None:
        """Count the partitions of a first image; do nothing for later ones."""
        for name, configured in () if self._counts else _CONFIGURED.items():
            topic = image.topics.get(name)
            known = self._config.values.get(configured, 0)
            assert isinstance(known, int)
            self._counts[name] = known if topic is None else len(topic.partitions)

    def of(self, topic: str) -> int:
        """Return the number of an internal topic, 0 before the first image."""
        return self._counts.get(topic, 0)


@lru_cache(HASHES_KEPT_MAX)
def partition_for(key: str, partitions: int) -> int:
    """Return the index for a group id, transactional id or share partition key: Java's string hash, made positive."""
    value = string_hash(key)
    return 0 if value == _INT32_MIN else abs(value) % partitions


def state_partition(kind: str, key: str, partition_counts: Mapping[str, int]) -> tuple[str, int]:
    """Return the partition that has the state of a group or of a transaction (`kind`), -1 while there is none."""
    topic = STATE_TOPICS[kind]
    count = partition_counts.get(topic)
    return topic, -1 if count is None else partition_for(key, count)
