"""Record sets against the record modules of kafka-python and aiokafka, in both directions: magic 0, 1 and 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiokafka.record.legacy_records as aiokafka_legacy
import kafka.record.legacy_records as kafka_python_legacy
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBatchBuilder
from aiokafka.record.memory_records import MemoryRecords as AiokafkaRecords
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBatchBuilder
from kafka.record.memory_records import MemoryRecords as KafkaPythonRecords

from protocol_specs.fuzzing.strategies import codecs, message_set_codecs, message_sets, record_batches, records
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set import MessageSetBuilder, messages_section
from protocol_specs.records.record_batch import records_section
from protocol_specs.records.record_set import check_any, iterate_any
from protocol_specs.records.record_validation import read_validated

if TYPE_CHECKING:
    from protocol_specs.records.record_batch import Record

LEGACY = {"kafka-python": kafka_python_legacy, "aiokafka": aiokafka_legacy}
READERS = {"kafka-python": KafkaPythonRecords, "aiokafka": AiokafkaRecords}
BATCH_BUILDERS = {"kafka-python": KafkaPythonBatchBuilder, "aiokafka": AiokafkaBatchBuilder}
EVER = 2**30
FEW = settings(max_examples=40)
peers = pytest.mark.parametrize("peer", LEGACY)


def can_have(magic: int, codec: CompressionCodec) -> bool:
    """True if a peer has the codec in this magic; LZ4 of magic 0 is compared with Java, in tests/interop."""
    # aiokafka has the newer frames alone, kafka-python needs one more package for the older ones.
    return not (magic == 0 and codec is CompressionCodec.LZ4)


def read_by(peer: str, data: bytes) -> list[tuple[int, int | None, bytes | None, bytes | None]]:
    reader = READERS[peer](data)
    found: list[tuple[int, int | None, bytes | None, bytes | None]] = []
    while reader.has_next():
        batch = reader.next_batch()
        assert batch.validate_crc()
        found += [(record.offset, record.timestamp, record.key, record.value) for record in batch]
    return found


def expected_of(expected: list[Record], magic: int) -> list[tuple[Any, ...]]:
    # A missing timestamp is None there.
    return [(record.offset, record.timestamp if magic else None, record.key, record.value) for record in expected]


@peers
@FEW
@given(drawn=message_sets(max_size=12))
def test_a_peer_reads_our_message_sets(peer: str, drawn: tuple[bytes, list[Record]]) -> None:
    data, expected = drawn
    [(header, _), *_] = iterate_any(data)
    assume(can_have(header.magic, header.codec))
    assert read_by(peer, data) == expected_of(expected, header.magic)


@peers
@FEW
@given(
    magic=st.integers(0, 1),
    codec=message_set_codecs(),
    drawn=records(max_size=12),
)
def test_the_message_sets_of_a_peer_are_read_and_hold_what_ours_would(
    peer: str, magic: int, codec: CompressionCodec, drawn: list[Record]
) -> None:
    assume(can_have(magic, codec))
    theirs = LEGACY[peer].LegacyRecordBatchBuilder(magic=magic, compression_type=int(codec), batch_size=EVER)
    ours = MessageSetBuilder(magic=magic, codec=codec)
    for record in drawn:
        theirs.append(record.offset, timestamp=record.timestamp, key=record.key, value=record.value)
        ours.append(record.timestamp, record.key, record.value)
    built = bytes(theirs.build())
    found = [record for _, found in read_validated(built) for record in found]
    assert [(record.offset, record.key, record.value) for record in found] == [
        (record.offset, record.key, record.value) for record in drawn
    ]
    if magic:
        assert [record.timestamp for record in found] == [record.timestamp for record in drawn]
    if codec is CompressionCodec.NONE:
        assert built == ours.build()
    else:
        assert messages_section(built) == messages_section(ours.build())


@peers
@FEW
@given(drawn=record_batches(max_size=12))
def test_a_peer_reads_our_batches(peer: str, drawn: tuple[bytes, list[Record]]) -> None:
    data, expected = drawn
    assert read_by(peer, data) == expected_of(expected, 2)


@peers
@FEW
@given(codec=codecs(), drawn=records(max_size=12))
def test_the_batches_of_a_peer_are_read_and_valid(peer: str, codec: CompressionCodec, drawn: list[Record]) -> None:
    theirs = BATCH_BUILDERS[peer](
        magic=2,
        compression_type=int(codec),
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=EVER,
    )
    for record in drawn:
        headers = [(name, value or b"") for name, value in record.headers]
        theirs.append(record.offset, record.timestamp, record.key, record.value, headers)
    built = bytes(theirs.build())
    [(header, found)] = read_validated(built)
    assert check_any(built) == header
    assert records_section(built, header)  # type: ignore[arg-type]
    assert [(record.offset, record.timestamp, record.key, record.value) for record in found] == expected_of(drawn, 2)
    assert [[(name, value) for name, value in record.headers] for record in found] == [
        [(name, value or b"") for name, value in record.headers] for record in drawn
    ]
