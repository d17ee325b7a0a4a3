"""BrokerRegistrationChangeRecord: a registered broker is fenced, stops, or changes its log directories.

Record type 17 of the metadata log.

Mirrors BrokerRegistrationChangeRecord; KIP-746, KIP-841, KIP-858.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int8, Int32, Int64, Uuid
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=17, versions="0-3", flexible="0+")
class BrokerRegistrationChangeRecord(Message):
    """The record: a registered broker is fenced, stops, or changes its log directories."""

    broker_id: int = field(Int32, entity="brokerId")
    broker_epoch: int = field(Int64)
    fenced: int = field(Int8, tag=0, tagged="0+")
    in_controlled_shutdown: int = field(Int8, versions="1+", tag=1, tagged="1+")
    log_dirs: list[bytes] = field(Array(Uuid), versions="2+", tag=2, tagged="2+")
    cordoned_log_dirs: list[bytes] | None = field(
        Array(Uuid), versions="3+", nullable="3+", tag=3, tagged="3+", default=None
    )
