"""A broker's metadata in ZooKeeper mode: the content of all UpdateMetadata so far. Mirrors ZkMetadataCache.

The brokers of each update replace those before it; its partitions replace the same ones, and all others stay as they
were, right or not. Configurations come from ZooKeeper by another path.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from broker_sim.config.broker_listeners import DEFAULT_LISTENER
from broker_sim.metadata.metadata_image import BrokerRegistration, PartitionRegistration, TopicImage
from broker_sim.zookeeper.leader_and_isr import LEADER_DURING_DELETE, NO_LEADER
from broker_sim.zookeeper.zookeeper_behaviour import id_of_name
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from broker_sim.metadata.metadata_image import MetadataImage
    from protocol_specs.messages.update_metadata import UpdateMetadataBroker, UpdateMetadataRequest

NO_BROKER_EPOCH: Final = -1
PARTITION_INDEX_MAX: Final = 100_000
"""Partitions with a higher index are ignored: no real controller sends one."""
_UNKNOWN: Final = PartitionRegistration(replicas=(), isr=(), leader=NO_LEADER, leader_epoch=-1, partition_epoch=-1)
"""Placeholder for partitions missing from UpdateMetadata."""


def updated(
    image: MetadataImage, request: UpdateMetadataRequest, configs: Mapping[str, Mapping[str, str]]
) -> MetadataImage:
    """The image after an UpdateMetadata; `configs` are the topics' configurations as far as they are known here."""
    changed: dict[str, list[PartitionRegistration]] = {}
    ids: dict[str, bytes] = {}
    for name, topic_id, state in _states(request):
        if name not in changed:
            known = image.topics.get(name)
            if known is not None and topic_id not in (ZERO_UUID, known.topic_id):
                known = None  # recreated under its name
            changed[name] = list(known.partitions) if known is not None else []
            ids[name] = known.topic_id if known is not None else _id(name, topic_id)
        _put(changed[name], state)
    gone = [name for name, partitions in changed.items() if not partitions]
    kept = [
        TopicImage(name=name, topic_id=ids[name], partitions=tuple(partitions), configs=configs.get(name, {}))
        for name, partitions in changed.items()
        if partitions
    ]
    brokers = {broker.id: _registration(broker) for broker in request.live_brokers}
    image = replace(image.with_topics(kept), brokers=brokers)
    return image.without_topics([name for name in gone if name in image.topics])


def _id(name: str, topic_id: bytes) -> bytes:
    return id_of_name(name) if topic_id == ZERO_UUID else topic_id


def _states(request: UpdateMetadataRequest) -> Iterator[tuple[str, bytes, Any]]:
    for ungrouped in request.ungrouped_partition_states:
        yield ungrouped.topic_name, ZERO_UUID, ungrouped
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield topic.topic_name, topic.topic_id, state


def _put(partitions: list[PartitionRegistration], state: Any) -> None:
    index = state.partition_index
    if not 0 <= index <= PARTITION_INDEX_MAX:
        return
    if state.leader == LEADER_DURING_DELETE:
        if index < len(partitions):
            partitions[index] = _UNKNOWN
        while partitions and partitions[-1] is _UNKNOWN:
            partitions.pop()
        return
    while len(partitions) <= index:
        partitions.append(_UNKNOWN)
    partitions[index] = PartitionRegistration(
        replicas=tuple(state.replicas),
        isr=tuple(state.isr),
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.zk_version,
    )


def _registration(broker: UpdateMetadataBroker) -> BrokerRegistration:
    endpoints = {each.listener or DEFAULT_LISTENER: (each.host, each.port) for each in broker.endpoints}
    host, port = next(iter(endpoints.values()), (broker.v0_host, broker.v0_port))
    return BrokerRegistration(
        id=broker.id,
        host=host,
        port=port,
        rack=broker.rack,
        fenced=False,
        epoch=NO_BROKER_EPOCH,
        listeners={} if set(endpoints) <= {DEFAULT_LISTENER} else endpoints,
    )
