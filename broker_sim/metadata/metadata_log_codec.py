"""The metadata log and its snapshots as bytes. Mirrors MetadataRecordSerde, RecordsSnapshotWriter and
RecordsSnapshotReader: kafka-dump-log --cluster-metadata-decoder reads what is written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.metadata.metadata_log import MetadataBatch
from broker_sim.metadata.metadata_records import MetadataRecord, image_records
from broker_sim.metadata.metadata_replay import replay
from protocol_specs.records.control_records import control_record_value, quorum_control_batch
from protocol_specs.records.record_batch import RecordBatchBuilder, iterate_batches, read_records
from protocol_specs.schemas.leader_change_message import LeaderChangeMessage
from protocol_specs.schemas.record_serde import Log, decode_metadata_record, encode_metadata_record
from protocol_specs.schemas.snapshot_footer_record import SnapshotFooterRecord
from protocol_specs.schemas.snapshot_header_record import SnapshotHeaderRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.metadata.metadata_log import MetadataSnapshot

__all__ = ["decode_batches", "encode_batch", "encode_snapshot", "image_of_snapshot"]

RECORDS_PER_SNAPSHOT_BATCH: Final = 1024
"""As in Kafka's RecordsSnapshotWriter."""


def encode_batch(batch: MetadataBatch) -> bytes:
    """One record batch; a control batch holds its LeaderChangeMessage."""
    if batch.control is not None:
        return quorum_control_batch(
            [batch.control],
            timestamp_ms=batch.append_time_ms,
            base_offset=batch.base_offset,
            partition_leader_epoch=batch.leader_epoch,
        )
    return _record_batch(batch.records, batch.base_offset, batch.leader_epoch, batch.append_time_ms)


def decode_batches(data: bytes | memoryview) -> list[MetadataBatch]:
    """Return the batches in bytes of the log.

    Raises:
        ProtocolError: The bytes are no record batches.
    """
    found = []
    for header, batch in iterate_batches(data):
        records = list(read_records(batch))
        read = MetadataBatch(
            base_offset=header.base_offset,
            leader_epoch=header.partition_leader_epoch,
            append_time_ms=header.base_timestamp,
        )
        if header.is_control:
            message = control_record_value(records[0])
            assert isinstance(message, LeaderChangeMessage), "snapshots alone have other control records"
            read.control = message
        else:
            read.records = [_decoded(record.value or b"") for record in records]
        found.append(read)
    return found


def encode_snapshot(snapshot: MetadataSnapshot) -> bytes:
    """The checkpoint; its offsets count from 0, as in Kafka's files."""
    epoch, now_ms = snapshot.id.epoch, snapshot.append_time_ms
    records = image_records(snapshot.image)
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=now_ms)
    parts = [quorum_control_batch([header], timestamp_ms=now_ms, base_offset=0, partition_leader_epoch=epoch)]
    offset = 1
    for start in range(0, len(records), RECORDS_PER_SNAPSHOT_BATCH):
        part = records[start : start + RECORDS_PER_SNAPSHOT_BATCH]
        parts.append(_record_batch(part, offset, epoch, now_ms))
        offset += len(part)
    footer = SnapshotFooterRecord(version=0)
    parts.append(quorum_control_batch([footer], timestamp_ms=now_ms, base_offset=offset, partition_leader_epoch=epoch))
    return b"".join(parts)


def image_of_snapshot(data: bytes | memoryview, empty: MetadataImage, *, end_offset: int) -> MetadataImage:
    """The image that a checkpoint holds, `empty` being that of the same cluster without anything."""
    messages = [
        _decoded(record.value or b"").message
        for header, batch in iterate_batches(data)
        if not header.is_control
        for record in read_records(batch)
    ]
    return replay(empty, messages, version=end_offset - 1)


def _record_batch(records: Sequence[MetadataRecord], base_offset: int, epoch: int, time_ms: int) -> bytes:
    builder = RecordBatchBuilder(base_offset=base_offset, partition_leader_epoch=epoch)
    for message, version in records:
        builder.append(time_ms, None, encode_metadata_record(message, version))
    return builder.build()


def _decoded(value: bytes | memoryview) -> MetadataRecord:
    message, version = decode_metadata_record(Log.CLUSTER_METADATA, value)
    return MetadataRecord(message, version)
