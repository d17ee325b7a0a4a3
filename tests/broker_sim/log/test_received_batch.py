from __future__ import annotations

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.append_results import AppendOrigin
from broker_sim.log.batch_validation import stored_as_it_is
from broker_sim.log.received_batch import BESIDE_BATCH_BYTES_MAX, ReceivedBatch, place_in_request
from broker_sim.log.stored_batch import StoredBatch
from protocol_specs.records.batch_builder import RecordBatchBuilder, seal_batch

NOW_MS = 1_767_225_600_000
CONFIG = TopicConfig.resolve({}, BrokerConfig.parse({}, release="4.3.1"))
HEADER_BYTES = 61
COUNT = 300


def large_batch() -> bytes:
    builder = RecordBatchBuilder()
    for _ in range(COUNT):
        builder.append(NOW_MS, None, b"v" * 100)
    return builder.build()


def of_section(section: bytes) -> bytes:
    return seal_batch(
        section,
        base_offset=0,
        partition_leader_epoch=-1,
        attributes=0,
        last_offset_delta=COUNT - 1,
        base_timestamp=NOW_MS,
        max_timestamp=NOW_MS,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        records_count=COUNT,
    )


def of_request(sent: bytes, *, before: bytes = b"before", after: bytes = b"\0\0\0") -> memoryview:
    return memoryview(before + sent + after)[len(before) : len(before) + len(sent)]


def stored(records: bytes | memoryview) -> StoredBatch | None:
    return stored_as_it_is(records, CONFIG, 100, 7, NOW_MS, AppendOrigin.CLIENT)


def test_a_large_batch_stays_in_its_request_until_it_is_read() -> None:
    sent = large_batch()
    received = stored(of_request(sent))
    assert isinstance(received, ReceivedBatch)
    assert (received.base_offset, received.last_offset, received.size) == (100, 399, len(sent))
    assert received.data == (100).to_bytes(8) + sent[8:12] + (7).to_bytes(4) + sent[16:]
    assert received.data is received.data


def test_it_equals_a_copied_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    records = of_request(large_batch())
    received = stored(records)
    monkeypatch.setattr("broker_sim.log.batch_validation.place_in_request", lambda _: None)
    copied = stored(records)
    assert received is not None
    assert copied is not None
    assert type(copied) is StoredBatch
    names = StoredBatch.__slots__
    assert [getattr(received, name) for name in names] == [getattr(copied, name) for name in names]


def test_the_position_is_that_of_the_batch() -> None:
    records = of_request(large_batch())
    place = place_in_request(records)
    assert place is not None
    request, position = place
    assert request[position : position + len(records)] == records


def test_a_batch_whose_header_is_in_the_request_twice_is_copied() -> None:
    sent = large_batch()
    records = of_request(sent, before=sent[:HEADER_BYTES] + b"x")
    assert place_in_request(records) is None
    assert type(stored(records)) is StoredBatch


def test_other_records_behind_an_equal_header_are_not_taken_for_the_batch() -> None:
    # The batch itself is malformed. Its request has its header, in front of valid records of the same size, as well.
    valid = large_batch()
    malformed = of_section(valid[HEADER_BYTES:-1] + b"\2")
    decoy = malformed[:HEADER_BYTES] + valid[HEADER_BYTES:]
    assert stored(of_request(malformed, before=decoy[: BESIDE_BATCH_BYTES_MAX - 8])) is None


def test_a_small_part_of_a_request_is_copied() -> None:
    records = of_request(large_batch(), after=bytes(BESIDE_BATCH_BYTES_MAX + 1))
    assert place_in_request(records) is None


@pytest.mark.parametrize("beyond", [1, 3])
def test_records_that_run_into_the_bytes_after_the_batch_are_refused(beyond: int) -> None:
    section = large_batch()[HEADER_BYTES:]
    cut = of_section(section[:-beyond])
    assert stored(of_request(cut, after=section[-beyond:])) is None
