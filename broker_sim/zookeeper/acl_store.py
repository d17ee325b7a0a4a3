"""The ensemble's znodes of access control entries, and the notifications of their changes. Mirrors KafkaZkClient.

A notification names the pattern that has changed. Brokers process those that are new to them; like Kafka's they go
after 15 minutes. They are numbered from 0 in each run of the ensemble: a broker that starts reads all entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.zookeeper.acl_znodes import NO_ACLS, ResourcePattern, VersionedAcls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.security.acl import Acl

__all__ = ["AclChanges", "AclStore"]

CHANGES_EXPIRE_US: Final = 15 * 60 * 1_000_000
"""Mirrors ZkNodeChangeNotificationListener's changeExpirationMs."""
FIRST_VERSION: Final = 0


class AclChanges(NamedTuple):
    """Patterns with their present entries, and the number of the newest notification, -1 for none."""

    newest: int
    acls: Mapping[ResourcePattern, VersionedAcls]


class _Change(NamedTuple):
    number: int
    pattern: ResourcePattern
    created_us: int


class AclStore:
    """`now_us` is the ensemble's time; `changed` is called after each write, `notify` after each notification."""

    def __init__(self, *, now_us: Callable[[], int], changed: Callable[[], None], notify: Callable[[], None]) -> None:
        self._now_us = now_us
        self._changed = changed
        self._notify = notify
        self._acls: dict[ResourcePattern, VersionedAcls] = {}
        self._changes: list[_Change] = []
        self._newest = -1

    @property
    def acls(self) -> Mapping[ResourcePattern, VersionedAcls]:
        """The entries of each pattern that has some; another object after each write."""
        return self._acls

    def restore(self, acls: Mapping[ResourcePattern, VersionedAcls]) -> None:
        """Load the entries that an earlier cluster has left."""
        self._acls = dict(acls)

    def read(self, pattern: ResourcePattern) -> VersionedAcls:
        """Return the entries of a pattern."""
        return self._acls.get(pattern, NO_ACLS)

    def write(self, pattern: ResourcePattern, acls: tuple[Acl, ...], version: int) -> int | None:
        """Replace the entries whose znode has the version, -1 for none; return the new version, None if it differs."""
        current = self.read(pattern)
        if current.version != version:
            return None
        written = FIRST_VERSION if current is NO_ACLS or not acls else version + 1
        left = {each: stored for each, stored in self._acls.items() if each != pattern or acls}
        if acls:
            left[pattern] = VersionedAcls(acls, written)
        self._acls = left
        self._changed()
        return written

    def note_change(self, pattern: ResourcePattern) -> None:
        """Create the notification of a change; expired ones go."""
        now_us = self._now_us()
        self._newest += 1
        kept = [change for change in self._changes if now_us - change.created_us <= CHANGES_EXPIRE_US]
        self._changes = [*kept, _Change(self._newest, pattern, now_us)]
        self._notify()

    def everything(self) -> AclChanges:
        """Return all entries, as a broker reads them at its start."""
        return AclChanges(self._newest, self._acls)

    def changes_after(self, number: int) -> AclChanges:
        """Return the patterns of newer notifications, with their present entries."""
        changed = dict.fromkeys(change.pattern for change in self._changes if change.number > number)
        return AclChanges(self._newest, {pattern: self.read(pattern) for pattern in changed})
