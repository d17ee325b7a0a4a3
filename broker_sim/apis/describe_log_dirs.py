"""DescribeLogDirs (api key 35): the log directories of this broker, and the sizes of the logs in them (KIP-113).

Versions: 0 to 5; 4.x takes v1 on. v3 top-level error code. v4 the bytes of the disk (KIP-827). v5 whether the
directory is cordoned (KIP-1066). Null topics mean all; an empty list means none. Partitions that are not here are left
out without a word. Mirrors ReplicaManager.describeLogDirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.partition_order import partition_hash
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import SMALLEST_TRIE, concurrent_order, immutable_set_order, string_hash
from protocol_specs.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.apis.broker_view import BrokerView
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.describe_log_dirs import DescribeLogDirsRequest

INVALID_OFFSET_LAG: Final = -1


def handle(request: DescribeLogDirsRequest, context: RequestContext) -> DescribeLogDirsResponse:
    """Return every directory, with the requested logs."""
    broker = context.broker
    wanted = None
    if request.topics is not None:
        wanted = {TopicPartition(topic.topic, index): None for topic in request.topics for index in topic.partitions}
    return DescribeLogDirsResponse(
        results=[_directory(name, broker, wanted) for name in broker.storage.directories.names]
    )


def _directory(name: str, broker: BrokerView, wanted: dict[TopicPartition, None] | None) -> DescribeLogDirsResult:
    directories = broker.storage.directories
    if name in directories.offline:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=name, topics=[])
    here = [each for each in broker.storage.logs if directories.of(each) == name]
    futures = {topic_partition: (size, lag) for topic_partition, size, lag in broker.storage.futures_in(name)}
    topics = _topics_in_order([*here, *futures])
    used_bytes = 0
    for topic_partition in _in_order(here, len(broker.storage.logs)):
        log = broker.storage.logs[topic_partition]
        size = log.size_in_bytes
        used_bytes += size
        if wanted is not None and topic_partition not in wanted:
            continue
        hosted = topic_partition in broker.replica_manager.partitions
        lag = max(log.high_watermark - log.log_end_offset, 0) if hosted else INVALID_OFFSET_LAG
        _add(topics, topic_partition, size=size, lag=lag, future=False)
    for topic_partition in _in_order(list(futures), len(futures)):
        if wanted is None or topic_partition in wanted:
            size, lag = futures[topic_partition]
            _add(topics, topic_partition, size=size, lag=lag, future=True)
    space = broker.storage.space(name, used_bytes)
    return DescribeLogDirsResult(
        log_dir=name,
        topics=[topic for topic in topics.values() if topic.partitions],
        total_bytes=space.total_bytes,
        usable_bytes=space.usable_bytes,
        is_cordoned=name in directories.cordoned,
    )


def _add(
    topics: dict[str, DescribeLogDirsTopic], topic_partition: TopicPartition, *, size: int, lag: int, future: bool
) -> None:
    name, index = topic_partition
    topics[name].partitions.append(
        DescribeLogDirsPartition(partition_index=index, partition_size=size, offset_lag=lag, is_future_key=future)
    )


def _topics_in_order(logs: Iterable[TopicPartition]) -> dict[str, DescribeLogDirsTopic]:
    """Return one topic per name, in the order of the Scala map by which Kafka groups the logs."""
    names = list(dict.fromkeys(each.topic for each in logs))
    return {
        names[place]: DescribeLogDirsTopic(name=names[place], partitions=[])
        for place in immutable_set_order(map(string_hash, names), was=SMALLEST_TRIE)
    }


def _in_order(logs: list[TopicPartition], count: int) -> list[TopicPartition]:
    """Return logs in the order of Kafka's hash table of `count` of them."""
    return [logs[place] for place in concurrent_order(map(partition_hash, logs), count=count)]


HANDLER: Final = ApiHandler(handle=handle)
