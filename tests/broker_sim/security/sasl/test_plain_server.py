"""PLAIN on the server's side: the texts of Kafka."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_sim.security.sasl.plain_server import PlainServer, plain_users
from broker_sim.security.sasl.sasl_server import AuthenticationFailed
from protocol_specs.sasl.plain import PlainMessage

USERS = {"alice": "secret", "bob": "pw2"}
NAME = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)


def test_users_are_options_of_the_login_module() -> None:
    assert plain_users({"username": "admin", "user_alice": "secret", "user_": "x"}) == {"alice": "secret", "": "x"}


@pytest.mark.parametrize("authorization_id", ["", "alice"])
def test_a_password_authenticates_its_user(authorization_id: str) -> None:
    server = PlainServer(USERS)
    assert server.evaluate(PlainMessage(authorization_id, "alice", "secret").encode()) == b""
    assert (server.complete, server.name, server.expires_ms) == (True, "alice", None)


@pytest.mark.parametrize(
    ("token", "text"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"alice\0secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0alice\0secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"a\0b\0c\0d\0e", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0pw2", "Authentication failed: Invalid username or password"),
        (b"\0carol\0secret", "Authentication failed: Invalid username or password"),
        (b"\0\xff\0\xfe", "Authentication failed: Invalid username or password"),
        (
            b"bob\0alice\0secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
    ],
)
def test_each_failure_has_its_text(token: bytes, text: str) -> None:
    server = PlainServer(USERS)
    with pytest.raises(AuthenticationFailed) as refused:
        server.evaluate(token)
    assert str(refused.value) == text
    assert (server.complete, server.name) == (False, "")


@given(users=st.dictionaries(NAME, NAME, max_size=4), user=NAME, password=NAME)
def test_only_the_pairs_of_users_are_authenticated(users: dict[str, str], user: str, password: str) -> None:
    server = PlainServer(users)
    try:
        server.evaluate(PlainMessage("", user, password).encode())
    except AuthenticationFailed:
        assert users.get(user) != password
    else:
        assert users[user] == password
