"""UpdateMetadata (api key 6): the controller tells a broker of brokers and leaders, as in the ZooKeeper era.

Versions: v0 one endpoint a broker. v3 listeners. v5 broker epochs (KIP-380). v7 topic ids. Mirrors
KafkaApis.handleUpdateMetadataRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.apis.kafka_apis import ApiHandler, register
from broker_sim.zookeeper.broker import ZooKeeperBroker
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from broker_sim.apis.request_context import HandlerResult, RequestContext
    from protocol_specs.messages.update_metadata import UpdateMetadataRequest


def handle_update_metadata(request: UpdateMetadataRequest, context: RequestContext) -> HandlerResult:
    """Know what the controller says."""
    broker = context.broker
    assert isinstance(broker, ZooKeeperBroker), "no other broker lists the API"
    answer: Any = broker.control_request(request, context.api_version)
    return answer  # type: ignore[no-any-return]


register(ApiHandler(api_key=ApiKey.UPDATE_METADATA, handle=handle_update_metadata))
