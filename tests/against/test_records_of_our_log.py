"""Two readings of Kafka's LogValidator: the log's, made for speed, and the one that knows every format."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log import received_batch
from broker_sim.log.append_results import AppendOrigin, RecordsRefused
from broker_sim.log.batch_validation import stored_as_it_is
from broker_sim.log.lone_record import lone_record_as_it_is
from broker_sim.log.record_assignment import assign_offset
from broker_sim.topic_partition import TopicPartition
from protocol_specs.errors import RecordBatchError
from protocol_specs.fuzzing.strategies import BASE_TIMESTAMP, record_batches
from protocol_specs.records.batch_peek import BatchHeader
from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.records.offset_assignment import AssignmentRules, validate_and_assign_offsets
from protocol_specs.records.record_batch import check_batch, records_section, seal_batch
from protocol_specs.records.record_validation import analyze_record_set

NOW_MS = BASE_TIMESTAMP
BROKER_CONFIG = BrokerConfig.parse({}, release="4.3.1")
CHANGES = {
    "attributes": [0x08, 0x10, 0x20, 0x40, 0x80, 0x05],
    "last_offset_delta": [-1, 1, 9],
    "base_timestamp": [-9, 2**63 - 1, 0],
    "producer_id": [5],
    "base_sequence": [-1, 4],
    "records_count": [-1, 0, 1, 2],
    "base_offset": [1],
}


@st.composite
def produced_batches(draw: st.DrawFn) -> bytes:
    """A batch as a client may send it: sound, or with a field or a byte of its records changed and sealed again."""
    data = draw(record_batches(max_size=5))[0]
    header = check_batch(data)
    section = bytearray(records_section(data, header))
    fields = {
        name: getattr(header, name) for name in BatchHeader.__slots__ if name not in ("batch_length", "magic", "crc")
    }
    fields["base_offset"] = 0
    codec = header.codec
    match draw(st.sampled_from(("sound", "sound", "header", "records"))):
        case "header":
            name = draw(st.sampled_from(sorted(CHANGES)))
            fields[name] = draw(st.sampled_from(CHANGES[name]))
        case "records":
            at = draw(st.integers(0, len(section) - 1))
            section[at : at + draw(st.integers(0, 1))] = draw(
                st.sampled_from((b"", b"\x00", b"\x01", b"\x80", b"\xff"))
            )
    return seal_batch(compress(codec, bytes(section)), **fields)


@given(
    produced_batches(),
    st.sampled_from(["producer", "uncompressed", "gzip", "lz4"]),
    st.sampled_from(["CreateTime", "LogAppendTime"]),
    st.booleans(),
    st.sampled_from(["100", "5000000000"]),
    st.booleans(),
)
@settings(max_examples=100)
def test_both_store_the_same_bytes_or_refuse_with_the_same_code(
    data: bytes, compression_type: str, timestamp_type: str, compact: bool, difference: str, large: bool
) -> None:
    overrides = {
        "compression.type": compression_type,
        "message.timestamp.type": timestamp_type,
        "message.timestamp.after.max.ms": difference,
        "cleanup.policy": "compact" if compact else "delete",
    }
    config = TopicConfig.resolve(overrides, BROKER_CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(received_batch, "LARGE_BATCH_BYTES", 0 if large else 1 << 20)
        assert in_the_log(data, config) == in_every_format(data, config)


def in_the_log(data: bytes, config: TopicConfig) -> object:
    records = memoryview(b"before" + data + b"\0\0\0")[6:-3]
    try:
        lone = lone_record_as_it_is(records, config, 100, 7, NOW_MS)
        stored = (
            lone
            or stored_as_it_is(records, config, 100, 7, NOW_MS, AppendOrigin.CLIENT)
            or assign_offset(
                records,
                topic_partition=TopicPartition("t", 0),
                config=config,
                offset=100,
                leader_epoch=7,
                now_ms=NOW_MS,
                origin=AppendOrigin.CLIENT,
            )
        )
    except RecordsRefused as refused:
        return refused.error_code
    return bytes(stored.data), stored.last_offset + 1, stored.max_timestamp


def in_every_format(data: bytes, config: TopicConfig) -> object:
    names = {"producer": None, "uncompressed": CompressionCodec.NONE}
    name = config.compression_type
    rules = AssignmentRules(
        now_ms=NOW_MS,
        partition_leader_epoch=7,
        target_codec=names[name] if name in names else CompressionCodec.for_name(name),
        level={"gzip": config.compression_gzip_level, "lz4": config.compression_lz4_level}.get(name),
        timestamp_type=config.timestamp_type,
        compacted=config.compact,
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
    )
    try:
        analyze_record_set(data, from_client=True, max_batch_bytes=config.max_message_bytes)
        assigned = validate_and_assign_offsets(data, offset=100, rules=rules)
    except RecordBatchError as error:
        return error.error_code
    return assigned.records, assigned.next_offset, assigned.max_timestamp
