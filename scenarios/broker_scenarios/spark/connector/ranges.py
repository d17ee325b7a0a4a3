"""Ranges of offsets as partitions of Spark: split for minPartitions, cut for maxOffsetsPerTrigger.

Mirrors the connector's KafkaOffsetRangeCalculator and KafkaMicroBatchStream.rateLimit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_scenarios.spark.connector.options import Place

__all__ = ["OffsetRange", "limited_ends", "split_ranges"]


@dataclass(frozen=True)
class OffsetRange(InputPartition):  # type: ignore[misc]
    """The offsets from `start` to before `end` of one partition: the work of one task."""

    topic: str
    partition: int
    start: int
    end: int
    timestamp_type: int = 0
    """0 if producers set the timestamps of the topic, 1 if brokers do: the connector's timestampType."""

    @property
    def size(self) -> int:
        """The number of offsets."""
        return self.end - self.start


def split_ranges(ranges: Sequence[OffsetRange], minimum: int | None) -> list[OffsetRange]:
    """Return at least `minimum` ranges where there are as many offsets; each keeps the order of its offsets."""
    full = [each for each in ranges if each.size > 0]
    total = sum(each.size for each in full)
    if minimum is None or len(full) >= minimum:
        return full
    parts: list[OffsetRange] = []
    for each in full:
        count = min(max(1, math.ceil(each.size * minimum / total)), each.size)
        bounds = [each.start + each.size * place // count for place in range(count + 1)]
        parts += [
            OffsetRange(each.topic, each.partition, first, end, each.timestamp_type) for first, end in pairwise(bounds)
        ]
    return parts


def limited_ends(starts: Mapping[Place, int], ends: Mapping[Place, int], limit: int) -> dict[Place, int]:
    """Return ends with at most about `limit` offsets before them, divided in proportion to what is there.

    Each partition with records gets at least one, so that none starves.
    """
    total = sum(max(0, end - starts[key]) for key, end in ends.items())
    if total <= limit:
        return dict(ends)
    found: dict[Place, int] = {}
    for key, end in ends.items():
        size = max(0, end - starts[key])
        share = size * limit // total
        found[key] = starts[key] + (share if share or not size else 1)
    return found
