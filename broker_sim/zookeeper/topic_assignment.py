"""Validates new topics and places their replicas. Mirrors AdminUtils and AdminZkClient.

Pure functions of the state in ZooKeeper, with the error texts of ZooKeeper mode; `random` chooses the first broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.config.topic_config_validation import validate_topic_overrides
from broker_sim.controller.manual_assignment import Refused
from broker_sim.controller.topics import random_topic_id
from broker_sim.errors import ConfigError
from broker_sim.metadata.metadata_image import NO_LEADER, PartitionRegistration, TopicImage
from broker_sim.metadata.topic_names import colliding_name, refused_name
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.metadata.metadata_image import BrokerRegistration, MetadataImage
    from broker_sim.zookeeper.zookeeper_behaviour import ZooKeeperBehaviour
    from protocol_specs.messages.create_partitions import CreatePartitionsTopic
    from protocol_specs.messages.create_topics import CreatableTopic

NOT_GIVEN = -1


def bare_partition(replicas: Iterable[int]) -> PartitionRegistration:
    """Return a new partition with its replicas alone."""
    return PartitionRegistration(
        replicas=tuple(replicas), isr=(), leader=NO_LEADER, leader_epoch=-1, partition_epoch=-1
    )


def new_topic(
    topic: CreatableTopic,
    *,
    image: MetadataImage,
    deletions: Sequence[str],
    config: BrokerConfig,
    random: Random,
    behaviour: ZooKeeperBehaviour,
) -> TopicImage:
    """Return the topic as it is written into ZooKeeper.

    Raises:
        Refused: The first error, in the order of Kafka's checks.
    """
    name = topic.name
    if name in image.topics:
        marked = "is marked for deletion" if name in deletions else "already exists"
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' {marked}.")
    nulls = [entry.name for entry in topic.configs if entry.value is None]
    if nulls:
        raise Refused(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
    given = topic.num_partitions != NOT_GIVEN or topic.replication_factor != NOT_GIVEN
    if given and topic.assignments:
        message = (
            "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same "
            "time."
        )
        raise Refused(ErrorCode.INVALID_REQUEST, message)
    if topic.assignments:
        assignments = {each.partition_index: tuple(each.broker_ids) for each in topic.assignments}
    else:
        partitions = config.num_partitions if topic.num_partitions == NOT_GIVEN else topic.num_partitions
        factor = topic.replication_factor
        factor = config.default_replication_factor if factor == NOT_GIVEN else factor
        brokers = list(image.brokers.values())
        assignments = dict(enumerate(assign_replicas(brokers, partitions, factor, random=random)))
    configs = {entry.name: entry.value for entry in topic.configs if entry.value is not None}
    _validate(name, assignments, configs, image, config, behaviour)
    return TopicImage(
        name=name,
        topic_id=random_topic_id(random),
        partitions=tuple(bare_partition(assignments[index]) for index in range(len(assignments))),
        configs=configs,
    )


def _validate(
    name: str,
    assignments: Mapping[int, tuple[int, ...]],
    configs: Mapping[str, str],
    image: MetadataImage,
    config: BrokerConfig,
    behaviour: ZooKeeperBehaviour,
) -> None:
    reason = refused_name(name, illegal=config.behaviour.illegal_topic_names)
    if reason is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    collision = colliding_name(name, image.topics)
    if collision is not None:
        message = f"Topic '{name}' collides with existing topics: {collision}"
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
    wrong = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if len({len(replicas) for replicas in assignments.values()}) != 1:
        raise Refused(wrong, "All partitions should have the same number of replicas")
    if any(len(set(replicas)) < len(replicas) for replicas in assignments.values()):
        shown = ", ".join(
            f"{index} -> ArrayBuffer({', '.join(map(str, replicas))})" for index, replicas in assignments.items()
        )
        shown_as = "Map" if behaviour.alter_partition_version is None else "HashMap"
        raise Refused(wrong, f"Duplicate replica assignment found: {shown_as}({shown})")
    if sorted(assignments) != list(range(len(assignments))):
        raise Refused(wrong, "partitions should be a consecutive 0-based integer sequence")
    try:
        validate_topic_overrides(configs, config.release)
    except ConfigError as error:
        raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from None


def assign_replicas(
    brokers: Sequence[BrokerRegistration],
    partitions: int,
    replication_factor: int,
    *,
    random: Random,
    start: int | None = None,
    first_partition: int = 0,
) -> list[tuple[int, ...]]:
    """Return the replicas of each partition: leaders round-robin, followers at a growing distance.

    Rack by rack if all brokers have racks. Mirrors AdminUtils.assignReplicasToBrokers.

    Raises:
        Refused: A count is not positive, or there are too few brokers.
    """
    if partitions <= 0:
        raise Refused(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
    if replication_factor <= 0:
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0.")
    if replication_factor > len(brokers):
        message = f"Replication factor: {replication_factor} larger than available brokers: {len(brokers)}."
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    ordered = _rack_alternated(sorted(brokers, key=lambda broker: broker.id))
    racks = [broker.rack for broker in ordered]
    aware = all(rack is not None for rack in racks)
    size = len(ordered)
    begin = random.randrange(size) if start is None else start
    shift = random.randrange(size) if start is None else start
    found = []
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % size == 0:
            shift += size - 1 if aware else 1
        first = (partition + begin) % size
        chosen = [first]
        step = 0
        while len(chosen) < replication_factor:
            index = (first + 1 + (shift + step) % (size - 1)) % size
            step += 1
            if aware and step <= size * size:
                taken = [racks[each] for each in chosen]
                fresh_rack = racks[index] not in taken or len(set(taken)) == len(set(racks))
                if index in chosen or not fresh_rack:
                    continue
            if index not in chosen:
                chosen.append(index)
        found.append(tuple(ordered[index].id for index in chosen))
    return found


def _rack_alternated(brokers: Sequence[BrokerRegistration]) -> list[BrokerRegistration]:
    if any(broker.rack is None for broker in brokers):
        return list(brokers)
    by_rack: dict[str, list[BrokerRegistration]] = {}
    for broker in sorted(brokers, key=lambda broker: (str(broker.rack), broker.id)):
        by_rack.setdefault(str(broker.rack), []).append(broker)
    deepest = max(len(each) for each in by_rack.values())
    return [each[depth] for depth in range(deepest) for each in by_rack.values() if depth < len(each)]


def added_partitions(
    wanted: CreatePartitionsTopic, *, image: MetadataImage, random: Random
) -> tuple[PartitionRegistration, ...]:
    """Return the new partitions of a topic.

    Raises:
        Refused: The first error, in the order of Kafka's checks.
    """
    name = wanted.name
    topic = image.topics.get(name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if any(each.is_reassigning for each in topic.partitions):
        message = f"A partition reassignment is in progress for the topic '{name}'."
        raise Refused(ErrorCode.REASSIGNMENT_IN_PROGRESS, message)
    existing = len(topic.partitions)
    if wanted.count < existing:
        message = f"Topic currently has {existing} partitions, which is higher than the requested {wanted.count}."
        raise Refused(ErrorCode.INVALID_PARTITIONS, message)
    if wanted.count == existing:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {existing} partitions.")
    increment = wanted.count - existing
    factor = len(topic.partitions[0].replicas)
    if wanted.assignments is None:
        ids = [broker_id for broker_id in sorted(image.brokers) if broker_id >= topic.partitions[0].replicas[0]]
        start = sorted(image.brokers).index(ids[0]) if ids else 0
        placed = assign_replicas(
            list(image.brokers.values()), increment, factor, random=random, start=start, first_partition=existing
        )
        return tuple(bare_partition(replicas) for replicas in placed)
    return _assigned([tuple(each.broker_ids) for each in wanted.assignments], increment, factor, existing, image)


def _assigned(
    assignments: Sequence[tuple[int, ...]], increment: int, factor: int, existing: int, image: MetadataImage
) -> tuple[PartitionRegistration, ...]:
    wrong = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    unknown = dict.fromkeys(each for replicas in assignments for each in replicas if each not in image.brokers)
    if unknown:
        raise Refused(wrong, f"Unknown broker(s) in replica assignment: {', '.join(map(str, unknown))}.")
    if len(assignments) != increment:
        message = f"Increasing the number of partitions by {increment} but {len(assignments)} assignments provided."
        raise Refused(wrong, message)
    for index, replicas in enumerate(assignments, existing):
        if not replicas:
            raise Refused(wrong, f"Cannot have replication factor of 0 for partition id {index}.")
        if len(set(replicas)) < len(replicas):
            message = (
                f"Duplicate brokers not allowed in replica assignment: {', '.join(map(str, replicas))} "
                f"for partition id {index}."
            )
            raise Refused(wrong, message)
        if len(replicas) != factor:
            message = (
                f"Inconsistent replication factor between partitions, partition 0 has {factor} while partitions "
                f"[{index}] have replication factors [{len(replicas)}], respectively."
            )
            raise Refused(wrong, message)
    return tuple(bare_partition(replicas) for replicas in assignments)
