"""The requests of the APIs to a ReplicaManager and their results, per partition.

Mirrors FetchParams, FetchPartitionData, LogReadResult and EpochEndOffset.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.log.append_results import UNKNOWN_OFFSET
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.log.transaction_index import AbortedTransaction
    from broker_sim.topic_partition import TopicPartition

NO_EPOCH: Final = -1
CONSUMER_REPLICA_ID: Final = -1
DEBUGGING_REPLICA_ID: Final = -2
LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2


class FetchIsolation(IntEnum):
    """The bound of a reader: a follower reads to the log end, a consumer to the high watermark or the LSO."""

    LOG_END = 0
    HIGH_WATERMARK = 1
    TXN_COMMITTED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchParams:
    """The parameters of a whole Fetch. `fetch_only_leader` is false for consumers from v11 on (KIP-392).

    With `hard_max_bytes` (Fetch up to v2) a first batch that exceeds the requested bytes is not sent, or its beginning
    (see incomplete_first_batch.py). `rack_id` is the consumer's where the broker has a replica selector, else None.
    """

    replica_id: int = CONSUMER_REPLICA_ID
    replica_epoch: int = -1
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK
    fetch_only_leader: bool = True
    hard_max_bytes: bool = False
    rack_id: str | None = None

    @property
    def is_from_follower(self) -> bool:
        """True if a broker sent the Fetch, to replicate."""
        return self.replica_id >= 0


@dataclass(slots=True, kw_only=True, eq=False)
class PartitionFetch:
    """One partition of a Fetch. Epochs are -1 where the request has none; `topic_id` None where it has names."""

    topic_partition: TopicPartition
    fetch_offset: int
    max_bytes: int
    topic_id: bytes | None = None
    log_start_offset: int = UNKNOWN_OFFSET
    current_leader_epoch: int = NO_EPOCH
    last_fetched_epoch: int = NO_EPOCH


class EpochEndOffset(NamedTuple):
    """A leader epoch and the offset where it ends; both -1 when unknown."""

    leader_epoch: int
    end_offset: int


@dataclass(slots=True)
class PartitionFetchResult:
    """The result of one partition of a Fetch; the batches are the log's own, whole, up to the reader's bound."""

    topic_partition: TopicPartition
    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: int = UNKNOWN_OFFSET
    last_stable_offset: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET
    diverging_epoch: EpochEndOffset | None = None
    batches: list[StoredBatch] = field(default_factory=list)
    aborted_transactions: Sequence[AbortedTransaction] = ()
    """The aborted transactions that overlap with the batches; empty unless the isolation is TXN_COMMITTED."""
    preferred_read_replica: int = -1
    throttled: bool = False
    """True if the quota has withheld batches from the follower."""
    first_batch_left_out: bool = False
    """True if no batch was read because the first one exceeds the rest of the limits, or because there is none."""

    @property
    def size_in_bytes(self) -> int:
        """The bytes of all batches."""
        size = 0
        for batch in self.batches:
            size += batch.size
        return size


@dataclass(slots=True, kw_only=True)
class OffsetResult:
    """The result of one partition of a ListOffsets; timestamp, offset and epoch are -1 when nothing was found."""

    error_code: ErrorCode = ErrorCode.NONE
    timestamp: int = -1
    offset: int = UNKNOWN_OFFSET
    leader_epoch: int = NO_EPOCH


@dataclass(slots=True, kw_only=True)
class EpochEndOffsetResult:
    """The result of one partition of an OffsetForLeaderEpoch."""

    error_code: ErrorCode = ErrorCode.NONE
    leader_epoch: int = NO_EPOCH
    end_offset: int = UNKNOWN_OFFSET
