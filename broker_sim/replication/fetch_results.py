"""One partition of a Fetch response, for clients and followers alike. Mirrors the second half of handleFetchRequest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import EpochEndOffset, LeaderIdAndEpoch, PartitionData

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.replication.requests import PartitionFetchResult
    from broker_sim.topic_partition import TopicPartition

__all__ = ["partition_data", "refused_partition"]

CURRENT_LEADER_LOWEST: Final = 16
_MOVED: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def partition_data(
    result: PartitionFetchResult,
    version: int,
    leader_of: Callable[[TopicPartition], tuple[int, int]],
    records: bytes | list[bytes] = b"",
) -> PartitionData:
    """Return the element of the response; an error partition has -1 for its offsets and empty, not null, records."""
    data = PartitionData(
        partition_index=result.topic_partition.partition,
        error_code=result.error_code,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        aborted_transactions=None,
        preferred_read_replica=result.preferred_read_replica,
        records=records,
    )
    if result.diverging_epoch is not None:
        epoch, end_offset = result.diverging_epoch
        data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
    if result.error_code and version >= CURRENT_LEADER_LOWEST and result.error_code in _MOVED:
        leader_id, leader_epoch = leader_of(result.topic_partition)
        data.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
    return data


def refused_partition(partition: int, error_code: ErrorCode, records: bytes | None = b"") -> PartitionData:
    """Return the element of a partition that was not read. Mirrors FetchResponse.partitionResponse."""
    return PartitionData(partition_index=partition, error_code=error_code, high_watermark=-1, records=records)
