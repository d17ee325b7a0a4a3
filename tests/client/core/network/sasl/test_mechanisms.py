"""The messages of the mechanisms' clients: the example of RFC 7677, and servers that prove nothing."""

from __future__ import annotations

from random import Random

import pytest

from broker_client.core.network.sasl import mechanisms
from broker_client.core.network.sasl.mechanisms import OAuthBearerSaslClient, PlainSaslClient, ScramSaslClient
from protocol_specs.sasl.sasl_names import SaslMessageError
from protocol_specs.sasl.scram import ScramMechanism

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.fixture
def scram(monkeypatch: pytest.MonkeyPatch) -> ScramSaslClient:
    monkeypatch.setattr(mechanisms, "new_nonce", lambda _: NONCE)
    return ScramSaslClient(ScramMechanism.SCRAM_SHA_256, "user", "pencil", {}, Random(0))


def test_plain_is_complete_with_its_only_message() -> None:
    client = PlainSaslClient("alice", "s\N{SNOWMAN}cret")
    assert not client.is_complete
    assert client.initial_message() == "\0alice\0s\N{SNOWMAN}cret".encode()
    assert client.is_complete
    assert client.respond(b"") is None


def test_scram_sends_the_messages_of_rfc_7677(scram: ScramSaslClient) -> None:
    assert scram.initial_message() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert scram.respond(SERVER_FIRST) == CLIENT_FINAL
    assert not scram.is_complete
    assert scram.respond(SERVER_FINAL) is None
    assert scram.is_complete
    with pytest.raises(SaslMessageError, match="after its signature"):
        scram.respond(SERVER_FINAL)


@pytest.mark.parametrize(
    ("first", "final", "error"),
    [
        (SERVER_FIRST.replace(b"r=rO", b"r=rP"), b"", "Invalid server nonce"),
        (SERVER_FIRST.replace(b"4096", b"4095"), b"", "Requested iterations 4095 is less than the minimum 4096"),
        (b"no message", b"", "Invalid SCRAM server first message"),
        (SERVER_FIRST, SERVER_FINAL.replace(b"=6", b"=7"), "Invalid server signature"),
        (SERVER_FIRST, b"e=other-error", "failed with error: other-error"),
    ],
)
def test_scram_does_not_accept_a_server_that_proves_nothing(
    scram: ScramSaslClient, first: bytes, final: bytes, error: str
) -> None:
    scram.initial_message()
    if final:
        scram.respond(first)
    with pytest.raises(SaslMessageError, match=error):
        scram.respond(final or first)
    assert not scram.is_complete


def test_nonces_are_drawn_and_names_are_escaped() -> None:
    def first(seed: int) -> bytes:
        extensions = {"tokenauth": "true"}
        client = ScramSaslClient(ScramMechanism.SCRAM_SHA_512, "a=b,c", "", extensions, Random(seed))
        return client.initial_message()

    assert first(1).startswith(b"n,,n=a=3Db=2Cc,r=")
    assert first(1).endswith(b",tokenauth=true")
    assert first(1) == first(1) != first(2)


def test_oauthbearer_is_complete_behind_an_empty_message() -> None:
    client = OAuthBearerSaslClient("a.b.", {"traceId": "1"})
    assert client.initial_message() == b"n,,\x01auth=Bearer a.b.\x01traceId=1\x01\x01"
    assert client.respond(b"") is None
    assert client.is_complete


def test_oauthbearer_confirms_an_error_and_awaits_the_refusal() -> None:
    client = OAuthBearerSaslClient("a.b.", {})
    client.initial_message()
    assert client.respond(b'{"status":"invalid_token"}') == b"\x01"
    assert not client.is_complete
    with pytest.raises(SaslMessageError, match="unexpected message"):
        client.respond(b"")
