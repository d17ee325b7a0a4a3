"""The configurations of the authorizer. Mirrors StandardAuthorizer.configure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.config.simulator_configs import ALLOW_EVERYONE, SUPER_USERS
from broker_sim.errors import ConfigError

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig

__all__ = ["ANONYMOUS", "AUTHORIZER_CLASS", "STANDARD_AUTHORIZER", "AuthorizerSettings"]

AUTHORIZER_CLASS: Final = "authorizer.class.name"
STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of a client that a listener does not authenticate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizerSettings:
    """The principals that may do everything, and the decision where no entry applies to a resource."""

    super_users: frozenset[str] = frozenset()
    allow_everyone_if_no_acl_found: bool = False

    @classmethod
    def of(cls, config: BrokerConfig) -> AuthorizerSettings | None:
        """Return the settings of a broker; None without an authorizer.

        Raises:
            ConfigError: The class is another one than Kafka's, a super user has no type, or the brokers have no right
                to register: their requests to controllers, whose listener is PLAINTEXT, are those of User:ANONYMOUS.
        """
        name = config[AUTHORIZER_CLASS]
        if not name:
            return None
        if config.behaviour.zookeeper:
            raise ConfigError(
                f"{AUTHORIZER_CLASS}={name}: brokers in ZooKeeper mode have no authorizer in the simulator"
            )
        if name != STANDARD_AUTHORIZER:
            raise ConfigError(f"{AUTHORIZER_CLASS}={name}: expected {STANDARD_AUTHORIZER}; the simulator has no other")
        given = config[SUPER_USERS]
        users = [user for each in str(given or "").split(";") if (user := each.strip())]
        for user in users:
            kind, _, rest = user.partition(":")
            if not (kind and rest):
                raise ConfigError(
                    f"{SUPER_USERS}={given}: expected a string in format principalType:principalName but got {user}"
                )
        allows = str(config[ALLOW_EVERYONE]).strip().lower() == "true"
        if not allows and ANONYMOUS not in users:
            raise ConfigError(
                f"{AUTHORIZER_CLASS}={name} denies brokers to register: they are {ANONYMOUS} at the controllers, and "
                f"need CLUSTER_ACTION. Add it to {SUPER_USERS}, or set {ALLOW_EVERYONE}=true"
            )
        return cls(super_users=frozenset(users), allow_everyone_if_no_acl_found=allows)
