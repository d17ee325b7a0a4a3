"""The ssl.* settings and the stores: PEM in a file or in the configuration, PKCS12, and mistakes."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from sim_runtime.ssl_engine import SslEngineFactory
from sim_runtime.ssl_settings import SslConfigError, SslSettings
from sim_runtime.ssl_stores import key_store, trusted_certificates
from tests.interop.served_cluster import environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.certificate_authority import Certificates


def settings(**options: Any) -> SslSettings:
    return SslSettings.read({name.replace("_", "."): value for name, value in options.items()}.get)


def test_a_store_in_one_line_is_read_as_java_reads_it(certificates: Certificates) -> None:
    client = certificates.client
    found = key_store(
        settings(
            ssl_keystore_type="PEM",
            ssl_keystore_key=client.sealed_key_pem("secret").replace("\n", " "),
            ssl_key_password="secret",
            ssl_keystore_certificate_chain=(client.certificate_pem + certificates.authority.pem).replace("\n", " "),
        )
    )
    assert found is not None
    assert found.certificate == client.certificate
    assert found.chain == (certificates.authority.certificate,)
    assert found.key.public_key() == client.key.public_key()


def test_stores_in_pkcs12_are_read(certificates: Certificates, tmp_path: Path) -> None:
    client, authority = certificates.client, certificates.authority.certificate
    seal = serialization.BestAvailableEncryption(b"secret")
    keys, trusted = tmp_path / "keys.p12", tmp_path / "trusted.p12"
    keys.write_bytes(pkcs12.serialize_key_and_certificates(b"me", client.key, client.certificate, [authority], seal))
    trusted.write_bytes(pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(authority, b"ca")], seal))
    made = settings(
        ssl_keystore_type="PKCS12",
        ssl_keystore_location=str(keys),
        ssl_keystore_password="secret",
        ssl_truststore_type="PKCS12",
        ssl_truststore_location=str(trusted),
        ssl_truststore_password="secret",
    )
    found = key_store(made)
    assert found is not None
    assert (found.certificate, found.chain) == (client.certificate, (authority,))
    assert trusted_certificates(made) == [authority]
    with pytest.raises(SslConfigError, match=r"ssl\.keystore\.password does not open it"):
        key_store(settings(ssl_keystore_type="PKCS12", ssl_keystore_location=str(keys), ssl_keystore_password="x"))


def test_the_defaults_have_no_key_and_the_systems_trust() -> None:
    assert key_store(settings()) is None
    assert trusted_certificates(settings()) is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ssl_protocol": "SSLv3"}, "ssl.protocol='SSLv3' is refused: OpenSSL speaks it no longer"),
        ({"ssl_protocol": "TLSv2"}, "ssl.protocol='TLSv2': expected one of TLSv1.2, TLSv1.3, TLS"),
        ({"ssl_protocol": "TLSv1.2", "ssl_enabled_protocols": "TLSv1.3"}, "have none in common"),
        ({"ssl_endpoint_identification_algorithm": "ldaps"}, "expected https, or an empty text"),
        ({"ssl_keystore_key": "x"}, "ssl.keystore.key: ssl.keystore.type is JKS, set it to PEM"),
        ({"ssl_keystore_type": "PEM", "ssl_keystore_key": "x"}, "but ssl.keystore.certificate.chain is not"),
        ({"ssl_keystore_certificate_chain": "x"}, "is given, but ssl.keystore.key is not"),
        ({"ssl_keystore_location": "a.jks"}, "ssl.keystore.type is JKS, its default; which a JVM alone reads"),
        ({"ssl_truststore_location": "a", "ssl_truststore_type": "BKS"}, "ssl.truststore.type is BKS, which a JVM"),
        ({"ssl_truststore_password": "x"}, "ssl.truststore.password is given, but ssl.truststore.location is not"),
        ({"ssl_truststore_certificates": "x"}, "ssl.truststore.certificates: ssl.truststore.type is JKS"),
        ({"ssl_engine_factory_class": "a.B"}, "ssl.engine.factory.class='a.B' is refused"),
    ],
)
def test_invalid_settings_are_refused_by_name(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SslConfigError) as refused:
        settings(**options)
    assert words in str(refused.value)


def test_an_invalid_store_is_refused_by_name(certificates: Certificates) -> None:
    pem: dict[str, Any] = {
        "ssl_keystore_type": "PEM",
        "ssl_keystore_certificate_chain": certificates.client.certificate_pem,
    }
    sealed = certificates.client.sealed_key_pem("secret")
    for options, words in (
        ({"ssl_keystore_key": "nothing"}, "there is no -----BEGIN PRIVATE KEY----- in it"),
        ({"ssl_keystore_key": sealed}, "the private key is encrypted, and ssl.key.password is not given"),
        ({"ssl_keystore_key": sealed, "ssl_key_password": "x"}, "ssl.key.password does not open the private key"),
        ({"ssl_keystore_key": certificates.broker.key_pem}, "the private key does not belong to the certificate"),
    ):
        with pytest.raises(SslConfigError) as refused:
            SslEngineFactory(settings(**pem, **options), server=False)
        assert words in str(refused.value)
    with pytest.raises(SslConfigError, match="there is no -----BEGIN CERTIFICATE----- in it"):
        trusted_certificates(settings(ssl_truststore_type="PEM", ssl_truststore_certificates="nothing"))


@pytest.mark.parametrize(
    "suites", ["TLS_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"]
)
def test_suites_have_javas_names_or_those_of_openssl(suites: str) -> None:
    SslEngineFactory(settings(ssl_cipher_suites=suites), server=False)


def test_suites_that_are_none_are_refused_by_name() -> None:
    with pytest.raises(SslConfigError, match="OpenSSL has no 'TLS_ROT_WITH_13_SHA'"):
        SslEngineFactory(settings(ssl_cipher_suites="TLS_ROT_WITH_13_SHA"), server=False)
    with pytest.raises(SslConfigError, match=r"none is of TLSv1\.2"):
        SslEngineFactory(settings(ssl_cipher_suites="TLS_AES_256_GCM_SHA384", ssl_protocol="TLSv1.2"), server=False)


def test_plaintext_imports_nothing_of_tls() -> None:
    program = (
        "import sys; from broker_client import Producer; from broker_sim.threaded_cluster import ThreadedCluster\n"
        "with ThreadedCluster(brokers=1, topics=['t:1:1']) as cluster:\n"
        "    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:\n"
        "        producer.send('t', b'plain').result(10)\n"
        "print([name for name in sys.modules if 'ssl_' in name and name.startswith(('sim_', 'broker_'))])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert run.stdout.strip() == "[]", run.stderr
