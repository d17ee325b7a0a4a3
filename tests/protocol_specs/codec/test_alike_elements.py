"""Arrays whose elements are of one size are read at once: the same values as one by one, and the same errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.codec.alike_elements import ELEMENTS_MAX, SMALL_BYTES_MAX
from protocol_specs.codec.decode_writer import COPIED_BYTES_MAX
from protocol_specs.errors import MessageDecodeError
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

SHORTEST = 127
"""Bytes of this many take a compact length of two bytes."""


def request(partitions: list[PartitionProduceData]) -> ProduceRequest:
    return ProduceRequest(acks=1, timeout_ms=9, topic_data=[TopicProduceData(name="t", partition_data=partitions)])


def partitions_of(sizes: list[int]) -> list[PartitionProduceData]:
    return [PartitionProduceData(index=-index, records=bytes([index]) * size) for index, size in enumerate(sizes)]


def read(message: ProduceRequest) -> list[PartitionProduceData]:
    """The decoded message, which must equal that of a buffer, whose elements are always read one by one."""
    data = message.encode(9)
    decoded = ProduceRequest.decode(9, data)
    assert decoded == ProduceRequest.decode(9, bytearray(data)) == message
    return decoded.topic_data[0].partition_data


@pytest.mark.parametrize("count", [2, 3, 15, ELEMENTS_MAX])
@pytest.mark.parametrize("size", [SHORTEST, SHORTEST + 1, 1024, SMALL_BYTES_MAX])
def test_small_bytes_of_one_size_are_copied(size: int, count: int) -> None:
    assert {type(p.records) for p in read(request(partitions_of([size] * count)))} == {bytes}


@pytest.mark.parametrize("sizes", [[SMALL_BYTES_MAX + 1], [SMALL_BYTES_MAX + 1] * 3])
def test_long_bytes_are_views(sizes: list[int]) -> None:
    assert {type(p.records) for p in read(request(partitions_of(sizes)))} == {memoryview}


@pytest.mark.parametrize("sizes", [[COPIED_BYTES_MAX], [SHORTEST - 1] * 3, [200] * (ELEMENTS_MAX + 1)])
def test_a_single_few_short_and_many_elements_are_read_one_by_one(sizes: list[int]) -> None:
    assert {type(p.records) for p in read(request(partitions_of(sizes)))} == {bytes}


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("size", [None, 0, 1023, 1025, 1024 + 128])
def test_an_array_with_one_element_that_differs_is_read(size: int | None, at: int) -> None:
    partitions = partitions_of([1024] * 4)
    partitions[at].records = None if size is None else bytes(size)
    assert [p.records for p in read(request(partitions))] == [p.records for p in partitions]


@pytest.mark.parametrize("at", range(4))
def test_a_tag_is_kept_where_it_stands(at: int) -> None:
    partitions = partitions_of([300] * 4)
    partitions[at].unknown_tags = [(7, b"seven")]
    assert [list(p.unknown_tags) for p in read(request(partitions))] == [
        [(7, b"seven")] if index == at else [] for index in range(4)
    ]


@given(st.lists(st.sampled_from([126, 127, 128, 255, 256]), max_size=8))
def test_any_mixture_of_sizes_is_read(sizes: list[int]) -> None:
    assert len(read(request(partitions_of(sizes)))) == len(sizes)


def test_every_cut_and_every_changed_byte_of_the_frame_around_the_contents_is_judged_alike() -> None:
    data = request(partitions_of([SHORTEST] * 3)).encode(9)
    for at in range(len(data)):
        for broken in (data[:at], data[:at] + bytes([data[at] ^ 0x81]) + data[at + 1 :]):
            assert judged(broken) == judged(bytearray(broken))


def judged(data: bytes | bytearray) -> ProduceRequest | str:
    try:
        return ProduceRequest.decode(9, data)
    except MessageDecodeError as error:
        return str(error)
