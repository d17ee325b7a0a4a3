"""ListGroups (api key 16): list the groups that a broker coordinates.

Mirrors ListGroupsRequest and ListGroupsResponse; KIP-518, KIP-848.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.LIST_GROUPS, versions="0-5", flexible="3+")
class ListGroupsRequest(Message):
    """The request: list the groups that a broker coordinates."""

    states_filter: list[str] = field(Array(String), versions="4+")
    types_filter: list[str] = field(Array(String), versions="5+")


@struct
class ListedGroup(Struct):
    """One group with its type, protocol and state."""

    group_id: str = field(String, entity="groupId")
    protocol_type: str = field(String)
    group_state: str = field(String, versions="4+", ignorable=True)
    group_type: str = field(String, versions="5+", ignorable=True)


@message(api_key=ApiKey.LIST_GROUPS, versions="0-5", flexible="3+")
class ListGroupsResponse(Message):
    """The response: the groups with their state and type."""

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16)
    groups: list[ListedGroup] = field(Array(ListedGroup))
