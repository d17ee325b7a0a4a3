"""Envelope (api key 58): a client's request as a broker passes it on to the controller (KIP-590). Mirrors
ForwardingManager and EnvelopeUtils.

On a link the request and its response travel by reference; `request_data` and `response_data` are their bytes, header
first, and are encoded on access.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from broker_sim.config.authorizer_settings import ANONYMOUS
from broker_sim.controller.not_controller import is_not_controller
from broker_sim.links.node_links import LinkFailure
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.envelope import EnvelopeRequest, EnvelopeResponse
from protocol_specs.messages.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from protocol_specs.schemas.default_principal_data import DefaultPrincipalData
from protocol_specs.schemas.record_serde import encode_versioned

if TYPE_CHECKING:
    from protocol_specs.message import Message

__all__ = ["ForwardedRequest", "ForwardedResponse", "encoded_principal"]

NO_CLIENT_HOST: Final = "127.0.0.1"


def encoded_principal(principal: str, *, token_authenticated: bool = False) -> bytes:
    """Return a principal, such as `User:ANONYMOUS`, as DefaultKafkaPrincipalBuilder serializes it."""
    kind, _, name = principal.partition(":")
    return encode_versioned(DefaultPrincipalData(type=kind, name=name, token_authenticated=token_authenticated), 0)


class ClientConnection(Protocol):
    """The part of a client's connection that an Envelope repeats."""

    principal: str | None
    token_authenticated: bool


class ClientRequest(Protocol):
    """The facts about a client's request that its Envelope repeats."""

    client_id: str | None
    correlation_id: int

    @property
    def connection(self) -> ClientConnection:
        """The client's connection."""

    @property
    def client_host(self) -> str:
        """The client's address."""


class ForwardedRequest:
    """A request by reference, with its client and version. `envelope` returns the message that carries it on a wire."""

    __slots__ = (
        "api_version",
        "client_host",
        "client_id",
        "correlation_id",
        "principal",
        "request",
        "token_authenticated",
    )
    NAME: ClassVar[str] = "Envelope"
    API_KEY: Final = ApiKey.ENVELOPE

    def __init__(self, request: Message, *, api_version: int, context: ClientRequest | None) -> None:
        self.request = request
        self.api_version = api_version
        self.client_id = None if context is None else context.client_id
        self.client_host = NO_CLIENT_HOST if context is None else context.client_host
        self.correlation_id = 0 if context is None else context.correlation_id
        self.principal = None if context is None else context.connection.principal
        """None for a request of the broker's own."""
        self.token_authenticated = context is not None and context.connection.token_authenticated

    @property
    def RULE_API_KEY(self) -> ApiKey:  # noqa: N802 - as every message has it
        """The API by which fault rules select it: that of the request in it."""
        key: ApiKey = self.request.API_KEY
        return key

    def envelope(self) -> EnvelopeRequest:
        """The declared message."""
        return EnvelopeRequest(
            request_data=self.request_data,
            request_principal=encoded_principal(
                self.principal or ANONYMOUS, token_authenticated=self.token_authenticated
            ),
            client_host_address=ipaddress.ip_address(self.client_host).packed,
        )

    @property
    def request_data(self) -> bytes:
        """Header and body of the client's request."""
        header = RequestHeader(
            request_api_key=self.request.API_KEY,
            request_api_version=self.api_version,
            correlation_id=self.correlation_id,
            client_id=self.client_id,
        )
        version = request_header_version(type(self.request), self.api_version)
        return header.encode(version) + self.request.encode(self.api_version)


class ForwardedResponse:
    """The response by reference; one with an envelope error has none."""

    __slots__ = ("_error_code", "forwarded", "response")
    NAME: ClassVar[str] = "Envelope"

    def __init__(self, forwarded: ForwardedRequest, response: Any, *, error_code: ErrorCode = ErrorCode.NONE) -> None:
        self.forwarded = forwarded
        self.response = response
        self._error_code = ErrorCode.NOT_CONTROLLER if is_not_controller(response) else error_code

    @property
    def error_code(self) -> ErrorCode:
        """The envelope's own error."""
        return self._error_code

    def opened(self) -> Any:
        """Return the client's response.

        Raises:
            LinkFailure: The envelope has an error.
        """
        if self._error_code:
            raise LinkFailure(f"{self.forwarded.request.NAME} in an Envelope: {self._error_code.name}")
        return self.response

    def envelope(self) -> EnvelopeResponse:
        """The declared message."""
        return EnvelopeResponse(response_data=self.response_data, error_code=self._error_code)

    @property
    def response_data(self) -> bytes | None:
        """Header and body of the response to the client."""
        if self._error_code:
            return None
        version = self.forwarded.api_version
        header = ResponseHeader(correlation_id=self.forwarded.correlation_id)
        body: bytes = self.response.encode(version)
        return header.encode(response_header_version(type(self.response), version)) + body
