"""PartitionRecord: a partition.

Record type 3 of the metadata log.

Mirrors PartitionRecord; KIP-631, KIP-704, KIP-858, KIP-966.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int8, Int32, Uuid
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=3, versions="0-2", flexible="0+")
class PartitionRecord(Message):
    """The record: a partition."""

    partition_id: int = field(Int32, default=-1)
    topic_id: bytes = field(Uuid)
    replicas: list[int] = field(Array(Int32), entity="brokerId")
    isr: list[int] = field(Array(Int32))
    removing_replicas: list[int] = field(Array(Int32), entity="brokerId")
    adding_replicas: list[int] = field(Array(Int32), entity="brokerId")
    leader: int = field(Int32, default=-1, entity="brokerId")
    leader_recovery_state: int = field(Int8, tag=0, tagged="0+")
    leader_epoch: int = field(Int32, default=-1)
    partition_epoch: int = field(Int32, default=-1)
    directories: list[bytes] = field(Array(Uuid), versions="1+")
    eligible_leader_replicas: list[int] | None = field(
        Array(Int32), versions="2+", nullable="2+", tag=1, tagged="2+", default=None, entity="brokerId"
    )
    last_known_elr: list[int] | None = field(
        Array(Int32), versions="2+", nullable="2+", tag=2, tagged="2+", default=None, entity="brokerId"
    )
