"""Unsecured tokens: their claims, and when they are replaced."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_client.core.network.sasl.unsecured_tokens import RefreshConfig, UnsecuredTokens
from broker_client.errors import ConfigError

SUB = {"unsecuredLoginStringClaim_sub": "alice"}


def parts(text: str) -> list[Any]:
    header, claims, signature = text.split(".")
    assert signature == ""
    return [json.loads(urlsafe_b64decode(part + "==")) for part in (header, claims)]


def test_a_token_has_the_configured_claims() -> None:
    options = {
        "unsecuredLoginStringClaim_name": 'al"ice',
        "unsecuredLoginPrincipalClaimName": " name ",
        "unsecuredLoginNumberClaim_n": "3",
        "unsecuredLoginListClaim_groups": "|a|b",
        "unsecuredLoginListClaim_none": "|",
        "unsecuredLoginListClaim_gap": ",a,,b",
        "unsecuredLoginLifetimeSeconds": "60",
        "unsecuredLoginExtension_traceId": "7",
        "other": "ignored",
    }
    tokens = UnsecuredTokens(options)
    token = tokens.new_token(1_500)
    assert parts(token.text) == [
        {"alg": "none"},
        {
            "exp": 61.5,
            "iat": 1.5,
            "name": 'al"ice',
            "n": 3,
            "groups": ["a", "b"],
            "none": [],
            "gap": ["a", "", "b", ""],
        },
    ]
    assert token.expires_ms == 61_500
    assert tokens.extensions == {"traceId": "7"}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, "no token is configured"),
        ({"unsecuredLoginExtension_a": "b"}, "no token is configured"),
        ({"unsecuredLoginStringClaim_name": "alice"}, "unsecuredLoginStringClaim_sub is missing"),
        ({"unsecuredLoginNumberClaim_sub": "1"}, "unsecuredLoginStringClaim_sub is missing"),
        (SUB | {"unsecuredLoginStringClaim_exp": "1"}, "the claim 'exp' cannot be set"),
        (SUB | {"unsecuredLoginNumberClaim_n": "x"}, "unsecuredLoginNumberClaim_n='x' is no number"),
        (SUB | {"unsecuredLoginLifetimeSeconds": "1.5"}, "unsecuredLoginLifetimeSeconds='1.5' is no integer"),
        (SUB | {"unsecuredLoginExtension_auth": "x"}, "no valid extension"),
        (SUB | {"unsecuredLoginExtension_a1": "x"}, "no valid extension"),
        (SUB | {"unsecuredLoginExtension_a": "\x01"}, "no valid extension"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, str], error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        UnsecuredTokens(options)


@pytest.mark.parametrize(
    ("lifetime_s", "factor", "due_s"),
    [
        (3600, 0.8, 2880),
        (100, 0.5, 50),  # too short for both periods
        (3600, 1.0, 3300),  # the buffer at the end
        (400, 0.5, 100),  # as above
        (10_000, 0.001, 60),  # the minimum period
    ],
)
def test_a_token_is_replaced_within_its_window(lifetime_s: int, factor: float, due_s: int) -> None:
    config = RefreshConfig(window_factor=factor, window_jitter=0)
    assert config.due_ms(5_000, 5_000 + lifetime_s * 1000, Random(0)) == 5_000 + due_s * 1000


@given(seed=st.integers(0, 99), lifetime_ms=st.integers(1, 10_000_000))
def test_a_token_is_replaced_before_it_expires(seed: int, lifetime_ms: int) -> None:
    assert 0 <= RefreshConfig().due_ms(0, lifetime_ms, Random(seed)) <= lifetime_ms
