"""Log directories of brokers and the replicas in them. Mirrors KafkaAdminClient's calls; KIP-113, KIP-827.

Each broker describes its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.routes import BROKER, BrokerRoute
from broker_client.errors import ProducerError, error_of
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol_specs.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LogDirCalls", "LogDirDescription", "ReplicaInfo", "TopicPartitionReplica"]


class TopicPartitionReplica(NamedTuple):
    """A partition's replica on a broker. Mirrors TopicPartitionReplica."""

    topic: str
    partition: int
    broker_id: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker_id}"


@dataclass(slots=True, kw_only=True, frozen=True)
class ReplicaInfo:
    """A replica's size in bytes, and its lag: behind the high watermark, or (future) behind the one it will replace."""

    size: int
    offset_lag: int
    is_future: bool


@dataclass(slots=True, kw_only=True, frozen=True)
class LogDirDescription:
    """A log directory; `error` where it is offline. Bytes are -1 from brokers before 3.3. Mirrors LogDirDescription."""

    error: ProducerError | None
    replicas: Mapping[TopicPartition, ReplicaInfo]
    total_bytes: int
    usable_bytes: int
    is_cordoned: bool


def _broker_of(replica: TopicPartitionReplica) -> int:
    return replica.broker_id


_BY_REPLICA: Final = BrokerRoute(_broker_of)


class LogDirCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def describe_log_dirs(self, broker_ids: Sequence[int]) -> dict[int, dict[str, LogDirDescription]]:
        """The directories of each broker by path; raises ItemsFailed by broker id."""

        def take(response: Any, requested: list[int], outcomes: Outcomes[int, dict[str, LogDirDescription]]) -> None:
            (broker_id,) = requested
            dirs = {result.log_dir: _described(result) for result in response.results}
            # Before 3.2 there is no code for the whole: who may not describe gets no directories.
            code = response.error_code or (0 if dirs else ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            outcomes.take(broker_id, code, f"describe the log directories of broker {broker_id}", dirs)

        call = ItemCall(
            kind=DescribeLogDirsRequest,
            route=BROKER,
            build=lambda *_: DescribeLogDirsRequest(topics=None),
            take=take,
        )
        return await self._calls.settle(list(broker_ids), call)

    async def alter_replica_log_dirs(self, moves: Mapping[TopicPartitionReplica, str]) -> None:
        """Move replicas to other directories of their brokers; raises ItemsFailed by replica."""
        paths = {TopicPartitionReplica(*key): path for key, path in moves.items()}

        def build(version: int, requested: list[TopicPartitionReplica], timeout_ms: int) -> AlterReplicaLogDirsRequest:
            del version, timeout_ms
            dirs: dict[str, dict[str, list[int]]] = {}
            for replica in requested:
                topics = dirs.setdefault(paths[replica], {})
                topics.setdefault(replica.topic, []).append(replica.partition)
            return AlterReplicaLogDirsRequest(
                dirs=[
                    AlterReplicaLogDir(
                        path=path,
                        topics=[
                            AlterReplicaLogDirTopic(name=name, partitions=partitions)
                            for name, partitions in topics.items()
                        ],
                    )
                    for path, topics in dirs.items()
                ]
            )

        def take(
            response: Any, requested: list[TopicPartitionReplica], outcomes: Outcomes[TopicPartitionReplica, None]
        ) -> None:
            for topic in response.results:
                for one in topic.partitions:
                    replica = TopicPartitionReplica(topic.topic_name, one.partition_index, requested[0].broker_id)
                    outcomes.take(replica, one.error_code, str(replica), None, topic=topic.topic_name)

        call = ItemCall(kind=AlterReplicaLogDirsRequest, route=_BY_REPLICA, build=build, take=take)
        await self._calls.settle(list(paths), call)


def _described(result: DescribeLogDirsResult) -> LogDirDescription:
    code = ErrorCode.for_code(result.error_code)
    return LogDirDescription(
        error=None if code is ErrorCode.NONE else error_of(code, result.log_dir),
        replicas={
            TopicPartition(topic.name, one.partition_index): ReplicaInfo(
                size=one.partition_size, offset_lag=one.offset_lag, is_future=one.is_future_key
            )
            for topic in result.topics
            for one in topic.partitions
        },
        total_bytes=result.total_bytes,
        usable_bytes=result.usable_bytes,
        is_cordoned=result.is_cordoned,
    )
