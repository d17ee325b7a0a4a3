"""DeleteGroups (api key 42): delete groups that are empty.

Mirrors DeleteGroupsRequest and DeleteGroupsResponse; KIP-229.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.DELETE_GROUPS, versions="0-2", flexible="2+")
class DeleteGroupsRequest(Message):
    """The request: delete groups that are empty."""

    groups_names: list[str] = field(Array(String), entity="groupId")


@struct
class DeletableGroupResult(Struct):
    """The result of one group."""

    group_id: str = field(String, map_key=True, entity="groupId")
    error_code: int = field(Int16)


@message(api_key=ApiKey.DELETE_GROUPS, versions="0-2", flexible="2+")
class DeleteGroupsResponse(Message):
    """The response: one result per group."""

    throttle_time_ms: int = field(Int32)
    results: list[DeletableGroupResult] = field(Array(DeletableGroupResult))
