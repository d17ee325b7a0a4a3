"""RequestHeader and ResponseHeader: the header between the size of a frame and its message.

Mirrors org.apache.kafka.common.requests.RequestHeader and ResponseHeader; KIP-482. Which header version goes with which
message version follows from the message being flexible, with two historical exceptions: ControlledShutdown v0 has no
client id, and an ApiVersions response never has tags, because its reader does not know its version in advance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Int16, Int32, String
from protocol_specs.message import Message, field, message

if TYPE_CHECKING:
    from protocol_specs.message import Message as MessageType


@message(versions="0-2", flexible="2+")
class RequestHeader(Message):
    """The header of a request: API key, version, client id, and the correlation id that the response repeats."""

    request_api_key: int = field(Int16)
    request_api_version: int = field(Int16)
    correlation_id: int = field(Int32)
    client_id: str | None = field(String, versions="1+", nullable="1+", flexible=False, ignorable=True)


@message(versions="0-1", flexible="1+")
class ResponseHeader(Message):
    """The header of a response: the correlation id of its request."""

    correlation_id: int = field(Int32)


_API_VERSIONS: Final = ApiKey.API_VERSIONS
"""A constant, because looking up a member of an enum is slow."""


def request_header_version(request: type[MessageType], version: int) -> int:
    """The header version before `version` of this request (2 from the first flexible version on)."""
    if request.API_KEY == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if version in request.FLEXIBLE else 1


def response_header_version(response: type[MessageType], version: int) -> int:
    """The header version before `version` of this response (1 from the first flexible version on)."""
    if response.API_KEY == _API_VERSIONS:
        return 0
    return 1 if version in response.FLEXIBLE else 0
