"""Requests and responses whose fields a fault rule changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.handler_result import NoResponse, PreparedResponse
from broker_sim.rpc.named_places import parsed_request
from protocol_specs.errors import MessageDecodeError
from protocol_specs.framing import decode_request_header, encode_response
from protocol_specs.fuzzing import mutate_frame, mutate_message
from protocol_specs.message import Kind
from protocol_specs.message_edits import edited

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.apis.handler_result import Response
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.fuzzing import Mutation

__all__ = ["edit_request", "edited_response"]


SIZE_BYTES: Final = 4
"""The bytes of a frame before its header."""


def edit_request(context: RequestContext, mutations: Sequence[Mutation]) -> None:
    """Change a request that is not served yet: the bytes of its frame, or the message that came by reference.

    Raises:
        MutationError: A mutation is impossible, such as one of an unknown path.
        MessageDecodeError: The frame is not valid, or its header is not any more.
    """
    if not context.frame:
        request = parsed_request(context)
        assert request is not None, "a request by reference is a message"
        context.request = edited(request, mutations)
        return
    sized = len(context.frame).to_bytes(SIZE_BYTES, "big") + context.frame
    frame = mutate_frame(sized, context.api_key, Kind.REQUEST, context.api_version, mutations)[SIZE_BYTES:]
    header, context.body_start = decode_request_header(frame)
    context.frame, context.request = frame, None
    context.correlation_id, context.client_id = header.correlation_id, header.client_id


def edited_response(
    context: RequestContext, response: Response, mutations: Sequence[Mutation]
) -> Response | NoResponse:
    """Return the response after mutations: a whole frame where the transport sends bytes, else a message.

    A message that its receiver could not decode becomes CLOSE_CONNECTION: a client closes the connection then.

    Raises:
        MutationError: A mutation is impossible, such as one of an unknown path.
        MessageDecodeError: The response is not in the version of the request, as the error for an unknown version.
        MessageEncodeError: The response cannot be encoded in the version of the request.
    """
    version = context.api_version
    if isinstance(response, PreparedResponse):
        return mutate_frame(response, context.api_key, Kind.RESPONSE, version, mutations)
    if context.replica_id >= 0:
        return edited(response, mutations)
    if context.transport.takes_frames:
        frame = encode_response(response, version, correlation_id=context.correlation_id)
        return mutate_frame(frame, response.API_KEY, Kind.RESPONSE, version, mutations)
    cls = type(response)
    data = mutate_message(cls, version, response.encode(version), mutations)
    try:
        return cls.decode(version, data)
    except MessageDecodeError as error:
        return context.disconnect(f"cannot decode the response: {error}")
