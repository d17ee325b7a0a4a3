"""ListGroups (api key 16): the groups that a broker coordinates.

Mirrors ListGroupsRequest and ListGroupsResponse; KIP-518, KIP-848.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.LIST_GROUPS, versions="0-5", flexible="3+")
class ListGroupsRequest(Message):
    """What a client asks: the groups that a broker coordinates."""

    states_filter: list[str] = field(Array(String), versions="4+")
    types_filter: list[str] = field(Array(String), versions="5+")


@struct
class ListedGroup(Struct):
    """One element of groups."""

    group_id: str = field(String, entity="groupId")
    protocol_type: str = field(String)
    group_state: str = field(String, versions="4+", ignorable=True)
    group_type: str = field(String, versions="5+", ignorable=True)


@message(api_key=ApiKey.LIST_GROUPS, versions="0-5", flexible="3+")
class ListGroupsResponse(Message):
    """What the broker answers to ListGroupsRequest."""

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16)
    groups: list[ListedGroup] = field(Array(ListedGroup))
