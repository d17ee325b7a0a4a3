"""Records of groups and offsets that a client has put into the log, as the next coordinator makes of them.

So there are values of versions that a release does not write, and records that it cannot read. Clusters of their own:
the only broker is shut down and starts again.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from tests.differential.case import case
from tests.differential.cases.foreign_appends import ONE_PARTITION, append
from tests.differential.config_requests import SET, TOPIC, incremental
from tests.differential.group_requests import (
    OFFSETS_TOPIC,
    Member,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    heartbeat,
    list_own_groups,
    stable_one,
    sync,
)
from tests.differential.probe import attempts
from tests.differential.requests import TIME_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.differential.probe import Probe

OLD: Final = ("3.7.2",)
"""The old coordinator loads nothing of a partition with a bad record; a new one does not serve the partition."""

OFFSET_KEY, GROUP_KEY = 1, 2
GENERATION: Final = 5
MEMBER: Final = "m"

Record = tuple[str, bytes, bytes | None]
"""A note, a key and a value."""


def _own(number: int) -> tuple[tuple[str, str], ...]:
    """A cluster of a case's own: its broker restarts."""
    return (*ONE_PARTITION, ("metadata.max.idle.interval.ms", f"{560 + number}"))


def _text(text: str | None) -> bytes:
    return b"\xff\xff" if text is None else len(text).to_bytes(2, "big") + text.encode()


def _offset_key(group: str, topic: str, partition: int, version: int = OFFSET_KEY) -> bytes:
    return struct.pack(">h", version) + _text(group) + _text(topic) + struct.pack(">i", partition)


def _offset_value(offset: int, version: int = 3) -> bytes:
    epoch = struct.pack(">i", 7) if version >= 3 else b""
    expiration = struct.pack(">q", TIME_MS + 100_000) if version == 1 else b""
    return struct.pack(">hq", version, offset) + epoch + _text("metadata") + struct.pack(">q", TIME_MS) + expiration


def _group_key(group: str) -> bytes:
    return struct.pack(">h", GROUP_KEY) + _text(group)


def _group_value(
    *members: tuple[str, str | None],
    version: int = 3,
    protocol_type: str = "consumer",
    protocol: str | None = "range",
    leader: str | None = MEMBER,
    generation: int = GENERATION,
) -> bytes:
    head = _text(protocol_type) + struct.pack(">i", generation) + _text(protocol) + _text(leader)
    time = struct.pack(">q", TIME_MS) if version >= 2 else b""
    made = struct.pack(">h", version) + head + time + struct.pack(">i", len(members))
    for member_id, instance in members:
        made += _text(member_id) + (_text(instance) if version >= 3 else b"") + _text("client") + _text("/192.0.2.1")
        made += (struct.pack(">i", 70_000) if version >= 1 else b"") + struct.pack(">i", 60_000)
        made += b"\0\0\0\1A\0\0\0\1B"
    return made


def _restart(probe: Probe, group: str) -> None:
    """Restart the only broker; return when it has loaded the partition."""
    probe.nodes.shut_down(1)
    probe.nodes.restart(1)
    probe.connect(1)
    probe.use(1)
    group_of(probe, group.removeprefix(f"{probe.name}-"))


def _load(probe: Probe, group: str, member: Member, records: Sequence[Record]) -> None:
    """Append records behind the group's own, restart the broker, and write down what there is then."""
    for note, key, value in records:
        append(probe, key, value, note=note)
    _restart(probe, group)
    for version in (7, 8):
        probe.exchange(fetch_offsets(group, everything=True), version)
    member.connection = probe.connect()
    member.heartbeat()
    list_own_groups(probe, 4)
    probe.exchange(describe_groups(group, member.group), 5)
    probe.exchange(commit(group, (f"{probe.name}-t", {0: 4})), 8)
    probe.exchange(fetch_offsets(group, everything=True), 8)


def _prepare(probe: Probe) -> tuple[str, str, Member]:
    """Return a topic, a group with an offset, and the member of another group."""
    topic = probe.topic(partitions=9)
    group = group_of(probe)
    member = stable_one(probe, group_of(probe, "members"), session_ms=60_000, rebalance_ms=60_000)
    probe.exchange(commit(group, (topic, {0: 3})), 8)
    return topic, group, member


