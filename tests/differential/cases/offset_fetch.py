"""OffsetFetch, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.offset_fetch import OffsetFetchRequest
from tests.differential.case import case
from tests.differential.group_requests import (
    NO_DELAY,
    commit,
    fetch_offsets,
    group_of,
    stable_one,
)
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

UNKNOWN_ID = b"an unknown topic"


@case(settings=NO_DELAY)
def groups_without_offsets(probe: Probe) -> None:
    topic = probe.topic()
    ids = {topic: probe.topic_id(topic), "unknown": UNKNOWN_ID}
    group = group_of(probe)
    member = stable_one(probe, group_of(probe, "members"))
    for version in all_versions(OffsetFetchRequest):
        for name in (group, "", member.group):
            probe.exchange(fetch_offsets(name, (topic, [0, 5]), ("unknown", [0]), ids=ids), version, note=name[-7:])
            probe.exchange(fetch_offsets(name, (topic, []), ids=ids), version, note="no partitions")
            probe.exchange(fetch_offsets(name), version, note="no topics")
            probe.exchange(fetch_offsets(name, ("", [0]), ids=ids), version, note="an empty topic")
            if version >= 2 and name:
                probe.exchange(fetch_offsets(name, everything=True), version, note="all topics")


@case(settings=NO_DELAY)
def offsets_in_every_version(probe: Probe) -> None:
    topic, other = probe.topic(partitions=3), probe.topic("u")
    ids = {topic: probe.topic_id(topic), other: probe.topic_id(other), "unknown": UNKNOWN_ID}
    group = group_of(probe)
    request = commit(group, (topic, {0: 5, 2: 7}), (other, {0: 1}), metadata_text="about it", leader_epoch=3)
    probe.exchange(request, 8)
    for version in all_versions(OffsetFetchRequest):
        for stable in (False, True):
            if version < 7 and stable:
                continue
            wanted = ((topic, [0, 1, 2, 3, -1, 0]), ("unknown", [0]), (other, [0]))
            probe.exchange(fetch_offsets(group, *wanted, ids=ids, require_stable=stable), version)
            if version >= 2:
                request = fetch_offsets(group, everything=True, require_stable=stable)
                probe.exchange(request, version, note="all topics")


@case(settings=NO_DELAY)
def several_groups_at_once(probe: Probe) -> None:
    topic = probe.topic()
    ids = {topic: probe.topic_id(topic)}
    groups = [group_of(probe, f"g{number}") for number in range(3)]
    for number, group in enumerate(groups):
        probe.exchange(commit(group, (topic, {0: number})), 8)
    for version in range(8, 11):
        for chosen, everything in (
            (groups, False),
            (groups, True),
            ([*groups, groups[0]], False),
            ([groups[2], "unknown"], True),
            ([groups[2], "", "unknown"], False),
        ):
            wanted = [fetch_offsets(each, (topic, [0]), everything=everything, ids=ids).groups[0] for each in chosen]
            probe.exchange(OffsetFetchRequest(groups=wanted), version, note=f"{len(chosen)} {everything}")


@case(settings=NO_DELAY)
def no_groups_at_all(probe: Probe) -> None:
    """3.7 sends no response, and reads nothing more from the connection."""
    group = group_of(probe)
    for version in (8, 9):
        connection = probe.connect()
        probe.expect_silence(OffsetFetchRequest(groups=[]), version, on=connection)
    probe.exchange(fetch_offsets(group), 8)


@case(settings=NO_DELAY)
def members_of_a_classic_group(probe: Probe) -> None:
    topic = probe.topic()
    ids = {topic: probe.topic_id(topic)}
    member = stable_one(probe, group_of(probe))
    member.commit((topic, {0: 4}))
    for version in (9, 10):
        for member_id, epoch in (
            (member.id, member.generation),
            (member.id, 9),
            (member.id, -1),
            ("stranger", 1),
            (None, 1),
            ("", -1),
            (None, -1),
        ):
            request = fetch_offsets(member.group, (topic, [0]), member_id=member_id, member_epoch=epoch, ids=ids)
            probe.exchange(request, version, note=f"{member_id == member.id or member_id} {epoch}")
        probe.exchange(fetch_offsets("none", (topic, [0]), member_id="m", member_epoch=1, ids=ids), version)


@case(settings=NO_DELAY)
def bodies_that_are_wrong(probe: Probe) -> None:
    group_of(probe)
    for version, body, note in (
        (1, b"", "empty"),
        (1, b"\0\1g\xff\xff\xff\xff", "null topics in version 1"),
        (2, b"\xff\xff\0\0\0\0", "a null group"),
        (8, b"\0\0\0", "null groups"),
        (8, b"\2\0\1\0\0\0", "a null group id"),
        (9, b"\2\2g\0\0\0\0\1\0\0\0\0", "a member without topics"),
    ):
        probe.raw_body(9, version, body, note=note)
