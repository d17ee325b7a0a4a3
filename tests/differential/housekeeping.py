"""Helpers of the cases about retention and compaction: a broker that looks often, and logs read to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.batch_peek import iterate_batches
from protocol_specs.records.record_reader import read_record_set
from tests.differential.probe import attempts
from tests.differential.requests import TIME_MS, batch, fetch, fill, list_offsets, read_back, wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.probe import Probe

OFTEN = (
    ("log.cleaner.backoff.ms", "20"),
    ("log.initial.task.delay.ms", "0"),
    ("log.retention.check.interval.ms", "50"),
)
"""The settings of a broker whose housekeeping hardly rests; 3.7 begins with retention after 30 s all the same."""

COMPACTED = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0", "segment_ms": "1"}
"""A topic where every batch of a later time closes the segment before it, which is compacted at once."""


def at(number: int, *pairs: tuple[bytes | None, bytes | None], **options: Any) -> bytes:
    """One batch of keys and values; each number is another time, and so another segment of a COMPACTED topic."""
    builder = RecordBatchBuilder(**options)
    for key, value in pairs:
        builder.append(TIME_MS + 10 * number, key, value)
    return builder.build()


def earliest(probe: Probe, topic: str) -> int:
    """The log start offset."""
    response: Any = probe.quiet(list_offsets(topic, -2), 5)
    return int(response.topics[0].partitions[0].offset)


def latest(probe: Probe, topic: str) -> int:
    """The high watermark."""
    response: Any = probe.quiet(list_offsets(topic, -1), 5)
    return int(response.topics[0].partitions[0].offset)


def sizes_of(topic: str) -> DescribeLogDirsRequest:
    """A DescribeLogDirs of partition 0."""
    return DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic=topic, partitions=[0])])


def size(probe: Probe, topic: str) -> int:
    """The bytes of the log on the first broker."""
    response: Any = probe.quiet(sizes_of(topic), 2)
    return int(response.results[0].topics[0].partitions[0].partition_size)


def offsets(probe: Probe, topic: str) -> list[int]:
    """The offsets of all records that a consumer gets."""
    found: list[int] = []
    offset, end = earliest(probe, topic), latest(probe, topic)
    while offset < end:
        response: Any = probe.quiet(fetch(topic, wanted(offset)), 12)
        data = response.responses[0].partitions[0]
        if data.error_code or not data.records:
            break
        records = [record for record in read_record_set(bytes(data.records)) if record.offset >= offset]
        found += [record.offset for record in records]
        offset = _next_offset(bytes(data.records), offset)
    return found


def _next_offset(records: bytes, offset: int) -> int:
    return max((header.next_offset for header, _ in iterate_batches(records)), default=offset + 1)


def until(probe: Probe, awaited: str, is_so: Callable[[], bool]) -> None:
    """Retry until a condition holds."""
    for _ in attempts(f"{probe.name}: {awaited}"):
        if is_so():
            return


def await_offsets(probe: Probe, topic: str, expected: list[int]) -> None:
    """Wait until exactly these records are left."""
    until(probe, f"{expected} are left of {topic}", lambda: offsets(probe, topic) == expected)


def show(probe: Probe, topic: str, *starts: int) -> None:
    """Write down what fetches at these offsets get, and the bytes of the log."""
    for start in starts:
        read_back(probe, topic, start, note=f"from {start}")
    probe.write(size=size(probe, topic))


def barrier(probe: Probe) -> None:
    """Wait until the cleaner has been at work after what came before."""
    topic = probe.topic("barrier", **COMPACTED)
    fill(probe, topic, *(at(number, (b"k", b"v")) for number in range(3)), batch(b"end", time_ms=TIME_MS + 100))
    await_offsets(probe, topic, [2, 3])
