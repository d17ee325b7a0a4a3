"""A real broker with two TLS listeners, SECURE and KNOWN (which wants a certificate), and its clients' options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_scenarios.targets.free_ports import free_ports
from tests.interop.real_kafka import RealKafka

if TYPE_CHECKING:
    from tests.certificate_authority import Certificates

MAP = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SSL,KNOWN:SSL"


def tls_of(certificates: Certificates) -> dict[str, str]:
    """The same lines for Kafka's file and for ours."""
    return {
        "listener.security.protocol.map": MAP,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.broker.file),
        "listener.name.known.ssl.client.auth": "required",
        "listener.name.known.ssl.truststore.type": "PEM",
        "listener.name.known.ssl.truststore.location": str(certificates.authority.file),
    }


class KafkaWithTls(RealKafka):
    """A real broker with two listeners more."""

    def __init__(self, release: str, folder: Path, certificates: Certificates) -> None:
        super().__init__(release, folder, settings=tls_of(certificates))
        self._secure, self._known = free_ports(2)

    def bootstrap_servers_of(self, listener: str) -> str:
        """Where a client begins."""
        port = {"PLAINTEXT": self._ports[1], "SECURE": self._secure, "KNOWN": self._known}[listener]
        return f"127.0.0.1:{port}"

    def _write_properties(self, broker_id: int) -> str:
        written = super()._write_properties(broker_id)
        names = ("PLAINTEXT", "SECURE", "KNOWN")
        listeners = ",".join(f"{name}://{self.bootstrap_servers_of(name)}" for name in names)
        with Path(written).open("a", encoding="ascii") as file:  # the last of a name counts
            file.write(f"listeners={listeners},CONTROLLER://127.0.0.1:{self._controller_ports[broker_id]}\n")
            file.write(f"advertised.listeners={listeners}\n")
        return written


def trusting(certificates: Certificates) -> dict[str, Any]:
    return {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority.file),
    }


def known(certificates: Certificates) -> dict[str, Any]:
    return trusting(certificates) | {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": certificates.client.sealed_key_pem("secret"),
        "ssl.key.password": "secret",
        "ssl.keystore.certificate.chain": certificates.client.certificate_pem,
    }
