"""LeaderAndIsr (api key 4): the controller makes a broker leader or follower, as in the ZooKeeper era.

Versions: v1 new replicas. v2 by topic, broker epochs (KIP-380). v3 replicas that are added and removed. v5 topic ids,
errors by topic id. Whoever may send it counts as the controller. Mirrors KafkaApis.handleLeaderAndIsrRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.apis.kafka_apis import ApiHandler, register
from broker_sim.zookeeper.broker import ZooKeeperBroker
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from broker_sim.apis.request_context import HandlerResult, RequestContext
    from protocol_specs.messages.leader_and_isr import LeaderAndIsrRequest


def handle_leader_and_isr(request: LeaderAndIsrRequest, context: RequestContext) -> HandlerResult:
    """Do as the controller says, when it is the controller that says it."""
    broker = context.broker
    assert isinstance(broker, ZooKeeperBroker), "no other broker lists the API"
    answer: Any = broker.control_request(request, context.api_version)
    return answer  # type: ignore[no-any-return]


register(ApiHandler(api_key=ApiKey.LEADER_AND_ISR, handle=handle_leader_and_isr))
