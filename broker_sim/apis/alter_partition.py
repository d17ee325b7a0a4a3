"""AlterPartition (api key 56, once AlterIsr): leaders ask for other ISRs (KIP-497), in the ZooKeeper era.

Versions: v2 topic ids. v3 broker epochs (KIP-903). Another broker than the controller answers NOT_CONTROLLER. Mirrors
KafkaApis.handleAlterPartitionRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.apis.kafka_apis import ApiHandler, register
from broker_sim.zookeeper.broker import ZooKeeperBroker
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from broker_sim.apis.request_context import HandlerResult, RequestContext
    from protocol_specs.messages.alter_partition import AlterPartitionRequest


def handle_alter_partition(request: AlterPartitionRequest, context: RequestContext) -> HandlerResult:
    """Let the controller decide."""
    broker = context.broker
    assert isinstance(broker, ZooKeeperBroker), "no other broker lists the API"
    answer: Any = broker.control_request(request, context.api_version)
    return answer  # type: ignore[no-any-return]


register(ApiHandler(api_key=ApiKey.ALTER_PARTITION, handle=handle_alter_partition))
