"""The key stores that a running broker may change to, with the texts of real brokers (4.3.1 and 3.7.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.listener_ssl import check_key_store
from broker_sim.errors import ConfigError
from sim_runtime.issued_certificates import CertificateFacts, issue

if TYPE_CHECKING:
    from pathlib import Path

OWN = "listener.name.secure.ssl."
HOSTS = ("localhost", "127.0.0.1")


def store(name: str, subject: str = "CN=broker", hosts: tuple[str, ...] = HOSTS) -> dict[str, str]:
    facts = CertificateFacts(subject=subject, hosts=hosts, valid_from_s=0, valid_until_s=60, authority="authority")
    made = issue(name, facts, started_s=1_000_000_000)
    return {f"{OWN}keystore.key": made.key, f"{OWN}keystore.certificate.chain": made.chain}


def check(changes: dict[str, str], **file: str) -> None:
    given = {
        "listeners": "PLAINTEXT://:0,SECURE://:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SSL",
        f"{OWN}keystore.type": "PEM",
        **store("first"),
        **{name.replace("_", "."): value for name, value in file.items()},
    }
    old = BrokerConfig.parse(given)
    check_key_store("SECURE", old, old.with_dynamic({}, changes))


@pytest.mark.parametrize("hosts", [HOSTS, (*HOSTS, "more.example")])
def test_a_new_key_with_the_same_subject_and_all_names_is_accepted(hosts: tuple[str, ...]) -> None:
    check(store("second", hosts=hosts))


def test_another_subject_is_refused_unless_the_file_allows_it() -> None:
    with pytest.raises(ConfigError) as raised:
        check(store("second", subject="CN=other,O=example"))
    assert str(raised.value) == (
        "Validation of dynamic config update of SSLFactory failed: "
        "org.apache.kafka.common.config.ConfigException: Keystore DistinguishedName does not match:  "
        "existing={alias=kafka, DN=CN=broker}, new={alias=kafka, DN=CN=other,O=example}"
    )
    check(store("second", subject="CN=other,O=example"), ssl_allow_dn_changes="true")


def test_a_missing_name_is_refused_unless_the_file_allows_it() -> None:
    with pytest.raises(ConfigError) as raised:
        check(store("second", hosts=("localhost",)))
    assert str(raised.value).endswith(
        "Keystore SubjectAltNames do not match:  existing={alias=kafka, SAN=[[2, localhost], [7, 127.0.0.1]]}, "
        "new={alias=kafka, SAN=[[2, localhost]]}"
    )
    check(store("second", hosts=("localhost",)), ssl_allow_san_changes="true")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {f"{OWN}keystore.location": "/nowhere.pem"},
            "errors.InvalidConfigurationException: Both SSL key store location and separate private key are specified.",
        ),
        ({f"{OWN}keystore.key": "no key"}, "errors.InvalidConfigurationException: Invalid PEM keystore configs"),
        (
            {f"{OWN}truststore.type": "PEM", f"{OWN}truststore.location": "/ca.pem"},
            (
                "config.ConfigException: Cannot add SSL truststore to an existing listener for which no truststore was "
                "configured."
            ),
        ),
    ],
)
def test_a_store_that_contradicts_the_others_or_cannot_be_read_is_refused(changes: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check(changes)
    assert str(raised.value).endswith(f"failed: org.apache.kafka.common.{text}")


def test_a_store_of_another_type_needs_its_password_and_its_file(tmp_path: Path) -> None:
    pem = tmp_path / "first.pem"
    pem.write_text("".join(store("first").values()))
    located = {
        "listeners": "PLAINTEXT://:0,SECURE://:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SSL",
        f"{OWN}keystore.type": "PEM",
        f"{OWN}keystore.location": str(pem),
    }
    old = BrokerConfig.parse(located)
    with pytest.raises(ConfigError, match="SSL key store is specified, but key store password is not specified"):
        check_key_store("SECURE", old, old.with_dynamic({}, {f"{OWN}keystore.type": "JKS"}))
    with pytest.raises(ConfigError, match=r"Failed to load PEM SSL keystore /nowhere\.pem"):
        check_key_store("SECURE", old, old.with_dynamic({}, {f"{OWN}keystore.location": "/nowhere.pem"}))
