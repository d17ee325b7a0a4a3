"""ListOffsets, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol_specs.messages.list_offsets import ListOffsetsRequest
from protocol_specs.records.compression import CompressionCodec, compress
from tests.differential.case import case
from tests.differential.probe import attempts
from tests.differential.requests import (
    FAR_FUTURE_MS,
    TIME_MS,
    all_versions,
    batch,
    fill,
    list_offsets,
    produce,
    record,
    sealed,
    timed,
)

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def three_batches(probe: Probe, topic: str) -> None:
    """Offsets 0 to 5, the times 100 ms apart, the largest time in the middle batch."""
    fill(
        probe,
        topic,
        timed(TIME_MS, TIME_MS + 100),
        timed(TIME_MS + 900, TIME_MS + 200),
        timed(TIME_MS + 300, TIME_MS + 400),
    )


@case()
def latest_and_earliest_in_every_version(probe: Probe) -> None:
    topic = probe.topic()
    three_batches(probe, topic)
    for version in all_versions(ListOffsetsRequest):
        for timestamp in (-1, -2):
            probe.exchange(list_offsets(topic, timestamp), version, note=str(timestamp))


@case()
def special_timestamps_in_every_version(probe: Probe) -> None:
    topic = probe.topic()
    three_batches(probe, topic)
    for version in range(1, 12):
        for timestamp in (-3, -4, -5, -6, -7, -100, -9_223_372_036_854_775_808):
            probe.exchange(list_offsets(topic, timestamp), version, note=str(timestamp))


@case()
def times_in_every_version(probe: Probe) -> None:
    topic = probe.topic()
    three_batches(probe, topic)
    for version in range(1, 12):
        for time_ms in (TIME_MS, TIME_MS + 150, TIME_MS + 901):
            probe.exchange(list_offsets(topic, time_ms), version, note=str(time_ms - TIME_MS))


@case()
def times(probe: Probe) -> None:
    topic = probe.topic()
    three_batches(probe, topic)
    for delta in (-1, 0, 1, 99, 100, 101, 200, 201, 300, 301, 400, 401, 899, 900, 901):
        probe.exchange(list_offsets(topic, TIME_MS + delta), 7, note=str(delta))
    probe.exchange(list_offsets(topic, 0), 7)
    probe.exchange(list_offsets(topic, 9_223_372_036_854_775_807), 7)


@case()
def times_in_a_compressed_batch(probe: Probe) -> None:
    topic = probe.topic()
    fill(
        probe,
        topic,
        timed(TIME_MS, TIME_MS + 100, TIME_MS + 50, codec=CompressionCodec.GZIP),
        timed(TIME_MS + 300, TIME_MS + 200, codec=CompressionCodec.LZ4),
    )
    for delta in (0, 1, 51, 100, 101, 201, 300, 301):
        probe.exchange(list_offsets(topic, TIME_MS + delta), 7, note=str(delta))
    probe.exchange(list_offsets(topic, -3), 7)


@case()
def an_empty_log(probe: Probe) -> None:
    topic = probe.topic()
    for version in (1, 4, 7, 8):
        for timestamp in (-1, -2, -3, -4, -5, 0, TIME_MS):
            probe.exchange(list_offsets(topic, timestamp), version, note=str(timestamp))


@case(releases=("3.7.2",))
def version_0_returns_offsets_of_segments(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(list_offsets(topic, -1, max_num_offsets=5), 0, note="empty")
    three_batches(probe, topic)
    for timestamp in (-1, -2, 0, -3):
        for count in (0, 1, 5, -1):
            probe.exchange(list_offsets(topic, timestamp, max_num_offsets=count), 0, note=f"{timestamp} {count}")


@case()
def a_largest_time_that_stands_twice(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, timed(TIME_MS, TIME_MS + 5, TIME_MS + 5), timed(TIME_MS + 5, TIME_MS + 5), timed(TIME_MS))
    probe.exchange(list_offsets(topic, -3), 7)
    probe.exchange(list_offsets(topic, -3), 8)


@case()
def records_without_a_time(probe: Probe) -> None:
    topic = probe.topic(message_timestamp_before_max_ms="9223372036854775807")
    fill(probe, topic, timed(-1), timed(0, 5))
    for timestamp in (-3, 0, 1, 6):
        probe.exchange(list_offsets(topic, timestamp), 7, note=str(timestamp))


@case()
def no_record_with_a_time(probe: Probe) -> None:
    for codec in (CompressionCodec.NONE, CompressionCodec.GZIP):
        topic = probe.topic(codec.type_name)
        for _ in range(2):
            fill(probe, topic, timed(-1, -1, codec=codec))
            for timestamp in (-3, -1, -2, 0):
                for version in (7, 8):
                    probe.exchange(list_offsets(topic, timestamp), version, note=f"{codec.name} {timestamp}")


@case()
def records_that_cannot_be_read_again(probe: Probe) -> None:
    """A compressed batch is kept though the lengths before its records are wrong; looking for a time reads them."""
    for codec in CompressionCodec:
        if codec:
            topic = probe.topic(codec.type_name)
            for length in (b"\x7e", b"\x01", b"\x02", b"\xff\xff\xff\xff\xff\x01", b"\xff\xff\xff\xff\x0f"):
                payload = compress(codec, length + record()[1:])
                probe.exchange(produce(topic, sealed(payload, count=1, attributes=int(codec))), 9, note=codec.name)
                for timestamp in (-3, 0):
                    probe.exchange(list_offsets(topic, timestamp), 7, note=f"{codec.name} {length.hex()} {timestamp}")


@case()
def a_topic_of_log_append_time(probe: Probe) -> None:
    topic = probe.topic(message_timestamp_type="LogAppendTime")
    fill(probe, topic, batch(b"a", b"b"))
    for version in (7, 8):
        probe.exchange(list_offsets(topic, -3), version)
        probe.exchange(list_offsets(topic, 0), version)


@case()
def unknown_topics_and_partitions(probe: Probe) -> None:
    topic = probe.topic()
    for version in (1, 3, 4, 6, 8):
        probe.exchange(list_offsets(f"{probe.name}-none", -1), version)
        probe.exchange(list_offsets(topic, -1, partition=1), version)
        probe.exchange(list_offsets(topic, -1, partition=-1), version)
    probe.exchange(list_offsets("", -1), 7)
    probe.exchange(list_offsets("a b", -1), 7)
    probe.exchange(list_offsets(f"{probe.name}-none", -6), 7, note="unknown time too")


@case()
def leader_epochs(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    for epoch in (-1, -2, 0, 1, 99):
        for version in (4, 7):
            probe.exchange(list_offsets(topic, -1, leader_epoch=epoch), version, note=str(epoch))
    probe.exchange(list_offsets(topic, -2, leader_epoch=1), 7)
    probe.exchange(list_offsets(topic, TIME_MS, leader_epoch=1), 7)


@case()
def replica_ids(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    for replica in (-2, -1, 0, 1, 5, -3):
        for timestamp in (-1, -2, TIME_MS):
            probe.exchange(list_offsets(topic, timestamp, replica_id=replica), 7, note=f"{replica} {timestamp}")


@case()
def isolation_levels(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    for level in (0, 1, 2, -1, 127):
        for version in (2, 7):
            probe.exchange(list_offsets(topic, -1, isolation_level=level), version, note=str(level))
    probe.exchange(list_offsets(topic, -3, isolation_level=1), 7)
    probe.exchange(list_offsets(topic, TIME_MS, isolation_level=1), 7)


@case()
def the_same_partition_twice(probe: Probe) -> None:
    topic = probe.topic()
    for version in (1, 6, 7):
        probe.exchange(list_offsets(topic, -1, -1), version)
        probe.exchange(list_offsets(topic, -1, -2), version)
    request = list_offsets(topic, -1)
    request.topics += list_offsets(topic, -2).topics
    probe.exchange(request, 7, note="the topic twice")
    three = list_offsets(topic, -1, -1, -1)
    three.topics[0].partitions[2].partition_index = 3
    probe.exchange(three, 7, note="and an unknown one")


@case()
def several_partitions(probe: Probe) -> None:
    topics = [probe.topic("a", partitions=3), probe.topic("b")]
    fill(probe, topics[0], batch(b"a"), partition=1)
    request = list_offsets(topics[0], -1, -1, -2, -1)
    for number, partition in enumerate(request.topics[0].partitions):
        partition.partition_index = number
    request.topics += list_offsets(f"{probe.name}-none", -1).topics + list_offsets(topics[1], -6).topics
    for version in (1, 5, 7):
        probe.exchange(request, version)


@case()
def nothing(probe: Probe) -> None:
    topic = probe.topic()
    for version in range(1, 12):
        probe.exchange(ListOffsetsRequest(replica_id=-1, topics=[]), version)
        probe.exchange(list_offsets(topic), version)


@case()
def timeouts_of_version_10(probe: Probe) -> None:
    topic = probe.topic()
    for timeout_ms in (0, -1, 5_000):
        probe.exchange(list_offsets(topic, -1, timeout_ms=timeout_ms), 10)


@case()
def after_log_start_moved_by_nothing(probe: Probe) -> None:
    """Offsets of a topic of many small segments: the earliest stays where it is."""
    topic = probe.topic(segment_ms="1")
    fill(probe, topic, timed(TIME_MS), timed(TIME_MS + 10_000), timed(TIME_MS + 20_000))
    for timestamp in (-2, -1, -3, TIME_MS + 5_000, TIME_MS + 10_000, TIME_MS + 20_001):
        probe.exchange(list_offsets(topic, timestamp), 7, note=str(timestamp))


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    one = b"\xff\xff\xff\xff\0\0\0\1\0\1t\0\0\0\1\0\0\0\0"
    for version, body, note in (
        (1, b"", "empty"),
        (1, b"\xff\xff\xff\xff\xff\xff\xff\xff", "null topics"),
        (1, b"\xff\xff\xff\xff\0\0\0\1\xff\xff\0\0\0\0", "null topic"),
        (1, b"\xff\xff\xff\xff\0\0\0\1\0\1t\xff\xff\xff\xff", "null partitions"),
        (1, one + b"\0\0\0\0", "half a time"),
        (1, one + b"\xff" * 8 + b"more", "more bytes"),
        (1, b"\xff\xff\xff\xff\x7f\xff\xff\xff", "2**31-1 topics"),
        (6, b"\xff\xff\xff\xff\0\0\0", "null topics"),
        (6, b"\xff\xff\xff\xff\0\2\2t\0\0\0", "null partitions"),
    ):
        probe.raw_body(2, version, body, note=note)


@case()
def times_over_segments(probe: Probe) -> None:
    topic = probe.topic(segment_ms="50")
    fill(
        probe,
        topic,
        timed(TIME_MS + 100, TIME_MS + 20),
        timed(TIME_MS + 300),
        timed(TIME_MS + 250, TIME_MS + 10),
        timed(TIME_MS + 500),
        timed(TIME_MS + 400),
    )
    for delta in (0, 10, 20, 21, 100, 101, 250, 251, 300, 301, 400, 401, 500, 501):
        probe.exchange(list_offsets(topic, TIME_MS + delta), 5, note=str(delta))
    for special in (-1, -2, -3):
        probe.exchange(list_offsets(topic, special), 8, note=str(special))


@case()
def segments_without_times(probe: Probe) -> None:
    topic = probe.topic(segment_ms="1")
    for records in (timed(-1, -1), timed(TIME_MS), timed(-1), timed(TIME_MS + 10), timed(-1)):
        fill(probe, topic, records)
        # Without times the clock closes a segment: let it go on.
        for turn, _ in enumerate(attempts("a moment later")):
            if turn:
                break
    for delta in (0, 1, 10, 11, FAR_FUTURE_MS - TIME_MS):
        probe.exchange(list_offsets(topic, TIME_MS + delta), 5, note=str(delta))
    for special in (-1, -2, -3):
        probe.exchange(list_offsets(topic, special), 8, note=str(special))


@case(releases=("3.7.2",))
def old_style_over_segments(probe: Probe) -> None:
    topic = probe.topic(segment_ms="1")
    fill(probe, topic, *(timed(TIME_MS + 10 * number) for number in range(4)))
    for time_ms in (-1, -2, 0, TIME_MS, FAR_FUTURE_MS):
        for count in (0, 1, 3, 99):
            probe.exchange(list_offsets(topic, time_ms, max_num_offsets=count), 0, note=f"{time_ms}, {count}")


@case()
def unnamed_timestamps_and_records_without_a_time(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, timed(-1), timed(-1, TIME_MS), timed(TIME_MS + 5))
    for version in (1, 4, 7):
        for timestamp in (-5, -6, -7, -8, -100, -(1 << 63), 0):
            probe.exchange(list_offsets(topic, timestamp), version, note=f"timestamp {timestamp}")


@case(releases=("3.7.2",))
def old_style_after_records_are_deleted(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, timed(TIME_MS), timed(TIME_MS + 5))
    for offset in (0, 1, 2):
        partitions = [DeleteRecordsPartition(partition_index=0, offset=offset)]
        topics = [DeleteRecordsTopic(name=topic, partitions=partitions)]
        probe.quiet(DeleteRecordsRequest(topics=topics, timeout_ms=5_000), 1)
        for timestamp in (-1, -2, TIME_MS, FAR_FUTURE_MS):
            for count in (1, 3):
                request = list_offsets(topic, timestamp, max_num_offsets=count)
                probe.exchange(request, 0, note=f"{timestamp}, {count}, from {offset}")
