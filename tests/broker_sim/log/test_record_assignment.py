from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.append_results import AppendOrigin, RecordsRefused
from broker_sim.log.record_assignment import assign_offset
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set import MessageSetBuilder
from protocol_specs.records.record_batch import peek_header, read_records

if TYPE_CHECKING:
    from broker_sim.log.stored_batch import StoredBatch

NOW_MS = 1_767_225_600_000
GZIP = CompressionCodec.GZIP


def assign(records: bytes, **topic: str) -> StoredBatch | None:
    overrides = {name.replace("_", "."): value for name, value in topic.items()}
    return assign_offset(
        memoryview(records),
        topic_partition=TopicPartition("orders", 0),
        config=TopicConfig.resolve(overrides, BrokerConfig.parse({}, release="3.7.2")),
        offset=100,
        leader_epoch=7,
        now_ms=NOW_MS,
        origin=AppendOrigin.CLIENT,
    )


def messages(
    magic: int, *values: bytes, codec: CompressionCodec = CompressionCodec.NONE, key: bytes | None = b"k"
) -> bytes:
    builder = MessageSetBuilder(magic=magic, codec=codec, base_offset=5)
    for index, value in enumerate(values):
        builder.append(NOW_MS - 10 + index, key, value)
    return builder.build()


@pytest.mark.parametrize("codec", [CompressionCodec.NONE, GZIP])
@pytest.mark.parametrize(("magic", "times"), [(0, [-1, -1]), (1, [NOW_MS - 10, NOW_MS - 9])])
def test_message_sets_become_one_batch_at_the_end_of_the_log(
    magic: int, times: list[int], codec: CompressionCodec
) -> None:
    stored = assign(messages(magic, b"a", b"b", codec=codec))
    assert stored is not None
    assert (stored.base_offset, stored.last_offset, stored.leader_epoch, stored.records_count) == (100, 101, 7, 2)
    assert (stored.max_timestamp, stored.size) == (times[-1], len(stored.data))
    assert peek_header(stored.data).codec is codec
    found = read_records(stored.data)
    assert [(each.offset, each.timestamp, each.key, each.value) for each in found] == [
        (100, times[0], b"k", b"a"),
        (101, times[1], b"k", b"b"),
    ]


def test_converted_records_get_the_topics_codec_and_the_brokers_time() -> None:
    stored = assign(messages(0, b"a"), compression_type="lz4", message_timestamp_type="LogAppendTime")
    assert stored is not None
    assert peek_header(stored.data).codec is CompressionCodec.LZ4
    assert [each.timestamp for each in read_records(stored.data)] == [NOW_MS]


def test_a_set_that_grows_beyond_the_limit_is_too_large_with_all_its_messages_below_it() -> None:
    assert assign(messages(1, b"a"), max_message_bytes="100") is not None
    with pytest.raises(RecordsRefused) as refused:
        assign(messages(1, *[b"a"] * 20), max_message_bytes="100")
    assert (refused.value.error_code, refused.value.log_start_offset_known) == (ErrorCode.MESSAGE_TOO_LARGE, False)


def test_each_message_without_a_key_is_named_on_a_compacted_topic() -> None:
    with pytest.raises(RecordsRefused) as refused:
        assign(messages(1, b"a", codec=GZIP, key=None), cleanup_policy="compact")
    assert refused.value.error_code == ErrorCode.INVALID_RECORD
    [error] = refused.value.record_errors
    assert error.message == "Compacted topic cannot accept message without key in topic partition orders-0"


def test_formats_and_batches_cannot_be_mixed() -> None:
    batch = RecordBatchBuilder()
    batch.append(NOW_MS, b"k", b"v")
    for records in (
        messages(0, b"a") + messages(1, b"b"),
        messages(1, b"a") + batch.build(),
        batch.build() + batch.build(),
        messages(1, b"a", codec=GZIP) * 2,
    ):
        with pytest.raises(RecordsRefused) as refused:
            assign(records)
        assert refused.value.error_code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("records", [b"", messages(0, b"a")[:-1], messages(1, b"a")[:11]])
def test_a_set_without_a_whole_message_stores_nothing(records: bytes) -> None:
    assert assign(records) is None
