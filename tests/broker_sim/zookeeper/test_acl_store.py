"""Versions and notifications of the entries in the ensemble."""

from __future__ import annotations

from broker_sim.security.acl import Acl, AclOperation, AclPermissionType, PatternType, ResourceType
from broker_sim.zookeeper.acl_store import CHANGES_EXPIRE_US, AclStore
from broker_sim.zookeeper.acl_znodes import NO_ACLS, ResourcePattern, VersionedAcls

T = ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL)
U = ResourcePattern(ResourceType.TOPIC, "u", PatternType.LITERAL)
READ = Acl(*T, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)


class Bench:
    """A store, its time, and how often it has called."""

    def __init__(self) -> None:
        self.now_us = 0
        self.changed = self.notified = 0
        self.store = AclStore(now_us=lambda: self.now_us, changed=self._changed, notify=self._notified)

    def _changed(self) -> None:
        self.changed += 1

    def _notified(self) -> None:
        self.notified += 1


def test_a_write_succeeds_under_the_present_version_alone() -> None:
    bench = Bench()
    store = bench.store
    assert store.write(T, (READ,), 0) is None
    assert store.write(T, (READ,), -1) == 0
    assert store.write(T, (READ,), -1) is None
    assert store.write(T, (READ,), 0) == 1
    assert store.read(T) == VersionedAcls((READ,), 1)
    assert bench.changed == 2


def test_a_pattern_without_entries_has_no_znode_and_begins_again_at_version_0() -> None:
    store = Bench().store
    store.write(T, (READ,), -1)
    store.write(T, (READ,), 0)
    assert store.write(T, (), 1) == 0
    assert store.read(T) == NO_ACLS
    assert store.acls == {}
    assert store.write(T, (READ,), -1) == 0


def test_changes_are_those_after_a_number_with_the_present_entries() -> None:
    bench = Bench()
    store = bench.store
    assert store.everything().newest == -1
    store.write(T, (READ,), -1)
    store.note_change(T)
    store.note_change(U)
    assert store.changes_after(-1) == (1, {T: VersionedAcls((READ,), 0), U: NO_ACLS})
    assert store.changes_after(0) == (1, {U: NO_ACLS})
    assert store.changes_after(1) == (1, {})
    assert bench.notified == 2


def test_notifications_expire() -> None:
    bench = Bench()
    bench.store.note_change(T)
    bench.now_us = CHANGES_EXPIRE_US + 1
    bench.store.note_change(U)
    assert bench.store.changes_after(-1) == (1, {U: NO_ACLS})
