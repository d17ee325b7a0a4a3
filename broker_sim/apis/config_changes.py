"""The common part of both kinds of AlterConfigs: the broker's results and the controller's, in request order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from broker_sim.apis.config_admin import preprocess
from broker_sim.config.api_error import ApiError
from broker_sim.config.config_resource import ResourceType
from broker_sim.links.node_links import LinkFailure
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_configs import AlterConfigsRequest
from protocol_specs.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message
    from protocol_specs.messages.alter_configs import AlterConfigsResponse
    from protocol_specs.messages.incremental_alter_configs import IncrementalAlterConfigsResponse

    Response = AlterConfigsResponse | IncrementalAlterConfigsResponse

_INT32_MAX: Final = (1 << 31) - 1

_Key: TypeAlias = tuple[int, str]
"""Type and name of a resource."""

Request = TypeVar("Request", AlterConfigsRequest, IncrementalAlterConfigsRequest)


def settle_changes(
    request: Request, context: RequestContext, *, make_response: Callable[[Sequence[ApiError]], Message]
) -> Message | Deferred[Message]:
    """Preprocess and forward the rest; REQUEST_TIMED_OUT for the rest if no controller is reached in time."""
    broker = context.broker
    known = preprocess(request.resources, broker, validate_only=request.validate_only, context=context)
    left = [resource for resource, error in zip(request.resources, known, strict=True) if error is None]
    if not left:
        return make_response([error for error in known if error is not None])

    if not (broker.config.behaviour.zookeeper or _can_be_written(context.header_tags)):
        return make_response([ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)] * len(known))

    def put_together(forwarded: Mapping[_Key, ApiError]) -> Message:
        return make_response(
            [
                forwarded[each.resource_type, each.resource_name] if error is None else error
                for each, error in zip(request.resources, known, strict=True)
            ]
        )

    def unreachable(failure: Failure) -> Message:
        failure.trap(LinkFailure)
        timed_out = ApiError(ErrorCode.REQUEST_TIMED_OUT)
        return put_together({(each.resource_type, each.resource_name): timed_out for each in left})

    sent = type(request)(resources=left, validate_only=request.validate_only)
    forwarding: Deferred[Response] = broker.forward_to_controller(
        sent, timeout_ms=broker.config.request_timeout_ms, context=context
    )
    return forwarding.addCallback(lambda response: put_together(_errors_of(response))).addErrback(unreachable)


def _can_be_written(tags: Sequence[tuple[int, bytes]]) -> bool:
    """Return True if a header with these unknown tags can be forwarded: only these APIs encode theirs again.

    Mirrors RawTaggedFieldWriter: tags are signed numbers and must ascend.
    """
    signed = [tag - (1 << 32) if tag > _INT32_MAX else tag for tag, _ in tags]
    return all(before < tag < _INT32_MAX for before, tag in zip([-1, *signed], signed, strict=False))


def _errors_of(response: Response) -> dict[_Key, ApiError]:
    return {
        (each.resource_type, each.resource_name): ApiError(ErrorCode(each.error_code), each.error_message)
        for each in response.responses
    }


def resource_key(resource_type: int, name: str, *, groups: bool) -> tuple[int, str]:
    """Return the identity of a resource as in ConfigResource: all unknown types are equal."""
    known = [each for each in ResourceType if groups or each is not ResourceType.GROUP]
    return (resource_type if resource_type in known else 0, name)
