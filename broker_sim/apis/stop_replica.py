"""StopReplica (api key 5): the controller lets a broker stop replicas, and delete them, as in the ZooKeeper era.

Versions: v1 broker epochs (KIP-380). v3 leader epochs, and what is deleted one by one (KIP-570). Mirrors
KafkaApis.handleStopReplicaRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.apis.kafka_apis import ApiHandler, register
from broker_sim.zookeeper.broker import ZooKeeperBroker
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from broker_sim.apis.request_context import HandlerResult, RequestContext
    from protocol_specs.messages.stop_replica import StopReplicaRequest


def handle_stop_replica(request: StopReplicaRequest, context: RequestContext) -> HandlerResult:
    """Stop the replicas, unless something newer is known."""
    broker = context.broker
    assert isinstance(broker, ZooKeeperBroker), "no other broker lists the API"
    answer: Any = broker.control_request(request, context.api_version)
    return answer  # type: ignore[no-any-return]


register(ApiHandler(api_key=ApiKey.STOP_REPLICA, handle=handle_stop_replica))
