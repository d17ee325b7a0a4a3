from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.apis.fetch_conversion import convert
from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import ConversionFailedWhileSending, RecordBatchError
from protocol_specs.messages.fetch import PartitionData
from protocol_specs.records.batch_builder import RecordBatchBuilder, encode_record_body, seal_batch
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_set import iterate_any, read_any
from protocol_specs.records.varints import encode_varint

if TYPE_CHECKING:
    from collections.abc import Sequence

TIME_MS = 1_767_225_600_000


def batch(*values: bytes, base_offset: int = 0, codec: CompressionCodec = CompressionCodec.NONE) -> bytes:
    builder = RecordBatchBuilder(base_offset=base_offset, codec=codec)
    for value in values:
        builder.append(TIME_MS, b"k", value)
    return builder.build()


def before_1970(base_offset: int = 0) -> bytes:
    """A batch whose only record has the timestamp -5, which message sets cannot have."""
    body = encode_record_body(-TIME_MS - 5, 0, b"k", b"v", ())
    return seal_batch(
        encode_varint(len(body)) + body,
        records_count=1,
        base_offset=base_offset,
        partition_leader_epoch=0,
        attributes=0,
        last_offset_delta=0,
        base_timestamp=TIME_MS,
        max_timestamp=-1,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
    )


def fetched(
    *batches: bytes,
    version: int,
    first_offset: int = 0,
    release: str = "3.7.2",
    from_follower: bool = False,
    error_code: ErrorCode = ErrorCode.NONE,
    **topic: str,
) -> PartitionData:
    broker = BrokerConfig.parse({}, release=release)
    config = TopicConfig.resolve({name.replace("_", "."): value for name, value in topic.items()}, broker)
    data = PartitionData(partition_index=3, error_code=error_code, high_watermark=9, records=list(batches) or b"")
    convert(
        data,
        version=version,
        config=config,
        first_offset=first_offset,
        from_follower=from_follower,
        behaviour=broker.behaviour,
    )
    return data


def shown(data: PartitionData) -> Sequence[tuple[int, int, bytes | None]]:
    assert isinstance(data.records, bytes)
    return [
        (header.magic, record.offset, record.value)
        for header, view in iterate_any(data.records)
        for record in read_any(view)
    ]


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (3, 1)])
@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.GZIP])
def test_old_versions_get_the_messages_that_they_know(version: int, magic: int, codec: CompressionCodec) -> None:
    data = fetched(batch(b"a", b"b", codec=codec), batch(b"c", base_offset=2), version=version)
    assert (data.error_code, data.high_watermark) == (0, 9)
    assert shown(data)[:2] == [(magic, 0, b"a"), (magic, 1, b"b")]


def test_records_before_the_fetch_offset_are_left_out() -> None:
    assert shown(fetched(batch(b"a", b"b", b"c"), version=2, first_offset=1)) == [(1, 1, b"b"), (1, 2, b"c")]


def test_version_4_gets_the_log_as_it_is() -> None:
    assert fetched(batch(b"a"), version=4).records == [batch(b"a")]


@pytest.mark.parametrize("error_code", [ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE])
def test_conversion_can_be_switched_off_but_not_for_followers(error_code: ErrorCode) -> None:
    data = fetched(batch(b"a"), version=3, error_code=error_code, message_downconversion_enable="false")
    assert (data.error_code, data.high_watermark, data.records) == (ErrorCode.UNSUPPORTED_VERSION, -1, None)
    follower = fetched(batch(b"a"), version=3, from_follower=True, message_downconversion_enable="false")
    assert (follower.error_code, shown(follower)) == (0, [(1, 0, b"a")])


@pytest.mark.parametrize(("release", "error_code"), [("3.7.2", 76), ("4.3.1", 0)])
def test_3_7_refuses_a_zstd_topic_before_version_10(release: str, error_code: int) -> None:
    assert fetched(version=9, release=release, compression_type="zstd").error_code == error_code


def test_a_zstd_batch_comes_first_or_ends_what_is_sent() -> None:
    zstd = batch(b"z", base_offset=1, codec=CompressionCodec.ZSTD)
    assert fetched(zstd, version=3, first_offset=1).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert shown(fetched(batch(b"a"), zstd, version=3)) == [(1, 0, b"a")]


def test_what_the_old_format_cannot_hold_fails_before_or_while_it_is_sent() -> None:
    with pytest.raises(RecordBatchError) as first:
        fetched(before_1970(), version=2)
    assert not isinstance(first.value, ConversionFailedWhileSending)
    with pytest.raises(ConversionFailedWhileSending, match="-5 is negative"):
        fetched(batch(b"a" * 50), before_1970(base_offset=1), version=2)
