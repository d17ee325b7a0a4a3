"""The share sessions of a member, and the results of its acknowledgements: the common state of both requests.

Mirrors the fields of ShareConsumeRequestManager.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_client.core.network.cluster import Node
from broker_client.core.network.metadata import LeaderIdAndEpoch
from broker_client.core.share.share_sessions import ShareSession
from broker_client.errors import BrokerError
from broker_client.records import TopicPartition
from broker_client.share_groups import TopicIdPartition
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_client.core.metrics.consumer_metrics import ShareConsumerMetrics
    from broker_client.core.network.client_core import ClientCore
    from broker_client.core.share.acknowledgements import Acknowledgements, ByPartition, NodeAcknowledgements

__all__ = ["CompletedAcknowledgements", "ShareNodes", "lost_leader"]

_LEADER_ERRORS = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
)


@dataclass(slots=True, frozen=True)
class CompletedAcknowledgements:
    """Results for the next call of the application. Mirrors ShareAcknowledgementEvent."""

    acknowledgements: ByPartition
    has_renewals: bool
    lock_timeout_ms: int | None


class ShareNodes:
    """`busy` has the nodes with a request in flight; `completed` is for the application's calls."""

    def __init__(self, core: ClientCore, group_id: str, metrics: ShareConsumerMetrics) -> None:
        self.core = core
        self.metrics = metrics
        self.group_id = group_id
        self.member_id: str | None = None
        self.sessions: dict[int, ShareSession] = {}
        self.busy: dict[int, None] = {}
        self.has_callback = False
        self.completed: list[CompletedAcknowledgements] = []
        self._names: dict[tuple[bytes, int], str] = {}

    def session(self, node_id: int) -> ShareSession:
        """Return the session with a node; the first call makes it."""
        assert self.member_id is not None, "the member has joined"
        known = self.sessions.get(node_id)
        if known is None:
            known = self.sessions[node_id] = ShareSession(self.group_id, self.member_id)
        return known

    def remember(self, partition: TopicIdPartition) -> None:
        """Keep the name of a partition that a request has."""
        self._names.setdefault((partition.topic_id, partition.partition), partition.topic)

    def results_of(self, response: Any) -> tuple[list[tuple[TopicIdPartition, Any]], int | None]:
        """Return the partitions of a response whose names are known, and the acquisition lock time-out if it has one.

        Leaders that errors name are used from now on (KIP-951).
        """
        names = {topic.topic_id: name for name, topic in self.core.metadata.cluster.topics.items()}
        found = []
        for topic in response.responses:
            for data in topic.partitions:
                place = topic.topic_id, data.partition_index
                name = names.get(topic.topic_id) or self._names.get(place)
                if name is not None:
                    found.append((TopicIdPartition(name, data.partition_index, topic.topic_id), data))
        self._update_leaders(found, response.node_endpoints)
        lock_timeout_ms = response.acquisition_lock_timeout_ms
        return found, lock_timeout_ms if lock_timeout_ms > 0 else None

    def report(self, acknowledgements: ByPartition, has_renewals: bool, lock_timeout_ms: int | None) -> None:  # noqa: FBT001
        """Keep results that the application awaits: by its callback, or because records were renewed."""
        if self.has_callback or has_renewals:
            self.completed.append(CompletedAcknowledgements(dict(acknowledgements), has_renewals, lock_timeout_ms))

    def fail(self, partition: TopicIdPartition, acknowledgements: Acknowledgements) -> None:
        """Complete acknowledgements that cannot be sent: the session that delivered the records is gone."""
        acknowledgements.complete(lost_leader())
        self.report({partition: acknowledgements}, has_renewals=True, lock_timeout_ms=None)

    def has_moved(self, partition: TopicIdPartition, node_id: int) -> bool:
        """True if another node is known to lead the partition; requests metadata if none is."""
        leader = self.core.metadata.cluster.leader_for(TopicPartition(partition.topic, partition.partition))
        if leader is None:
            self.core.metadata.request_update()
            return False
        return leader.id != node_id

    def by_node(
        self, acknowledgements: Mapping[TopicIdPartition, NodeAcknowledgements]
    ) -> tuple[dict[int, ByPartition], ByPartition]:
        """Return what can be sent, by node, and what cannot."""
        sendable: dict[int, ByPartition] = {}
        lost: ByPartition = {}
        nodes = self.core.metadata.cluster.nodes
        for partition, (node_id, one) in acknowledgements.items():
            if node_id not in nodes or self.has_moved(partition, node_id):
                lost[partition] = one
            else:
                sendable.setdefault(node_id, {})[partition] = one
        return sendable, lost

    def _update_leaders(self, data: Iterable[tuple[TopicIdPartition, Any]], endpoints: Iterable[Any]) -> None:
        leaders = {
            TopicPartition(partition.topic, partition.partition): LeaderIdAndEpoch(
                leader_id=one.current_leader.leader_id, leader_epoch=one.current_leader.leader_epoch
            )
            for partition, one in data
            if one.error_code in _LEADER_ERRORS
            and one.current_leader.leader_id != -1
            and one.current_leader.leader_epoch != -1
        }
        if leaders:
            nodes = [Node(one.node_id, one.host, one.port, one.rack) for one in endpoints]
            self.core.metadata.update_leaders(leaders, nodes)


def lost_leader() -> BrokerError:
    """Return the error of acknowledgements whose share session is gone."""
    return BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the share session that delivered the records has ended")
