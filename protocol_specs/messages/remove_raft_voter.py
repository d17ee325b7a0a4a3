"""RemoveRaftVoter (api key 81): remove a voter from the metadata quorum.

Mirrors RemoveRaftVoterRequest and RemoveRaftVoterResponse; KIP-853.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Int16, Int32, String, Uuid
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.REMOVE_RAFT_VOTER, versions="0", flexible="0+")
class RemoveRaftVoterRequest(Message):
    """The request: remove a voter from the metadata quorum."""

    cluster_id: str | None = field(String, nullable="0+")
    voter_id: int = field(Int32)
    voter_directory_id: bytes = field(Uuid)


@message(api_key=ApiKey.REMOVE_RAFT_VOTER, versions="0", flexible="0+")
class RemoveRaftVoterResponse(Message):
    """The response: one error code for the change of the voter set."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", ignorable=True)
