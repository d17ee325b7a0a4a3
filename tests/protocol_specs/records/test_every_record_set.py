"""The 56 record sets that Kafka's own classes wrote: magic 0, 1 and 2, every codec, control batches."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from protocol_specs.records.batch_peek import BatchHeader, TimestampType
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set import MessageSetBuilder, first_offset, messages_section, peek_message
from protocol_specs.records.record_batch import Record, RecordBatchBuilder, records_section
from protocol_specs.records.record_set import check_any, iterate_any, read_any, read_any_record_set
from protocol_specs.records.record_validation import analyze_record_set, read_validated

DATA = Path(__file__).parents[2] / "data"
VECTORS: list[dict[str, Any]] = [
    json.loads(line)
    for name in ("message_sets.jsonl.gz", "record_batches.jsonl.gz")
    for line in gzip.decompress((DATA / name).read_bytes()).splitlines()
]
TIMESTAMP_TYPES = {
    "NoTimestampType": None,
    "CreateTime": TimestampType.CREATE_TIME,
    "LogAppendTime": TimestampType.LOG_APPEND_TIME,
}
every_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["case"])


def test_there_are_56() -> None:
    assert len(VECTORS) == len({vector["case"] for vector in VECTORS}) == 56


@every_vector
def test_every_field_of_every_batch_and_record_is_read(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    found = list(iterate_any(data))
    assert b"".join(batch for _, batch in found) == data
    assert [
        fields_of(batch) | {"records": [as_vector(record, batch[16], index, batch) for index, record in records]}
        for _, batch in found
        for records in [list(enumerate(read_any(batch)))]
    ] == vector["batches"]


@every_vector
def test_the_validating_reader_and_the_analysis_let_them_pass(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    validated = [record for _, records in read_validated(data) for record in records]
    assert validated == list(read_any_record_set(data))
    info = analyze_record_set(data, from_client=False, monotonic=True)
    batches = vector["batches"]
    assert info.valid_bytes == len(data)
    assert info.last_offset == batches[-1]["last_offset"]
    assert info.last_offset_of_first_batch == batches[0]["last_offset"]
    assert info.max_timestamp == max(batch["max_timestamp"] for batch in batches)
    assert info.source_codec.type_name == batches[0]["compression"]
    assert info.first_offset == (batches[0]["base_offset"] if batches[0]["magic"] == 2 else -1)


@every_vector
def test_written_anew_they_are_the_same_bytes_before_compression(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    if vector["batches"][0]["magic"] != 2:
        assert_same_message_set(data)
        return
    for header, batch in iterate_any(data):
        assert isinstance(header, BatchHeader)
        if header.records_count:
            assert_same_batch(header, batch)


def assert_same_message_set(data: bytes) -> None:
    header = peek_message(data)
    builder = MessageSetBuilder(
        magic=header.magic,
        codec=header.codec,
        timestamp_type=header.timestamp_type or TimestampType.CREATE_TIME,
        log_append_time=header.timestamp,
        base_offset=first_offset(data),
    )
    for record in read_any_record_set(data):
        builder.append_with_offset(record.offset, record.timestamp, record.key, record.value)
    written = builder.build()
    if header.codec is CompressionCodec.NONE:
        assert written == data
        return
    again = peek_message(written)
    assert (again.offset, again.magic, again.attributes, again.timestamp) == (
        header.offset,
        header.magic,
        header.attributes,
        header.timestamp,
    )
    assert messages_section(written) == messages_section(data)


def assert_same_batch(header: BatchHeader, batch: memoryview) -> None:
    builder = RecordBatchBuilder(
        codec=header.codec,
        timestamp_type=header.timestamp_type,
        log_append_time=header.max_timestamp,
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
    )
    # In a LogAppendTime batch readers hide the records' own timestamps, which here lie a millisecond apart.
    hidden = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    for index, record in enumerate(read_any(batch)):
        timestamp = header.base_timestamp + index if hidden else record.timestamp
        builder.append_with_offset(record.offset, timestamp, record.key, record.value, record.headers)
    written = builder.build()
    if header.codec is CompressionCodec.NONE:
        assert written == batch
    else:
        again = check_any(written)
        assert isinstance(again, BatchHeader)
        assert records_section(written, again) == records_section(batch, header)
        again.crc, again.batch_length = header.crc, header.batch_length
        assert again == header


def fields_of(batch: memoryview) -> dict[str, Any]:
    header = check_any(batch)
    fields: dict[str, Any] = {
        "magic": header.magic,
        "compression": header.codec.type_name,
        "base_offset": header.base_offset if isinstance(header, BatchHeader) else first_offset(batch),
        "last_offset": header.last_offset,
        "size": header.size_in_bytes,
        "timestamp_type": next(
            name for name, timestamp_type in TIMESTAMP_TYPES.items() if timestamp_type is header.timestamp_type
        ),
        "max_timestamp": header.max_timestamp,
    }
    if header.magic < 2:
        return fields
    return fields | {
        "partition_leader_epoch": header.partition_leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "last_sequence": header.last_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "count": header.records_count,
        "crc": header.crc,
    }


def as_vector(record: Record, magic: int, index: int, batch: memoryview) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": None if record.key is None else record.key.hex(),
        "value": None if record.value is None else record.value.hex(),
    }
    if magic < 2:
        return fields
    header = check_any(batch)
    sequence = -1 if header.base_sequence < 0 else (header.base_sequence + index) % 2**31
    return fields | {
        "sequence": sequence,
        "headers": [[name, None if value is None else value.hex()] for name, value in record.headers],
    }
