"""The heartbeats of a share group (KIP-932): fields that have not changed are null.

Mirrors ShareHeartbeatRequestManager.HeartbeatState.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

if TYPE_CHECKING:
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.groups.consumer_heartbeats import LocalAssignment
    from broker_client.core.groups.group_options import GroupOptions

__all__ = ["ShareHeartbeats"]


class ShareHeartbeats:
    """Builds the requests of one member."""

    request_type = ShareGroupHeartbeatRequest
    unsupported_text = (
        "The cluster does not support the share group protocol using ShareGroupHeartbeat API version 1 or later. "
        "This version of the API was introduced in Apache Kafka v4.1."
    )

    def __init__(self, options: GroupOptions, subscriptions: SubscriptionState) -> None:
        self._options = options
        self._subscriptions = subscriptions
        self._sent_rack: str | None = None
        self._sent_topics: frozenset[str] | None = None

    def forget_sent(self) -> None:
        """Send every field again: it is unknown what the coordinator has."""
        self._sent_rack = self._sent_topics = None

    def request(
        self, member_id: str, member_epoch: int, assignment: LocalAssignment, *, is_joining: bool
    ) -> ShareGroupHeartbeatRequest:
        """Return the next request; a member that joins sends its topics."""
        del assignment  # the coordinator does not wait for its members
        request = ShareGroupHeartbeatRequest(
            group_id=self._options.group_id, member_id=member_id, member_epoch=member_epoch
        )
        if self._sent_rack is None:
            request.rack_id = self._sent_rack = self._options.client_rack or None
        topics = frozenset(self._subscriptions.subscription)
        if is_joining or topics != self._sent_topics:
            request.subscribed_topic_names = list(self._subscriptions.subscription)
            self._sent_topics = topics
        return request
