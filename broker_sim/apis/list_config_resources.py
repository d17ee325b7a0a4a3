"""ListConfigResources (api key 74): the names of resources that have, or can have, configurations.

Versions: v0 lists client metrics subscriptions (KIP-1000). v1 lists the requested types, all for none
(KIP-1142): every topic and broker, but of groups and subscriptions those with configurations of their own. Mirrors
KafkaApis.handleListConfigResources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.config.config_resource import ResourceType
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import concurrent_hash_order, hash_set_order, string_hash
from protocol_specs.messages.list_config_resources import ConfigResource, ListConfigResourcesResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.list_config_resources import ListConfigResourcesRequest

TYPES_FROM: Final = 1
"""The first version that names types."""

_ALL: Final = (
    ResourceType.GROUP,
    ResourceType.CLIENT_METRICS,
    ResourceType.BROKER_LOGGER,
    ResourceType.BROKER,
    ResourceType.TOPIC,
)
"""In the order of a response."""


def handle(request: ListConfigResourcesRequest, context: RequestContext) -> ListConfigResourcesResponse:
    """List the requested types; an unknown one fails the request."""
    requested: list[int] = [ResourceType.CLIENT_METRICS]
    if context.api_version >= TYPES_FROM:
        requested = list(request.resource_types or _ALL)
    if any(each not in _ALL for each in requested):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=each)
            for each in _ALL
            if each in requested
            for name in _names(each, context)
        ]
    )


def _names(resource_type: ResourceType, context: RequestContext) -> list[str]:
    """Return the names of a type in the order of Kafka's table of them: that of topics is a tree of hashes."""
    image = context.broker.metadata_cache.image
    if resource_type is ResourceType.TOPIC:
        newest_first = list(image.topics)[::-1]
        return sorted(newest_first, key=string_hash)
    if resource_type in {ResourceType.BROKER, ResourceType.BROKER_LOGGER}:
        return [str(broker.id) for broker in image.alive_brokers()]
    names = [resource.name for resource in image.configs if resource.type == resource_type]
    if context.behaviour.client_metrics_are_a_set:
        return [names[place] for place in hash_set_order(map(string_hash, names))]
    return concurrent_hash_order(names, string_hash)


HANDLER: Final = ApiHandler(handle=handle)
