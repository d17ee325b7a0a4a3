"""Calls on topics and their records."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from broker_sim.cluster_input import config_changes
from broker_sim.cluster_state import PartitionStatus, TopicStatus, topic_status
from broker_sim.errors import BrokerSimError, nearest
from broker_sim.http_control.operation import CLUSTER, Limit, Operation, UnknownName
from broker_sim.stored_records import StoredRecord, stored_records
from broker_sim.topic_spec import TopicSpec

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.http_control.operation import Call

__all__ = ["OPERATIONS", "topic_of"]

TOPIC: Final = f"{CLUSTER}/topics/{{topic}}"
PARTITION: Final = f"{TOPIC}/partitions/{{partition}}"
RECORDS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to create."""

    name: str
    partitions: int = 1
    replication_factor: int = 1
    configs: dict[str, str | int | float | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MorePartitions:
    """How many partitions a topic gets beside those that it has."""

    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsQuery:
    """A part of a topic: one partition or all, from an offset on."""

    partition: int | None = None
    offset: int = 0
    limit: Limit = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHeader:
    """One header: `value` is null if the bytes are no UTF-8; `value_base64` always has them."""

    key: str
    value: str | None
    value_base64: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record in the log of a leader.

    `key` and `value` are null if they are null or no UTF-8; `key_base64` and `value_base64` always have the bytes.
    `producer_id`, `producer_epoch` and `sequence` are -1 for a producer without idempotence.
    """

    partition: int
    offset: int
    timestamp: int
    key: str | None
    value: str | None
    key_base64: str | None
    value_base64: str | None
    headers: list[RecordHeader]
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """The replica to elect, by default the preferred one; `unclean` allows one outside the ISR."""

    broker: int | None = None
    unclean: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """The new replicas of a partition, the preferred one first."""

    replicas: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRecords:
    """The end of the records to delete, by default the high watermark."""

    before_offset: int | None = None


def topic_of(call: Call) -> str:
    """Return the topic in the path. Raises UnknownName."""
    name, counts = call.path["topic"], call.cluster.partition_counts
    if name not in counts:
        raise UnknownName(f"there is no topic {name!r}{nearest(name, counts)}")
    return name


def partition_of(call: Call) -> tuple[str, int]:
    """Return the topic and the partition in the path. Raises UnknownName."""
    topic, partition = topic_of(call), call.number("partition")
    count = call.cluster.partition_counts[topic]
    if partition >= count:
        raise UnknownName(f"there is no partition {topic}-{partition}: the topic has {count}")
    return topic, partition


def listed(call: Call) -> list[TopicStatus]:
    """Return all topics."""
    return topic_status(call.cluster)


def described(call: Call) -> TopicStatus:
    """Return one topic."""
    return topic_status(call.cluster, topic_of(call))[0]


def described_partition(call: Call) -> PartitionStatus:
    """Return one partition."""
    topic, partition = partition_of(call)
    return topic_status(call.cluster, topic)[0].partitions[partition]


def created(call: Call) -> Deferred[TopicStatus]:
    """Create a topic."""
    wanted, cluster = call.body, call.cluster
    spec = TopicSpec(
        name=wanted.name,
        partitions=wanted.partitions,
        replication_factor=wanted.replication_factor,
        configs=wanted.configs,
    )
    return cluster.create_topic(spec).addCallback(lambda _: topic_status(cluster, wanted.name)[0])


def deleted(call: Call) -> Deferred[None]:
    """Delete a topic."""
    return call.cluster.delete_topic(topic_of(call))


def recreated(call: Call) -> Deferred[TopicStatus]:
    """Delete a topic and create it again."""
    cluster, name = call.cluster, topic_of(call)
    return cluster.admin.recreate_topic(name).addCallback(lambda _: topic_status(cluster, name)[0])


def added_partitions(call: Call) -> Deferred[TopicStatus]:
    """Add partitions to a topic."""
    cluster, name, count = call.cluster, topic_of(call), (call.body or MorePartitions()).count
    if count < 1:
        raise BrokerSimError(f"count: {count} adds no partition; expected at least 1")
    return cluster.admin.add_partitions(name, count).addCallback(lambda _: topic_status(cluster, name)[0])


def changed_configs(call: Call) -> Deferred[None]:
    """Set or delete configurations of a topic."""
    return call.cluster.admin.alter_config("topic", topic_of(call), config_changes(call.body))


def records(call: Call) -> list[Record]:
    """Return stored records."""
    query = call.query
    partition = query.partition
    topic = topic_of(call)
    count = call.cluster.partition_counts[topic]
    if partition is not None and not 0 <= partition < count:
        raise UnknownName(f"there is no partition {topic}-{partition}: the topic has {count}")
    found = (each for each in stored_records(call.cluster, topic, partition) if each.offset >= query.offset)
    limit = min(query.limit, RECORDS_MAX)
    return [_record(each) for each, _ in zip(found, range(limit), strict=False)]


def _record(stored: StoredRecord) -> Record:
    return Record(
        partition=stored.partition,
        offset=stored.offset,
        timestamp=stored.timestamp,
        key=_text(stored.key),
        value=_text(stored.value),
        key_base64=_base64(stored.key),
        value_base64=_base64(stored.value),
        headers=[
            RecordHeader(key=name, value=_text(value), value_base64=_base64(value)) for name, value in stored.headers
        ],
        leader_epoch=stored.leader_epoch,
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        sequence=stored.sequence,
    )


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else bytes(data).decode()
    except UnicodeDecodeError:
        return None


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def elected(call: Call) -> Deferred[None]:
    """Elect a leader."""
    topic, partition = partition_of(call)
    wanted = call.body or Election()
    return call.cluster.admin.elect_leader(topic, partition, broker_id=wanted.broker, unclean=wanted.unclean)


def reassigned(call: Call) -> Deferred[None]:
    """Begin to move a partition."""
    topic, partition = partition_of(call)
    return call.cluster.admin.reassign(topic, partition, call.body.replicas)


def deleted_records(call: Call) -> Deferred[None]:
    """Delete records of a partition."""
    topic, partition = partition_of(call)
    wanted = call.body or DeletedRecords()
    return call.cluster.admin.delete_records(topic, partition, wanted.before_offset)


OPERATIONS = (
    Operation(
        method="GET",
        path=f"{CLUSTER}/topics",
        name="listTopics",
        summary="All topics with their partitions and offsets, internal topics too.",
        handle=listed,
        result=list[TopicStatus],
    ),
    Operation(
        method="POST",
        path=f"{CLUSTER}/topics",
        name="createTopic",
        summary="Create a topic; responds when every running broker has applied it.",
        handle=created,
        body=NewTopic,
        result=TopicStatus,
        status=201,
    ),
    Operation(
        method="GET",
        path=TOPIC,
        name="getTopic",
        summary="One topic with its partitions and offsets.",
        handle=described,
        result=TopicStatus,
    ),
    Operation(
        method="DELETE",
        path=TOPIC,
        name="deleteTopic",
        summary="Delete a topic; responds when every running broker has applied it.",
        handle=deleted,
        status=204,
    ),
    Operation(
        method="POST",
        path=f"{TOPIC}/recreate",
        name="recreateTopic",
        summary="Delete a topic, and create it with another id and the same partitions and configurations.",
        handle=recreated,
        result=TopicStatus,
    ),
    Operation(
        method="POST",
        path=f"{TOPIC}/partitions",
        name="addPartitions",
        summary="Add partitions to a topic, by default one.",
        handle=added_partitions,
        body=MorePartitions,
        body_is_optional=True,
        result=TopicStatus,
    ),
    Operation(
        method="PATCH",
        path=f"{TOPIC}/configs",
        name="alterTopicConfigs",
        summary="Set configurations of a topic; null deletes one.",
        handle=changed_configs,
        body=dict[str, str | int | float | bool | None],
        status=204,
    ),
    Operation(
        method="GET",
        path=f"{TOPIC}/records",
        name="listRecords",
        summary=f"The records that the leaders have stored, by partition and offset; at most {RECORDS_MAX}.",
        handle=records,
        query=RecordsQuery,
        result=list[Record],
    ),
    Operation(
        method="GET",
        path=PARTITION,
        name="getPartition",
        summary="One partition: leader, epoch, replicas, ISR and offsets.",
        handle=described_partition,
        result=PartitionStatus,
    ),
    Operation(
        method="POST",
        path=f"{PARTITION}/elect",
        name="electLeader",
        summary="Elect the preferred replica of a partition, or a named one.",
        handle=elected,
        body=Election,
        body_is_optional=True,
        status=204,
    ),
    Operation(
        method="POST",
        path=f"{PARTITION}/reassign",
        name="reassignPartition",
        summary="Begin to move a partition to other replicas.",
        handle=reassigned,
        body=Assignment,
        status=204,
    ),
    Operation(
        method="POST",
        path=f"{PARTITION}/delete-records",
        name="deleteRecords",
        summary="Delete the records of a partition below an offset.",
        handle=deleted_records,
        body=DeletedRecords,
        body_is_optional=True,
        status=204,
    ),
)
