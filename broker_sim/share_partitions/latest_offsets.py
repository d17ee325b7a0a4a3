"""The end offsets of partitions, from their leaders. Mirrors NetworkPartitionMetadataClient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from twisted.internet.defer import gatherResults

from broker_sim.links.node_links import LinkFailure
from broker_sim.replication.requests import LATEST_TIMESTAMP
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from broker_sim.links.node_links import NodeLinks
    from broker_sim.metadata.metadata_cache import MetadataCache
    from protocol_specs.messages.list_offsets import ListOffsetsResponse

__all__ = ["LatestOffsets", "Offsets"]

CONSUMER_REPLICA_ID: Final = -1
VERSION: Final = 8

Offsets = dict[TopicPartition, tuple[int, ErrorCode]]
"""The end offset of each partition, or its error."""


class OffsetsHost(Protocol):
    """The parts of its broker that look up offsets."""

    id: int
    links: NodeLinks
    metadata_cache: MetadataCache


class LatestOffsets:
    """Sends one ListOffsets per leader."""

    def __init__(self, host: OffsetsHost) -> None:
        self._host = host

    def read(self, partitions: Iterable[TopicPartition]) -> Deferred[Offsets]:
        """Return the high watermarks of partitions."""
        image = self._host.metadata_cache.image
        by_leader: dict[int, list[TopicPartition]] = {}
        found: Offsets = {}
        for each in partitions:
            registration = image.partition(*each)
            if registration is None or not image.is_active(registration.leader):
                found[each] = (-1, ErrorCode.LEADER_NOT_AVAILABLE)
            else:
                by_leader.setdefault(registration.leader, []).append(each)
        requests = [self._request(leader, wanted, found) for leader, wanted in by_leader.items()]
        return gatherResults(requests).addCallback(lambda _: found)

    def _request(self, leader: int, partitions: list[TopicPartition], found: Offsets) -> Deferred[None]:
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for topic, partition in partitions:
            wanted = ListOffsetsPartition(partition_index=partition, timestamp=LATEST_TIMESTAMP)
            topics.setdefault(topic, []).append(wanted)
        request = ListOffsetsRequest(
            replica_id=CONSUMER_REPLICA_ID,
            isolation_level=0,
            topics=[ListOffsetsTopic(name=name, partitions=wanted) for name, wanted in topics.items()],
        )

        def responded(response: ListOffsetsResponse) -> None:
            for topic in response.topics:
                for each in topic.partitions:
                    found[TopicPartition(topic.name, each.partition_index)] = each.offset, ErrorCode(each.error_code)

        def failed(failure: Failure) -> None:
            failure.trap(LinkFailure)
            found.update(dict.fromkeys(partitions, (-1, ErrorCode.NETWORK_EXCEPTION)))

        sent = self._host.links.send(self._host.id, leader, request, version=VERSION)
        return sent.addCallbacks(responded, failed)
