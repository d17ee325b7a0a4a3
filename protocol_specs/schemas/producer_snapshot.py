"""ProducerSnapshot: a file with the producer state of a partition.

Mirrors ProducerStateManager; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int16, Int32, Int64, Uint32
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class ProducerEntry(Struct):
    """The state of one producer: its epoch, last batch and open transaction."""

    producer_id: int = field(Int64, versions="1+")
    epoch: int = field(Int16, versions="1+")
    last_sequence: int = field(Int32, versions="1+")
    last_offset: int = field(Int64, versions="1+")
    offset_delta: int = field(Int32, versions="1+")
    timestamp: int = field(Int64, versions="1+")
    coordinator_epoch: int = field(Int32, versions="1+")
    current_txn_first_offset: int = field(Int64, versions="1+")


@message(versions="1")
class ProducerSnapshot(Message):
    """A file with the producer state of a partition."""

    crc: int = field(Uint32, versions="1+")
    producer_entries: list[ProducerEntry] = field(Array(ProducerEntry), versions="1+")
