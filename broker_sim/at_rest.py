"""The conditions under which a cluster is at rest: every node runs, every replica is equal, no request waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.topic_partition import TopicPartition

if TYPE_CHECKING:
    from broker_sim.broker import Broker
    from broker_sim.cluster import Cluster
    from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration

__all__ = ["reasons_not_at_rest"]


def reasons_not_at_rest(cluster: Cluster) -> list[str]:
    """Return why brokers, replicas and requests of a cluster are not at rest, one text per reason."""
    image = cluster.controller.committed_image
    reasons: list[str] = []
    for broker in cluster.brokers.values():
        reasons.extend(_broker_reasons(broker, image))
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            reasons.extend(_partition_reasons(cluster, TopicPartition(topic.name, index), partition))
    return reasons + cluster.faults.pending()


def _broker_reasons(broker: Broker, image: MetadataImage) -> list[str]:
    registration = image.brokers.get(broker.id)
    if not broker.alive:
        return [f"broker {broker.id} is down"]
    if registration is None or registration.epoch != broker.broker_epoch:
        return [f"broker {broker.id} is not registered"]
    if registration.fenced:
        return [f"broker {broker.id} is fenced"]
    if broker.metadata_version < image.version:
        return [f"broker {broker.id} has metadata version {broker.metadata_version} of {image.version}"]
    waiting = 0 if broker.socket_server is None else broker.socket_server.waiting_requests
    return [f"broker {broker.id} has {waiting} requests that wait behind others"] if waiting else []


def _partition_reasons(cluster: Cluster, name: TopicPartition, partition: PartitionRegistration) -> list[str]:
    if not partition.has_leader:
        return [f"{name} has no leader"]
    if len(partition.isr) < len(partition.replicas):
        return [f"{name} has the ISR {list(partition.isr)} of {list(partition.replicas)}"]
    reasons = []
    leader = cluster.log_of(partition.leader, *name)
    if leader is None:
        return [f"{name} is not at its leader {partition.leader} yet"]
    if leader.high_watermark < leader.log_end_offset:
        reasons.append(f"{name} has the high watermark {leader.high_watermark} of {leader.log_end_offset}")
    for replica in partition.isr:
        log = cluster.log_of(replica, *name)
        end = -1 if log is None else log.log_end_offset
        if end != leader.log_end_offset:
            reasons.append(f"{name} ends at {end} on broker {replica}, at {leader.log_end_offset} on its leader")
    return reasons
