"""Produce, as raw probes see it: timestamps, create time and log append time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.records.compression import CompressionCodec, compress
from tests.differential.case import case
from tests.differential.requests import FAR_FUTURE_MS, TIME_MS, batch, produce, read_back, record, sealed, timed

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case()
def the_max_timestamp_is_put_right(probe: Probe) -> None:
    topic = probe.topic()
    two = record(0) + record(1, time_delta=50)
    for max_timestamp in (TIME_MS, TIME_MS + 50, TIME_MS + 99, -1, 0):
        records = sealed(two, count=2, max_timestamp=max_timestamp)
        probe.exchange(produce(topic, records), 9, note=str(max_timestamp - TIME_MS))
    read_back(probe, topic)


@case()
def deltas_of_time(probe: Probe) -> None:
    topic = probe.topic()
    for deltas in ((-50, 0), (0, -TIME_MS), (0, -TIME_MS - 1), (0, -TIME_MS - 2), (5, 5)):
        payload = b"".join(record(number, time_delta=delta) for number, delta in enumerate(deltas))
        probe.exchange(produce(topic, sealed(payload, count=2)), 9, note=str(deltas))
    read_back(probe, topic)


@case()
def negative_times(probe: Probe) -> None:
    topic = probe.topic()
    for time_ms in (-1, -2, -1_000, 0, 1):
        probe.exchange(produce(topic, timed(time_ms)), 9, note=str(time_ms))
    read_back(probe, topic)


@case()
def times_beyond_int64(probe: Probe) -> None:
    """Java's sum of base and delta wraps."""
    topic = probe.topic(message_timestamp_after_max_ms="9223372036854775807")
    for codec in (CompressionCodec.NONE, CompressionCodec.GZIP):
        for base, deltas in (
            (9_223_372_036_854_775_807, (0, 5)),
            (9_223_372_036_854_775_807, (0, 0)),
            (9_223_372_036_854_775_800, (5, 9)),
            (-9_223_372_036_854_775_808, (-5, 0)),
            (-9_223_372_036_854_775_808, (-5, -9)),
            (5, (9_223_372_036_854_775_807, 0)),
        ):
            payload = b"".join(record(number, time_delta=delta) for number, delta in enumerate(deltas))
            fields = {"base_timestamp": base, "max_timestamp": base, "attributes": int(codec)}
            records = sealed(compress(codec, payload), count=2, **fields)
            probe.exchange(produce(topic, records), 9, note=f"{codec.name} {base} {deltas}")
    read_back(probe, topic)


@case()
def times_in_the_future(probe: Probe) -> None:
    topic = probe.topic()
    for version in (3, 7, 8, 9):
        probe.exchange(produce(topic, timed(FAR_FUTURE_MS)), version)
    probe.exchange(produce(topic, timed(TIME_MS, FAR_FUTURE_MS, TIME_MS, FAR_FUTURE_MS + 1)), 9, note="two of four")
    probe.exchange(produce(topic, timed(9_223_372_036_854_775_807)), 9, note="the last")
    read_back(probe, topic)


@case()
def times_in_the_future_compressed(probe: Probe) -> None:
    topic = probe.topic()
    records = timed(TIME_MS, FAR_FUTURE_MS, TIME_MS, FAR_FUTURE_MS + 1, codec=CompressionCodec.GZIP)
    probe.exchange(produce(topic, records), 9)


@case()
def bounds_of_the_topic(probe: Probe) -> None:
    topic = probe.topic(message_timestamp_before_max_ms="1000", message_timestamp_after_max_ms="1000")
    probe.exchange(produce(topic, timed(TIME_MS)), 9, note="long ago")
    probe.exchange(produce(topic, timed(FAR_FUTURE_MS)), 9, note="far ahead")
    probe.exchange(produce(topic, timed(-1)), 9, note="none")
    probe.exchange(produce(topic, timed(FAR_FUTURE_MS, TIME_MS)), 9, note="both")


@case()
def the_old_name_of_the_bounds(probe: Probe) -> None:
    name = f"{probe.name}-t"
    from tests.differential.cases.create_topics import new, send_create

    created = send_create(probe, 7, new(name, message_timestamp_difference_max_ms="1000"))
    if not created.topics[0].error_code:  # 4.0 knows the name no more
        probe.await_topic(name)
    probe.exchange(produce(name, timed(TIME_MS)), 9, note="long ago")
    probe.exchange(produce(name, timed(FAR_FUTURE_MS)), 9, note="far ahead")


@case()
def log_append_time(probe: Probe) -> None:
    topic = probe.topic(message_timestamp_type="LogAppendTime")
    for version in (3, 5, 8, 9):
        probe.exchange(produce(topic, timed(TIME_MS, TIME_MS + 5)), version)
    probe.exchange(produce(topic, timed(FAR_FUTURE_MS)), 9, note="far ahead")
    probe.exchange(produce(topic, timed(-1)), 9, note="none")
    probe.exchange(produce(topic, sealed(record(0), count=1, attributes=8)), 9, note="the producer sets append time")
    read_back(probe, topic)


@case()
def log_append_time_compressed(probe: Probe) -> None:
    topic = probe.topic(message_timestamp_type="LogAppendTime")
    for codec in (CompressionCodec.GZIP, CompressionCodec.LZ4):
        probe.exchange(produce(topic, timed(TIME_MS, TIME_MS + 5, codec=codec)), 9, note=codec.name)
    read_back(probe, topic)


@case()
def append_time_in_a_topic_of_create_time(probe: Probe) -> None:
    topic = probe.topic()
    payload = record(0) + record(1, key=None, value=None)
    records = sealed(payload, count=2, attributes=8)
    for version in (3, 8, 9):
        probe.exchange(produce(topic, records), version)
    for target in ("producer", "lz4", "gzip"):
        other = probe.topic(target, compression_type=target)
        for codec in (CompressionCodec.NONE, CompressionCodec.GZIP):
            stamped = sealed(compress(codec, payload), count=2, attributes=int(codec) | 8)
            probe.exchange(produce(other, stamped), 9, note=f"{codec.name} to {target}")
    probe.exchange(produce(topic, batch(b"a")), 9)
    read_back(probe, topic)
