"""Topics that the group coordinators know before a case goes on."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.internal_partitions import partition_for
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from tests.differential.group_requests import OFFSETS_TOPIC, group_of
from tests.differential.modern_requests import consumer_heartbeat
from tests.differential.probe import attempts
from tests.differential.requests import metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.differential.probe import Probe

__all__ = ["await_coordinators", "known_topic"]

DELETE_GROUPS_VERSION: Final = 2
HEARTBEAT_VERSION: Final = 0
METADATA_VERSION: Final = 12


def known_topic(probe: Probe, suffix: str = "t", *, partitions: int = 1) -> str:
    """Create a topic as `Probe.topic` does; wait until each partition of the group coordinator knows it.

    A member that subscribes to it gets its partitions with the first heartbeat.
    """
    name = probe.topic(suffix, partitions=partitions)
    await_coordinators(probe, {name: probe.topic_id(name)})
    return name


def await_coordinators(
    probe: Probe,
    ids: Mapping[str, bytes],
    *,
    counts: Mapping[str, int] | None = None,
    names: Sequence[str] | None = None,
) -> None:
    """Wait until each partition of the group coordinator knows these topics by these ids.

    With `counts`, it knows so many partitions of each; of `names`, it knows no others.

    A real coordinator handles deleted and created topics one by one, long after the broker's metadata cache: a group
    that is made meanwhile gets a new epoch for each. A consumer group per partition of the coordinator shows how far it
    is, and is deleted.
    """
    group_of(probe)  # makes the topic
    described: Any = probe.quiet(metadata(OFFSETS_TOPIC), METADATA_VERSION)
    waiting = {each.partition_index for each in described.topics[0].partitions}
    for number in count():
        if not waiting:
            return
        group = f"{probe.name}-barrier-{number}"
        partition = partition_for(group, len(described.topics[0].partitions))
        if partition in waiting:
            waiting.remove(partition)
            _await_coordinator(probe, group, ids, counts or {}, ids if names is None else names)


def _await_coordinator(
    probe: Probe, group: str, ids: Mapping[str, bytes], counts: Mapping[str, int], names: Iterable[str]
) -> None:
    """Let a member join and leave until it is assigned the topics; a member that stays would have to revoke others."""
    for _ in attempts(f"{group} to be assigned {list(ids)}"):
        joining = consumer_heartbeat(group, "m", 0, topics=list(names), owned={}, rebalance_ms=10_000)
        joined: Any = probe.quiet(joining, HEARTBEAT_VERSION)
        probe.quiet(consumer_heartbeat(group, "m", -1), HEARTBEAT_VERSION)
        found = [] if joined.assignment is None else joined.assignment.topic_partitions
        assigned = {each.topic_id: len(each.partitions) for each in found}
        if assigned == {topic_id: counts.get(name, assigned.get(topic_id)) for name, topic_id in ids.items()}:
            break
    probe.quiet(DeleteGroupsRequest(groups_names=[group]), DELETE_GROUPS_VERSION)
