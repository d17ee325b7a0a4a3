"""Retention, as its readers see it; the log cleaner does it on compacted topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.differential.case import case
from tests.differential.housekeeping import OFTEN, at, barrier, earliest, show, size, until
from tests.differential.requests import FAR_FUTURE_MS, TIME_MS, fill, list_offsets, produce, timed

if TYPE_CHECKING:
    from tests.differential.probe import Probe

SEGMENTS = {"segment_ms": "1", "min_cleanable_dirty_ratio": "1"}
"""Every batch of a later time begins a segment, and nothing is ever dirty enough for compaction."""

BOTH = SEGMENTS | {"cleanup_policy": "compact,delete"}
RECORD_BYTES = 70


def _await_start(probe: Probe, topic: str, offset: int) -> None:
    until(probe, f"{topic} starts at {offset}", lambda: earliest(probe, topic) == offset)


def _send_list_offsets(probe: Probe, topic: str) -> None:
    for special in (-1, -2, -3, TIME_MS, TIME_MS + 1_000_000):
        probe.exchange(list_offsets(topic, special), 7, note=str(special - TIME_MS if special > 0 else special))


def _old_records_go(probe: Probe, topic: str) -> None:
    fill(probe, topic, *(timed(TIME_MS + 10 * number) for number in range(4)))
    _await_start(probe, topic, 4)
    show(probe, topic, 0, 3, 4)
    _send_list_offsets(probe, topic)
    probe.exchange(produce(topic, timed(FAR_FUTURE_MS)), 9)
    show(probe, topic, 3, 4)
    _send_list_offsets(probe, topic)


@case(settings=OFTEN)
def old_records_go(probe: Probe) -> None:
    future = {"message_timestamp_after_max_ms": str(2**63 - 1)}
    _old_records_go(probe, probe.topic(**BOTH, **future, retention_ms="1"))


@case(settings=OFTEN, releases=("4.3.1",))
def old_records_go_without_compaction(probe: Probe) -> None:
    future = {"message_timestamp_after_max_ms": str(2**63 - 1)}
    _old_records_go(probe, probe.topic(**SEGMENTS, **future, retention_ms="1"))


@case(settings=OFTEN)
def what_is_younger_stops_it(probe: Probe) -> None:
    topic = probe.topic(**BOTH, message_timestamp_after_max_ms=str(2**63 - 1), retention_ms="1")
    # A batch of an earlier time stays in the segment of the far future, and so does what follows.
    fill(probe, topic, timed(TIME_MS), timed(FAR_FUTURE_MS), timed(TIME_MS + 50), timed(FAR_FUTURE_MS + 5))
    _await_start(probe, topic, 1)
    show(probe, topic, 0, 1, 2, 3)
    _send_list_offsets(probe, topic)


def _large_logs_shrink(probe: Probe, topic: str) -> None:
    fill(probe, topic, *(timed(TIME_MS + 10 * number) for number in range(6)))
    _await_start(probe, topic, 3)
    show(probe, topic, 2, 3, 5)
    _send_list_offsets(probe, topic)


@case(settings=OFTEN)
def large_logs_shrink(probe: Probe) -> None:
    kept = {"retention_bytes": str(3 * RECORD_BYTES), "retention_ms": "-1"}
    _large_logs_shrink(probe, probe.topic(**BOTH, **kept))


@case(settings=OFTEN, releases=("4.3.1",))
def large_logs_shrink_without_compaction(probe: Probe) -> None:
    kept = {"retention_bytes": str(3 * RECORD_BYTES), "retention_ms": "-1"}
    _large_logs_shrink(probe, probe.topic(**SEGMENTS, **kept))


@case(settings=OFTEN)
def a_log_shrinks_by_whole_segments(probe: Probe) -> None:
    topic = probe.topic(**BOTH, retention_bytes=str(3 * RECORD_BYTES + 1), retention_ms="-1")
    fill(probe, topic, *(timed(TIME_MS + 10 * number) for number in range(6)))
    _await_start(probe, topic, 2)
    barrier(probe)
    show(probe, topic, 1, 2, 5)


@case(settings=OFTEN)
def even_the_active_segment_is_too_large(probe: Probe) -> None:
    topic = probe.topic(**BOTH, retention_bytes="0", retention_ms="-1")
    fill(probe, topic, timed(TIME_MS), timed(TIME_MS + 10))
    _await_start(probe, topic, 2)
    show(probe, topic, 1, 2)
    probe.exchange(produce(topic, timed(TIME_MS + 20)), 9)
    _await_start(probe, topic, 3)
    show(probe, topic, 2, 3)


@case(settings=OFTEN)
def segments_below_the_start_go(probe: Probe) -> None:
    topic = probe.topic(**BOTH, retention_ms="-1")
    fill(probe, topic, *(timed(TIME_MS + 10 * number, TIME_MS + 10 * number) for number in range(4)))
    whole = size(probe, topic)
    for offset in (1, 2, 5):
        partition = DeleteRecordsPartition(partition_index=0, offset=offset)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=5_000
        )
        probe.exchange(request, 2)
        left = whole - whole // 4 * (offset // 2)
        until(probe, f"{left} bytes are left", lambda left=left: size(probe, topic) == left)  # type: ignore[misc]
        show(probe, topic, offset - 1, offset)
    _send_list_offsets(probe, topic)


@case(settings=OFTEN)
def nothing_goes_without_delete(probe: Probe) -> None:
    topic = probe.topic(**SEGMENTS, cleanup_policy="compact", retention_ms="1", retention_bytes="1")
    fill(probe, topic, *(at(number, (b"%d" % number, b"v")) for number in range(4)))
    barrier(probe)
    show(probe, topic, 0, 3)
