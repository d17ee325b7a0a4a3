"""ReadShareGroupStateSummary (api key 87): the group coordinator reads a summary of share partitions (KIP-932).

Versions: v1 has the number of completed deliveries (KIP-1226).
Mirrors KafkaApis.handleReadShareGroupStateSummaryRequest.
"""

from __future__ import annotations

from typing import Final

from broker_sim.apis.share_state_requests import ShareStateApi
from broker_sim.coordinators.share.share_shard import ShareShard
from protocol_specs.messages.read_share_group_state_summary import (
    PartitionResult,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)

HANDLER: Final = ShareStateApi(
    response=ReadShareGroupStateSummaryResponse,
    topic_result=ReadStateSummaryResult,
    partition_result=PartitionResult,
    operation=ShareShard.read_summary,
    operation_name="read-share-group-state-summary",
    failure="Unable to read share group state summary",
).handler
