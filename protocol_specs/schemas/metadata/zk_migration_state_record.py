"""ZkMigrationStateRecord: how far the migration from ZooKeeper has come.

Record type 21 of the metadata log.

Mirrors ZkMigrationStateRecord; KIP-866.
"""

from __future__ import annotations

from protocol_specs.fields import Int8
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=21, versions="0", flexible="0+")
class ZkMigrationStateRecord(Message):
    """The record: how far the migration from ZooKeeper has come."""

    zk_migration_state: int = field(Int8)
