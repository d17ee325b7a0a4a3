"""ControlledShutdown (api key 7): a broker asks the controller to take its leaderships away, as in the ZooKeeper era.

Versions: v2 broker epochs (KIP-380). Another broker than the controller answers NOT_CONTROLLER, an unknown broker id is
BROKER_NOT_AVAILABLE. Mirrors KafkaApis.handleControlledShutdownRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.apis.kafka_apis import ApiHandler, register
from broker_sim.zookeeper.broker import ZooKeeperBroker
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from broker_sim.apis.request_context import HandlerResult, RequestContext
    from protocol_specs.messages.controlled_shutdown import ControlledShutdownRequest


def handle_controlled_shutdown(request: ControlledShutdownRequest, context: RequestContext) -> HandlerResult:
    """Let the controller move what it can."""
    broker = context.broker
    assert isinstance(broker, ZooKeeperBroker), "no other broker lists the API"
    answer: Any = broker.control_request(request, context.api_version)
    return answer  # type: ignore[no-any-return]


register(ApiHandler(api_key=ApiKey.CONTROLLED_SHUTDOWN, handle=handle_controlled_shutdown))
