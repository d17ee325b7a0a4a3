"""Fetch, as raw probes see it: without sessions."""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, Final

from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from protocol_specs.messages.fetch import FetchRequest, FetchTopic, ReplicaState
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.uuids import METADATA_TOPIC_UUID, ZERO_UUID
from tests.differential.case import case
from tests.differential.requests import batch, fetch, fill, metadata, produce, wanted

if TYPE_CHECKING:
    from tests.differential.probe import Probe

NO_SUCH_ID = b"no such topic id"
LONG_MS: Final = 60_000
"""The wait of a fetch that shall not wait: twice the time that a response may take."""


@case()
def every_version_with_records(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    fill(probe, topic, batch(b"a"), batch(b"b", b"c"))
    for version in range(4, 19):
        probe.exchange(fetch(topic, wanted(), topic_id=topic_id), version)


@case()
def every_version_at_the_end_of_the_log(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    for version in range(19):
        if version >= 4 or probe.release != "3.7.2":
            probe.exchange(fetch(topic, wanted(), topic_id=topic_id), version)


@case(releases=("3.7.2",))
def versions_of_old_formats(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"), batch(b"b", b"c"))
    for version in range(4):
        probe.exchange(fetch(topic, wanted()), version)


@case(releases=("3.7.2",))
def an_empty_log_in_versions_of_old_formats(probe: Probe) -> None:
    topic = probe.topic()
    for version in range(4):
        probe.exchange(fetch(topic, wanted()), version)
        probe.exchange(fetch(topic, wanted(5)), version, note="past the end")
        probe.exchange(fetch(topic, wanted(partition=5)), version, note="unknown partition")


@case()
def offsets(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"), batch(b"b", b"c", b"d"), batch(b"e"))
    for offset in (0, 1, 2, 3, 4, 5, 6, -1, -2, 100, 9_223_372_036_854_775_807, -9_223_372_036_854_775_808):
        for version in (4, 11, 12):
            probe.exchange(fetch(topic, wanted(offset)), version, note=str(offset))


@case()
def errors_in_every_version(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    for version in range(4, 19):
        probe.exchange(fetch(topic, wanted(partition=5), topic_id=topic_id), version, note="unknown partition")
        probe.exchange(fetch(topic, wanted(partition=-1), topic_id=topic_id), version, note="partition -1")
        probe.exchange(fetch(topic, wanted(9), topic_id=topic_id), version, note="past the end")
        probe.exchange(fetch(f"{probe.name}-none", wanted(), topic_id=NO_SUCH_ID), version, note="unknown topic")
        probe.exchange(fetch(topic, wanted(leader_epoch=9), topic_id=topic_id), version, note="epoch 9")


@case()
def names_that_no_topic_may_have(probe: Probe) -> None:
    for name in ("", "a b", "x" * 250, "__cluster_metadata"):
        for version in (4, 12):
            probe.exchange(fetch(name, wanted()), version, note=name[:20])


@case()
def topic_ids(probe: Probe) -> None:
    topic = probe.topic()
    for each in (NO_SUCH_ID, ZERO_UUID, METADATA_TOPIC_UUID):
        for version in (13, 15, 16):
            probe.exchange(fetch("", wanted(), topic_id=each), version)
            probe.exchange(fetch("", wanted(), wanted(partition=1), topic_id=each), version)
    three = fetch("", wanted(), topic_id=ZERO_UUID)
    three.topics.append(FetchTopic(topic_id=NO_SUCH_ID, partitions=[wanted()]))
    probe.exchange(three, 13, note="zero and unknown")
    three.topics.append(FetchTopic(topic_id=ZERO_UUID, partitions=[wanted(partition=1)]))
    probe.exchange(three, 13, note="zero, unknown and zero")
    probe.exchange(fetch("", wanted(), wanted(), topic_id=ZERO_UUID), 13, note="zero twice the same")
    for epoch in (0, 5):
        request = fetch("", wanted(), wanted(partition=1), topic_id=ZERO_UUID, session_epoch=epoch)
        probe.exchange(request, 13, note="two of zero in a session")
    request = fetch("", wanted(), topic_id=probe.topic_id(topic))
    request.topics.append(FetchTopic(topic_id=NO_SUCH_ID, partitions=[wanted()]))
    probe.exchange(request, 13, note="one is known")


@case()
def leader_epochs(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    for epoch in (-1, -2, 0, 1, 99, 2_147_483_647):
        for version in (9, 12):
            probe.exchange(fetch(topic, wanted(leader_epoch=epoch)), version, note=str(epoch))


@case()
def last_fetched_epochs(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"), batch(b"b"))
    for epoch in (-1, -2, 0, 1, 99):
        for offset in (0, 1, 2):
            probe.exchange(fetch(topic, wanted(offset, last_fetched_epoch=epoch)), 12, note=f"{epoch} {offset}")
    probe.exchange(fetch(topic, wanted(7, last_fetched_epoch=0)), 12, note="past the end")
    probe.exchange(fetch(topic, wanted(1, last_fetched_epoch=0, leader_epoch=0)), 12, note="both epochs")


@case()
def limits_of_partitions(probe: Probe) -> None:
    topic = probe.topic()
    one = batch(b"x" * 100)
    fill(probe, topic, one, one, one)
    for limit in (0, 1, len(one) - 1, len(one), len(one) + 1, 2 * len(one), 2 * len(one) + 30, 1 << 20, -1):
        for version in (4, 12):
            probe.exchange(fetch(topic, wanted(max_bytes=limit)), version, note=f"{limit}")


@case()
def limits_of_the_request(probe: Probe) -> None:
    topic = probe.topic()
    one = batch(b"x" * 100)
    fill(probe, topic, one, one, one)
    for limit in (0, 1, len(one) - 1, len(one), len(one) + 1, 2 * len(one), 2 * len(one) + 30, -1):
        for version in (4, 12):
            probe.exchange(fetch(topic, wanted(), max_bytes=limit), version, note=f"{limit}")
    probe.exchange(fetch(topic, wanted(max_bytes=1), max_bytes=1), 12, note="both")
    probe.exchange(fetch(topic, wanted(max_bytes=0), max_bytes=0), 12, note="both 0")


@case()
def limits_below_0(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    one = batch(b"x" * 100)
    fill(probe, topic, one)
    fill(probe, topic, one, partition=1)
    for limit in (-1, -2_147_483_648):
        negative = [wanted(partition=partition, max_bytes=limit) for partition in range(3)]
        probe.exchange(fetch(topic, *negative), 12, note="every partition")
        probe.exchange(fetch(topic, wanted(1, max_bytes=limit)), 12, note="at the end")
        probe.exchange(fetch(topic, wanted(2, max_bytes=limit)), 12, note="past the end")
        parts = [wanted(partition=partition) for partition in range(3)]
        probe.exchange(fetch(topic, *parts, max_bytes=limit), 12, note="the request")
        probe.exchange(fetch(topic, *parts, max_bytes=limit, session_epoch=0), 12, note="a session")
        waiting = fetch(topic, *parts, max_bytes=limit, max_wait_ms=LONG_MS, min_bytes=1)
        probe.exchange(waiting, 12, note="and waits")


@case()
def limits_across_partitions(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    one = batch(b"x" * 100)
    for partition in range(3):
        fill(probe, topic, one, one, partition=partition)
    parts = [wanted(partition=partition) for partition in range(3)]
    for limit in (1, len(one), len(one) + 1, 2 * len(one), 3 * len(one), 5 * len(one) + 7):
        probe.exchange(fetch(topic, *parts, max_bytes=limit), 12, note=f"{limit}")
        probe.exchange(fetch(topic, *reversed(parts), max_bytes=limit), 12, note=f"{limit} backwards")
    small = [wanted(partition=partition, max_bytes=10) for partition in range(3)]
    probe.exchange(fetch(topic, *small), 12, note="small partitions")
    first_is_empty = [wanted(2, partition=0), *small[1:]]
    probe.exchange(fetch(topic, *first_is_empty), 12, note="small partitions, the first has nothing")


@case()
def limits_inside_a_compressed_batch(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a", b"b", b"c", codec=CompressionCodec.GZIP), batch(b"d"))
    for offset in (0, 1, 2, 3):
        probe.exchange(fetch(topic, wanted(offset, max_bytes=1)), 12, note=str(offset))


@case()
def every_codec_in_versions(probe: Probe) -> None:
    topic = probe.topic()
    for codec in CompressionCodec:
        fill(probe, topic, batch(b"a", b"b" * 200, codec=codec))
    for version in (4, 9, 10, 11, 12):
        probe.exchange(fetch(topic, wanted()), version)


@case()
def unwritten_batches_are_waited_for(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(fetch(topic, wanted(), max_wait_ms=100, min_bytes=1), 12, note="nothing comes")
    fill(probe, topic, batch(b"a"))
    probe.exchange(fetch(topic, wanted(), max_wait_ms=LONG_MS, min_bytes=1), 12, note="there at once")
    probe.exchange(fetch(topic, wanted(), max_wait_ms=100, min_bytes=10_000), 12, note="too little")
    probe.exchange(fetch(topic, wanted(1), max_wait_ms=-1, min_bytes=1), 12, note="a wait of -1")
    probe.exchange(fetch(topic, wanted(), max_wait_ms=-1, min_bytes=-1), 12, note="at least -1 bytes")


@case()
def an_error_of_the_log_is_not_waited_with(probe: Probe) -> None:
    """A partition that the metadata does not have does not end the wait for data of the others."""
    topic = probe.topic(partitions=2)
    started = time.monotonic()
    probe.exchange(fetch(topic, wanted(), wanted(partition=7), max_wait_ms=600, min_bytes=1), 12)
    probe.write(waited=time.monotonic() - started > 0.5)
    probe.exchange(fetch(topic, wanted(partition=7), max_wait_ms=LONG_MS, min_bytes=1), 12, note="unknown alone")
    both = (wanted(), wanted(5, partition=1))
    probe.exchange(fetch(topic, *both, max_wait_ms=LONG_MS, min_bytes=1), 12, note="one past the end")
    probe.exchange(fetch(topic, wanted(5), max_wait_ms=LONG_MS, min_bytes=1), 12, note="past the end")
    probe.exchange(fetch(topic, wanted(leader_epoch=5), max_wait_ms=LONG_MS, min_bytes=1), 12, note="epoch")
    probe.exchange(fetch(None, max_wait_ms=LONG_MS, min_bytes=1), 12, note="nothing requested")


@case()
def several_partitions_and_topics(probe: Probe) -> None:
    topics = [probe.topic("a", partitions=2), probe.topic("b")]
    fill(probe, topics[0], batch(b"a"), partition=1)
    fill(probe, topics[1], batch(b"b"))
    request = fetch(topics[0], wanted(), wanted(partition=1), wanted(partition=2))
    request.topics += fetch(topics[1], wanted()).topics + fetch(f"{probe.name}-none", wanted()).topics
    for version in (4, 11, 12):
        probe.exchange(request, version)


@case()
def the_same_partition_twice(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"), batch(b"b"))
    for version in (4, 12):
        probe.exchange(fetch(topic, wanted(0), wanted(1)), version)
        probe.exchange(fetch(topic, wanted(1), wanted(0)), version)
        request = fetch(topic, wanted(0))
        request.topics += fetch(topic, wanted(1)).topics
        probe.exchange(request, version, note="the topic twice")


@case()
def nothing(probe: Probe) -> None:
    topic = probe.topic()
    for version in (4, 7, 12):
        probe.exchange(fetch(None), version)
        probe.exchange(fetch(topic), version, note="no partitions")


@case()
def isolation_levels(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    for level in (0, 1, 2, -1, 127):
        for version in (4, 12):
            probe.exchange(fetch(topic, wanted(), isolation_level=level), version, note=str(level))
    probe.exchange(fetch(topic, wanted(9), isolation_level=1), 12, note="past the end")
    probe.exchange(fetch(topic, wanted(partition=9), isolation_level=1), 12, note="unknown partition")


@case()
def replica_ids(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    fill(probe, topic, batch(b"a"))
    for replica in (-1, -2, -3, 1, 5):
        for version in (4, 12):
            probe.exchange(fetch(topic, wanted(), replica_id=replica), version, note=str(replica))
        state = ReplicaState(replica_id=replica, replica_epoch=3)
        probe.exchange(fetch("", wanted(), topic_id=topic_id, replica_state=state), 15, note=str(replica))


@case()
def cluster_ids(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    for cluster_id in (None, "", "another"):
        probe.exchange(fetch(topic, wanted(), cluster_id=cluster_id), 12, note=str(cluster_id))


@case()
def racks(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    for rack in ("", "a", "ä" * 50):
        for version in (11, 12):
            probe.exchange(fetch(topic, wanted(), rack_id=rack), version, note=rack)


@case()
def high_watermarks_and_directories(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    fill(probe, topic, batch(b"a"))
    for high_watermark in (0, 1, 5, -1):
        probe.exchange(
            fetch("", wanted(high_watermark=high_watermark), topic_id=topic_id), 18, note=str(high_watermark)
        )
    probe.exchange(fetch("", wanted(replica_directory_id=NO_SUCH_ID), topic_id=topic_id), 17)


@case()
def segments_are_not_crossed(probe: Probe) -> None:
    topic = probe.topic(segment_bytes="1048576", max_message_bytes="2000000")
    large = batch(b"x" * 700_000)
    fill(probe, topic, batch(b"a"), large, large, batch(b"b"))

    def sizes(offset: int, limit: int) -> None:
        response = probe.quiet(fetch(topic, wanted(offset, max_bytes=limit)), 12)
        assert not isinstance(response, str)
        data = response.responses[0].partitions[0].records  # type: ignore[attr-defined]
        probe.write(offset=offset, limit=limit, bytes=len(data))

    for offset in (0, 1, 2, 3, 4):
        for limit in (10, 800_000, 10_000_000):
            sizes(offset, limit)


@case()
def a_new_segment_for_each_batch(probe: Probe) -> None:
    topic = probe.topic(segment_ms="1")
    for number in range(3):
        fill(probe, topic, batch(b"%d" % number, time_ms=1_600_000_000_000 + 10_000 * number))
    for offset in (0, 1, 2, 3):
        probe.exchange(fetch(topic, wanted(offset)), 12, note=str(offset))


@case()
def offsets_in_older_segments_are_not_waited_with(probe: Probe) -> None:
    """A parked Fetch completes once its offset is in an older segment than the last record, however few the bytes."""
    topic = probe.topic(segment_ms="1")
    started_ms = 1_600_000_000_000
    for number in range(2):
        fill(probe, topic, batch(b"%d" % number, time_ms=started_ms + 10_000 * number))

    def whole(
        offset: int, max_bytes: int = 1 << 20, min_bytes: int = 10_000, max_wait_ms: int = LONG_MS
    ) -> FetchRequest:
        return fetch(topic, wanted(offset, max_bytes=max_bytes), max_wait_ms=max_wait_ms, min_bytes=min_bytes)

    probe.exchange(whole(0), 12, note="in the older of two segments")
    probe.exchange(whole(1, max_wait_ms=300), 12, note="in the newer one")
    other = probe.connect()
    probe.quiet(fetch(topic, wanted()), 12, on=other)
    parked = probe.park(whole(2), 12, on=other, note="at the end, and a segment is rolled")
    fill(probe, topic, batch(b"2", time_ms=started_ms + 20_000))
    probe.finish(parked)


@case()
def parked_fetches_count_no_more_than_their_limit(probe: Probe) -> None:
    """The bytes of a parked Fetch count up to the limit of the partition, though a larger first batch is returned."""
    topic = probe.topic()
    other = probe.connect()
    probe.quiet(fetch(topic, wanted()), 12, on=other)
    for offset, (max_bytes, min_bytes, wait_ms) in enumerate(
        ((50, 51, 1_500), (50, 50, LONG_MS), (100, 80, LONG_MS), (100, 101, 1_500))
    ):
        waiting = fetch(topic, wanted(offset, max_bytes=max_bytes), max_wait_ms=wait_ms, min_bytes=min_bytes)
        started, parked = time.monotonic(), probe.park(waiting, 12, on=other)
        fill(probe, topic, batch(b"a" * 20))
        probe.finish(parked)
        probe.write(waited=time.monotonic() - started > 0.9 * wait_ms / 1_000)


@case()
def what_acks_0_and_1_wrote(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(produce(topic, batch(b"a"), acks=1), 9)
    probe.exchange(fetch(topic, wanted()), 12)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    head = b"\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0\x10\0\0\0"
    for version, body, note in (
        (4, b"", "empty"),
        (4, head, "no topics"),
        (4, head + b"\xff\xff\xff\xff", "null topics"),
        (4, head + b"\0\0\0\0more", "more bytes"),
        (4, head + b"\x7f\xff\xff\xff", "2**31-1 topics"),
        (4, head + b"\0\0\0\1\xff\xff\0\0\0\0", "null topic"),
        (4, head + b"\0\0\0\1\0\1t\xff\xff\xff\xff", "null partitions"),
        (4, head + b"\0\0\0\1\0\1t\0\0\0\1" + struct.pack(">iq", 0, 0), "no limit"),
        (12, head + bytes(8) + b"\0\1\1\0", "null topics"),
        (12, head + bytes(8) + b"\1\0\1\0", "null forgotten topics"),
        (12, head + bytes(8) + b"\1\1\0\0", "null rack"),
        (12, head + b"\0\0\0\0\xff\xff\xff\xff\1\1\1\0", "right"),
        (12, head + b"\0\0\0\0\xff\xff\xff\xff\1\1\1\1\0\1\0", "a null cluster id"),
        (12, head + b"\0\0\0\0\xff\xff\xff\xff\1\1\1\1\0\4\3ab\0", "bytes after the cluster id"),
        (12, head + b"\0\0\0\0\xff\xff\xff\xff\1\1\1\1\0\1\3", "a cluster id that is cut"),
        (12, head + b"\0\0\0\0\xff\xff\xff\xff\1\1\1\1\x09\1x", "an unknown tag"),
    ):
        probe.raw_body(1, version, body, note=note)


@case()
def a_topic_made_again(probe: Probe) -> None:
    topic = probe.topic()
    old_id = probe.topic_id(topic)
    fill(probe, topic, batch(b"old"))
    probe.quiet(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5_000), 5)
    probe.normaliser.know_topic(f"{topic} of old", old_id)
    assert probe.topic() == topic
    new_id = probe.topic_id(topic)
    for each in (old_id, new_id):
        probe.exchange(fetch(topic, wanted(), topic_id=each), 13)
        probe.exchange(metadata(ids=[each]), 12)
    probe.exchange(fetch(topic, wanted()), 12)
    probe.exchange(fetch(topic, wanted(1)), 12)


@case()
def versions_in_the_request(probe: Probe) -> None:
    """A version requests topics by its key: a name up to 12, an id from 13."""
    topic = probe.topic()
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic=topic, partitions=[wanted()])])
    probe.exchange(request, 13)
    request.topics[0].topic_id = NO_SUCH_ID
    probe.exchange(request, 12)


@case()
def a_first_batch_that_is_left_out_is_not_looked_into(probe: Probe) -> None:
    """It has no list of aborted transactions, which is empty where nothing may be read at all."""
    topic = probe.topic(partitions=2)
    fill(probe, topic, batch(b"a"))
    fill(probe, topic, batch(b"b"), batch(b"c"), partition=1)
    for version in (4, 7, 12):
        for limit in (-1, 0, 1, 68, 69, 70):
            for level in (0, 1):
                behind = wanted(partition=1, max_bytes=limit)
                at_the_end = wanted(2, partition=1, max_bytes=limit)
                for last in (behind, at_the_end):
                    request = fetch(topic, wanted(), last, isolation_level=level)
                    probe.exchange(request, version, note=f"limit {limit}, isolation {level}, from {last.fetch_offset}")
    for limit in (69, 70, 100, 138, 139):
        request = fetch(topic, wanted(), wanted(partition=1), isolation_level=1, max_bytes=limit)
        probe.exchange(request, 12, note=f"limit {limit} of the request")
