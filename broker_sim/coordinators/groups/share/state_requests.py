"""Requests of a group coordinator about the state of share partitions. Mirrors the calls of GroupCoordinatorService to
the Persister.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import fail, gatherResults
from twisted.logger import Logger

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.share.share_partition_key import SharePartitionKey
from protocol_specs import uuids
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import delete_share_group_state as delete
from protocol_specs.messages import initialize_share_group_state as initialize
from protocol_specs.messages import read_share_group_state_summary as summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from twisted.internet.defer import Deferred

    from broker_sim.coordinators.groups.group_coordinator import GroupCoordinator
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions
    from broker_sim.coordinators.groups.share.share_groups import ToInitialize
    from broker_sim.coordinators.share.share_persister import SharePersister

__all__ = ["Results", "delete_state", "initialize_after_heartbeat", "initialize_state", "read_summaries"]

Results = dict[tuple[bytes, int], Any]
"""The result of each share partition, with an error code and a message."""
UNINITIALIZED_START_OFFSET = -1
_log = Logger()


def _all(
    name: str,
    group_id: str,
    partitions: Iterable[tuple[bytes, int]],
    run: Callable[[SharePartitionKey], Deferred[Any]],
) -> Deferred[Results]:
    """Run an operation per share partition; the Deferred fails with a CoordinatorError for a negative partition."""
    keys = list(partitions)
    for topic_id, partition in keys:
        if partition < 0:
            text = f"{name} parameters has invalid partitionId - {group_id} {uuids.to_text(topic_id)} {partition}"
            return fail(CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR, text))
    gathered = gatherResults([run(SharePartitionKey(group_id, *key)) for key in keys])
    return gathered.addCallback(lambda results: dict(zip(keys, results, strict=True)))


def initialize_state(
    persister: SharePersister, group_id: str, state_epoch: int, offsets: Mapping[bytes, Mapping[int, int]]
) -> Deferred[Results]:
    """Initialize share partitions with start offsets."""

    def run(key: SharePartitionKey) -> Deferred[Any]:
        start_offset = offsets[key.topic_id][key.partition]
        data = initialize.PartitionData(partition=key.partition, state_epoch=state_epoch, start_offset=start_offset)
        return persister.initialize(key, data)

    keys = [(topic_id, each) for topic_id, of_topic in offsets.items() for each in of_topic]
    return _all("Initialize share group", group_id, keys, run)


def delete_state(persister: SharePersister, group_id: str, partitions: TopicPartitions) -> Deferred[Results]:
    """Delete the state of share partitions."""
    return _all(
        "Delete share group state",
        group_id,
        [(topic_id, each) for topic_id, of_topic in partitions.items() for each in sorted(of_topic)],
        lambda key: persister.delete(key, delete.PartitionData(partition=key.partition)),
    )


def read_summaries(
    persister: SharePersister, group_id: str, partitions: Iterable[tuple[bytes, int]]
) -> Deferred[Results]:
    """Read the start offsets of share partitions."""
    return _all(
        "Read share group state summary",
        group_id,
        partitions,
        lambda key: persister.read_summary(key, summary.PartitionData(partition=key.partition, leader_epoch=0)),
    )


def initialize_after_heartbeat(
    groups: GroupCoordinator, persister: SharePersister, group_id: str, request: ToInitialize
) -> None:
    """Initialize the share partitions of newly subscribed topics; the next heartbeats assign them."""
    offsets = {
        topic_id: dict.fromkeys(sorted(partitions), UNINITIALIZED_START_OFFSET)
        for topic_id, partitions in request.partitions.items()
    }
    done = initialize_state(persister, group_id, request.state_epoch, offsets)
    done.addCallback(lambda results: record_initialization(groups, group_id, results))


def record_initialization(groups: GroupCoordinator, group_id: str, results: Results) -> Deferred[None]:
    """Record that share partitions are initialized, or that none is if one has failed."""
    partitions: dict[bytes, frozenset[int]] = {}
    for topic_id, partition in results:
        partitions[topic_id] = partitions.get(topic_id, frozenset()) | {partition}
    if any(result.error_code for result in results.values()):
        name, operation = (
            "uninitialize-share-group-state",
            lambda shard: shard.share.uninitialized(group_id, partitions),
        )
    else:
        name, operation = "initialize-share-group-state", lambda shard: shard.share.initialized(group_id, partitions)
    written = groups.write(group_id, name, operation)

    def failed(failure: Any) -> None:
        failure.trap(CoordinatorError)
        _log.info("group {group_id}: {name} failed: {reason}", group_id=group_id, name=name, reason=failure.value)

    return written.deferred.addErrback(failed)
