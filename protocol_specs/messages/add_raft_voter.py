"""AddRaftVoter (api key 80): add a voter to the metadata quorum.

Mirrors AddRaftVoterRequest and AddRaftVoterResponse; KIP-853.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, String, Uint16, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class Listener(Struct):
    """One endpoint of the new voter."""

    name: str = field(String, map_key=True)
    host: str = field(String)
    port: int = field(Uint16)


@message(api_key=ApiKey.ADD_RAFT_VOTER, versions="0-1", flexible="0+")
class AddRaftVoterRequest(Message):
    """The request: add a voter to the metadata quorum."""

    cluster_id: str | None = field(String, nullable="0+")
    timeout_ms: int = field(Int32)
    voter_id: int = field(Int32)
    voter_directory_id: bytes = field(Uuid)
    listeners: list[Listener] = field(Array(Listener))
    ack_when_committed: bool = field(Bool, versions="1+", default=True)


@message(api_key=ApiKey.ADD_RAFT_VOTER, versions="0-1", flexible="0+")
class AddRaftVoterResponse(Message):
    """The response: one error code for the change of the voter set."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", ignorable=True)
