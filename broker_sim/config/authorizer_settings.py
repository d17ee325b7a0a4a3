"""The configurations of the authorizer. Mirrors StandardAuthorizer.configure and AclAuthorizer.configure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.config.simulator_configs import ALLOW_EVERYONE, SUPER_USERS
from broker_sim.errors import ConfigError

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig

__all__ = ["ANONYMOUS", "AUTHORIZER_CLASS", "SIMPLE_ACL_AUTHORIZER", "STANDARD_AUTHORIZER", "AuthorizerSettings"]

AUTHORIZER_CLASS: Final = "authorizer.class.name"
STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SIMPLE_ACL_AUTHORIZER: Final = "kafka.security.auth.SimpleAclAuthorizer"
"""The authorizer of the first releases, which 2.4 replaced and 3.0 removed."""
ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of a client that a listener does not authenticate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizerSettings:
    """The principals that may do everything, and the decision where no entry applies to a resource."""

    super_users: frozenset[str] = frozenset()
    allow_everyone_if_no_acl_found: bool = False
    simple: bool = False
    """The authorizer is SimpleAclAuthorizer, whose refusals of entries have texts of their own."""

    @classmethod
    def of(cls, config: BrokerConfig) -> AuthorizerSettings | None:
        """Return the settings of a broker; None without an authorizer.

        Raises:
            ConfigError: The class is another one than those of the release, a super user has no type, or the brokers
                have no right to requests between them: on listeners that are PLAINTEXT they are User:ANONYMOUS.
        """
        name = config[AUTHORIZER_CLASS]
        if not name:
            return None
        _check_class(name, config)
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
            denied = "the requests of the controller" if config.behaviour.zookeeper else "brokers to register"
            raise ConfigError(
                f"{AUTHORIZER_CLASS}={name} denies {denied}: nodes are {ANONYMOUS} to each other, and "
                f"need CLUSTER_ACTION. Add it to {SUPER_USERS}, or set {ALLOW_EVERYONE}=true"
            )
        return cls(
            super_users=frozenset(users),
            allow_everyone_if_no_acl_found=allows,
            simple=name == SIMPLE_ACL_AUTHORIZER,
        )


def _check_class(name: object, config: BrokerConfig) -> None:
    behaviour = config.behaviour
    known = behaviour.zookeeper_authorizers if behaviour.zookeeper else (STANDARD_AUTHORIZER,)
    if not known:
        raise ConfigError(
            f"{AUTHORIZER_CLASS}={name}: brokers of release {config.release} have no authorizer in the simulator: "
            "expected release 1.1 or later"
        )
    if name not in known:
        mode = " in ZooKeeper mode" if behaviour.zookeeper else ""
        raise ConfigError(
            f"{AUTHORIZER_CLASS}={name}: expected {' or '.join(known)}, the authorizer of release "
            f"{config.release}{mode}; the simulator has no other"
        )
