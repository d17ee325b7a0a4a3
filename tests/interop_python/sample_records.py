"""Records that a client sends and must read back unchanged: keys and values of all shapes, headers, timestamps."""

from __future__ import annotations

import random
from dataclasses import dataclass

TOPIC = "samples"
PARTITIONS = 3
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FIRST_TIMESTAMP_MS = 1_767_225_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRecord:
    """One record as sent, or as read back."""

    partition: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def sample_records(count: int = 120, *, seed: int = 7) -> list[SampleRecord]:
    """The same records for the same seed, spread over the partitions in turn."""
    chance = random.Random(seed)
    return [
        SampleRecord(
            partition=number % PARTITIONS,
            timestamp_ms=FIRST_TIMESTAMP_MS + number,
            key=None if number % 7 == 0 else b"key-%d" % number,
            # Half noise, half repetition, so that every codec has something to do.
            value=None if number % 7 == 3 else chance.randbytes(chance.randrange(500)) + b"x" * chance.randrange(500),
            headers=(("number", b"%d" % number), ("empty", b"")),
        )
        for number in range(count)
    ]


def by_partition(records: list[SampleRecord]) -> dict[int, list[SampleRecord]]:
    """The records of each partition, in their order."""
    return {
        partition: [record for record in records if record.partition == partition] for partition in range(PARTITIONS)
    }
