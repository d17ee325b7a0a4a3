"""The login that sasl.mechanism and sasl.jaas.config describe."""

from __future__ import annotations

from random import Random

import pytest

from broker_client.core.network.sasl.login import LOGIN_MODULES, login_of
from broker_client.core.network.sasl.unsecured_tokens import RefreshConfig
from broker_client.errors import ConfigError

REFRESH = RefreshConfig()
USER = 'required username="alice" password="secret";'
SUB = 'required unsecuredLoginStringClaim_sub="alice";'


@pytest.mark.parametrize("mechanism", [name for name in LOGIN_MODULES if name != "OAUTHBEARER"])
def test_user_and_password_are_those_of_the_login_module(mechanism: str) -> None:
    login = login_of(mechanism, f"{LOGIN_MODULES[mechanism]} {USER}", REFRESH)
    assert login.mechanism == mechanism
    message = login.sasl_client(0, Random(1)).initial_message()
    assert b"alice" in message
    assert b"tokenauth" not in message


def test_a_delegation_token_is_marked() -> None:
    jaas = f"{LOGIN_MODULES['SCRAM-SHA-256']} required tokenauth=TRUE username=id password=hmac;"
    message = login_of("SCRAM-SHA-256", jaas, REFRESH).sasl_client(0, Random(1)).initial_message()
    assert message.endswith(b",tokenauth=true")


def test_a_token_serves_until_its_refresh_is_due() -> None:
    login = login_of("OAUTHBEARER", f"{LOGIN_MODULES['OAUTHBEARER']} {SUB}", RefreshConfig(window_jitter=0))
    first, same, other = (
        login.sasl_client(now_ms, Random(1)).initial_message() for now_ms in (0, 2_879_999, 2_880_000)
    )
    assert first == same != other


@pytest.mark.parametrize(
    ("mechanism", "jaas", "error"),
    [
        ("GSSAPI", None, "sasl.mechanism='GSSAPI' is refused: use one of PLAIN, SCRAM-SHA-256"),
        ("plain", None, "sasl.mechanism='plain' is refused"),
        ("PLAIN", None, "sasl.jaas.config is missing"),
        ("PLAIN", "x", "Login module control flag not specified"),
        (
            "PLAIN",
            f"{LOGIN_MODULES['SCRAM-SHA-256']} {USER}",
            "ScramLoginModule is refused: sasl.mechanism=PLAIN needs",
        ),
        ("PLAIN", f"{LOGIN_MODULES['PLAIN']} required username=a;", "needs the option password"),
        ("SCRAM-SHA-512", f"{LOGIN_MODULES['SCRAM-SHA-512']} required password=a;", "needs the option username"),
        ("OAUTHBEARER", f"{LOGIN_MODULES['OAUTHBEARER']} required;", "no token is configured"),
    ],
)
def test_what_is_not_served_is_refused_by_name(mechanism: str, jaas: str | None, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        login_of(mechanism, jaas, REFRESH)
