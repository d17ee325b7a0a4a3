"""VotersRecord: control record: the voters of a quorum.

Mirrors VotersRecord; KIP-853.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int16, Int32, String, Uint16, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class Endpoint(Struct):
    """One endpoint of the voter."""

    name: str = field(String, map_key=True)
    host: str = field(String)
    port: int = field(Uint16)


@struct
class KRaftVersionFeature(Struct):
    """The range of kraft.version that the voter supports."""

    min_supported_version: int = field(Int16)
    max_supported_version: int = field(Int16)


@struct
class Voter(Struct):
    """One voter with its directory id, endpoints and kraft.version range (KIP-853)."""

    voter_id: int = field(Int32, entity="brokerId")
    voter_directory_id: bytes = field(Uuid)
    endpoints: list[Endpoint] = field(Array(Endpoint))
    k_raft_version_feature: KRaftVersionFeature = field(KRaftVersionFeature)


@message(versions="0", flexible="0+")
class VotersRecord(Message):
    """Control record: the voters of a quorum."""

    version: int = field(Int16)
    voters: list[Voter] = field(Array(Voter))
