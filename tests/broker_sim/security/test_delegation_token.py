"""The facts of delegation tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
from random import Random

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.security.delegation_token import (
    DelegationToken,
    TokenCredentials,
    hmac_of,
    principal_parts,
    secret_of,
    token_of_hmac,
)
from protocol_specs.sasl.scram import ScramMechanism

TOKEN = DelegationToken(
    token_id="id",
    owner="User:ann",
    requester="User:root",
    renewers=("User:bob",),
    issued_ms=10,
    max_ms=100,
    expires_ms=50,
)


def test_a_token_expires_after_its_time() -> None:
    assert [TOKEN.is_expired(now_ms) for now_ms in (50, 51, 101)] == [False, True, True]


def test_owner_and_renewers_may_change_it_and_its_requester_may_see_it() -> None:
    people = ("User:ann", "User:bob", "User:root", "User:eve", "Group:ann")
    assert [TOKEN.may_be_changed_by(each) for each in people] == [True, True, False, False, False]
    assert [TOKEN.concerns(each) for each in people] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("release", "config", "secret"),
    [
        ("4.3.1", {}, ""),
        ("4.3.1", {"delegation.token.secret.key": "new"}, "new"),
        ("3.7.2", {"delegation.token.master.key": "old"}, "old"),
        ("3.7.2", {"delegation.token.master.key": "old", "delegation.token.secret.key": "new"}, "new"),
        ("0.10.2", {}, ""),
    ],
)
def test_the_secret_has_an_older_name(release: str, config: dict[str, str], secret: str) -> None:
    assert secret_of(BrokerConfig.parse(config, release=release)) == secret


def test_a_token_is_found_by_its_hmac() -> None:
    digest = hmac_of("id", "secret")
    assert digest == hmac.new(b"secret", b"id", hashlib.sha512).digest()
    assert token_of_hmac([TOKEN], "secret", digest) is TOKEN
    assert token_of_hmac([TOKEN], "other", digest) is token_of_hmac([], "secret", digest) is None


def test_the_password_of_a_login_is_the_hmac_as_base64() -> None:
    credentials = TokenCredentials(Random(1))
    login = credentials.login(TOKEN, "secret", ScramMechanism.SCRAM_SHA_256)
    assert (login.owner, login.expires_ms) == ("ann", 50)
    password = base64.b64encode(hmac_of("id", "secret"))
    salted = ScramMechanism.SCRAM_SHA_256.salted_password(password, login.credential.salt, 4096)
    assert ScramMechanism.SCRAM_SHA_256.credential(salted, login.credential.salt, 4096) == login.credential
    assert credentials.login(TOKEN, "secret", ScramMechanism.SCRAM_SHA_256) == login
    assert credentials.login(TOKEN, "secret", ScramMechanism.SCRAM_SHA_512).credential.salt != login.credential.salt


def test_the_name_of_a_principal_may_have_a_colon() -> None:
    assert principal_parts("User:a:b") == ("User", "a:b")
