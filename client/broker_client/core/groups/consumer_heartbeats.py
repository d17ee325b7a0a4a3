"""The heartbeats of the consumer protocol (KIP-848): fields that have not changed are null.

Mirrors ConsumerHeartbeatRequestManager.HeartbeatState.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

if TYPE_CHECKING:
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.groups.group_options import GroupOptions

__all__ = ["NO_ASSIGNMENT", "ConsumerHeartbeats", "LocalAssignment"]

REGEX_FROM: Final = 1


@dataclass(slots=True, frozen=True)
class LocalAssignment:
    """Partitions by topic id; `local_epoch` counts assignments, so that each is acknowledged, and is never sent."""

    local_epoch: int
    partitions: dict[bytes, tuple[int, ...]] = field(default_factory=dict)

    def updated(self, partitions: dict[bytes, tuple[int, ...]]) -> LocalAssignment:
        """Return this assignment if the partitions are equal, else the next one."""
        if self.local_epoch != NO_ASSIGNMENT.local_epoch and partitions == self.partitions:
            return self
        return LocalAssignment(self.local_epoch + 1, partitions)


NO_ASSIGNMENT: Final = LocalAssignment(-1)


@dataclass(slots=True)
class _Sent:
    """The values that the coordinator has; None before they are sent."""

    rebalance_timeout_ms: int | None = None
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    assignment: LocalAssignment | None = None


class ConsumerHeartbeats:
    """Builds the requests of one member."""

    request_type = ConsumerGroupHeartbeatRequest
    unsupported_text = "the cluster does not serve group.protocol=consumer, use classic with it"

    def __init__(self, options: GroupOptions, subscriptions: SubscriptionState) -> None:
        self._options = options
        self._subscriptions = subscriptions
        self._sent = _Sent()

    def forget_sent(self) -> None:
        """Send every field again: it is unknown what the coordinator has."""
        self._sent = _Sent()

    def request(
        self, member_id: str, member_epoch: int, assignment: LocalAssignment, *, is_joining: bool
    ) -> ConsumerGroupHeartbeatRequest:
        """Return the next request; a member that joins sends every field."""
        if is_joining:
            self.forget_sent()
        options, sent = self._options, self._sent
        request = ConsumerGroupHeartbeatRequest(
            group_id=options.group_id,
            member_id=member_id,
            member_epoch=member_epoch,
            instance_id=options.group_instance_id,
            rack_id=(options.client_rack or None) if is_joining else None,
        )
        if sent.rebalance_timeout_ms is None:
            request.rebalance_timeout_ms = sent.rebalance_timeout_ms = options.max_poll_interval_ms
        self._add_subscription(request)
        if options.group_remote_assignor is not None and sent.assignor is None:
            request.server_assignor = sent.assignor = options.group_remote_assignor
        if sent.assignment != assignment:
            sent.assignment = assignment
            request.topic_partitions = [
                TopicPartitions(topic_id=topic_id, partitions=list(numbers))
                for topic_id, numbers in assignment.partitions.items()
            ]
        return request

    def _add_subscription(self, request: ConsumerGroupHeartbeatRequest) -> None:
        sent = self._sent
        topics = tuple(sorted(self._subscriptions.subscription))
        if sent.topics != topics:
            sent.topics = topics
            request.subscribed_topic_names = list(topics)
        pattern = self._subscriptions.broker_pattern
        regex = "" if pattern is None else pattern.pattern
        if (sent.regex or "") != regex:
            sent.regex = regex
            request.subscribed_topic_regex = regex
