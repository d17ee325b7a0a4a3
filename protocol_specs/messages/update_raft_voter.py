"""UpdateRaftVoter (api key 82): a voter of the metadata quorum changes its endpoints.

Mirrors UpdateRaftVoterRequest and UpdateRaftVoterResponse; KIP-853.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String, Uint16, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class Listener(Struct):
    """One endpoint of the voter."""

    name: str = field(String, map_key=True)
    host: str = field(String)
    port: int = field(Uint16)


@struct
class KRaftVersionFeature(Struct):
    """The range of kraft.version that the voter supports."""

    min_supported_version: int = field(Int16)
    max_supported_version: int = field(Int16)


@message(api_key=ApiKey.UPDATE_RAFT_VOTER, versions="0", flexible="0+")
class UpdateRaftVoterRequest(Message):
    """The request: a voter of the metadata quorum changes its endpoints."""

    cluster_id: str | None = field(String, nullable="0+")
    current_leader_epoch: int = field(Int32)
    voter_id: int = field(Int32)
    voter_directory_id: bytes = field(Uuid)
    listeners: list[Listener] = field(Array(Listener))
    k_raft_version_feature: KRaftVersionFeature = field(KRaftVersionFeature)


@struct
class CurrentLeader(Struct):
    """The current leader of the quorum with its address."""

    leader_id: int = field(Int32, default=-1, entity="brokerId")
    leader_epoch: int = field(Int32, default=-1)
    host: str = field(String)
    port: int = field(Int32)


@message(api_key=ApiKey.UPDATE_RAFT_VOTER, versions="0", flexible="0+")
class UpdateRaftVoterResponse(Message):
    """The response: one error code, and the current leader."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    current_leader: CurrentLeader = field(CurrentLeader, tag=0, tagged="0+")
