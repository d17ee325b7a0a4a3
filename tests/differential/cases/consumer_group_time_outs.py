"""Consumer groups whose members fall silent, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.case import case
from tests.differential.config_requests import GROUP, SET, await_value, incremental
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_records import write_records
from tests.differential.group_requests import OFFSETS_TOPIC, group_of
from tests.differential.modern_requests import SHORT_SESSIONS, Consumer, consumer_describe
from tests.differential.probe import attempts

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def await_members(probe: Probe, group: str, count: int) -> None:
    """Wait until a consumer group has so many members."""
    for _ in attempts(f"{group} to have {count} members"):
        described: Any = probe.quiet(consumer_describe(group), 0)
        if len(described.groups[0].members) == count:
            return


@case(settings=SHORT_SESSIONS, releases=("4.3.1",))
def sessions_that_end(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    group = group_of(probe)
    member = Consumer(probe, group, "m1", [topic])
    member.join()
    await_members(probe, group, 0)
    member.beat(note="too late")
    probe.exchange(consumer_describe(group), 1)
    write_records(probe, OFFSETS_TOPIC, group)
    member.join(note="again")
    static = Consumer(probe, group, "m2", [topic], instance="i")
    static.join()
    static.leave(-2, note="pauses")
    await_members(probe, group, 0)
    static.join(note="after its session")


@case(settings=SHORT_SESSIONS, releases=("4.3.1",))
def members_that_do_not_revoke(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    group = group_of(probe)
    # The second member sends nothing while the first one does not revoke.
    probe.quiet(incremental((GROUP, group, [("consumer.session.timeout.ms", SET, "45000")])), 1)
    await_value(probe, GROUP, group, "consumer.session.timeout.ms", "45000")
    first = Consumer(probe, group, "m1", [topic], rebalance_ms=1_000)
    first.join()
    second = Consumer(probe, group, "m2", [topic])
    second.join()
    first.beat(note="it has to revoke")
    first.await_beat(lambda response: response.error_code)
    first.beat(note="too late")
    probe.exchange(consumer_describe(group), 1)
    second.beat(note="all are free")
