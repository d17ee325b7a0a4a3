"""The SASL settings of a listener: mechanisms, login modules, limits, and what is refused by name."""

from __future__ import annotations

import base64
from random import Random

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.errors import ConfigError
from broker_sim.security.sasl.oauthbearer_server import OAuthBearerServer
from broker_sim.security.sasl.plain_server import PlainServer
from broker_sim.security.sasl.sasl_listener import SaslListener
from broker_sim.security.sasl.sasl_server import InvalidCredentials
from broker_sim.security.sasl.scram_server import ScramServer

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
PREFIX = "listener.name.client"
BOTH = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    f"{PREFIX}.plain.sasl.jaas.config": PLAIN,
    f"{PREFIX}.scram-sha-256.sasl.jaas.config": SCRAM,
    f"{PREFIX}.scram-sha-512.sasl.jaas.config": SCRAM,
}


def settings(config: dict[str, str], *, release: str = "4.3.1") -> SaslListener:
    parsed = BrokerConfig.parse(config, release=release)
    return SaslListener(
        "CLIENT",
        parsed,
        credential_of=lambda _user, _mechanism: None,
        token_login=lambda _id, _mechanism: None,
        random=Random(1),
        now_ms=lambda: 0,
    )


def test_mechanisms_are_in_the_order_of_a_java_set() -> None:
    made = settings(BOTH)
    assert made.mechanisms == ("PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256")
    assert isinstance(made.server_of("PLAIN"), PlainServer)
    assert isinstance(made.server_of("SCRAM-SHA-256"), ScramServer)


def test_a_listener_has_its_own_mechanisms_and_limits() -> None:
    own = {
        **BOTH,
        f"{PREFIX}.sasl.enabled.mechanisms": "PLAIN",
        f"{PREFIX}.sasl.server.max.receive.size": "1000",
        "connections.max.reauth.ms": "5000",
        "connection.failed.authentication.delay.ms": "7",
    }
    made = settings(own)
    assert made.mechanisms == ("PLAIN",)
    assert (made.max_receive_bytes, made.failure_delay_ms, made.max_reauth_ms("PLAIN")) == (1000, 7, 5000)
    assert settings({**own, f"{PREFIX}.connections.max.reauth.ms": "3"}).max_reauth_ms("PLAIN") == 3
    of_mechanism = {**BOTH, f"{PREFIX}.plain.connections.max.reauth.ms": "4", "connections.max.reauth.ms": "9"}
    assert settings(of_mechanism).max_reauth_ms("PLAIN") == 4
    assert settings(of_mechanism).max_reauth_ms("SCRAM-SHA-256") == 9


@pytest.mark.parametrize(("release", "waits"), [("2.8.2", True), ("3.7.2", True), ("4.3.1", False)])
def test_refusals_of_first_frames_wait_before_4(release: str, waits: bool) -> None:
    assert settings(BOTH, release=release).first_refusals_wait is waits


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"sasl.enabled.mechanisms": "PLAIN,GSSAPI"}, "cannot have GSSAPI, which the simulator does not serve"),
        ({"sasl.enabled.mechanisms": "plain"}, "cannot have plain"),
        ({"sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER"}, "set listener.name.client.oauthbearer.sasl.jaas.config"),
        ({f"{PREFIX}.plain.sasl.jaas.config": "x.Y required;"}, "no login module x.Y for PLAIN"),
        ({f"{PREFIX}.plain.sasl.jaas.config": PLAIN[:-1]}, "plain.sasl.jaas.config: JAAS config entry not terminated"),
        ({f"{PREFIX}.plain.sasl.server.callback.handler.class": "org.apache.kafka.X"}, "has no callback handlers"),
    ],
)
def test_other_settings_are_refused_by_name(changes: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        settings({**BOTH, **changes})


def test_signed_tokens_are_refused_by_name() -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    config = {"sasl.enabled.mechanisms": "OAUTHBEARER", f"{PREFIX}.oauthbearer.sasl.jaas.config": module}
    assert isinstance(settings(config).server_of("OAUTHBEARER"), OAuthBearerServer)
    with pytest.raises(
        ConfigError, match=r"sasl.oauthbearer.jwks.endpoint.url=x: the simulator validates no signatures"
    ):
        settings({**config, "sasl.oauthbearer.jwks.endpoint.url": "x"})


@pytest.mark.parametrize(
    ("release", "status"),
    [("3.7.2", None), ("3.8.1", b""), ("4.1.1", b""), ("4.2.1", b'{"status":"invalid_token"}')],
)
def test_each_release_reads_its_own_alphabet_of_tokens(release: str, status: bytes | None) -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    config = {"sasl.enabled.mechanisms": "OAUTHBEARER", f"{PREFIX}.oauthbearer.sasl.jaas.config": module}
    claims = base64.b64encode(b'{"sub":"d?>?>?>~~~","exp":9}').rstrip(b"=").decode()
    assert "/" in claims
    message = f"n,,\1auth=Bearer eyJhbGciOiJub25lIn0.{claims}.\1\1".encode()
    exchange = settings(config, release=release).server_of("OAUTHBEARER")
    if status is None:
        with pytest.raises(InvalidCredentials):
            exchange.evaluate(message)
    else:
        assert exchange.evaluate(message) == status


def test_the_default_mechanism_is_refused_too() -> None:
    with pytest.raises(ConfigError, match=r"sasl.enabled.mechanisms=GSSAPI: listener CLIENT cannot have GSSAPI"):
        settings({})


def test_users_come_from_the_configuration_of_the_mechanism_alone() -> None:
    with pytest.raises(ConfigError, match=r"Could not find a 'KafkaServer' or 'client.KafkaServer' entry in the JAAS"):
        settings({"sasl.enabled.mechanisms": "PLAIN", "sasl.jaas.config": PLAIN})
