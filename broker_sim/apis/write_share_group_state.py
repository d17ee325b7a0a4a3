"""WriteShareGroupState (api key 85): the leader of share partitions writes their state (KIP-932).

Versions: v1 has the number of completed deliveries (KIP-1226). Mirrors KafkaApis.handleWriteShareGroupStateRequest.
"""

from __future__ import annotations

from typing import Final

from broker_sim.apis.share_state_requests import ShareStateApi
from broker_sim.coordinators.share.share_shard import ShareShard
from protocol_specs.messages.write_share_group_state import (
    PartitionResult,
    WriteShareGroupStateResponse,
    WriteStateResult,
)

HANDLER: Final = ShareStateApi(
    response=WriteShareGroupStateResponse,
    topic_result=WriteStateResult,
    partition_result=PartitionResult,
    operation=ShareShard.write,
    operation_name="write-share-group-state",
    failure="Unable to write share group state",
).handler
