"""The rule of an API: a function around its handler that refuses what the client may not do.

A rule calls the handler with what is left of the request, and completes its response. Handlers whose order of checks
needs it call `RequestContext.may` themselves; their rule is OPEN or checks the request as a whole.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from twisted.internet.defer import Deferred

from broker_sim.apis.handler_result import LateResponse, NoResponse
from broker_sim.security.access import Access
from broker_sim.security.acl import AclOperation
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from broker_sim.apis.api_handler import ApiHandler, HandlerTable
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.security.authorizer import Authorizer

__all__ = [
    "FORWARDED",
    "NODES_ALONE",
    "OPEN",
    "AuthorizedHandlers",
    "Handle",
    "Rule",
    "changed",
    "cluster",
    "edited",
    "group",
    "in_places",
    "transactional_id",
]

Handle: TypeAlias = "Callable[[Any, RequestContext], HandlerResult]"
Rule: TypeAlias = "Callable[[Any, RequestContext, Access, Handle], HandlerResult]"


class AuthorizedHandlers:
    """The handlers of a node with an authorizer. A client without a principal is a node of the cluster itself."""

    def __init__(self, handlers: HandlerTable, rules: Mapping[ApiKey, Rule], authorizer: Authorizer) -> None:
        self.served = handlers.served
        self.loaded: dict[ApiKey, ApiHandler] = {}
        self._handlers = handlers
        self._rules = rules
        self._authorizer = authorizer

    def handler_of(self, api_key: ApiKey) -> ApiHandler:
        """Return the handler of a served API within its rule.

        Raises:
            LookupError: The node does not serve the API.
        """
        handler = self.loaded.get(api_key)
        if handler is None:
            handler = self.loaded[api_key] = self._within_rule(self._handlers.handler_of(api_key), self._rules[api_key])
        return handler

    def _within_rule(self, handler: ApiHandler, rule: Rule) -> ApiHandler:
        authorizer, handle = self._authorizer, handler.handle

        def authorized(request: Any, context: RequestContext) -> HandlerResult:
            principal = context.connection.principal
            if principal is None:
                return handle(request, context)
            context.access = access = Access(authorizer, principal, context.client_host)
            return rule(request, context, access, handle)

        return replace(handler, handle=authorized)


_PARTS: Final = ("results", "responses", "filter_results", "replica_election_results", "partition_result", "partitions")
"""Where responses have parts with errors of their own."""


def OPEN(request: Any, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:  # noqa: N802, ARG001
    """Refuse nothing before the handler."""
    return handle(request, context)


def FORWARDED(request: Any, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:  # noqa: N802, ARG001
    """Refuse nothing at a broker: the handler forwards the request, and the controller checks it."""
    return handle(request, context)


def cluster(*operations: AclOperation, explains: bool = False) -> Rule:
    """Return the rule that requires one of the operations on the cluster.

    With `explains` the errors of the response have the text of Kafka's exception, which prints the request.
    """

    def rule(request: Any, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
        if any(access.cluster(each) for each in operations):
            return handle(request, context)
        response = _refused(context, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        if explains:
            _explain(response, _exception_text(context, operations[-1]))
        return response

    return rule


def _exception_text(context: RequestContext, operation: AclOperation) -> str:
    """Mirrors AuthHelper.authorizeClusterOperation with RequestChannel.Request.toString."""
    connection = context.connection
    behaviour = context.behaviour
    kept = behaviour.zookeeper and behaviour.refusals_name_envelopes and context.api_key.facts.forwardable
    size = context.size_bytes
    buffer = f"java.nio.HeapByteBuffer[pos={size} lim={size} cap={size}]" if kept and size else "null"
    envelope = ", envelope=None" if behaviour.refusals_name_envelopes else ""
    request = (
        f"Request(processor=0, connectionId={connection.connection_id}, session=Session({connection.principal},"
        f"/{connection.client_host}), listenerName=ListenerName({connection.listener_name}), "
        f"securityProtocol={connection.security_protocol}, buffer={buffer}{envelope})"
    )
    if behaviour.authorization_errors_name_operations:
        return f"Request {request} needs {operation.name} permission."
    return f"Request {request} is not authorized."


def _explain(part: Any, text: str) -> None:
    """Set the text of each refusal in a response that has a field for it."""
    if getattr(part, "error_code", None) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED and hasattr(part, "error_message"):
        part.error_message = text
    for name in _PARTS:
        for each in getattr(part, name, None) or ():
            _explain(each, text)


def group(operation: AclOperation) -> Rule:
    """Return the rule that requires an operation on the request's group."""

    def rule(request: Any, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
        if access.group(operation, request.group_id):
            return handle(request, context)
        return _refused(context, ErrorCode.GROUP_AUTHORIZATION_FAILED)

    return rule


def transactional_id(operation: AclOperation, then: Rule = OPEN) -> Rule:
    """Return the rule that requires an operation on the request's transactional id, and then what `then` requires."""

    def rule(request: Any, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
        if access.transactional_id(operation, request.transactional_id):
            return then(request, context, access, handle)
        return _refused(context, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

    return rule


def _refused(context: RequestContext, error_code: ErrorCode) -> HandlerResult:
    return context.broker.apis.error_response(context, error_code)


NODES_ALONE: Final[Mapping[ApiKey, Rule]] = MappingProxyType(
    {key: cluster(AclOperation.CLUSTER_ACTION) for key in ApiKey if key.facts.cluster_action}
)
"""The rules of the APIs that nodes of the cluster send to each other."""


def changed(request: Any, **fields: Any) -> Any:
    """Return a copy of a request, with other values in some fields."""
    made = copy.copy(request)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def in_places(refusals: Sequence[Any | None], results: Iterable[Any]) -> list[Any]:
    """Return the refusals, with the results in order where a refusal is None."""
    left = iter(results)
    return [next(left) if each is None else each for each in refusals]


def edited(result: HandlerResult, edit: Callable[[Any], None]) -> HandlerResult:
    """Change the response of a handler, now or when it is there."""

    def edit_response(response: Any) -> Any:
        if not isinstance(response, NoResponse):
            edit(response)
        return response

    if isinstance(result, LateResponse):
        late: Final = LateResponse()
        result.send_with(lambda response, _: late.respond(edit_response(response)), None)
        return late
    if isinstance(result, Deferred):
        return cast("HandlerResult", cast("Any", result).addCallback(edit_response))
    return edit_response(result)  # type: ignore[no-any-return]
