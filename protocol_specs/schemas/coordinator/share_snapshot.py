"""ShareSnapshot: the whole state of a share partition.

Record type 0 of __share_group_state.

Mirrors ShareSnapshotKey and ShareSnapshotValue; KIP-932.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int8, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=0, versions="0")
class ShareSnapshotKey(Message):
    """The key: the whole state of a share partition."""

    group_id: str = field(String)
    topic_id: bytes = field(Uuid)
    partition: int = field(Int32)


@struct
class StateBatch(Struct):
    """The delivery state and count of a range of offsets."""

    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    delivery_state: int = field(Int8)
    delivery_count: int = field(Int16)


@message(kind=Kind.COORDINATOR_VALUE, record_type=0, versions="0", flexible="0+")
class ShareSnapshotValue(Message):
    """The value: the whole state of a share partition."""

    snapshot_epoch: int = field(Int32)
    state_epoch: int = field(Int32)
    leader_epoch: int = field(Int32)
    start_offset: int = field(Int64)
    delivery_complete_count: int = field(Int32, tag=0, tagged="0+", default=-1)
    create_timestamp: int = field(Int64)
    write_timestamp: int = field(Int64)
    state_batches: list[StateBatch] = field(Array(StateBatch))
