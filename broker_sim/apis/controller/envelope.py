"""Envelope (api key 58) at a controller: a forwarded request is decoded and served as its client's (KIP-590). Mirrors
EnvelopeUtils with RequestChannel.

Errors of the envelope itself: the principal (97), the address or an API that is not forwardable (42), a request that
cannot be read (35). NOT_CONTROLLER anywhere in the response is the envelope's, so that the broker finds the new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from twisted.internet.defer import Deferred

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import active_controller
from broker_sim.apis.request_context import ConnectionInfo, RequestContext
from broker_sim.controller.envelope import ForwardedRequest, ForwardedResponse
from broker_sim.controller.not_controller import is_not_controller
from protocol_specs.api_key import ApiKey, Served
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import ProtocolError, UnknownApi
from protocol_specs.framing import decode_request_header, encode_response
from protocol_specs.message import Message
from protocol_specs.messages.envelope import EnvelopeResponse
from protocol_specs.registry import request_type
from protocol_specs.schemas.default_principal_data import DefaultPrincipalData
from protocol_specs.schemas.record_serde import decode_versioned

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from protocol_specs.messages.envelope import EnvelopeRequest

ADDRESS_SIZES: Final = (4, 16)
SIZE_BYTES: Final = 4
VERSION_BYTES: Final = 2


class _Refused(Exception):
    def __init__(self, error_code: ErrorCode) -> None:
        super().__init__(error_code.name)
        self.error_code = error_code


def handle(request: EnvelopeRequest | ForwardedRequest, context: RequestContext) -> HandlerResult:
    """Serve the request in it, as one of the client that it names."""
    if isinstance(request, ForwardedRequest):
        return _serve_by_reference(request, context)
    try:
        principal = _principal(request.request_principal)
        inner = _inner_context(request, context, principal)
    except _Refused as refused:
        return EnvelopeResponse(error_code=refused.error_code)
    result = inner.broker.apis.serve(inner)
    if isinstance(result, Deferred):
        later: Deferred[Message] = cast("Any", result).addCallback(_closed, inner)
        return later
    return _closed(result, inner)


def _serve_by_reference(request: ForwardedRequest, context: RequestContext) -> HandlerResult:
    """Serve a request that a broker of the cluster forwards: only the active controller does."""
    active_controller(context)
    inner = _forwarded_context(request, context)
    result: Any = inner.broker.apis.serve(inner)
    if isinstance(result, Deferred):
        return cast("HandlerResult", result.addCallback(lambda response: ForwardedResponse(request, response)))
    return ForwardedResponse(request, result)  # type: ignore[return-value]


def _principal(data: bytes | None) -> tuple[str, bool]:
    """Return the principal, and whether it has logged in with a delegation token.

    Mirrors DefaultKafkaPrincipalBuilder.deserialize, which refuses a version that it does not know.
    """
    try:
        if data is None:
            raise _Refused(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE)
        principal, version = decode_versioned(DefaultPrincipalData, bytes(data))
    except ProtocolError:
        raise _Refused(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE) from None
    if int.from_bytes(bytes(data)[:VERSION_BYTES]) != version:
        raise _Refused(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE)
    return f"{principal.type}:{principal.name}", principal.token_authenticated


def _inner_context(request: EnvelopeRequest, context: RequestContext, principal: tuple[str, bool]) -> RequestContext:
    address = bytes(request.client_host_address)
    if len(address) not in ADDRESS_SIZES:
        raise _Refused(ErrorCode.INVALID_REQUEST)
    data = bytes(request.request_data)
    try:
        header, position = decode_request_header(data)
    except ProtocolError:
        raise _Refused(ErrorCode.UNSUPPORTED_VERSION) from None
    version = header.request_api_version
    try:
        api_key = ApiKey.of(header.request_api_key)
    except UnknownApi:
        raise _Refused(ErrorCode.INVALID_REQUEST) from None
    if not api_key.facts.forwardable or not api_key.facts.served & Served.CONTROLLER:
        raise _Refused(ErrorCode.INVALID_REQUEST)
    if version not in context.broker.apis.enabled.get(api_key, ()):
        raise _Refused(ErrorCode.UNSUPPORTED_VERSION)
    try:
        message = request_type(api_key).decode_from(version, data, position)[0]
    except ProtocolError:
        raise _Refused(ErrorCode.UNSUPPORTED_VERSION) from None
    info = ConnectionInfo(
        connection_id=context.connection_id,
        client_host=_text(address),
        listener_name=context.listener_name,
        principal=principal[0],
        token_authenticated=principal[1],
        is_forwarded=True,
    )
    return RequestContext(
        context.broker,
        context.transport,
        info,
        api_key,
        version,
        header.correlation_id,
        header.client_id,
        message,
        context.request_id,
        context.received_us,
        data,
        position,
        context.origin,
    )


def _text(address: bytes) -> str:
    import ipaddress

    return str(ipaddress.ip_address(address))


def _closed(response: Any, inner: RequestContext) -> EnvelopeResponse:
    if not isinstance(response, Message):
        return EnvelopeResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    if is_not_controller(response):
        return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
    frame = encode_response(response, inner.api_version, correlation_id=inner.correlation_id)
    return EnvelopeResponse(response_data=frame[SIZE_BYTES:], error_code=ErrorCode.NONE)


def _forwarded_context(request: ForwardedRequest, context: RequestContext) -> RequestContext:
    info = ConnectionInfo(
        connection_id=context.connection_id,
        client_host=request.client_host,
        listener_name=context.listener_name,
        principal=request.principal,
        token_authenticated=request.token_authenticated,
        is_forwarded=True,
    )
    return RequestContext(
        context.broker,
        context.transport,
        info,
        request.request.API_KEY,
        request.api_version,
        request.correlation_id,
        request.client_id,
        request.request,
        context.request_id,
        context.received_us,
        origin=context.origin,
    )


def error_response(
    request: EnvelopeRequest | ForwardedRequest, context: RequestContext, error_code: ErrorCode
) -> EnvelopeResponse:
    """The envelope's own error; where it came by reference, also that of the request in it."""
    if not isinstance(request, ForwardedRequest):
        return EnvelopeResponse(error_code=error_code)
    inner = context.broker.apis.error_response(_forwarded_context(request, context), error_code)
    own = error_code if error_code is ErrorCode.NOT_CONTROLLER else ErrorCode.NONE
    return ForwardedResponse(request, inner, error_code=own)  # type: ignore[return-value]


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
