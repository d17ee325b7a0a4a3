"""OAUTHBEARER on the server's side: an invalid token has a response, and then an error."""

from __future__ import annotations

import pytest

from broker_sim.security.sasl.oauthbearer_server import OAuthBearerServer
from broker_sim.security.sasl.sasl_server import AuthenticationFailed, InvalidCredentials, UnexpectedToken
from broker_sim.security.sasl.unsecured_token import TokenRules
from protocol_specs.sasl.oauthbearer import AFTER_ERROR, BearerMessage
from tests.broker_sim.security.sasl.test_unsecured_token import NOW_MS, NOW_S, token

GENERAL = (b"", AFTER_ERROR, b"garbage", b"n,,\1foo=bar\1\1", b"n,,\1fo1=bar\1auth=Bearer abc\1\1")
EXPIRED = BearerMessage(token=token(exp=NOW_S - 1, iat=NOW_S - 2)).encode()


def server(rules: TokenRules | None = None) -> OAuthBearerServer:
    return OAuthBearerServer(rules or TokenRules(), lambda: NOW_MS)


@pytest.mark.parametrize("authorization_id", ["", "dave"])
def test_a_token_authenticates_until_it_expires(authorization_id: str) -> None:
    exchange = server()
    message = BearerMessage(token=token(), authorization_id=authorization_id, extensions={"traceId": "1"})
    assert exchange.evaluate(message.encode()) == b""
    assert (exchange.complete, exchange.name, exchange.expires_ms) == (True, "dave", NOW_MS + 60_000)


def test_an_invalid_token_has_its_error_as_json_until_the_client_confirms_it() -> None:
    exchange = server()
    assert exchange.evaluate(EXPIRED) == b'{"status":"invalid_token"}'
    with pytest.raises(AuthenticationFailed, match=r'^{"status":"invalid_token"}$'):
        exchange.evaluate(AFTER_ERROR)


def test_another_token_may_follow_an_invalid_one() -> None:
    exchange = server()
    exchange.evaluate(EXPIRED)
    assert exchange.evaluate(BearerMessage(token=token()).encode()) == b""
    assert exchange.complete


def test_a_missing_scope_is_named() -> None:
    exchange = server(TokenRules(required_scope=("read", "write")))
    found = exchange.evaluate(BearerMessage(token=token(scope="read")).encode())
    assert found == b'{"status":"insufficient_scope", "scope":"[read, write]"}'


@pytest.mark.parametrize("message", GENERAL)
def test_a_malformed_message_has_no_text_for_the_client(message: bytes) -> None:
    with pytest.raises(InvalidCredentials):
        server().evaluate(message)


def test_characters_of_later_tokens_are_malformed_before_3_8() -> None:
    with pytest.raises(InvalidCredentials):
        server(TokenRules(has_base64=False)).evaluate(BearerMessage(token="a+b.c.").encode())


@pytest.mark.parametrize("message", [b"n,,\1auth=Basic abc\1\1", BearerMessage(token=token({"x": 1})).encode()])
def test_what_raises_in_kafka_closes_the_connection(message: bytes) -> None:
    with pytest.raises(UnexpectedToken):
        server().evaluate(message)


def test_another_authorization_id_is_named() -> None:
    text = r"authorization id \(bob\) that is different from the token's principal name \(dave\)"
    with pytest.raises(AuthenticationFailed, match=text):
        server().evaluate(BearerMessage(token=token(), authorization_id="bob").encode())
