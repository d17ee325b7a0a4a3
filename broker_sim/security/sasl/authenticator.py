"""The authentication of one connection, without I/O. Mirrors SaslServerAuthenticator.

Its owner reads frames, calls one method per frame, and does what the returned step states: sends the response, and goes
on, or closes the connection. Kafka delays the response and the close of a failed authentication, so that clients do not
retry at once; other errors close the connection immediately and without a response.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from broker_sim.security.sasl.sasl_server import AuthenticationFailed, InvalidCredentials, UnexpectedToken
from broker_sim.security.sasl.states import SASL_TABLE, SaslEvent, SaslState
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol_specs.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from broker_sim.security.sasl.sasl_listener import SaslListener
    from broker_sim.security.sasl.sasl_server import SaslServer
    from protocol_specs.message import Message

__all__ = ["SaslServerAuthenticator", "SaslStep", "Verdict"]

NS_PER_MS: Final = 1_000_000
NS_PER_US: Final = 1_000
INT64_MAX: Final = 2**63 - 1
HANDSHAKE_APIS: Final = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE)
ENVELOPED_SINCE: Final = 1
"""The version of SaslHandshake from which on tokens are in SaslAuthenticate requests (KIP-152)."""


class Verdict(Enum):
    """The effect of a frame on its connection."""

    GO_ON = auto()
    CLOSE = auto()
    """Close the connection immediately, without a response."""
    FAIL = auto()
    """Send the response and close the connection, both after connection.failed.authentication.delay.ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslStep:
    """The response to a frame, if there is one, and the effect on the connection."""

    verdict: Verdict = Verdict.GO_ON
    response: Message | None = None
    token: bytes | None = None
    """The response to a bare token: a frame without a header."""
    error_code: ErrorCode | None = None
    """The error that the response of the frame's own API must have."""
    reason: str = ""
    """The reason of a failure, for the log."""


def _closed(reason: str) -> SaslStep:
    return SaslStep(verdict=Verdict.CLOSE, reason=reason)


