"""Authenticates one connection: frames in, frames out, no I/O. Mirrors SaslClientAuthenticator.

KIP-43, KIP-152 and KIP-368.

ApiVersions goes in version 0, because brokers took other requests for tokens of GSSAPI. Correlation ids are the eight
highest, so that responses to other requests, which arrive during a re-authentication, are recognized. With a broker
that has no SaslAuthenticate (before 1.0), messages are bare frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from broker_client.core.network.sasl.sasl_state import SASL_STATES, SaslEvent, SaslState
from broker_client.errors import (
    ConnectionFailed,
    IllegalSaslState,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanism,
)
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import MessageDecodeError
from protocol_specs.framing import decode_response, encode_request
from protocol_specs.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol_specs.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol_specs.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from protocol_specs.registry import response_type
from protocol_specs.sasl.sasl_names import SaslMessageError

if TYPE_CHECKING:
    from broker_client.core.network.sasl.mechanisms import SaslClient
    from protocol_specs.message import Message

M = TypeVar("M", bound="Message")

__all__ = ["SaslClientAuthenticator", "SaslVersions", "is_reserved"]

_CORRELATION_ID_MIN: Final = 2**31 - 8
_CORRELATION_ID_MAX: Final = 2**31 - 1
_OTHER_PROTOCOL: Final = "Invalid SASL mechanism response, server may be expecting a different protocol"
_ERRORS: Final = {
    ErrorCode.UNSUPPORTED_SASL_MECHANISM: UnsupportedSaslMechanism,
    ErrorCode.ILLEGAL_SASL_STATE: IllegalSaslState,
    ErrorCode.SASL_AUTHENTICATION_FAILED: SaslAuthenticationFailed,
}


def is_reserved(correlation_id: int) -> bool:
    """True if the correlation id is one of an authentication."""
    return correlation_id >= _CORRELATION_ID_MIN


@dataclass(frozen=True, slots=True)
class SaslVersions:
    """The versions of SaslHandshake and SaslAuthenticate with one broker; without the second, bare frames."""

    handshake: int
    authenticate: int | None

    @classmethod
    def of(cls, response: ApiVersionsResponse) -> SaslVersions:
        """The highest versions that both sides have."""
        highest = {api.api_key: api.max_version for api in response.api_keys if api.max_version >= 0}
        handshake = highest.get(ApiKey.SASL_HANDSHAKE, 0)
        authenticate = highest.get(ApiKey.SASL_AUTHENTICATE)
        if authenticate is not None:
            authenticate = min(authenticate, SaslAuthenticateRequest.VERSIONS.highest)
        return cls(min(handshake, SaslHandshakeRequest.VERSIONS.highest), authenticate)


class SaslClientAuthenticator:
    """One exchange. `session_lifetime_ms` is the broker's, 0 without a limit."""

    def __init__(
        self, *, mechanism: str, sasl_client: SaslClient, client_id: str, versions: SaslVersions | None = None
    ) -> None:
        """`versions` are those of the connection's first authentication; with them this is a re-authentication."""
        self.state = SaslState.INITIAL
        self.versions = versions
        self.session_lifetime_ms = 0
        self._mechanism = mechanism
        self._sasl_client = sasl_client
        self._client_id = client_id
        self._is_again = versions is not None
        self._awaited: tuple[int, type[Message], int] | None = None
        self._correlation_id = _CORRELATION_ID_MIN

    def begin(self) -> bytes:
        """Return the first frame."""
        if self.versions is not None:
            return self._handshake(self.versions)
        self._take(SaslEvent.VERSIONS_REQUESTED)
        return self._request(ApiVersionsRequest(), 0)

    @property
    def is_complete(self) -> bool:
        """True if the broker has accepted the client."""
        return self.state is SaslState.COMPLETE

    def is_unrelated(self, payload: bytes) -> bool:
        """True if a frame that arrives during a re-authentication is the response to an earlier request."""
        return self._is_again and not is_reserved(int.from_bytes(payload[:4], "big", signed=True))

    def receive(self, payload: bytes) -> bytes | None:
        """Take a frame of the broker and return the frame that follows; None if none does.

        Raises:
            AuthenticationFailed: the broker refuses the client, or the client the broker.
            ConnectionFailed: the broker reports another error, or its response has another correlation id.
        """
        try:
            return self._receive(payload)
        except (IllegalSaslState, SaslAuthenticationFailed, UnsupportedSaslMechanism, ConnectionFailed):
            self._take(SaslEvent.REFUSED)
            raise

    def _receive(self, payload: bytes) -> bytes | None:
        if self.state is SaslState.RECEIVE_APIVERSIONS_RESPONSE:
            versions = self.versions = SaslVersions.of(self._response(ApiVersionsResponse, payload))
            return self._handshake(versions)
        if self.state is SaslState.RECEIVE_HANDSHAKE_RESPONSE:
            self._check_handshake(self._response(SaslHandshakeResponse, payload))
            return self._message(self._sasl_client.initial_message())
        challenge = self._challenge(payload)
        try:
            message = None if self._sasl_client.is_complete else self._sasl_client.respond(challenge)
        except SaslMessageError as error:
            raise SaslAuthenticationFailed(
                f"an error occurred when evaluating SASL token received from the Kafka Broker: {error}"
            ) from None
        if message is not None:
            return self._message(message)
        if self._sasl_client.is_complete:
            self._take(SaslEvent.ACCEPTED)
        return None

    def _handshake(self, versions: SaslVersions) -> bytes:
        self._take(SaslEvent.HANDSHAKE_SENT)
        return self._request(SaslHandshakeRequest(mechanism=self._mechanism), versions.handshake)

    def _message(self, message: bytes) -> bytes:
        is_last = self._sasl_client.is_complete
        self._take(SaslEvent.LAST_MESSAGE_SENT if is_last else SaslEvent.MESSAGE_SENT)
        version = self._authenticate_version
        if version is None:
            return len(message).to_bytes(4, "big") + message
        return self._request(SaslAuthenticateRequest(auth_bytes=message), version)

    def _request(self, request: Message, version: int) -> bytes:
        correlation_id = self._correlation_id
        self._correlation_id = _CORRELATION_ID_MIN if correlation_id == _CORRELATION_ID_MAX else correlation_id + 1
        self._awaited = (correlation_id, response_type(request.API_KEY), version)
        return encode_request(request, version, correlation_id=correlation_id, client_id=self._client_id)

    @property
    def _authenticate_version(self) -> int | None:
        assert self.versions is not None, "the handshake comes behind the versions"
        return self.versions.authenticate

    def _challenge(self, payload: bytes) -> bytes:
        if self._authenticate_version is None:
            return payload
        response = self._response(SaslAuthenticateResponse, payload)
        if response.error_code != ErrorCode.NONE:
            code = ErrorCode.for_code(response.error_code)
            text = response.error_message or f"the broker responds with {code.name} to SaslAuthenticate"
            raise _ERRORS.get(code, ConnectionFailed)(text)
        if response.session_lifetime_ms > 0:
            self.session_lifetime_ms = response.session_lifetime_ms
        return response.auth_bytes

    def _response(self, kind: type[M], payload: bytes) -> M:
        assert self._awaited is not None, "a response follows a request"
        expected_id, _, version = self._awaited
        received_id = int.from_bytes(payload[:4], "big", signed=True)
        if not is_reserved(received_id):
            raise IllegalSaslState(f"{_OTHER_PROTOCOL}: correlation id {received_id} is not {expected_id}")
        try:
            correlation_id, response = decode_response(kind, version, payload)
        except MessageDecodeError as error:
            raise IllegalSaslState(f"{_OTHER_PROTOCOL}: {error}") from None
        if correlation_id != expected_id:
            raise ConnectionFailed(f"correlation id {correlation_id} is not {kind.NAME}'s, {expected_id}")
        return response

    def _check_handshake(self, response: SaslHandshakeResponse) -> None:
        code = ErrorCode.for_code(response.error_code)
        if code is ErrorCode.NONE:
            return
        enabled = f"enabled mechanisms are [{', '.join(response.mechanisms)}]"
        if code is ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            raise UnsupportedSaslMechanism(
                f"Client SASL mechanism '{self._mechanism}' not enabled in the server, {enabled}"
            )
        problem = (
            "Unexpected handshake request with"
            if code is ErrorCode.ILLEGAL_SASL_STATE
            else f"Unknown error {code.name},"
        )
        raise IllegalSaslState(f"{problem} client mechanism {self._mechanism}, {enabled}")

    def _take(self, event: SaslEvent) -> None:
        self.state = SASL_STATES.next(self.state, event)
