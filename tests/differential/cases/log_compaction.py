"""Compaction, as its readers see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.records.compression import CompressionCodec
from tests.differential.case import case
from tests.differential.housekeeping import COMPACTED, OFTEN, at, await_offsets, barrier, show
from tests.differential.requests import TIME_MS, fill, list_offsets

if TYPE_CHECKING:
    from tests.differential.probe import Probe

A, B, C = b"a", b"b", b"c"


@case(settings=OFTEN)
def the_last_value_of_each_key_stays(probe: Probe) -> None:
    topic = probe.topic(**COMPACTED)
    fill(probe, topic, *(at(number, (key, b"%d" % number)) for number, key in enumerate((A, B, A, C, B, A))))
    fill(probe, topic, at(9, (A, b"active")))
    await_offsets(probe, topic, [3, 4, 5, 6])
    show(probe, topic, *range(8))


@case(settings=OFTEN)
def a_batch_keeps_the_records_that_count(probe: Probe) -> None:
    topic = probe.topic(**COMPACTED)
    fill(probe, topic, at(1, (A, b"1"), (B, b"2"), (C, b"3")), at(2, (B, b"4")), at(3, (C, b"5"), (C, b"6")))
    fill(probe, topic, at(9, (A, b"active")))
    await_offsets(probe, topic, [0, 3, 5, 6])
    show(probe, topic, *range(8))


@case(settings=OFTEN)
def compressed_batches(probe: Probe) -> None:
    topic = probe.topic(**COMPACTED)
    options = {"codec": CompressionCodec.LZ4}
    fill(probe, topic, at(1, (A, b"1"), (B, b"2"), **options), at(2, (B, b"4"), **options), at(9, (C, b"x"), **options))
    await_offsets(probe, topic, [0, 2, 3])
    for start in range(4):
        show(probe, topic, start)


@case(settings=OFTEN)
def a_tombstone_stays_until_its_horizon(probe: Probe) -> None:
    topic = probe.topic(**COMPACTED)
    options = {"codec": CompressionCodec.LZ4}
    fill(probe, topic, at(1, (A, b"1"), (B, b"2"), **options), at(2, (A, None), **options), at(9, (C, b"x"), **options))
    await_offsets(probe, topic, [1, 2, 3])
    for start in range(4):
        show(probe, topic, start)


@case(settings=OFTEN)
def a_tombstone_goes_after_its_horizon(probe: Probe) -> None:
    topic = probe.topic(**COMPACTED, delete_retention_ms="0")
    fill(probe, topic, at(1, (A, b"1"), (B, b"2")), at(2, (A, None)), at(3, (C, b"x")))
    await_offsets(probe, topic, [1, 2, 3])
    fill(probe, topic, at(4, (C, b"y")), at(5, (C, b"z")))
    await_offsets(probe, topic, [1, 4, 5])
    show(probe, topic, *range(6))


@case(settings=OFTEN)
def a_producers_last_batch_leaves_its_header(probe: Probe) -> None:
    topic = probe.topic(**COMPACTED)
    one = {"producer_id": 4_001, "producer_epoch": 2}
    fill(
        probe,
        topic,
        at(1, (A, b"1"), (B, b"2"), **one, base_sequence=0),
        at(2, (A, b"3"), (B, b"4"), **one, base_sequence=2),
        at(3, (A, b"5"), (B, b"6")),
        at(9, (C, b"x")),
    )
    await_offsets(probe, topic, [4, 5, 6])
    show(probe, topic, *range(7))


@case(settings=OFTEN)
def times_and_offsets_after_it(probe: Probe) -> None:
    topic = probe.topic(**COMPACTED)
    fill(probe, topic, *(at(number, (key, b"%d" % number)) for number, key in enumerate((A, B, A, C, B, A))))
    fill(probe, topic, at(6, (A, b"active")))
    await_offsets(probe, topic, [3, 4, 5, 6])
    for number in range(8):
        probe.exchange(list_offsets(topic, TIME_MS + 10 * number), 5, note=str(number))
    for special in (-1, -2, -3):
        probe.exchange(list_offsets(topic, special), 7, note=str(special))


@case(settings=OFTEN)
def young_segments_wait(probe: Probe) -> None:
    topic = probe.topic(**COMPACTED, min_compaction_lag_ms="9000000000000")
    fill(probe, topic, *(at(number, (A, b"%d" % number)) for number in range(4)))
    barrier(probe)
    show(probe, topic, *range(4))


@case(settings=OFTEN)
def old_segments_do_not_wait_to_be_dirty_enough(probe: Probe) -> None:
    dirty = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "1", "segment_ms": "1"}
    waits = probe.topic("waits", **dirty)
    goes = probe.topic("goes", **dirty, max_compaction_lag_ms="1")
    for topic in (waits, goes):
        fill(probe, topic, *(at(number, (A, b"%d" % number)) for number in range(4)))
    await_offsets(probe, goes, [2, 3])
    show(probe, goes, *range(4))
    barrier(probe)
    show(probe, waits, *range(4))


@case(settings=OFTEN)
def the_active_segment_is_left_alone(probe: Probe) -> None:
    topic = probe.topic(cleanup_policy="compact", min_cleanable_dirty_ratio="0")
    fill(probe, topic, *(at(number, (A, b"%d" % number)) for number in range(4)))
    barrier(probe)
    show(probe, topic, 0)


@case(settings=OFTEN)
def segments_are_put_together(probe: Probe) -> None:
    topic = probe.topic(**COMPACTED)
    keys = [b"%d" % (number % 4) for number in range(12)]
    fill(probe, topic, *(at(number, (key, b"v" * 50)) for number, key in enumerate(keys)))
    fill(probe, topic, at(20, (A, b"active")))
    await_offsets(probe, topic, [8, 9, 10, 11, 12])
    show(probe, topic, 0, 5, 8, 10, 12)


@case(settings=OFTEN)
def it_goes_on_where_it_ended(probe: Probe) -> None:
    topic = probe.topic(**COMPACTED)
    fill(probe, topic, at(1, (A, b"1")), at(2, (A, b"2")), at(3, (B, b"3")))
    await_offsets(probe, topic, [1, 2])
    fill(probe, topic, at(4, (A, b"4")), at(5, (C, b"5")))
    await_offsets(probe, topic, [2, 3, 4])
    fill(probe, topic, at(6, (B, b"6")), at(7, (C, b"7")), at(8, (C, b"8")))
    await_offsets(probe, topic, [3, 5, 6, 7])
    show(probe, topic, *range(8))
