"""Fetch, as raw probes see it: what versions 0 to 3 get of a log of a newer format, and zstd for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.fetch import FetchTopic
from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.compression import CompressionCodec
from tests.differential.case import case
from tests.differential.requests import (
    TIME_MS,
    batch,
    fetch,
    fill,
    idempotent,
    record,
    sealed,
    timed,
    wanted,
)

if TYPE_CHECKING:
    from tests.differential.probe import Probe

OLD = ("3.7.2",)
VERSIONS = range(4)


@case(releases=OLD)
def every_codec(probe: Probe) -> None:
    for codec in CompressionCodec:
        topic = probe.topic(codec.name)
        fill(probe, topic, batch(b"a", b"b", b"c", codec=codec), batch(b"d"), batch(b"e", b"f", codec=codec))
        for version in VERSIONS:
            for offset in (0, 1, 2, 3, 4, 5, 6):
                probe.exchange(fetch(topic, wanted(offset)), version, note=f"{codec.name} {offset}")


@case(releases=OLD)
def what_old_formats_do_not_have(probe: Probe) -> None:
    headers = RecordBatchBuilder()
    headers.append(TIME_MS, None, None, (("h", b"1"), ("i", None)))
    headers.append(TIME_MS, b"", b"", ())
    topic = probe.topic()
    fill(probe, topic, headers.build(), idempotent(7_200, 0, 0, b"a", b"b"), timed(-1, 5, -1))
    for version in VERSIONS:
        for offset in range(7):
            probe.exchange(fetch(topic, wanted(offset)), version, note=str(offset))


@case(releases=OLD)
def times_before_1970(probe: Probe) -> None:
    topic = probe.topic()
    negative = record(0) + record(1, time_delta=-TIME_MS - 5)
    fill(probe, topic, sealed(negative, count=2), batch(b"a"))
    for version in VERSIONS:
        for offset in range(3):
            probe.exchange(fetch(topic, wanted(offset)), version, note=str(offset))


@case(releases=OLD)
def log_append_time(probe: Probe) -> None:
    topic = probe.topic(message_timestamp_type="LogAppendTime")
    fill(probe, topic, batch(b"a", b"b"), batch(b"c", b"d", codec=CompressionCodec.GZIP))
    for version in VERSIONS:
        for offset in range(4):
            probe.exchange(fetch(topic, wanted(offset)), version, note=str(offset))


@case(releases=OLD)
def limits(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, *[batch(b"v" * 50) for _ in range(5)], batch(b"w" * 500), batch(b"x"))
    for version in VERSIONS:
        for limit in (0, 1, 11, 12, 50, 100, 119, 120, 121, 150, 239, 240, 300, 600, 2000):
            probe.exchange(fetch(topic, wanted(max_bytes=limit)), version, note=str(limit))
            probe.exchange(fetch(topic, wanted(5, max_bytes=limit)), version, note=f"{limit} from 5")
    for limit in (0, 1, 50, 120, 150, 600):
        probe.exchange(fetch(topic, wanted(), max_bytes=limit), 3, note=f"{limit} in all")


@case(releases=OLD)
def limits_with_compressed_batches(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, *[batch(b"v" * 50, b"w" * 50, codec=CompressionCodec.GZIP) for _ in range(4)])
    for version in VERSIONS:
        for limit in (1, 50, 2000):
            probe.exchange(fetch(topic, wanted(max_bytes=limit)), version, note=str(limit))


@case(releases=OLD)
def negative_limits(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    for version in VERSIONS:
        for limit in (-1, -2_147_483_648):
            probe.exchange(fetch(topic, wanted(max_bytes=limit)), version, note=str(limit))


@case(releases=OLD)
def several_partitions(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    fill(probe, topic, batch(b"a", b"b"))
    fill(probe, topic, batch(b"c", codec=CompressionCodec.ZSTD), partition=1)
    for version in VERSIONS:
        parts = [wanted(partition=index) for index in range(4)]
        probe.exchange(fetch(topic, *parts), version)
        probe.exchange(fetch(topic, *reversed(parts)), version, note="the other way round")
        probe.exchange(fetch(topic, wanted(1), wanted(0)), version, note="twice the same")
        two = fetch(topic, wanted())
        two.topics.append(FetchTopic(topic=f"{probe.name}-none", partitions=[wanted()]))
        two.topics.append(FetchTopic(topic=topic, partitions=[wanted(partition=2)]))
        probe.exchange(two, version, note="topics")


@case(releases=OLD)
def conversion_that_is_switched_off(probe: Probe) -> None:
    topic = probe.topic(partitions=2, message_downconversion_enable="false")
    fill(probe, topic, batch(b"a"))
    for version in range(5):
        probe.exchange(fetch(topic, wanted(), wanted(partition=1)), version)
        probe.exchange(fetch(topic, wanted(1)), version, note="at the end")
        probe.exchange(fetch(topic, wanted(9)), version, note="past the end")
        probe.exchange(fetch(topic, wanted(), replica_id=7), version, note="a follower that is none")
        probe.exchange(fetch(topic, wanted(), replica_id=-2), version, note="a debugger")


@case(releases=OLD)
def a_follower_fetches_in_an_old_version(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a", b"b"))
    for version in VERSIONS:
        for replica in (1, 7, -2, -3):
            probe.exchange(fetch(topic, wanted(1), replica_id=replica), version, note=str(replica))


@case()
def zstd_topics_in_every_version(probe: Probe) -> None:
    topic = probe.topic(compression_type="zstd", partitions=2)
    topic_id = probe.topic_id(topic)
    fill(probe, topic, batch(b"a", b"b"))
    for version in range(19):
        probe.exchange(fetch(topic, wanted(), wanted(partition=1), topic_id=topic_id), version)
        probe.exchange(fetch(topic, wanted(9), topic_id=topic_id), version, note="past the end")
        probe.exchange(fetch(topic, wanted(partition=9), topic_id=topic_id), version, note="no such partition")
    for version in (4, 9, 10):
        probe.exchange(fetch(topic, wanted(), replica_id=7), version, note="a follower that is none")


@case()
def zstd_batches_in_every_version(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    fill(probe, topic, batch(b"a", b"b", codec=CompressionCodec.ZSTD), batch(b"c"))
    for version in range(4 if probe.release != "3.7.2" else 0, 19):
        for offset in range(3):
            probe.exchange(fetch(topic, wanted(offset), topic_id=topic_id), version, note=str(offset))


@case(releases=OLD)
def zstd_batches_behind_others(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a", b"b"), batch(b"c", codec=CompressionCodec.ZSTD), batch(b"d"))
    for version in VERSIONS:
        for offset in range(4):
            probe.exchange(fetch(topic, wanted(offset)), version, note=str(offset))


@case(releases=OLD)
def times_before_1970_behind_others(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    negative = record(0) + record(1, time_delta=-TIME_MS - 5)
    fill(probe, topic, batch(b"a"), sealed(negative, count=2), batch(b"b"))
    fill(probe, topic, batch(b"c"), partition=1)
    for version in VERSIONS:
        probe.exchange(fetch(topic, wanted()), version)
        probe.exchange(fetch(topic, wanted(), wanted(partition=1)), version)
        probe.exchange(fetch(topic, wanted(1), wanted(partition=1)), version)


@case(releases=OLD)
def record_headers_and_sizes_together(probe: Probe) -> None:
    topic = probe.topic()
    many = RecordBatchBuilder()
    for number in range(20):
        many.append(TIME_MS + number, b"key%d" % number, b"v" * number, (("h", b"x" * 30),))
    fill(probe, topic, many.build(), batch(b"a"))
    for version in VERSIONS:
        for limit in (100, 1_000, 1 << 20):
            for offset in (0, 7, 19, 20):
                probe.exchange(fetch(topic, wanted(offset, max_bytes=limit)), version, note=f"{offset} {limit}")


@case()
def zstd_topics_in_sessions(probe: Probe) -> None:
    topic = probe.topic(compression_type="zstd", partitions=2)
    fill(probe, topic, batch(b"a"))
    for version in (7, 9, 10):
        opened: Any = probe.exchange(
            fetch(topic, wanted(), wanted(partition=1), session_epoch=0), version, note="opened"
        )
        session = opened.session_id
        for epoch in (1, 2):
            request = fetch(None, session_id=session, session_epoch=epoch)
            probe.exchange(request, version, note=f"epoch {epoch}")
        fill(probe, topic, batch(b"b"), partition=1)
        probe.exchange(fetch(None, session_id=session, session_epoch=3), version, note="after an append")
        probe.exchange(fetch(topic, wanted(50), session_id=session, session_epoch=4), version, note="past the end")


@case(releases=OLD)
def waits(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(fetch(topic, wanted(), max_wait_ms=50, min_bytes=1), 1, note="an empty log")
    fill(probe, topic, batch(b"a"), batch(b"b"))
    for version in VERSIONS:
        for least in (1, 100, 150, 1_000):
            probe.exchange(fetch(topic, wanted(), max_wait_ms=50, min_bytes=least), version, note=str(least))
        probe.exchange(fetch(topic, wanted(2), max_wait_ms=50, min_bytes=1), version, note="at the end")


@case(settings=(("log.message.downconversion.enable", "false"),), releases=OLD)
def conversion_that_the_broker_switches_off(probe: Probe) -> None:
    topic = probe.topic()
    enabled = probe.topic("enabled", message_downconversion_enable="true")
    fill(probe, topic, batch(b"a"))
    fill(probe, enabled, batch(b"a"))
    for version in range(5):
        probe.exchange(fetch(topic, wanted()), version)
        probe.exchange(fetch(enabled, wanted()), version, note="the topic allows it")


@case(releases=OLD)
def what_cannot_be_written_before_what_cannot_be_sent(probe: Probe) -> None:
    topic = probe.topic()
    negative = record(0) + record(1, time_delta=-TIME_MS - 5)
    fill(probe, topic, batch(b"a"), sealed(negative, count=2), batch(b"c", codec=CompressionCodec.ZSTD), batch(b"d"))
    for version in VERSIONS:
        for offset in range(5):
            probe.exchange(fetch(topic, wanted(offset)), version, note=str(offset))
