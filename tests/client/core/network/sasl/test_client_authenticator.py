"""The exchange of one authentication: its requests, its order and its errors."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_client.core.network.sasl.client_authenticator import SaslClientAuthenticator, SaslVersions
from broker_client.core.network.sasl.mechanisms import OAuthBearerSaslClient, PlainSaslClient
from broker_client.core.network.sasl.sasl_state import SaslState
from broker_client.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    IllegalSaslState,
    ProducerError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanism,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.api_versions import ApiVersion, ApiVersionsResponse
from protocol_specs.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol_specs.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.client.core.network.sasl.sasl_frames import Frame, request_in, response

FIRST_ID = 2**31 - 8
NOW = SaslVersions(1, 2)


def authenticator(versions: SaslVersions | None = None, sasl_client: Any = None) -> SaslClientAuthenticator:
    return SaslClientAuthenticator(
        mechanism="PLAIN", sasl_client=sasl_client or PlainSaslClient("a", "b"), client_id="me", versions=versions
    )


def versions(handshake: int = 1, authenticate: int | None = 2) -> ApiVersionsResponse:
    keys = [ApiVersion(api_key=17, min_version=0, max_version=handshake)]
    if authenticate is not None:
        keys.append(ApiVersion(api_key=36, min_version=0, max_version=authenticate))
    return ApiVersionsResponse(error_code=0, api_keys=keys)


def accepted(**fields: Any) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=b"", **fields)


def sent(frame: bytes | None) -> Frame:
    assert frame is not None
    return request_in(frame)


def test_the_requests_and_correlation_ids_are_those_of_java() -> None:
    one = authenticator()
    frames = [sent(one.begin())]
    frames.append(sent(one.receive(response(frames[-1], versions(handshake=9, authenticate=9)))))
    frames.append(sent(one.receive(response(frames[-1], SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"])))))
    assert not one.is_complete
    assert one.receive(response(frames[-1], accepted(session_lifetime_ms=5))) is None
    assert one.is_complete
    assert one.session_lifetime_ms == 5
    assert [(frame.api_key, frame.version) for frame in frames] == [(18, 0), (17, 1), (36, 2)]
    assert [frame.correlation_id for frame in frames] == [FIRST_ID, FIRST_ID + 1, FIRST_ID + 2]
    assert {frame.client_id for frame in frames} == {"me"}
    assert frames[1].request == SaslHandshakeRequest(mechanism="PLAIN")
    assert frames[2].request == SaslAuthenticateRequest(auth_bytes=b"\0a\0b")


def test_a_reauthentication_begins_with_the_handshake() -> None:
    frame = sent(authenticator(NOW).begin())
    assert (frame.api_key, frame.version, frame.correlation_id) == (17, 1, FIRST_ID)


def test_the_highest_common_version_is_used() -> None:
    assert SaslVersions.of(versions(1, 0)) == SaslVersions(1, 0)
    assert SaslVersions.of(versions(0, None)) == SaslVersions(0, None)
    assert SaslVersions.of(ApiVersionsResponse(error_code=0, api_keys=[])) == SaslVersions(0, None)


def test_without_sasl_authenticate_messages_are_bare_frames() -> None:
    one = authenticator()
    handshake = sent(one.receive(response(sent(one.begin()), versions(0, None))))
    assert handshake.version == 0
    frame = one.receive(response(handshake, SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"])))
    assert frame == b"\0\0\0\4\0a\0b"
    assert one.receive(b"") is None
    assert one.is_complete


def test_correlation_ids_stay_among_the_reserved_ones() -> None:
    class Endless(OAuthBearerSaslClient):
        def respond(self, challenge: bytes) -> bytes | None:  # noqa: ARG002
            return b"x"

    one = authenticator(NOW, Endless("t", {}))
    frame = sent(one.begin())
    seen = [frame.correlation_id]
    frame = sent(one.receive(response(frame, SaslHandshakeResponse(error_code=0, mechanisms=[]))))
    for _ in range(9):
        seen.append(frame.correlation_id)
        frame = sent(one.receive(response(frame, accepted())))
    assert seen == [*range(FIRST_ID, 2**31), FIRST_ID, FIRST_ID + 1]


@pytest.mark.parametrize(
    ("code", "error", "text"),
    [
        (ErrorCode.UNSUPPORTED_SASL_MECHANISM, UnsupportedSaslMechanism, r"'PLAIN' not enabled .* are \[A, B\]"),
        (ErrorCode.ILLEGAL_SASL_STATE, IllegalSaslState, "Unexpected handshake request with client mechanism PLAIN"),
        (ErrorCode.INVALID_REQUEST, IllegalSaslState, "Unknown error INVALID_REQUEST"),
        (999, IllegalSaslState, "Unknown error UNKNOWN_SERVER_ERROR"),
    ],
)
def test_a_refused_handshake_is_an_authentication_error(code: int, error: type[ProducerError], text: str) -> None:
    one = authenticator(NOW)
    refused = response(sent(one.begin()), SaslHandshakeResponse(error_code=code, mechanisms=["A", "B"]))
    with pytest.raises(error, match=text):
        one.receive(refused)
    assert one.state is SaslState.FAILED


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.SASL_AUTHENTICATION_FAILED, SaslAuthenticationFailed),
        (ErrorCode.ILLEGAL_SASL_STATE, IllegalSaslState),
        (ErrorCode.UNSUPPORTED_SASL_MECHANISM, UnsupportedSaslMechanism),
        (ErrorCode.UNKNOWN_SERVER_ERROR, ConnectionFailed),
    ],
)
@pytest.mark.parametrize("text", ["because", None])
def test_the_error_of_sasl_authenticate_has_the_text_of_the_broker(
    code: ErrorCode, error: type[ProducerError], text: str | None
) -> None:
    one = authenticator(NOW)
    frame = sent(one.receive(response(sent(one.begin()), SaslHandshakeResponse(error_code=0, mechanisms=[]))))
    refused = SaslAuthenticateResponse(error_code=code, error_message=text, auth_bytes=b"", session_lifetime_ms=0)
    with pytest.raises(error, match=text or code.name):
        one.receive(response(frame, refused))


def test_a_mechanism_that_does_not_accept_the_server_fails_the_authentication() -> None:
    one = authenticator(NOW, OAuthBearerSaslClient("t", {}))
    frame = sent(one.receive(response(sent(one.begin()), SaslHandshakeResponse(error_code=0, mechanisms=[]))))
    error = SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=b"{}", session_lifetime_ms=0)
    frame = sent(one.receive(response(frame, error)))
    with pytest.raises(SaslAuthenticationFailed, match="when evaluating SASL token received from the Kafka Broker"):
        one.receive(response(frame, accepted(session_lifetime_ms=0)))


@given(payload=st.binary(max_size=60), reserved=st.booleans(), step=st.integers(0, 2))
def test_bytes_of_any_kind_end_in_an_error_of_the_client(payload: bytes, *, reserved: bool, step: int) -> None:
    one = authenticator()
    frame = sent(one.begin())
    for response_body in (versions(), SaslHandshakeResponse(error_code=0, mechanisms=[]))[:step]:
        frame = sent(one.receive(response(frame, response_body)))
    if reserved:
        payload = frame.correlation_id.to_bytes(4, "big") + payload
    with contextlib.suppress(AuthenticationFailed, ConnectionFailed):
        one.receive(payload)


def test_versions_below_0_are_none() -> None:
    assert SaslVersions.of(versions(-1, -2)) == SaslVersions(0, None)


@pytest.mark.parametrize("payload", [b"", b"HTTP/1.1", b"\x7f\xff\xff\xf8\0"])
def test_another_protocol_is_an_illegal_state(payload: bytes) -> None:
    one = authenticator()
    one.begin()
    with pytest.raises(IllegalSaslState, match="server may be expecting a different protocol"):
        one.receive(payload)


def test_another_reserved_correlation_id_ends_the_connection_alone() -> None:
    one = authenticator()
    payload = response(sent(one.begin()), versions())
    with pytest.raises(ConnectionFailed, match="correlation id"):
        one.receive((FIRST_ID + 3).to_bytes(4, "big") + payload[4:])


def test_only_a_reauthentication_has_unrelated_responses() -> None:
    payload = (7).to_bytes(4, "big") + b"rest"
    assert authenticator(NOW).is_unrelated(payload)
    assert not authenticator(NOW).is_unrelated(FIRST_ID.to_bytes(4, "big"))
    assert not authenticator().is_unrelated(payload)
