"""DeleteShareGroupState (api key 86): the group coordinator deletes the state of share partitions (KIP-932).

Mirrors KafkaApis.handleDeleteShareGroupStateRequest.
"""

from __future__ import annotations

from typing import Final

from broker_sim.apis.share_state_requests import ShareStateApi
from broker_sim.coordinators.share.share_shard import ShareShard
from protocol_specs.messages.delete_share_group_state import (
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionResult,
)

HANDLER: Final = ShareStateApi(
    response=DeleteShareGroupStateResponse,
    topic_result=DeleteStateResult,
    partition_result=PartitionResult,
    operation=ShareShard.delete,
    operation_name="delete-share-group-state",
    failure="Unable to delete share group state",
).handler
