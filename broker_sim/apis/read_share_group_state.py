"""ReadShareGroupState (api key 84): the leader of share partitions reads their state (KIP-932).

Mirrors KafkaApis.handleReadShareGroupStateRequest.
"""

from __future__ import annotations

from typing import Final

from broker_sim.apis.share_state_requests import ShareStateApi
from broker_sim.coordinators.share.share_shard import ShareShard
from protocol_specs.messages.read_share_group_state import (
    PartitionResult,
    ReadShareGroupStateResponse,
    ReadStateResult,
)

HANDLER: Final = ShareStateApi(
    response=ReadShareGroupStateResponse,
    topic_result=ReadStateResult,
    partition_result=PartitionResult,
    operation=ShareShard.read,
    operation_name="read-update-leader-epoch-state",
    failure="Unable to read share group state",
).handler
