"""The common part of AlterConfigs and IncrementalAlterConfigs at a controller (KIP-919). Mirrors ControllerApis.

No broker has validated the request before: duplicate resources, unknown types and brokers that do not exist are found
here, and a broker's values are not tried out. Loggers are this node's own (KIP-412).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, cast

from twisted.internet.defer import maybeDeferred

from broker_sim.apis.config_admin import preprocess
from broker_sim.apis.controller.active_controller import controller_view, decide
from broker_sim.apis.handler_result import NoResponse
from broker_sim.config.api_error import ApiError
from broker_sim.config.config_resource import ResourceType
from broker_sim.controller.errors import NotActive
from broker_sim.controller.not_controller import wrong_controller
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_configs import AlterConfigsResourceResponse as LegacyResponse
from protocol_specs.messages.alter_configs import AlterConfigsResponse
from protocol_specs.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twisted.python.failure import Failure

    from broker_sim.apis.controller.controller_view import ControllerView
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.controller.controls import ControllerControls

TWICE: Final = 2
_Response = tuple[int, str, ApiError]
"""Type and name of a resource, and its result."""


def alter(request: Any, context: RequestContext) -> HandlerResult:
    """Respond resource by resource; a resource that is named twice has one response."""
    server = controller_view(context)
    is_incremental = isinstance(request, IncrementalAlterConfigsRequest)
    first: list[_Response] = []
    refused: list[_Response] = []
    loggers: list[_Response] = []
    left: list[Any] = []
    if not is_incremental and _are_unknown_and_alike(request.resources, server):
        return NoResponse.STAY_MUTED
    counts = Counter((each.resource_type, each.resource_name) for each in request.resources)
    seen: Counter[tuple[int, str]] = Counter()
    for resource in request.resources:
        key = (resource.resource_type, resource.resource_name)
        seen[key] += 1
        kind = _type_of(resource.resource_type, server)
        if kind is None:
            first.append((*key, ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unknown resource type {key[0]}.")))
        elif kind is ResourceType.BROKER_LOGGER and is_incremental:
            loggers.append((*key, _change_loggers(resource, server, validate_only=request.validate_only)))
        elif counts[key] > 1:
            if seen[key] == TWICE:
                first.append((*key, ApiError(ErrorCode.INVALID_REQUEST, "Duplicate resource.")))
        elif kind is ResourceType.BROKER_LOGGER:
            text = f"Unexpected resource type {kind.name}."
            refused.append((*key, ApiError(ErrorCode.INVALID_REQUEST, text)))
        elif server.node.is_active and (error := _no_such_node(kind, resource.resource_name, server)):
            refused.append((*key, error))
        else:
            left.append(resource)

    def put_together(decided: list[_Response]) -> Any:
        return _response([*first, *refused, *decided, *loggers], is_incremental=is_incremental)

    if not left:
        return put_together([])  # type: ignore[no-any-return]
    admitted = type(request)(resources=left, validate_only=request.validate_only)

    def change(controls: ControllerControls) -> Any:
        alter_all = controls.configs.alter_incrementally if is_incremental else controls.configs.alter
        return alter_all(admitted)

    def not_active(failure: Failure) -> Any:
        failure.trap(NotActive)
        error = ApiError(ErrorCode.NOT_CONTROLLER, wrong_controller(server.node.leader_id))
        return put_together([(each.resource_type, each.resource_name, error) for each in left])

    def changed(response: Any) -> Any:
        return put_together(
            [
                (each.resource_type, each.resource_name, ApiError(ErrorCode(each.error_code), each.error_message))
                for each in response.responses
            ]
        )

    return maybeDeferred(decide, context, change).addCallbacks(changed, not_active)


def _are_unknown_and_alike(resources: Sequence[Any], server: ControllerView) -> bool:
    """Return True if two of one name have unknown types: Kafka takes them for the same, and its handler fails."""
    names = [each.resource_name for each in resources if _type_of(each.resource_type, server) is None]
    return len(dict.fromkeys(names)) < len(names)


def _type_of(number: int, server: ControllerView) -> ResourceType | None:
    known = [each for each in ResourceType if each is not ResourceType.GROUP or server.knows_groups]
    return next((each for each in known if each == number), None)


def _change_loggers(resource: Any, server: ControllerView, *, validate_only: bool) -> ApiError:
    error = preprocess([resource], cast("Any", server), validate_only=validate_only)[0]
    return ApiError(ErrorCode.NONE) if error is None else error


def _no_such_node(kind: ResourceType, name: str, server: ControllerView) -> ApiError | None:
    """Mirrors ControllerConfigurationValidator and the existence checker of QuorumController."""
    if kind is not ResourceType.BROKER or not name:
        return None
    image = server.node.controller.image
    if not name.lstrip("+-").isdecimal():
        return ApiError(ErrorCode.INVALID_REQUEST, "Unable to parse broker name as a base 10 number.")
    if int(name) in image.brokers or int(name) in image.controllers:
        return None
    return ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")


def _response(known: list[_Response], *, is_incremental: bool) -> Any:
    if is_incremental:
        return IncrementalAlterConfigsResponse(
            responses=[
                AlterConfigsResourceResponse(
                    error_code=error.code, error_message=error.message, resource_type=kind, resource_name=name
                )
                for kind, name, error in known
            ]
        )
    return AlterConfigsResponse(
        responses=[
            LegacyResponse(error_code=error.code, error_message=error.message, resource_type=kind, resource_name=name)
            for kind, name, error in known
        ]
    )
