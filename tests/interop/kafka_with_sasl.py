"""A real broker with a SASL listener of four mechanisms, and its clients' options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from broker_scenarios.targets.free_ports import free_ports
from protocol_specs.sasl.jaas import LOGIN_MODULES
from tests.interop.real_kafka import RealKafka

if TYPE_CHECKING:
    from collections.abc import Mapping

OPTIONS: Final = {
    "PLAIN": "username=alice password=secret",
    "SCRAM-SHA-256": "username=bob password=secret",
    "SCRAM-SHA-512": "username=bob password=secret",
    "OAUTHBEARER": "unsecuredLoginStringClaim_sub=carol",
}
"""The login of a client with each mechanism."""
_OF_BROKER: Final = {"PLAIN": "user_alice=secret", "OAUTHBEARER": "unsecuredLoginStringClaim_sub=broker"}
_SCRAM: Final = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}


class KafkaWithSasl(RealKafka):
    """A real broker with the listener SAFE."""

    def __init__(self, release: str, folder: Path, settings: Mapping[str, str]) -> None:
        logins = {
            f"listener.name.safe.{mechanism.lower()}.sasl.jaas.config": (
                f"{module} required {_OF_BROKER.get(mechanism, '')};"
            )
            for mechanism, module in LOGIN_MODULES.items()
        }
        protocols = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SAFE:SASL_PLAINTEXT"
        enabled = {"sasl.enabled.mechanisms": ",".join(LOGIN_MODULES), "listener.security.protocol.map": protocols}
        super().__init__(release, folder, settings={**enabled, **logins, **settings})
        (self._safe,) = free_ports(1)

    @property
    def safe_servers(self) -> str:
        """Where a client with SASL begins."""
        return f"127.0.0.1:{self._safe}"

    def prepare(self, topic: str) -> None:
        """Create a topic, and give bob a password for each SCRAM mechanism."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        admin.create_topics([NewTopic(topic, 1)])[topic].result(60)
        for mechanism in _SCRAM.values():  # one request may name a user once
            info = ScramCredentialInfo(mechanism, 4096)
            done = admin.alter_user_scram_credentials([UserScramCredentialUpsertion("bob", info, b"secret")])
            done["bob"].result(60)

    def _write_properties(self, broker_id: int) -> str:
        written = super()._write_properties(broker_id)
        listeners = f"PLAINTEXT://{self.bootstrap_servers},SAFE://{self.safe_servers}"
        with Path(written).open("a", encoding="ascii") as file:  # the last of a name counts
            file.write(f"listeners={listeners},CONTROLLER://127.0.0.1:{self._controller_ports[broker_id]}\n")
            file.write(f"advertised.listeners={listeners}\n")
        return written


def login_with(mechanism: str) -> dict[str, str]:
    """Return the options of a client."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{LOGIN_MODULES[mechanism]} required {OPTIONS[mechanism]};",
    }
