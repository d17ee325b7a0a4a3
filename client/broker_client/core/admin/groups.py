"""Groups of every type: list and delete them. Mirrors KafkaAdminClient; KIP-222, KIP-229, KIP-1043.

ListGroups goes to every broker, DeleteGroups to the coordinators of the groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.admin.all_brokers import all_broker_ids
from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.group_coordinators import by_group, take_code
from broker_client.core.admin.routes import BROKER
from broker_client.errors import UnsupportedVersion
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.list_groups import ListGroupsRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.messages.list_groups import ListedGroup, ListGroupsResponse

__all__ = ["GroupCalls", "GroupListing", "GroupState", "GroupType"]

SIMPLE_PROTOCOL: Final = ""
_STATES_FROM: Final = 4
_TYPES_FROM: Final = 5
_LISTING_RETRIED: Final = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE)


class GroupState(StrEnum):
    """The state of a group. Mirrors GroupState."""

    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"

    @classmethod
    def parse(cls, text: str) -> GroupState:
        """Return the state of this name in any case; UNKNOWN for other names."""
        return next((state for state in cls if state.value.lower() == text.lower()), cls.UNKNOWN)


class GroupType(StrEnum):
    """The type of a group, which is the protocol that its members use. Mirrors GroupType."""

    UNKNOWN = "Unknown"
    CONSUMER = "Consumer"
    CLASSIC = "Classic"
    SHARE = "Share"
    STREAMS = "Streams"

    @classmethod
    def parse(cls, text: str) -> GroupType:
        """Return the type of this name in any case; UNKNOWN for other names."""
        return next((kind for kind in cls if kind.value.lower() == text.lower()), cls.UNKNOWN)


@dataclass(slots=True, kw_only=True, frozen=True)
class GroupListing:
    """One group in a list. Mirrors GroupListing.

    `type` is None before 3.8, `state` is None before 2.6. `protocol` is the protocol type: "consumer", "share",
    "streams", "connect" ..., and "" for a group that only commits offsets.
    """

    group_id: str
    protocol: str
    type: GroupType | None
    state: GroupState | None

    @property
    def is_simple_consumer_group(self) -> bool:
        """True for a classic group without members, whose consumers only commit offsets."""
        return self.type is GroupType.CLASSIC and self.protocol == SIMPLE_PROTOCOL


class GroupCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def list_groups(
        self,
        *,
        states: Sequence[GroupState] = (),
        types: Sequence[GroupType] = (),
        protocol_types: Sequence[str] = (),
    ) -> dict[str, GroupListing]:
        """Groups by id; raises ItemsFailed by broker id."""

        def build(version: int, broker_ids: list[int], timeout_ms: int) -> ListGroupsRequest:
            del broker_ids, timeout_ms
            if states and version < _STATES_FROM:
                raise UnsupportedVersion(
                    f"groups are selected by state from ListGroups v{_STATES_FROM} (Kafka 2.6) on, "
                    f"the node speaks v{version}"
                )
            if version >= _TYPES_FROM:
                return ListGroupsRequest(states_filter=list(states), types_filter=list(types))
            # As in Java: older brokers list groups without types, which are classic groups.
            if types and (GroupType.CLASSIC not in types or not {*types} <= {GroupType.CLASSIC, GroupType.CONSUMER}):
                raise UnsupportedVersion(
                    f"groups are selected by type from ListGroups v{_TYPES_FROM} (Kafka 3.8) on, "
                    f"the node speaks v{version}"
                )
            return ListGroupsRequest(states_filter=list(states))

        def take(
            response: ListGroupsResponse, broker_ids: list[int], outcomes: Outcomes[int, list[GroupListing]]
        ) -> None:
            (broker_id,) = broker_ids
            groups = [_listing(one) for one in response.groups]
            outcomes.take(broker_id, response.error_code, None, groups, retried=_LISTING_RETRIED)

        call = ItemCall(kind=ListGroupsRequest, route=BROKER, build=build, take=take)
        by_broker = await self._calls.settle(await all_broker_ids(self._calls), call)
        found = {one.group_id: one for groups in by_broker.values() for one in groups}
        return {
            group_id: found[group_id]
            for group_id in sorted(found)
            if not protocol_types or found[group_id].protocol in protocol_types
        }

    async def delete_groups(self, group_ids: Sequence[str]) -> None:
        """Delete groups that have no members; raises ItemsFailed by group id."""

        def take(response: Any, _: list[str], outcomes: Outcomes[str, None]) -> None:
            for one in response.results:
                take_code(outcomes, one.group_id, one.group_id, one.error_code, None, None)

        call = ItemCall(
            kind=DeleteGroupsRequest,
            route=by_group(),
            build=lambda _version, groups, _timeout_ms: DeleteGroupsRequest(groups_names=groups),
            take=take,
        )
        await self._calls.settle(group_ids, call)


def _listing(one: ListedGroup) -> GroupListing:
    return GroupListing(
        group_id=one.group_id,
        protocol=one.protocol_type,
        type=GroupType.parse(one.group_type) if one.group_type else None,
        state=GroupState.parse(one.group_state) if one.group_state else None,
    )
