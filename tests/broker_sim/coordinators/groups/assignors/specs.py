"""Group specs of a few words, and Hypothesis strategies of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from broker_sim.coordinators.groups.assignors.assignor import GroupSpec, MemberSpec
from broker_sim.coordinators.groups.modern.topic_partitions import each_partition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions


def topic_id(number: int) -> bytes:
    """Return the id of a topic by number."""
    return number.to_bytes(16, "big")


def spec_of(
    counts: Mapping[int, int],
    subscriptions: Mapping[str, tuple[int, ...]],
    targets: Mapping[str, TopicPartitions] | None = None,
    racks: Mapping[str, str] | None = None,
    partition_racks: Mapping[tuple[int, int], str] | None = None,
) -> GroupSpec:
    """Return the spec of topics (number -> partitions) and members (id -> topic numbers).

    `racks` has those of members, `partition_racks` one per topic number and partition.
    """
    replicas = {(topic_id(number), index): {rack} for (number, index), rack in (partition_racks or {}).items()}
    targets = targets or {}
    members = {
        member_id: MemberSpec(
            dict.fromkeys(topic_id(number) for number in numbers),
            dict(targets.get(member_id, {})),
            rack_id=(racks or {}).get(member_id),
        )
        for member_id, numbers in subscriptions.items()
    }
    return GroupSpec(
        members,
        homogeneous=len({frozenset(numbers) for numbers in subscriptions.values()}) <= 1,
        partition_counts={topic_id(number): count for number, count in counts.items()},
        assigned={each for member in members.values() for each in each_partition(member.target)},
        racks_of=lambda topic, partition: replicas.get((topic, partition), set()),
    )


def numbers_of(assignment: Mapping[str, TopicPartitions]) -> dict[str, dict[int, list[int]]]:
    """Return an assignment with topic numbers and sorted partitions."""
    return {
        member_id: {int.from_bytes(each, "big"): sorted(partitions) for each, partitions in sorted(topics.items())}
        for member_id, topics in assignment.items()
    }


TOPICS = {1: 1, 2: 3, 3: 6, 4: 7}

SUBSCRIPTIONS = st.dictionaries(
    st.sampled_from([f"m{index}" for index in range(8)]),
    st.sets(st.sampled_from(sorted(TOPICS)), min_size=1).map(lambda found: tuple(sorted(found))),
    min_size=1,
)
