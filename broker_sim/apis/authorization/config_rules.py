"""The rules of the APIs about configurations: topics and groups by their own, everything else by the cluster's rights.

Mirrors ConfigHelper.handleDescribeConfigsRequest and ControllerApis.authorizeAlterResource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.authorization.rule import changed, edited
from broker_sim.config.config_resource import ResourceType
from broker_sim.coordinators.default_messages import default_message
from broker_sim.security.acl import AclOperation
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import alter_configs, incremental_alter_configs
from protocol_specs.messages.describe_configs import DescribeConfigsResult

if TYPE_CHECKING:
    from broker_sim.apis.authorization.rule import Handle
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.security.access import Access
    from protocol_specs.messages.describe_configs import DescribeConfigsRequest

_OF_CLUSTER: Final = (ResourceType.BROKER, ResourceType.BROKER_LOGGER, ResourceType.CLIENT_METRICS)

_ALTERED: Final = (ResourceType.BROKER, ResourceType.CLIENT_METRICS)


def _refusal(
    resource: Any, operation: AclOperation, access: Access, of_cluster: tuple[ResourceType, ...] = _OF_CLUSTER
) -> ErrorCode | None:
    """Return the error of a resource whose configurations are out of reach; None where they are not."""
    kind, name = resource.resource_type, resource.resource_name
    if kind == ResourceType.TOPIC:
        return None if access.topic(operation, name) else ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if kind == ResourceType.GROUP:
        return None if access.group(operation, name) else ErrorCode.GROUP_AUTHORIZATION_FAILED
    if kind in of_cluster:
        return None if access.cluster(operation) else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return None


def describe_configs(
    request: DescribeConfigsRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """DescribeConfigs: DESCRIBE_CONFIGS on each resource; refused resources are at the end."""
    if any(each.resource_type not in context.behaviour.described_resource_types for each in request.resources):
        return handle(request, context)
    errors = [_refusal(each, AclOperation.DESCRIBE_CONFIGS, access) for each in request.resources]
    if not any(errors):
        return handle(request, context)
    left = [each for each, error in zip(request.resources, errors, strict=True) if error is None]
    wordless = context.behaviour.errors_of_configs_may_have_no_words

    def add(response: Any) -> None:
        response.results += [
            DescribeConfigsResult(
                error_code=error,
                error_message=None if wordless else default_message(error),
                resource_type=each.resource_type,
                resource_name=each.resource_name,
                configs=[],
            )
            for each, error in zip(request.resources, errors, strict=True)
            if error is not None
        ]

    return edited(handle(changed(request, resources=left), context), add)


def alter_resources(request: Any, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
    """AlterConfigs and IncrementalAlterConfigs: ALTER_CONFIGS on each resource; refused resources come first.

    A controller's loggers are open to every client.
    """
    errors = [_refusal(each, AclOperation.ALTER_CONFIGS, access, _ALTERED) for each in request.resources]
    if not any(errors):
        return handle(request, context)
    left = [each for each, error in zip(request.resources, errors, strict=True) if error is None]
    incremental = isinstance(request, incremental_alter_configs.IncrementalAlterConfigsRequest)
    result_type: Any = (incremental_alter_configs if incremental else alter_configs).AlterConfigsResourceResponse

    def add(response: Any) -> None:
        refused = [
            result_type(
                error_code=error,
                error_message=default_message(error),
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each, error in zip(request.resources, errors, strict=True)
            if error is not None
        ]
        response.responses = [*refused, *response.responses]

    return edited(handle(changed(request, resources=left), context), add)
