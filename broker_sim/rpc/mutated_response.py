"""Responses whose bytes a fault rule changes by field path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.apis.handler_result import NoResponse, PreparedResponse
from protocol_specs.errors import MessageDecodeError
from protocol_specs.framing import encode_response
from protocol_specs.fuzzing import mutate_frame, mutate_message
from protocol_specs.message import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.apis.handler_result import Response
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.fuzzing import Mutation

__all__ = ["mutated_response"]


def mutated_response(
    context: RequestContext, response: Response, mutations: Sequence[Mutation]
) -> Response | NoResponse:
    """Return the response after mutations: a whole frame where the transport sends bytes, else a decoded message.

    A message that its receiver could not decode becomes CLOSE_CONNECTION: a client closes the connection then.

    Raises:
        MutationError: A mutation is impossible, such as one of an unknown path.
        MessageDecodeError: The response is not in the version of the request, as the error for an unknown version.
        MessageEncodeError: The response cannot be encoded in the version of the request.
    """
    version = context.api_version
    if isinstance(response, PreparedResponse):
        return mutate_frame(response, context.api_key, Kind.RESPONSE, version, mutations)
    if context.transport.takes_frames:
        frame = encode_response(response, version, correlation_id=context.correlation_id)
        return mutate_frame(frame, response.API_KEY, Kind.RESPONSE, version, mutations)
    cls = type(response)
    data = mutate_message(cls, version, response.encode(version), mutations)
    try:
        return cls.decode(version, data)
    except MessageDecodeError as error:
        return context.disconnect(f"cannot decode the response: {error}")
