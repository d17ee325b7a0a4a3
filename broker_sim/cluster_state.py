"""The state of a running cluster as values: brokers, topics, connections, groups, transactions.

Each function reads the cluster at one moment and changes nothing. The values are plain dataclasses: Python and HTTP
show the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
from broker_sim.coordinators.groups.group_journal import readable_assignment
from broker_sim.coordinators.groups.share.share_group import ShareGroup
from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
from broker_sim.errors import BrokerSimError, nearest
from protocol_specs import uuids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.cluster import Cluster
    from broker_sim.coordinators.groups.group import Group
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from broker_sim.coordinators.share.share_partition_key import SharePartitionKey
    from broker_sim.coordinators.share.share_partition_state import SharePartitionState
    from broker_sim.metadata.metadata_image import PartitionRegistration, TopicImage

__all__ = [
    "BrokerStatus",
    "ConnectionStatus",
    "GroupMember",
    "GroupOffset",
    "GroupStatus",
    "PartitionStatus",
    "TopicStatus",
    "TransactionStatus",
    "broker_status",
    "connections",
    "group_status",
    "groups",
    "topic_status",
    "transaction_status",
    "transactions",
]

SEPARATOR: Final = ", "


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatus:
    """One broker: its process, its registration, and what it serves. `epoch` is its broker epoch, -1 without one."""

    id: int
    host: str
    port: int
    rack: str | None
    running: bool
    paused: bool
    fenced: bool
    epoch: int
    connections: int
    leaders: int
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatus:
    """One partition; the offsets are those of the leader's log, -1 without a leader."""

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    log_start_offset: int
    high_watermark: int
    last_stable_offset: int
    log_end_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStatus:
    """One topic; `configs` are those that are set on the topic itself."""

    name: str
    id: str
    partitions: tuple[PartitionStatus, ...]
    configs: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionStatus:
    """One connection of a client to a listener. `client_id` is that of its last request, None before the first."""

    connection_id: str
    broker: int
    listener: str
    client_host: str
    client_port: int
    client_id: str | None
    software_name: str
    software_version: str
    waiting_requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """One member of a group. `assignment` are partitions, such as `orders-0`, or tasks of a streams group, `0_1`."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    assignment: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffset:
    """The committed offset of a partition; in a share group its share-partition start offset, -1 without one."""

    topic: str
    partition: int
    offset: int
    metadata: str
    lag: int | None
    """The records between the offset and the high watermark, without those behind it that a share group has finished.

    None without a leader, and in a share group that has no start offset or does not count finished records (KIP-1226).
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatus:
    """One group of any type. `epoch` is the generation of a classic group, the group epoch of another one."""

    group_id: str
    type: str
    state: str
    epoch: int
    coordinator: int
    members: tuple[GroupMember, ...]
    offsets: tuple[GroupOffset, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionStatus:
    """One transactional id. `partitions` are those of an open transaction, or those that wait for its marker."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    coordinator: int
    timeout_ms: int
    start_ms: int
    """The wall clock of the coordinator when the transaction began, -1 without one."""
    partitions: tuple[str, ...]


def broker_status(cluster: Cluster) -> list[BrokerStatus]:
    """Return the brokers, in the order of their ids; those that are down too."""
    image = cluster.controller.committed_image
    leaders = dict.fromkeys(cluster.brokers, 0)
    replicas = dict.fromkeys(cluster.brokers, 0)
    for topic in image.topics.values():
        for partition in topic.partitions:
            if partition.has_leader:
                leaders[partition.leader] += 1
            for replica in partition.replicas:
                if replica in replicas:  # before KRaft, tools may assign brokers that do not exist
                    replicas[replica] += 1
    found = []
    for broker in cluster.brokers.values():
        registration = image.brokers.get(broker.id)
        server = broker.socket_server if broker.alive else None
        found.append(
            BrokerStatus(
                id=broker.id,
                host=broker.host,
                port=broker.port,
                rack=broker.rack,
                running=broker.alive,
                paused=broker.paused,
                fenced=registration is None or registration.fenced,
                epoch=broker.broker_epoch,
                connections=0 if server is None else sum(1 for _ in server.open_channels()),
                leaders=leaders[broker.id],
                replicas=replicas[broker.id],
            )
        )
    return found


def topic_status(cluster: Cluster, name: str | None = None) -> list[TopicStatus]:
    """Return all topics, internal ones too, or one. Raises BrokerSimError for an unknown one."""
    topics = cluster.controller.committed_image.topics
    if name is None:
        return [_topic(cluster, topic) for topic in topics.values()]
    if name not in topics:
        raise BrokerSimError(f"there is no topic {name!r}{nearest(name, topics)}")
    return [_topic(cluster, topics[name])]


def _topic(cluster: Cluster, topic: TopicImage) -> TopicStatus:
    return TopicStatus(
        name=topic.name,
        id=uuids.to_text(topic.topic_id),
        partitions=tuple(
            _partition(cluster, topic.name, index, partition) for index, partition in enumerate(topic.partitions)
        ),
        configs=dict(topic.configs),
    )


def _partition(cluster: Cluster, topic: str, index: int, registration: PartitionRegistration) -> PartitionStatus:
    leader = registration.leader if registration.has_leader else None
    log = None if leader is None else cluster.log_of(leader, topic, index)
    return PartitionStatus(
        partition=index,
        leader=leader,
        leader_epoch=registration.leader_epoch,
        replicas=registration.replicas,
        isr=registration.isr,
        log_start_offset=-1 if log is None else log.log_start_offset,
        high_watermark=-1 if log is None else log.high_watermark,
        last_stable_offset=-1 if log is None else log.last_stable_offset,
        log_end_offset=-1 if log is None else log.log_end_offset,
    )


def connections(cluster: Cluster) -> list[ConnectionStatus]:
    """Return the open connections of clients, by broker."""
    found = []
    for broker in cluster.brokers.values():
        if not broker.alive or broker.socket_server is None:
            continue
        for channel in broker.socket_server.open_channels():
            info = channel.info
            found.append(
                ConnectionStatus(
                    connection_id=info.connection_id,
                    broker=broker.id,
                    listener=info.listener_name,
                    client_host=info.client_host,
                    client_port=info.client_port,
                    client_id=channel.client_id,
                    software_name=info.client_software_name,
                    software_version=info.client_software_version,
                    waiting_requests=channel.waiting_requests,
                )
            )
    return found


def groups(cluster: Cluster) -> list[GroupStatus]:
    """Return the groups of all types that have a coordinator now."""
    return [_group(cluster, broker_id, shard, group) for broker_id, shard, group in _coordinated_groups(cluster)]


def group_status(cluster: Cluster, group_id: str) -> GroupStatus | None:
    """Return one group, None while there is none with a coordinator."""
    for broker_id, shard, group in _coordinated_groups(cluster):
        if group.group_id == group_id:
            return _group(cluster, broker_id, shard, group)
    return None


def _coordinated_groups(cluster: Cluster) -> Iterator[tuple[int, GroupShard, Group]]:
    for broker in cluster.brokers.values():
        if broker.alive:
            for shard in broker.coordinators.groups.runtime.shards:
                for group in shard.groups.all():
                    yield broker.id, shard, group


def _group(cluster: Cluster, broker_id: int, shard: GroupShard, group: Group) -> GroupStatus:
    # The groups of all types but the classic one have epochs.
    found: Any = group
    epoch: int = found.generation_id if isinstance(group, ClassicGroup) else found.group_epoch.get()
    return GroupStatus(
        group_id=group.group_id,
        type=group.type.value,
        state=group.state_name(),
        epoch=epoch,
        coordinator=broker_id,
        members=tuple(_members(cluster, group)),
        offsets=tuple(
            _share_offsets(cluster, group.group_id)
            if isinstance(group, ShareGroup)
            else _offsets(cluster, shard, group.group_id)
        ),
    )


def _members(cluster: Cluster, group: Group) -> Iterator[GroupMember]:
    if isinstance(group, ClassicGroup):
        for member in group.members.values():
            text = readable_assignment(member.assignment, of_consumers=group.uses_consumer_protocol)
            yield GroupMember(
                member_id=member.member_id,
                instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                assignment=tuple(text.split(SEPARATOR)) if text else (),
            )
        return
    found: Any = group
    names = {topic.topic_id: topic.name for topic in cluster.controller.committed_image.topics.values()}
    for each in found.members.values():
        held = each.assigned.active if isinstance(group, StreamsGroup) else each.assigned
        joint = "_" if isinstance(group, StreamsGroup) else "-"
        yield GroupMember(
            member_id=each.member_id,
            instance_id=each.instance_id,
            client_id=each.client_id,
            client_host=each.client_host,
            assignment=tuple(
                f"{names.get(place, place)}{joint}{partition}" for place in held for partition in sorted(held[place])
            ),
        )


def _offsets(cluster: Cluster, shard: GroupShard, group_id: str) -> Iterator[GroupOffset]:
    for (topic, partition), committed in shard.offsets.committed(group_id):
        end = _high_watermark(cluster, topic, partition)
        yield GroupOffset(
            topic=topic,
            partition=partition,
            offset=committed.offset,
            metadata=committed.metadata,
            lag=None if end is None else max(0, end - committed.offset),
        )


def _share_offsets(cluster: Cluster, group_id: str) -> Iterator[GroupOffset]:
    """Yield the stored state of each share partition, in the order of topics and partitions."""
    names = cluster.controller.committed_image.topics_by_id
    states = {
        (names[key.topic_id].name, key.partition): state
        for key, state in _share_partitions(cluster)
        if key.group_id == group_id and key.topic_id in names
    }
    for (topic, partition), state in sorted(states.items()):
        end = _high_watermark(cluster, topic, partition)
        counted = -1 not in (state.start_offset, state.delivery_complete_count)
        yield GroupOffset(
            topic=topic,
            partition=partition,
            offset=state.start_offset,
            metadata="",
            lag=max(0, end - state.start_offset - state.delivery_complete_count)
            if counted and end is not None
            else None,
        )


def _share_partitions(cluster: Cluster) -> Iterator[tuple[SharePartitionKey, SharePartitionState]]:
    for broker in cluster.brokers.values():
        if broker.alive:
            for shard in broker.coordinators.share.runtime.shards:
                yield from shard.states.items()


def _high_watermark(cluster: Cluster, topic: str, partition: int) -> int | None:
    registration = cluster.controller.committed_image.partition(topic, partition)
    if registration is None or not registration.has_leader:
        return None
    log = cluster.log_of(registration.leader, topic, partition)
    return None if log is None else log.high_watermark


def transactions(cluster: Cluster) -> list[TransactionStatus]:
    """Return the transactional ids that have a coordinator now."""
    return [
        TransactionStatus(
            transactional_id=metadata.transactional_id,
            state=metadata.state.label,
            producer_id=metadata.producer_id,
            producer_epoch=metadata.producer_epoch,
            coordinator=broker.id,
            timeout_ms=metadata.timeout_ms,
            start_ms=metadata.start_ms,
            partitions=tuple(str(place) for place in metadata.partitions),
        )
        for broker in cluster.brokers.values()
        if broker.alive
        for metadata in broker.coordinators.transactions.all_metadata
    ]


def transaction_status(cluster: Cluster, transactional_id: str) -> TransactionStatus | None:
    """Return one transactional id, None while there is none with a coordinator."""
    return next((each for each in transactions(cluster) if each.transactional_id == transactional_id), None)
