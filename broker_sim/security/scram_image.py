"""The SCRAM credentials in the metadata (KIP-554, KIP-900). Mirrors ScramImage and ScramDelta.

Users are in the order of Kafka's tables, from which responses and snapshots are made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol_specs.java_hash import hash_order_of_changed
from protocol_specs.sasl.scram import ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from protocol_specs.sasl.scram import ScramCredential

__all__ = ["NO_SCRAM_CREDENTIALS", "ScramChange", "ScramImage"]


class ScramChange(NamedTuple):
    """A credential that is set, or removed (`credential` is None)."""

    user: str
    mechanism: ScramMechanism
    credential: ScramCredential | None


@dataclass(frozen=True, slots=True)
class ScramImage:
    """The credentials by mechanism and user; a mechanism without any is left out."""

    mechanisms: Mapping[ScramMechanism, Mapping[str, ScramCredential]] = field(default_factory=dict)

    def credential(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None:
        """Return the credential of a user for a mechanism; None without one."""
        return self.mechanisms.get(mechanism, {}).get(user)

    def of_user(self, user: str) -> dict[ScramMechanism, ScramCredential]:
        """Return the credentials of a user by mechanism."""
        return {mechanism: users[user] for mechanism, users in self.mechanisms.items() if user in users}

    def users(self) -> list[str]:
        """Return each user that has a credential once."""
        return list(dict.fromkeys(user for users in self.mechanisms.values() for user in users))

    def entries(self) -> Iterator[ScramChange]:
        """Yield all credentials, by mechanism."""
        for mechanism, users in self.mechanisms.items():
            for user, credential in users.items():
                yield ScramChange(user, mechanism, credential)

    def with_changes(self, changes: Iterable[ScramChange]) -> ScramImage:
        """Set and remove credentials, all in one step. To remove one that does not exist changes nothing."""
        by_mechanism: dict[ScramMechanism, dict[str, ScramCredential | None]] = {}
        for user, mechanism, credential in changes:
            by_mechanism.setdefault(mechanism, {})[user] = credential
        mechanisms: dict[ScramMechanism, Mapping[str, ScramCredential]] = {}
        for mechanism in ScramMechanism:
            users = _changed(self.mechanisms.get(mechanism, {}), by_mechanism.get(mechanism, {}))
            if users:
                mechanisms[mechanism] = users
        return ScramImage(mechanisms)


def _changed(
    users: Mapping[str, ScramCredential], changes: Mapping[str, ScramCredential | None]
) -> Mapping[str, ScramCredential]:
    """Return the users of one mechanism, in the order of a HashMap that was copied before it changed."""
    if not changes:
        return users
    kept = {**users, **changes}
    ordered = hash_order_of_changed(users, {user: credential is not None for user, credential in changes.items()})
    return {user: credential for user in ordered if (credential := kept[user]) is not None}


NO_SCRAM_CREDENTIALS: Final = ScramImage()
