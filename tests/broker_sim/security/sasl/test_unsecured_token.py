"""Unsecured tokens: valid ones, and each reason for which a real broker refuses one."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_sim.errors import ConfigError
from broker_sim.security.sasl.unsecured_token import InvalidToken, TokenRules

NOW_S = 1_000_000
NOW_MS = NOW_S * 1000
RULES = TokenRules()
CLAIMS = {"sub": "dave", "iat": NOW_S - 5, "exp": NOW_S + 60}


def part(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(header: Any = None, signature: str = "", **claims: Any) -> str:
    own = {key: value for key, value in (CLAIMS | claims).items() if value != "absent"}
    return f"{part({'alg': 'none'} if header is None else header)}.{part(own)}.{signature}"


@pytest.mark.parametrize(
    "claims",
    [{}, {"iat": "absent"}, {"scope": ["a", "b"]}, {"scope": {"a": 1}}, {"exp": NOW_S + 60.0}],
)
def test_valid_tokens(claims: dict[str, Any]) -> None:
    found = RULES.validated(token(**claims), NOW_MS)
    assert (found.principal, found.expires_ms) == ("dave", NOW_MS + 60_000)


@pytest.mark.parametrize(("claim", "principal"), [(None, "null"), (True, "true"), (" d ", " d ")])
def test_the_principal_is_the_text_of_its_claim(claim: Any, principal: str) -> None:
    assert RULES.validated(token(sub=claim), NOW_MS).principal == principal


@pytest.mark.parametrize(
    "text",
    [
        token(exp=NOW_S),
        token(exp="absent"),
        token(exp="12"),
        token(exp=True),
        token(sub="absent"),
        token(sub="  "),
        token(sub=5),
        token(sub=["a"]),
        token(iat=NOW_S + 1),
        token(iat=NOW_S + 90, exp=NOW_S + 90),
        token(iat="x"),
        token(scope=5),
        token({"alg": "HS256"}),
        token(signature="abc"),
        f"{part({'alg': 'none'})}.{part([1])}.",
        f"{part({'alg': 'none'})}.{part(b'junk')}.",
        "abc.def",
        "abc.def..x",
        "a",
        ".",
        "",
        "a+b.c.",
    ],
)
def test_invalid_tokens(text: str) -> None:
    with pytest.raises(InvalidToken) as refused:
        RULES.validated(text, NOW_MS)
    assert refused.value.scope is None


def test_a_header_without_an_algorithm_is_an_error_of_its_own() -> None:
    with pytest.raises(KeyError):
        RULES.validated(token({"x": 1}), NOW_MS)


def test_text_after_the_json_is_ignored() -> None:
    header = part(b' {"alg":"none"} junk')
    text = f"{header}.{token().split('.')[1]}."
    assert RULES.validated(text, NOW_MS).principal == "dave"


def test_older_brokers_read_plain_base64() -> None:
    claims = json.dumps(CLAIMS | {"x": "~~~???>>>"}).encode()
    assert b"+" in base64.b64encode(claims) or b"/" in base64.b64encode(claims)
    plain = f"{part({'alg': 'none'})}.{base64.b64encode(claims).decode()}."
    old = TokenRules(url_safe=False)
    assert old.validated(plain, NOW_MS).principal == "dave"
    with pytest.raises(InvalidToken):
        RULES.validated(plain, NOW_MS)
    with pytest.raises(InvalidToken):
        old.validated(token(x="~~~???>>>"), NOW_MS)


def test_the_options_of_the_login_module_change_the_rules() -> None:
    rules = TokenRules.of(
        {
            "unsecuredValidatorPrincipalClaimName": "user",
            "unsecuredValidatorScopeClaimName": "rights",
            "unsecuredValidatorRequiredScope": "read  write",
            "unsecuredValidatorAllowableClockSkewMs": "2000",
        },
        url_safe=True,
    )
    assert rules.required_scope == ("read", "write")
    late = {"user": "erin", "iat": NOW_S + 1, "exp": NOW_S + 2, "sub": "absent"}
    assert rules.validated(token(**late, rights=["write", "read"]), NOW_MS).principal == "erin"
    with pytest.raises(InvalidToken) as refused:
        rules.validated(token(**late, rights="read"), NOW_MS)
    assert refused.value.scope == "[read, write]"
    assert TokenRules.of({"unsecuredLoginStringClaim_sub": "admin"}, url_safe=True) == RULES


@pytest.mark.parametrize(
    "options",
    [
        {"unsecuredValidatorAllowableClockSkewMs": "-1"},
        {"unsecuredValidatorAllowableClockSkewMs": "x"},
        {"unsecuredValidatorRequiredScope": 'a"b'},
    ],
)
def test_invalid_options_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        TokenRules.of(options, url_safe=True)


def test_the_end_of_validity_has_64_bits() -> None:
    assert RULES.validated(token(exp=1e300), NOW_MS).expires_ms == 2**63 - 1


@given(text=st.text(st.sampled_from("ab0.=-_+/~"), max_size=30))
def test_any_text_is_valid_or_invalid(text: str) -> None:
    with pytest.raises((InvalidToken, KeyError)):
        RULES.validated(text, NOW_MS)
