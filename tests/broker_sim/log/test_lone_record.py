"""The fast path for a batch of one plain record stores what the slow path stores, and leaves everything else to it."""

from __future__ import annotations

from dataclasses import astuple
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.append_results import AppendOrigin, RecordsRefused
from broker_sim.log.lone_record import built_record_as_it_is, lone_record_as_it_is
from broker_sim.log.record_assignment import assign_offset
from broker_sim.topic_partition import TopicPartition
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.lone_batch import lone_batch
from protocol_specs.records.record_batch import RecordBatchBuilder, peek_header

if TYPE_CHECKING:
    from broker_sim.log.stored_batch import StoredBatch

NOW_MS = 1_767_225_600_000
TOPICS: tuple[dict[str, str], ...] = (
    {},
    {"cleanup.policy": "compact"},
    {"message.timestamp.type": "LogAppendTime"},
    {"compression.type": "uncompressed"},
    {"compression.type": "gzip"},
    {"max.message.bytes": "100"},
    {"message.timestamp.before.max.ms": "1000"},
)


@lru_cache
def config_of(index: int) -> TopicConfig:
    return TopicConfig.resolve(TOPICS[index], BrokerConfig.parse({}))


def stored_by_the_slow_path(
    records: bytes, config: TopicConfig, origin: AppendOrigin = AppendOrigin.CLIENT
) -> StoredBatch | None:
    return assign_offset(
        memoryview(records),
        topic_partition=TopicPartition("orders", 0),
        config=config,
        offset=100,
        leader_epoch=7,
        now_ms=NOW_MS,
        origin=origin,
    )


@st.composite
def batches(draw: st.DrawFn) -> bytes:
    """A batch of one record or two; often with a header field changed under a valid checksum, or a byte changed."""
    builder = RecordBatchBuilder()
    for _ in range(draw(st.sampled_from([1, 1, 1, 1, 2]))):
        headers = draw(st.sampled_from([(), (), (), (("h", b"v"),)]))
        builder.append(
            draw(st.sampled_from([NOW_MS, NOW_MS, NOW_MS - 2000, NOW_MS + 4_000_000, 0, -1])),
            draw(st.none() | st.binary(max_size=200)),
            draw(st.none() | st.binary(max_size=200)),
            headers=headers,
        )
    data = bytearray(builder.build())
    change = draw(st.sampled_from(["none", "none", "field", "record", "any", "cut", "more"]))
    if change == "field":
        header = peek_header(data)
        name = draw(
            st.sampled_from(
                ["base_offset", "batch_length", "magic", "attributes", "last_offset_delta", "base_timestamp",
                 "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "records_count"]
            )
        )  # fmt: skip
        setattr(header, name, draw(st.sampled_from([-1, 0, 1, 2, 8, 16, 32])))
        data[:61] = header.pack()
    elif change == "record":
        data[draw(st.integers(61, len(data) - 1))] = draw(st.integers(0, 255))
    if change in {"field", "record"}:
        data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    if change == "any":
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    elif change == "cut":
        del data[draw(st.integers(0, len(data) - 1)) :]
    elif change == "more":
        data += b"\0"
    return bytes(data)


@given(records=batches(), topic=st.integers(0, len(TOPICS) - 1), view=st.booleans())
def test_what_the_fast_path_stores_the_slow_path_stores_too(records: bytes, topic: int, view: bool) -> None:
    config = config_of(topic)
    fast = lone_record_as_it_is(memoryview(records) if view else records, config, 100, 7, NOW_MS)
    if fast is not None:
        slow = stored_by_the_slow_path(records, config)
        assert slow is not None
        assert astuple(fast) == astuple(slow)


@given(
    key=st.none() | st.binary(max_size=60),
    value=st.binary(max_size=5000),
    producer=st.sampled_from([(-1, -1, -1), (7, 0, 0), (7, 3, 2**31 - 1)]),
)
def test_a_plain_record_takes_the_fast_path(key: bytes | None, value: bytes, producer: tuple[int, int, int]) -> None:
    producer_id, producer_epoch, base_sequence = producer
    builder = RecordBatchBuilder(producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence)
    builder.append(NOW_MS, key, value)
    records = builder.build()
    fast = lone_record_as_it_is(records, config_of(0), 100, 7, NOW_MS)
    assert fast is not None
    assert (fast.base_offset, fast.last_offset, fast.leader_epoch, fast.data[21:]) == (100, 100, 7, records[21:])


def test_a_batch_that_the_topic_refuses_is_left_to_the_slow_path() -> None:
    builder = RecordBatchBuilder()
    builder.append(NOW_MS, None, bytes(200))
    records = builder.build()
    assert lone_record_as_it_is(records, config_of(5), 100, 7, NOW_MS) is None
    with pytest.raises(RecordsRefused, match="MESSAGE_TOO_LARGE"):
        stored_by_the_slow_path(records, config_of(5))


@given(
    timestamp_ms=st.sampled_from([NOW_MS, NOW_MS - 2000, NOW_MS + 4_000_000, 0, -1]),
    sizes=st.tuples(st.integers(0, 70), st.integers(0, 200)),
    attributes=st.sampled_from([0, 16, 48]),
    producer=st.sampled_from([(-1, -1, -1), (-1, -1, 0), (7, 0, -1), (7, 3, 2**31 - 1)]),
    topic=st.integers(0, len(TOPICS) - 1),
)
def test_a_batch_of_this_process_is_stored_as_the_slow_path_stores_it(
    timestamp_ms: int, sizes: tuple[int, int], attributes: int, producer: tuple[int, int, int], topic: int
) -> None:
    producer_id, producer_epoch, base_sequence = producer
    records = lone_batch(
        timestamp_ms,
        bytes(sizes[0]),
        bytes(sizes[1]),
        attributes=attributes,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )
    config = config_of(topic)
    fast = built_record_as_it_is(records, config, 100, 7, NOW_MS)
    if fast is not None:
        slow = stored_by_the_slow_path(bytes(records), config, AppendOrigin.COORDINATOR)
        assert slow is not None
        assert astuple(fast) == astuple(slow)
    else:
        assert timestamp_ms != NOW_MS or topic in (2, 4, 5)
