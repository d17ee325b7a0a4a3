"""PartitionChangeRecord: changed fields of a partition.

Record type 5 of the metadata log.

Mirrors PartitionChangeRecord; KIP-631, KIP-704, KIP-858, KIP-966.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int8, Int32, Uuid
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=5, versions="0-2", flexible="0+")
class PartitionChangeRecord(Message):
    """The record: changed fields of a partition."""

    partition_id: int = field(Int32, default=-1)
    topic_id: bytes = field(Uuid)
    isr: list[int] | None = field(Array(Int32), nullable="0+", tag=0, tagged="0+", default=None, entity="brokerId")
    leader: int = field(Int32, tag=1, tagged="0+", default=-2, entity="brokerId")
    replicas: list[int] | None = field(Array(Int32), nullable="0+", tag=2, tagged="0+", default=None, entity="brokerId")
    removing_replicas: list[int] | None = field(
        Array(Int32), nullable="0+", tag=3, tagged="0+", default=None, entity="brokerId"
    )
    adding_replicas: list[int] | None = field(
        Array(Int32), nullable="0+", tag=4, tagged="0+", default=None, entity="brokerId"
    )
    leader_recovery_state: int = field(Int8, tag=5, tagged="0+", default=-1)
    directories: list[bytes] | None = field(Array(Uuid), versions="1+", nullable="1+", tag=8, tagged="1+", default=None)
    eligible_leader_replicas: list[int] | None = field(
        Array(Int32), versions="2+", nullable="2+", tag=6, tagged="2+", default=None, entity="brokerId"
    )
    last_known_elr: list[int] | None = field(
        Array(Int32), versions="2+", nullable="2+", tag=7, tagged="2+", default=None, entity="brokerId"
    )
