"""InitializeShareGroupState (api key 83): the group coordinator sets up the state of share partitions (KIP-932).

Mirrors KafkaApis.handleInitializeShareGroupStateRequest.
"""

from __future__ import annotations

from typing import Final

from broker_sim.apis.share_state_requests import ShareStateApi
from broker_sim.coordinators.share.share_shard import ShareShard
from protocol_specs.messages.initialize_share_group_state import (
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionResult,
)

HANDLER: Final = ShareStateApi(
    response=InitializeShareGroupStateResponse,
    topic_result=InitializeStateResult,
    partition_result=PartitionResult,
    operation=ShareShard.initialize,
    operation_name="initialize-share-group-state",
    failure="Unable to initialize share group state",
    skips_empty_topics=True,
).handler
