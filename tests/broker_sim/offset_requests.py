"""A group coordinator on virtual time, and requests that commit, fetch and delete offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol_specs.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol_specs.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP = "readers"
TOPIC = "orders"
OFFSETS_TOPIC = "__consumer_offsets"


def with_coordinator(bench: Any, *, config: Mapping[str, str] | None = None, **options: Any) -> Any:
    """Start a cluster with two topics and an offsets topic of one partition."""
    api = bench(
        topics=[TopicSpec(name=TOPIC, partitions=3), TopicSpec(name="payments")],
        config={"offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "1"} | dict(config or {}),
        **options,
    )
    api.exchange(FindCoordinatorRequest(key=GROUP, key_type=0), 0)
    api.reactor.run_for(ms=1_000)
    return api


def commit_request(
    offsets: Mapping[tuple[str, int], int], *, metadata: str | None = None, leader_epoch: int = -1, **fields: Any
) -> OffsetCommitRequest:
    """Return a request for the offsets of (topic, partition)."""
    topics: dict[str, OffsetCommitRequestTopic] = {}
    for (topic, partition), offset in offsets.items():
        topics.setdefault(topic, OffsetCommitRequestTopic(name=topic, partitions=[])).partitions.append(
            OffsetCommitRequestPartition(
                partition_index=partition,
                committed_offset=offset,
                committed_metadata=metadata,
                committed_leader_epoch=leader_epoch,
            )
        )
    return OffsetCommitRequest(**({"group_id": GROUP} | fields), topics=list(topics.values()))


def commit(api: Any, offsets: Mapping[tuple[str, int], int], version: int = 8, **fields: Any) -> list[Any]:
    """Commit; return (topic, partition, error code) in the order of the response."""
    response = api.exchange(commit_request(offsets, **fields), version)
    return [
        (topic.name, each.partition_index, each.error_code) for topic in response.topics for each in topic.partitions
    ]


def fetch(api: Any, topics: Mapping[str, list[int]] | None, version: int = 7, **fields: Any) -> list[Any]:
    """Fetch; return (topic, partition, offset, leader epoch, metadata, error code) in the order of the response."""
    group_id = fields.pop("group_id", GROUP)
    if version < 8:
        wanted = (
            None
            if topics is None
            else [OffsetFetchRequestTopic(name=n, partition_indexes=p) for n, p in topics.items()]
        )
        response = api.exchange(OffsetFetchRequest(group_id=group_id, topics=wanted, **fields), version)
        assert response.error_code == 0
        return _rows(response.topics)
    wanted = (
        None if topics is None else [OffsetFetchRequestTopics(name=n, partition_indexes=p) for n, p in topics.items()]
    )
    group = OffsetFetchRequestGroup(group_id=group_id, topics=wanted)
    response = api.exchange(OffsetFetchRequest(groups=[group], **fields), version)
    [group_response] = response.groups
    assert group_response.error_code == 0
    return _rows(group_response.topics)


def _rows(topics: Any) -> list[Any]:
    return [
        (
            topic.name,
            each.partition_index,
            each.committed_offset,
            each.committed_leader_epoch,
            each.metadata,
            each.error_code,
        )
        for topic in topics
        for each in topic.partitions
    ]


def delete(api: Any, topics: Mapping[str, list[int]], **fields: Any) -> Any:
    """Delete offsets; return the response."""
    wanted = [
        OffsetDeleteRequestTopic(name=n, partitions=[OffsetDeleteRequestPartition(partition_index=p) for p in indexes])
        for n, indexes in topics.items()
    ]
    return api.exchange(OffsetDeleteRequest(**({"group_id": GROUP} | fields), topics=wanted), 0)
