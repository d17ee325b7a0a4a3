from __future__ import annotations

import pickle

import pytest

from protocol_specs import errors
from protocol_specs.error_codes import ErrorCode

EXAMPLES: list[tuple[errors.ProtocolError, str]] = [
    (
        errors.MessageDecodeError(
            "ProduceRequest",
            9,
            "topic_data[0].partition_data[2].records",
            47,
            "length 1048576, 12 bytes left",
        ),
        "ProduceRequest v9, topic_data[0].partition_data[2].records, byte 47: length 1048576, 12 bytes left",
    ),
    (errors.MessageDecodeError("FetchRequest", 4, "", 0, "empty"), "FetchRequest v4, byte 0: empty"),
    (
        errors.MessageEncodeError("FetchRequest", 4, "rack_id", "since 11"),
        "FetchRequest v4, rack_id: since 11",
    ),
    (
        errors.FrameTooLarge(101, 100, "socket.request.max.bytes"),
        "frame of 101 bytes, socket.request.max.bytes allows 100",
    ),
    (errors.NegativeFrameSize(-2), "frame size -2 is negative"),
    (errors.TruncatedRecordBatch(61, 12), "record batch needs 61 bytes, 12 bytes left"),
    (errors.ChecksumMismatch(1, 2), "record batch stores crc 0x00000001, its bytes have 0x00000002"),
    (errors.UnsupportedMagic(1), "record batch of magic 1, only magic 2 is read here"),
    (errors.UnsupportedMagic(2, "0 or 1"), "record batch of magic 2, only magic 0 or 1 is read here"),
    (errors.MalformedMessage("key", 9, 4), "message key of 9 bytes, 4 bytes left in the message"),
    (errors.RecordsRejected({2: "no key", 3: "no key"}), "2 records are refused, first record 2: no key"),
    (errors.TimestampsRejected({0: "old"}), "1 records are refused, first record 0: old"),
    (errors.RecordSetTooLarge(99, 80), "record batch of 99 bytes, max.message.bytes allows 80"),
    (errors.OffsetsOutOfOrder(5, 4), "a batch ends at offset 4, the one before it at 5"),
    (errors.InvalidRecord(3, 40, "negative key"), "record 3, byte 40 of the records: negative key"),
    (errors.MalformedVarint(7, "over 5 bytes"), "varint at byte 7: over 5 bytes"),
    (
        errors.UnknownCodec(6),
        "compression codec 6 does not exist; 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd do",
    ),
    (errors.CorruptCompressedData("lz4", "bad frame"), "lz4: bad frame"),
    (errors.DecompressionLimitExceeded("zstd", 10), "zstd: decompressed records pass limit_bytes=10"),
    (
        errors.CompressionUnavailable("zstd"),
        "zstd needs the package cramjam: pip install cramjam",
    ),
]


@pytest.mark.parametrize(("error", "text"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_an_error_names_the_problem_and_pickles(error: errors.ProtocolError, text: str) -> None:
    assert str(error) == text
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == text
    assert isinstance(copy, errors.ProtocolError)


def test_batch_errors_have_the_code_that_a_broker_returns() -> None:
    assert errors.ChecksumMismatch(1, 2).error_code is ErrorCode.CORRUPT_MESSAGE
    assert errors.InvalidRecord(0, 0, "").error_code is ErrorCode.INVALID_RECORD
    assert errors.UnknownCodec(7).error_code is ErrorCode.UNKNOWN_SERVER_ERROR
