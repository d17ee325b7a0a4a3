"""The authentication of a connection, frame by frame, as real brokers of 3.7.2 and 4.3.1 were observed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.security.sasl.authenticator import SaslServerAuthenticator, SaslStep, Verdict
from broker_sim.security.sasl.sasl_listener import SaslListener
from broker_sim.security.sasl.states import SaslState
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol_specs.messages.sasl_handshake import SaslHandshakeRequest

if TYPE_CHECKING:
    from collections.abc import Callable

MODULE = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret" user_bob="pw2";'
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
PREFIX = "listener.name.client"
GOOD = b"\0alice\0secret"
WRONG = "Authentication failed: Invalid username or password"


def listener(release: str = "4.3.1", **others: str) -> SaslListener:
    config = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        f"{PREFIX}.plain.sasl.jaas.config": MODULE,
        f"{PREFIX}.scram-sha-256.sasl.jaas.config": SCRAM,
        **{name.replace("_", "."): value for name, value in others.items()},
    }
    parsed = BrokerConfig.parse(config, release=release)
    return SaslListener(
        "CLIENT",
        parsed,
        credential_of=lambda _user, _mechanism: None,
        token_login=lambda _id, _mechanism: None,
        random=Random(1),
        now_ms=lambda: 0,
    )


def new(
    settings: SaslListener | None = None, previous: SaslServerAuthenticator | None = None
) -> SaslServerAuthenticator:
    return SaslServerAuthenticator(settings or listener(), previous=previous)


def request(authenticator: SaslServerAuthenticator, message: Any, version: int = 1) -> SaslStep | None:
    refusal = authenticator.admits(message.API_KEY)
    return refusal or authenticator.request(message.API_KEY, message, version)


def handshake(authenticator: SaslServerAuthenticator, mechanism: str = "PLAIN", version: int = 1) -> Any:
    return request(authenticator, SaslHandshakeRequest(mechanism=mechanism), version)


def token(authenticator: SaslServerAuthenticator, data: bytes, version: int = 2) -> Any:
    return request(authenticator, SaslAuthenticateRequest(auth_bytes=data), version)


def authenticated(settings: SaslListener | None = None) -> SaslServerAuthenticator:
    made = new(settings)
    handshake(made)
    token(made, GOOD)
    assert made.is_complete
    return made


def test_a_handshake_and_a_password_authenticate() -> None:
    made = new()
    step = handshake(made)
    assert (step.response.error_code, step.response.mechanisms) == (0, ["PLAIN", "SCRAM-SHA-256"])
    step = token(made, GOOD)
    assert (step.verdict, step.response.error_code, step.response.error_message) == (Verdict.GO_ON, 0, "")
    assert (made.principal, made.mechanism, made.lifetime_ms) == ("User:alice", "PLAIN", None)


def test_bare_tokens_follow_the_oldest_handshake() -> None:
    made = new()
    handshake(made, version=0)
    assert made.expects_bare_token
    assert made.bare_token(GOOD).token == b""
    assert made.is_complete


def test_a_failure_has_a_response_only_within_a_request() -> None:
    made = new()
    handshake(made)
    step = token(made, b"\0alice\0x")
    assert (step.verdict, step.response.error_code, step.response.error_message) == (Verdict.FAIL, 58, WRONG)
    bare = new()
    handshake(bare, version=0)
    step = bare.bare_token(b"\0alice\0x")
    assert (step.verdict, step.response, step.reason) == (Verdict.FAIL, None, WRONG)


def test_the_reason_of_scram_stays_in_the_log() -> None:
    made = new()
    handshake(made, "SCRAM-SHA-256")
    step = token(made, b"n,,n=mallory,r=abc")
    text = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    assert (step.verdict, step.response.error_message) == (Verdict.FAIL, text)
    bare = new()
    handshake(bare, "SCRAM-SHA-256", version=0)
    assert bare.bare_token(b"n,,n=mallory,r=abc").verdict is Verdict.CLOSE


def test_an_unknown_mechanism_fails_with_those_that_are_enabled() -> None:
    step = handshake(new(), "plain")
    assert (step.verdict, step.response.error_code) == (Verdict.FAIL, ErrorCode.UNSUPPORTED_SASL_MECHANISM)
    assert step.response.mechanisms == ["PLAIN", "SCRAM-SHA-256"]


@pytest.mark.parametrize(("release", "verdict"), [("3.9.2", Verdict.FAIL), ("4.0.0", Verdict.CLOSE)])
def test_first_frames_that_are_refused(release: str, verdict: Verdict) -> None:
    settings = listener(release)
    assert new(settings).read_nothing("junk").verdict is verdict
    step = request(new(settings), MetadataRequest(topics=[]))
    assert step is not None
    assert (step.verdict, step.response) == (verdict, None)
    later = new(settings)
    handshake(later)
    assert later.read_nothing("junk").verdict is Verdict.CLOSE


def test_versions_succeed_once() -> None:
    made = new()
    assert made.admits(ApiKey.API_VERSIONS) is None
    assert made.request(ApiKey.API_VERSIONS, None, 0) is None
    assert made.admits(ApiKey.API_VERSIONS) is None
    assert made.request(ApiKey.API_VERSIONS, None, 3) is None, "after an error it may be sent again"
    made.versions_sent()
    assert made.admits(ApiKey.API_VERSIONS) is None
    again = made.request(ApiKey.API_VERSIONS, None, 3)
    assert again is not None
    assert again.verdict is Verdict.CLOSE


@pytest.mark.parametrize("message", [SaslHandshakeRequest(mechanism="PLAIN"), MetadataRequest(topics=[])])
def test_other_requests_between_tokens_have_their_own_error(message: Any) -> None:
    made = new()
    handshake(made)
    step = request(made, message)
    assert step is not None
    assert (step.verdict, step.error_code) == (Verdict.FAIL, ErrorCode.ILLEGAL_SASL_STATE)


def test_a_size_beyond_the_limit_fails() -> None:
    made = new()
    step = made.too_large("x")
    assert (step.verdict, step.response, made.state) == (Verdict.FAIL, None, SaslState.FAILED)


def test_the_lifetime_is_the_limit_of_the_configuration() -> None:
    made = new(listener(connections_max_reauth_ms="2500"))
    handshake(made)
    assert token(made, GOOD).response.session_lifetime_ms == 2500
    assert made.lifetime_ms == 2500


@pytest.mark.parametrize(("release", "ended"), [("3.7.2", True), ("4.1.1", True), ("4.2.1", False)])
def test_a_lifetime_beyond_64_bits_of_nanoseconds(release: str, ended: bool) -> None:
    made = new(listener(release, connections_max_reauth_ms=str(10**13)))
    handshake(made)
    step = token(made, GOOD)
    if ended:
        assert (step.response.session_lifetime_ms, made.is_complete) == (10**13, True)
        assert made.validity_us is not None
        assert made.validity_us < 0, "it wraps around: the next request closes"
    else:
        assert (step.verdict, made.is_complete) == (Verdict.CLOSE, False)


def test_a_session_is_renewed_by_the_same_principal() -> None:
    again = new(previous=authenticated())
    assert handshake(again).response.error_code == 0
    assert token(again, GOOD).response.error_code == 0
    assert again.is_complete


def test_another_principal_cannot_renew_a_session() -> None:
    text = "Cannot change principals during re-authentication from User.alice: User.bob"
    again = new(previous=authenticated())
    handshake(again)
    step = token(again, b"\0bob\0pw2")
    assert (step.verdict, step.response.error_code, step.response.error_message) == (Verdict.FAIL, 58, text)
    assert not again.is_complete


def test_an_unknown_mechanism_of_a_renewal_closes() -> None:
    assert handshake(new(previous=authenticated()), "NOPE").verdict is Verdict.CLOSE


def test_another_mechanism_of_a_renewal_fails_with_the_next_frame() -> None:
    again = new(previous=authenticated())
    assert handshake(again, "SCRAM-SHA-256").response.error_code == 0
    assert again.expects_bare_token
    step = again.bare_token(b"anything")
    assert (step.verdict, step.response) == (Verdict.FAIL, None)
    assert step.reason.endswith("is not supported for re-authentication of mechanism 'PLAIN'")


def versions(made: SaslServerAuthenticator) -> SaslStep | None:
    step = made.admits(ApiKey.API_VERSIONS) or made.request(ApiKey.API_VERSIONS, None, 3)
    if step is None:
        made.versions_sent()
    return step


LISTENERS = {release: listener(release) for release in ("3.7.2", "4.3.1")}
FRAMES: dict[str, Callable[[SaslServerAuthenticator], SaslStep | None]] = {
    "versions": versions,
    "handshake": handshake,
    "handshake v0": lambda made: handshake(made, version=0),
    "SCRAM": lambda made: handshake(made, "SCRAM-SHA-256"),
    "unknown mechanism": lambda made: handshake(made, "NOPE"),
    "good": lambda made: token(made, GOOD),
    "wrong": lambda made: token(made, b"\0alice\0x"),
    "metadata": lambda made: request(made, MetadataRequest(topics=[])),
    "junk": lambda made: made.read_nothing("junk"),
    "too large": lambda made: made.too_large("x"),
}


@given(release=st.sampled_from(["3.7.2", "4.3.1"]), names=st.lists(st.sampled_from(sorted(FRAMES)), max_size=8))
def test_only_a_chosen_mechanism_and_its_good_token_authenticate(release: str, names: list[str]) -> None:
    made = new(LISTENERS[release])
    chosen = ""
    for name in names:
        bare = made.expects_bare_token
        step = made.bare_token(GOOD if name == "good" else b"x") if bare else FRAMES[name](made)
        ended = step is not None and step.verdict is not Verdict.GO_ON
        assert ended == (made.state is SaslState.FAILED)
        if made.is_complete:
            assert (name, chosen) == ("good", "PLAIN")
        if ended or made.is_complete:
            return
        chosen = made.mechanism
    assert made.principal == ""
