"""Ids and names that are blank for some: Java's trim takes all characters up to the space, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.differential.case import case
from tests.differential.cases.share_state import alter_offsets, describe_offsets
from tests.differential.cases.streams_group_heartbeat import STREAMS, streams_heartbeat
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_requests import NO_DELAY, commit, group_of, heartbeat, join, list_own_groups
from tests.differential.modern_requests import consumer_heartbeat
from tests.differential.share_requests import SHARE, share_heartbeat

if TYPE_CHECKING:
    from tests.differential.probe import Probe

BLANKS: Final = ("\0", "\x1f ", "\t\n", "\u0085", "\u00a0", "\u2003")


@case(settings=NO_DELAY)
def states_that_are_filtered(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    probe.exchange(commit(group, (topic, {0: 1})), 8)
    for blank in BLANKS:
        note = repr(blank)
        for state in (blank, f"{blank}Empty{blank}"):
            list_own_groups(probe, 4, states=[state], note=note)
        probe.exchange(join(blank, member_id="m"), 9, note=note)
        probe.exchange(heartbeat(blank, 1, "m"), 4, note=note)


@case(settings=STREAMS, releases=("4.3.1",))
def ids_of_members_and_groups(probe: Probe) -> None:
    topic = known_topic(probe)
    group = group_of(probe)
    for blank in BLANKS:
        note = repr(blank)
        for version in (0, 1):
            probe.exchange(consumer_heartbeat(blank, "m", 5), version, note=f"{note} group")
            probe.exchange(consumer_heartbeat(group, blank, 5), version, note=f"{note} member")
            for fields in ({"instance": blank}, {"rack": blank}):
                request = consumer_heartbeat(
                    group, "m", 0, topics=[topic], owned={}, rebalance_ms=1_000, assignor="unknown", **fields
                )
                probe.exchange(request, version, note=f"{note} {next(iter(fields))}")
        for share in (share_heartbeat(blank, "m", 5), share_heartbeat(group, blank, 5)):
            probe.exchange(share, 1, note=note)
        probe.exchange(share_heartbeat(group, "m", 5, rack=blank), 1, note=f"{note} rack")
        for streams in (
            streams_heartbeat(blank, "m", 5),
            streams_heartbeat(group, blank, 5),
            streams_heartbeat(group, "m", 5, instance_id=blank),
            streams_heartbeat(group, "m", 5, rack_id=blank),
        ):
            probe.exchange(streams, 0, note=note)


@case(
    settings=(*SHARE, ("share.coordinator.state.topic.num.partitions", "2")),
    releases=("4.3.1",),
)
def share_groups_before_the_state_topic_exists(probe: Probe) -> None:
    """No coordinator can be found for a blank group; later it is not searched for."""
    topic = known_topic(probe)
    probe.exchange(alter_offsets("\0", {topic: {0: 1}}), 0)
    probe.exchange(describe_offsets(("\0", {topic: [0]})), 1)