class SaslServerAuthenticator:
    """The authentication of a connection, or (with `previous`) its re-authentication (KIP-368)."""

    def __init__(self, listener: SaslListener, *, previous: SaslServerAuthenticator | None = None) -> None:
        self._listener = listener
        self._previous = previous
        self.state = SaslState.INITIAL_REQUEST if previous is None else SaslState.REAUTH_PROCESS_HANDSHAKE
        self.mechanism = ""
        self.principal = ""
        """The authenticated principal, such as `User:alice`; empty before."""
        self.token_authenticated = False
        """The client has proved a delegation token (KIP-48)."""
        self.lifetime_ms: int | None = None
        """The lifetime of the session, from its authentication on; None for no limit."""
        self._server: SaslServer | None = None
        self._has_envelopes = False

    @property
    def is_complete(self) -> bool:
        """True if the client is authenticated."""
        return self.state is SaslState.COMPLETE

    @property
    def is_again(self) -> bool:
        """True if this is a re-authentication."""
        return self._previous is not None

    @property
    def expects_bare_token(self) -> bool:
        """True if the next frame is no request: the token of a client that has sent SaslHandshake v0."""
        return self.state is SaslState.REAUTH_BAD_MECHANISM or (
            self.state is SaslState.AUTHENTICATE and not self._has_envelopes
        )

    # The frames of a client.

    def read_nothing(self, reason: str) -> SaslStep:
        """Handle a frame that is no request, for example without a valid header."""
        if self.state is SaslState.INITIAL_REQUEST and self._listener.first_refusals_wait:
            # A client of 0.9 begins with a token of GSSAPI, which is not enabled.
            return self._failed(reason)
        return self._close(reason)

    def admits(self, api_key: ApiKey) -> SaslStep | None:
        """Check the API of a readable request before its body is read; return None if it goes on."""
        self.state = SASL_TABLE.next(self.state, SaslEvent.REQUEST_READ)
        if self.state is SaslState.AUTHENTICATE or api_key in HANDSHAKE_APIS:
            return None
        reason = f"Unexpected Kafka request of type {api_key.name} during SASL handshake."
        return self._failed(reason) if self._listener.first_refusals_wait else self._close(reason)

    def request(self, api_key: ApiKey, request: Message | None, version: int) -> SaslStep | None:
        """Handle a request that `admits` lets pass; return None for an ApiVersions, which its owner serves."""
        if self.state is not SaslState.AUTHENTICATE:
            if isinstance(request, SaslHandshakeRequest):
                return self._handshake(request, version)
            if self.state is not SaslState.HANDSHAKE_OR_VERSIONS_REQUEST:
                return self._close(
                    f"Unexpected ApiVersions request received during SASL authentication state {self.state.name}"
                )
            return None
        if not isinstance(request, SaslAuthenticateRequest):
            reason = f"Unexpected Kafka request of type {api_key.name} during SASL authentication."
            return self._failed(reason, error_code=ErrorCode.ILLEGAL_SASL_STATE)
        return self._authenticate(request)

    def versions_sent(self) -> None:
        """Note that an ApiVersions has its response, without an error."""
        self.state = SASL_TABLE.next(self.state, SaslEvent.VERSIONS_SENT)

    def bare_token(self, token: bytes) -> SaslStep:
        """Handle a frame without a header: the token of a client that has sent SaslHandshake v0."""
        if self.state is SaslState.REAUTH_BAD_MECHANISM:
            assert self._previous is not None
            return self._failed(
                f"SASL mechanism '{self.mechanism}' requested by client is not supported for re-authentication of "
                f"mechanism '{self._previous.mechanism}'"
            )
        try:
            response = self._evaluate(token)
        except AuthenticationFailed as error:
            return self._failed(str(error))
        except (InvalidCredentials, UnexpectedToken) as error:
            # Kafka has no response for either; it closes the connection of a SaslException immediately.
            return self._close(str(error))
        return SaslStep(token=response)

    def too_large(self, reason: str) -> SaslStep:
        """Handle a size that is negative or above sasl.server.max.receive.size."""
        return self._failed(f"Failing SASL authentication due to invalid receive size: {reason}")

    # Mechanisms.

    def _handshake(self, request: SaslHandshakeRequest, version: int) -> SaslStep:
        mechanism = request.mechanism
        enabled = self._listener.mechanisms
        if version >= ENVELOPED_SINCE:
            self._has_envelopes = True
        if mechanism not in enabled:
            reason = f"Unsupported SASL mechanism {mechanism}"
            if self.is_again:
                return self._close(reason)
            unsupported = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            return self._failed(reason, SaslHandshakeResponse(error_code=unsupported, mechanisms=list(enabled)))
        self.mechanism = mechanism
        if self._previous is not None and mechanism != self._previous.mechanism:
            self.state = SASL_TABLE.next(self.state, SaslEvent.MECHANISM_CHANGED)
        else:
            self._server = self._listener.server_of(mechanism)
            self.state = SASL_TABLE.next(self.state, SaslEvent.MECHANISM_CHOSEN)
        return SaslStep(response=SaslHandshakeResponse(error_code=ErrorCode.NONE, mechanisms=list(enabled)))

    def _authenticate(self, request: SaslAuthenticateRequest) -> SaslStep:
        try:
            token = self._evaluate(bytes(request.auth_bytes))
        except AuthenticationFailed as error:
            return self._failed(str(error), _failure(str(error)))
        except InvalidCredentials as error:
            phrase = "re-authentication" if self.is_again else "authentication"
            text = (
                f"Authentication failed during {phrase} due to invalid credentials with SASL mechanism {self.mechanism}"
            )
            return self._failed(f"{text}: {error}", _failure(text))
        except UnexpectedToken as error:
            return self._close(str(error))
        response = SaslAuthenticateResponse(
            error_code=ErrorCode.NONE,
            error_message="",
            auth_bytes=token,
            session_lifetime_ms=self.lifetime_ms or 0,
        )
        return SaslStep(response=response)

    def _evaluate(self, token: bytes) -> bytes:
        """Return the mechanism's response; the last one completes the authentication.

        Raises:
            AuthenticationFailed: Also for another principal than before a re-authentication.
            InvalidCredentials: See SaslServer.
            UnexpectedToken: See SaslServer.
        """
        server = self._server
        assert server is not None, "a mechanism is chosen"
        response = server.evaluate(token)
        if server.complete:
            principal = f"User:{server.name}"
            if self._previous is not None and principal != self._previous.principal:
                before, now = self._previous.principal.replace(":", ".", 1), principal.replace(":", ".", 1)
                raise AuthenticationFailed(f"Cannot change principals during re-authentication from {before}: {now}")
            self.lifetime_ms = self._lifetime_ms(server)
            self.principal = principal
            self.token_authenticated = server.is_token
            self.state = SASL_TABLE.next(self.state, SaslEvent.AUTHENTICATED)
            self._previous = None
        return response

    def _lifetime_ms(self, server: SaslServer) -> int | None:
        """Return the time for which the session is valid. Mirrors calcCompletionTimesAndReturnSessionLifetimeMs."""
        limit_ms = self._listener.max_reauth_ms(self.mechanism)
        limits = [limit_ms] if limit_ms > 0 else []
        if server.expires_ms is not None:
            limits.append(max(0, server.expires_ms - self._listener.now_ms()))
        lifetime_ms = min(limits, default=None)
        if lifetime_ms is not None and lifetime_ms * NS_PER_MS > INT64_MAX and self._listener.lifetimes_are_exact:
            raise UnexpectedToken(f"long overflow of a lifetime of {lifetime_ms} ms")
        return lifetime_ms

    @property
    def validity_us(self) -> int | None:
        """The time after which the session has ended, None for never; before 4.2 it wraps around, as in Java."""
        if self.lifetime_ms is None:
            return None
        return ((self.lifetime_ms * NS_PER_MS + INT64_MAX + 1) % (2 * INT64_MAX + 2) - INT64_MAX - 1) // NS_PER_US

    # Failures.

    def _failed(self, reason: str, response: Message | None = None, *, error_code: ErrorCode | None = None) -> SaslStep:
        self.state = SASL_TABLE.next(self.state, SaslEvent.FAIL)
        return SaslStep(verdict=Verdict.FAIL, response=response, error_code=error_code, reason=reason)

    def _close(self, reason: str) -> SaslStep:
        self.state = SASL_TABLE.next(self.state, SaslEvent.FAIL)
        return _closed(reason)


def _failure(text: str) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=text, auth_bytes=b"", session_lifetime_ms=0
    )
