"""The interface of a membership to the heartbeats of its kind of group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from broker_client.core.groups.consumer_heartbeats import LocalAssignment
    from protocol_specs.message import Message

__all__ = ["GroupHeartbeats"]


class GroupHeartbeats(Protocol):
    """Implemented by ConsumerHeartbeats (KIP-848) and by ShareHeartbeats (KIP-932)."""

    @property
    def request_type(self) -> type[Message]:
        """The class of the requests."""
        ...

    @property
    def unsupported_text(self) -> str:
        """The advice for users of brokers that do not serve the request."""
        ...

    def forget_sent(self) -> None:
        """Send every field again: it is unknown what the coordinator has."""
        ...

    def request(self, member_id: str, member_epoch: int, assignment: LocalAssignment, *, is_joining: bool) -> Message:
        """Return the next request; a member that joins sends every field."""
        ...