@case(settings=_own(0), releases=OLD)
def offsets_of_every_version(probe: Probe) -> None:
    topic, group, member = _prepare(probe)
    versions = ((0, 0), (1, 1), (1, 2), (0, 3), (1, 3))
    records: list[Record] = [
        (f"key {key}, value {value}", _offset_key(group, topic, place, key), _offset_value(10 + place, value))
        for place, (key, value) in enumerate(versions)
    ]
    _load(probe, group, member, records)


@case(settings=_own(1))
def records_that_are_ignored(probe: Probe) -> None:
    topic, group, member = _prepare(probe)
    _load(
        probe,
        group,
        member,
        [
            ("of an unknown type", b"\0\x63key", b"value"),
            ("a tombstone of an unknown type", b"\0\x62key", None),
            ("of a negative type", b"\xff\xffkey", b"value"),
            ("with bytes behind the fields", _offset_key(group, topic, 1) + b"xyz", _offset_value(4) + b"abc"),
            ("after them", _offset_key(group, topic, 2), _offset_value(9)),
        ],
    )


@case(settings=_own(2), releases=OLD)
def records_of_groups_that_only_the_new_coordinator_knows(probe: Probe) -> None:
    topic, group, member = _prepare(probe)
    records: list[Record] = [(f"of type {kind}", kind.to_bytes(2, "big") + b"\0", b"value") for kind in range(3, 20)]
    _load(probe, group, member, [*records, ("after them", _offset_key(group, topic, 2), _offset_value(9))])


@case(settings=_own(3), releases=OLD)
def a_value_of_an_unknown_version(probe: Probe) -> None:
    topic, group, member = _prepare(probe)
    value = struct.pack(">h", 9) + _offset_value(12)[2:]
    after = ("after it", _offset_key(group, topic, 2), _offset_value(9))
    _load(probe, group, member, [("version 9", _offset_key(group, topic, 1), value), after])


@case(settings=_own(4), releases=OLD)
def a_value_that_ends_early(probe: Probe) -> None:
    topic, group, member = _prepare(probe)
    after = ("after it", _offset_key(group, topic, 2), _offset_value(9))
    _load(probe, group, member, [("a short value", _offset_key(group, topic, 1), b"\0\3\0\0"), after])


@case(settings=_own(5), releases=OLD)
def a_key_that_ends_early(probe: Probe) -> None:
    topic, group, member = _prepare(probe)
    after = ("after it", _offset_key(group, topic, 2), _offset_value(9))
    _load(probe, group, member, [("a short key", b"k", b"value"), after])


@case(settings=_own(6), releases=OLD)
def a_record_without_a_key(probe: Probe) -> None:
    topic, group, member = _prepare(probe)
    probe.exchange(incremental((TOPIC, OFFSETS_TOPIC, [("cleanup.policy", SET, "delete")])), 1)
    for _ in attempts("a log that takes records without a key"):
        append(probe, None, b"value", note="without a key")
        refused = probe.transcript[-1]["response"]["responses"][0]["partitionResponses"][0]["errorCode"]
        if not refused:
            break
        probe.transcript.pop()
        probe.sent.pop()
    _load(probe, group, member, [("after it", _offset_key(group, topic, 2), _offset_value(9))])


@case(settings=_own(7), releases=OLD)
def members_that_share_an_instance_id(probe: Probe) -> None:
    topic, group, member = _prepare(probe)
    value = _group_value((MEMBER, "i"), ("n", "i"))
    after = ("after it", _offset_key(group, topic, 2), _offset_value(9))
    _load(probe, group, member, [("two members", _group_key(f"{group}-shared"), value), after])


@case(settings=_own(8))
def groups_of_every_version(probe: Probe) -> None:
    group = group_of(probe)
    for version in range(4):
        value = _group_value((MEMBER, "i"), version=version)
        append(probe, _group_key(f"{group}-{version}"), value, note=f"version {version}")
    append(probe, _group_key(f"{group}-empty"), _group_value(protocol=None, leader=None), note="without members")
    append(probe, _group_key(f"{group}-gone"), None, note="a tombstone")
    _restart(probe, group)
    names = [f"{group}-{end}" for end in (0, 1, 2, 3, "empty", "gone")]
    for version in range(6):
        probe.exchange(describe_groups(*names), version)
    list_own_groups(probe, 4)
    for name in names:
        for instance in (None, "i"):
            probe.exchange(heartbeat(name, GENERATION, MEMBER, instance=instance), 4, note=f"{name}, {instance}")
        probe.exchange(sync(name, GENERATION, MEMBER), 5, note=name)
