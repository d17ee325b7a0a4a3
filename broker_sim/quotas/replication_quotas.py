"""Limits the rate at which throttled replicas are copied (KIP-73). Mirrors ReplicationQuotaManager, ReplicaQuota, and
the part of ConfigHandler that reads the configurations.

A broker counts the bytes of throttled partitions that it sends as leader and receives as follower; while a count is
over its rate, replicas that are not in sync get nothing. The throttled partitions are a configuration of their topic
({leader,follower}.replication.throttled.replicas), the rates one of each broker
({leader,follower}.replication.throttled.rate, dynamic alone).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.quotas.rate import UNBOUNDED, SimpleRate
from protocol_specs.framing import encode_response
from protocol_specs.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol_specs.messages.headers import response_header_version
from protocol_specs.records.varints import size_of_unsigned_varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.topic_partition import TopicPartition

__all__ = ["ReplicationQuota", "ReplicationQuotas", "throttled_size"]

LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
ALL_REPLICAS: Final = "*"
FLEXIBLE_FETCH_LOWEST: Final = 12
CORRELATION_BYTES: Final = 4


class ReplicationQuota:
    """One direction: which partitions are throttled here, and how much of them has passed."""

    __slots__ = ("_now_ms", "_partitions", "_rate", "active")

    def __init__(self, *, samples: int, window_ms: int, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._rate = SimpleRate(bound=UNBOUNDED, samples=samples, window_ms=window_ms)
        self._partitions: dict[str, tuple[int, ...] | None] = {}
        self.active = False
        """True if any partition is throttled: else no request needs a check."""

    @property
    def bytes_per_second(self) -> float:
        """The bound."""
        return self._rate.bound

    @property
    def is_exceeded(self) -> bool:
        """Return True if the rate is above its bound now."""
        return self._rate.measure(self._now_ms()) > self._rate.bound

    def is_throttled(self, topic_partition: TopicPartition) -> bool:
        """Return True if a partition's bytes count."""
        topic, index = topic_partition
        if topic not in self._partitions:
            return False
        partitions = self._partitions[topic]
        return partitions is None or index in partitions

    def record(self, size: int) -> None:
        """Count bytes of throttled partitions, also those beyond the bound."""
        self._rate.record(size, self._now_ms())

    def set_bound(self, bytes_per_second: float) -> None:
        """Set another rate, also for the counts so far."""
        self._rate.bound = bytes_per_second

    def throttle(self, topic: str, replicas: str, broker_id: int) -> None:
        """Take a topic's list of `partition:broker`, or `*` for all of them; an empty one ends its throttle.

        The validator lets empty items through. Brokers read past those at the end; with others they fail on the whole
        list, and the throttle stays as it was.
        """
        listed = replicas.strip().rstrip(",")
        if listed == ALL_REPLICAS:
            self._partitions[topic] = None
        elif listed:
            pairs = [item.partition(":") for item in map(str.strip, listed.split(","))]
            if any(not index for index, _, _ in pairs):
                return
            self._partitions[topic] = tuple(int(index) for index, _, broker in pairs if int(broker) == broker_id)
        else:
            self._partitions.pop(topic, None)
        self.active = bool(self._partitions)


class ReplicationQuotas:
    """Both directions at one broker."""

    __slots__ = ("_broker_id", "follower", "leader")

    def __init__(self, config: BrokerConfig, *, broker_id: int, now_ms: Callable[[], int]) -> None:
        self._broker_id = broker_id
        samples, window_s = config["replication.quota.window.num"], config["replication.quota.window.size.seconds"]
        assert isinstance(samples, int)
        assert isinstance(window_s, int)
        self.leader = ReplicationQuota(samples=samples, window_ms=window_s * 1000, now_ms=now_ms)
        self.follower = ReplicationQuota(samples=samples, window_ms=window_s * 1000, now_ms=now_ms)

    @property
    def active(self) -> bool:
        """True if anything is throttled here."""
        return self.leader.active or self.follower.active

    def topic_changed(self, topic: str, configs: Mapping[str, str]) -> None:
        """The configurations that a topic sets itself are these now."""
        self.leader.throttle(topic, configs.get(LEADER_REPLICAS, ""), self._broker_id)
        self.follower.throttle(topic, configs.get(FOLLOWER_REPLICAS, ""), self._broker_id)

    def reconfigure(self, old: BrokerConfig, new: BrokerConfig) -> None:  # noqa: ARG002 - as every subscriber
        """The broker's dynamic configurations have changed; a file cannot set these."""
        self.leader.set_bound(_rate(new, LEADER_RATE))
        self.follower.set_bound(_rate(new, FOLLOWER_RATE))


def throttled_size(
    version: int, partitions: Iterable[tuple[TopicPartition, bytes, PartitionData]], quota: ReplicationQuota
) -> int:
    """Return the bytes of a follower's response with the throttled partitions alone; records are counted, not copied.

    Each partition with its topic's id. Mirrors KafkaApis.sizeOfThrottledPartitions.
    """
    records = 0
    topics: list[FetchableTopicResponse] = []
    for topic_partition, topic_id, data in partitions:
        if not quota.is_throttled(topic_partition):
            continue
        size = sum(len(part) for part in data.records) if isinstance(data.records, list) else len(data.records or b"")
        if version >= FLEXIBLE_FETCH_LOWEST:
            size += size_of_unsigned_varint(size + 1) - 1
        records += size
        bare = PartitionData(
            partition_index=data.partition_index,
            error_code=data.error_code,
            high_watermark=data.high_watermark,
            aborted_transactions=None,
            diverging_epoch=data.diverging_epoch,
            current_leader=data.current_leader,
            records=b"",
        )
        if not topics or (topics[-1].topic, topics[-1].topic_id) != (topic_partition.topic, topic_id):
            topics.append(FetchableTopicResponse(topic=topic_partition.topic, topic_id=topic_id))
        topics[-1].partitions.append(bare)
    frame = encode_response(FetchResponse(responses=topics), version, correlation_id=0)
    return len(frame) - CORRELATION_BYTES - response_header_version(FetchResponse, version) + records


def _rate(config: BrokerConfig, name: str) -> float:
    text = config.dynamic_own.get(name, config.dynamic_defaults.get(name))
    return UNBOUNDED if text is None else int(text)
