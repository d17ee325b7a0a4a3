"""A read below its bound that returned no batch, because the first one exceeds the size limit.

Mirrors FetchDataInfo.firstEntryIncomplete and its use in ReplicaManager.readFromLog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.records.batch_peek import MAGIC_OFFSET, MAGIC_V2

if TYPE_CHECKING:
    from broker_sim.log.replica_log import ReplicaLog
    from broker_sim.replication.requests import FetchParams, PartitionFetchResult

__all__ = ["note_incomplete_read"]


def note_incomplete_read(
    result: PartitionFetchResult, log: ReplicaLog, offset: int, params: FetchParams, max_bytes: int, up_to: int
) -> None:
    """Add the beginning of a message of magic 0 or 1, or note that the first batch was left out.

    A consumer that uses Fetch up to v2 learns from the beginning that the message is too large for its limit. Newer
    versions, which return one batch of any size, and batches of magic 2 (in 3.7.2) have none. `max_bytes` is 0 if the
    first batch may have any size.
    """
    first = log.first_batch_from(offset)
    if (
        first is not None
        and params.hard_max_bytes
        and not params.is_from_follower
        and 0 < max_bytes < first.size
        and first.base_offset < up_to
        and first.data[MAGIC_OFFSET] < MAGIC_V2
    ):
        result.batches = [first.fragment(max_bytes)]
    else:
        result.first_batch_left_out = first is None or 0 < max_bytes < first.size
