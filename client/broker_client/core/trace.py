"""The life of each batch as events, for whoever passes `trace=`: the seam of `broker-sim trace`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from broker_client.records import TopicPartition

__all__ = ["BatchEvent", "BatchEventKind", "Trace"]


class BatchEventKind(Enum):
    """What happened to a batch."""

    CREATED = "created"
    DRAINED = "drained"
    RETRIED = "retried"
    SPLIT = "split"
    EXPIRED = "expired"
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"


@dataclass(slots=True, kw_only=True)
class BatchEvent:
    """One step; `batch` counts the producer's batches from 0, `detail` is the node, error or offset of the step."""

    kind: BatchEventKind
    time_ms: int
    topic_partition: TopicPartition
    batch: int
    records: int
    base_sequence: int
    detail: str = ""


Trace: TypeAlias = Callable[[BatchEvent], None]
