"""The settings of a share consumer, under Kafka's names. Mirrors ShareFetchConfig and ShareAcknowledgementMode."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum

from broker_client.core.consumer.fetcher import FetchOptions

__all__ = ["AcknowledgementMode", "AcquireMode", "ShareOptions"]


class AcknowledgementMode(Enum):
    """With IMPLICIT, a poll or commit accepts the records of the poll before."""

    IMPLICIT = "implicit"
    EXPLICIT = "explicit"


class AcquireMode(IntEnum):
    """With RECORD_LIMIT, brokers acquire at most max.poll.records, from one broker at a time (KIP-1206)."""

    BATCH_OPTIMIZED = 0
    RECORD_LIMIT = 1


@dataclass(slots=True, kw_only=True, frozen=True)
class ShareOptions:
    """Times are in milliseconds."""

    fetch: FetchOptions = field(default_factory=FetchOptions)
    acknowledgement_mode: AcknowledgementMode = AcknowledgementMode.IMPLICIT
    acquire_mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
