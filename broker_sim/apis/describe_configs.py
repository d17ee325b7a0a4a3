"""DescribeConfigs (api key 32): configurations of topics, this broker, its loggers, groups, client metrics.

Versions: v1 sources and synonyms (KIP-226). v3 types and documentation (KIP-569; the texts are ours). A null or an
empty list of keys means all; unknown keys are left out. Success has an empty error text, not null; before 2.7 null,
and an unknown resource type had an error text of its own. Mirrors AdminManager and, from 2.7
on, ConfigHelper.describeConfigs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.config.config_entries import ConfigDescriber, ConfigSource
from broker_sim.config.config_resource import ResourceType
from broker_sim.metadata.topic_names import refused_name
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_sim.apis.broker_view import BrokerView
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

UNKNOWN_TYPE: Final = 0

_MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
_UNEXPECTED: Final = "The server experienced an unexpected error when processing the request."
_INTEGER: Final = re.compile(r"[+-]?\d+")


class _Refused(Exception):
    def __init__(self, message: str, error_code: ErrorCode = ErrorCode.INVALID_REQUEST) -> None:
        super().__init__(message)
        self.message = message
        self.error_code = error_code


class _Resource:
    """One resource of a request: its type and name, and the node that can describe it."""

    __slots__ = ("broker", "describer", "keys", "name")

    def __init__(self, resource: DescribeConfigsResource, broker: BrokerView, describer: ConfigDescriber) -> None:
        self.name = resource.resource_name
        self.keys = resource.configuration_keys
        self.broker = broker
        self.describer = describer

    def topic(self) -> Sequence[DescribeConfigsResourceResult]:
        reason = refused_name(self.name, illegal=self.broker.config.behaviour.illegal_topic_names)
        if reason is not None:
            raise _Refused(reason, ErrorCode.INVALID_TOPIC_EXCEPTION)
        topic = self.broker.metadata_cache.image.topics.get(self.name)
        if topic is None:
            raise _Refused("", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self.describer.topic(topic.configs, self.keys)

    def broker_config(self) -> Sequence[DescribeConfigsResourceResult]:
        if not self.name:
            return self.describer.cluster_default(self.keys)
        self._expect_this_broker(" or empty string,")
        return self.describer.broker(self.keys)

    def broker_logger(self) -> Sequence[DescribeConfigsResourceResult]:
        if not self.name:
            raise _Refused("Broker id must not be empty")
        self._expect_this_broker("")
        return [
            DescribeConfigsResourceResult(
                name=name, value=level, config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG, documentation=""
            )
            for name, level in self.broker.loggers
            if not self.keys or name in self.keys
        ]

    def client_metrics(self) -> Sequence[DescribeConfigsResourceResult]:
        if not self.name:
            raise _Refused("Client metrics subscription name must not be empty")
        image = self.broker.metadata_cache.image
        return self.describer.client_metrics(image.config_of(ResourceType.CLIENT_METRICS, self.name), self.keys)

    def group(self) -> Sequence[DescribeConfigsResourceResult]:
        if not self.name:
            raise _Refused("Group name must not be empty")
        image = self.broker.metadata_cache.image
        return self.describer.group(image.config_of(ResourceType.GROUP, self.name), self.keys)

    def _expect_this_broker(self, alternative: str) -> None:
        if not _INTEGER.fullmatch(self.name) or not -(2**31) <= int(self.name) < 2**31:
            msg = f"Broker id must be an integer, but it is: {self.name}"
            raise _Refused(msg)
        if int(self.name) != self.broker.id:
            msg = f"Unexpected broker id, expected {self.broker.id}{alternative} but received {self.name}"
            raise _Refused(msg)


_DESCRIBE: Final[dict[int, Callable[[_Resource], Sequence[DescribeConfigsResourceResult]]]] = {
    ResourceType.TOPIC: _Resource.topic,
    ResourceType.BROKER: _Resource.broker_config,
    ResourceType.BROKER_LOGGER: _Resource.broker_logger,
    ResourceType.CLIENT_METRICS: _Resource.client_metrics,
    ResourceType.GROUP: _Resource.group,
}


def handle(request: DescribeConfigsRequest, context: RequestContext) -> DescribeConfigsResponse:
    """Return one result per resource; an unknown type fails them all."""
    broker = context.broker
    known = broker.config.behaviour.described_resource_types
    unknown = next((each for each in request.resources if each.resource_type not in known), None)
    if unknown is not None:
        return _refused_type(request, context, unknown)
    describer = ConfigDescriber(
        broker.config,
        identity_of(broker),
        include_synonyms=request.include_synonyms,
        include_documentation=request.include_documentation,
    )
    return DescribeConfigsResponse(results=[_result(resource, broker, describer) for resource in request.resources])


def _refused_type(
    request: DescribeConfigsRequest, context: RequestContext, unknown: DescribeConfigsResource
) -> DescribeConfigsResponse:
    if not context.behaviour.errors_of_configs_may_have_no_words:
        return error_response(request, context, ErrorCode.INVALID_REQUEST, _MALFORMED)
    message = f"Unexpected resource type UNKNOWN for resource {unknown.resource_name}"
    response = error_response(request, context, ErrorCode.INVALID_REQUEST, message)
    for result in response.results:
        if result.resource_type not in context.behaviour.described_resource_types:
            result.resource_type = UNKNOWN_TYPE
    return response


def identity_of(broker: BrokerView) -> dict[str, str]:
    """The configurations of a real broker's file that clients look for."""
    return {
        "node.id": str(broker.id),
        "broker.id": str(broker.id),
        "process.roles": "broker",
        "listeners": broker.listeners.text,
        "advertised.listeners": broker.listeners.advertised_text,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": broker.listeners.inter_broker,
    }


def _result(resource: DescribeConfigsResource, broker: BrokerView, describer: ConfigDescriber) -> DescribeConfigsResult:
    error_code, message = ErrorCode.NONE, ""
    configs: Sequence[DescribeConfigsResourceResult] = ()
    try:
        configs = _DESCRIBE[resource.resource_type](_Resource(resource, broker, describer))
    except _Refused as refused:
        error_code, message = refused.error_code, refused.message
    return DescribeConfigsResult(
        error_code=error_code,
        error_message=None if not message and broker.config.behaviour.errors_of_configs_may_have_no_words else message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=list(configs),
    )


def error_response(
    request: DescribeConfigsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
    message: str | None = None,
) -> DescribeConfigsResponse:
    """The whole request fails: every resource has the error."""
    if message is None:
        message = _UNEXPECTED if error_code == ErrorCode.UNKNOWN_SERVER_ERROR else ""
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(
                error_code=error_code,
                error_message=message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
