"""One member of a classic group. Mirrors ClassicGroupMember."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from broker_sim.coordinators.groups.classic.parked_response import ParkedResponse
    from protocol_specs.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponse
    from protocol_specs.messages.sync_group import SyncGroupResponse

__all__ = ["EMPTY_ASSIGNMENT", "ClassicMember", "Protocols"]

EMPTY_ASSIGNMENT: Final = b""

Protocols = tuple[tuple[str, bytes], ...]
"""The name and the metadata of each protocol that a member supports, the preferred one first."""


class ClassicMember:
    """A member with its protocols, its assignment and its parked responses."""

    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_new",
        "member_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
    )

    def __init__(
        self,
        member_id: str,
        *,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: Protocols,
        assignment: bytes = EMPTY_ASSIGNMENT,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        """The client's address as Java prints it, with a leading slash."""
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.assignment = assignment
        self.awaiting_join: ParkedResponse[JoinGroupResponse] | None = None
        self.awaiting_sync: ParkedResponse[SyncGroupResponse] | None = None
        self.is_new = False
        """True until the member's first join phase ends: it expires although its JoinGroup is parked."""

    @property
    def is_static(self) -> bool:
        """True if the member has a group instance id (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """True if the member's session cannot expire now, because a request of it is parked."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return the metadata of a protocol that the member supports.

        Raises:
            LookupError: The member does not support the protocol.
        """
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        raise LookupError(f"member {self.member_id} does not support protocol {protocol_name}")

    def vote(self, candidates: Collection[str]) -> str | None:
        """Return the first of the member's protocols that is a candidate, None if none is."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        return None


def protocols_of(requested: Sequence[JoinGroupRequestProtocol]) -> Protocols:
    """Return the protocols of a request, as a member keeps them."""
    return tuple((each.name, bytes(each.metadata)) for each in requested)
