"""The partitions of the subscribed topics as the member and, at its assignment, the leader knew them.

Mirrors ConsumerCoordinator.MetadataSnapshot and updatePatternSubscription. A leader whose snapshot changes rebalances
the group; with a rack, changed racks of replicas are a change too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.consumer.subscription_state import SubscriptionType

if TYPE_CHECKING:
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.network.cluster import Cluster
    from broker_client.core.network.metadata import Metadata

__all__ = ["TopicSnapshots"]

INTERNAL_TOPICS: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")

_Snapshot = dict[str, tuple[frozenset[str], ...]]


class TopicSnapshots:
    """`has_changed` compares the newest snapshot with the one of the last assignment."""

    def __init__(
        self, metadata: Metadata, subscriptions: SubscriptionState, rack: str, *, exclude_internal: bool = True
    ) -> None:
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._rack = rack
        self._exclude_internal = exclude_internal
        self._version = metadata.update_version
        self._current: _Snapshot = {}
        self._of_assignment: _Snapshot | None = None

    @property
    def has_changed(self) -> bool:
        """True if this member led the last assignment and the partitions differ by now."""
        return self._of_assignment is not None and self._of_assignment != self._current

    def update(self) -> None:
        """Read newer metadata, if there is any."""
        if self._metadata.update_version == self._version:
            return
        self._version = self._metadata.update_version
        cluster = self._metadata.cluster
        if self._subscriptions.type is SubscriptionType.PATTERN:
            self._match(cluster)
        self._current = {
            topic: tuple(self._racks(cluster, one.replicas) for one in cluster.topics[topic].partitions)
            for topic in sorted(self._subscriptions.topics)
            if topic in cluster.topics
        }

    def remember(self) -> None:
        """The newest snapshot is that of an assignment."""
        self._of_assignment = self._current

    def forget(self) -> None:
        """The member leads no assignment."""
        self._of_assignment = None

    def publish_topics(self) -> None:
        """Request the metadata of the subscribed topics."""
        by_pattern = self._subscriptions.type in (SubscriptionType.PATTERN, SubscriptionType.BROKER_PATTERN)
        self._metadata.keep_only(self._subscriptions.topics, all_topics=by_pattern)

    def _match(self, cluster: Cluster) -> None:
        matching = [
            topic
            for topic in cluster.topics
            if self._subscriptions.matches(topic) and not (self._exclude_internal and topic in INTERNAL_TOPICS)
        ]
        if self._subscriptions.subscribe_matching(matching):
            self.publish_topics()
            self._metadata.request_update_for_new_topics()

    def _racks(self, cluster: Cluster, replicas: tuple[int, ...]) -> frozenset[str]:
        if not self._rack:
            return frozenset()
        nodes = [cluster.nodes[replica] for replica in replicas if replica in cluster.nodes]
        return frozenset(node.rack for node in nodes if node.rack is not None)
