"""Each member of a share group gets some partitions, and each partition some members. Mirrors SimpleAssignor.

A partition is shared by ceil(members / partitions) members, so that every member and every partition is used. With
equal subscriptions this is done for all topics together, else per topic. Members keep the partitions that they have,
with different subscriptions also those of a topic to which no member subscribes any more.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.groups.modern.topic_partitions import ListedPartitions, ordered
from protocol_specs.java_hash import IntegerSet, hash_bucket, uuid_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from broker_sim.coordinators.groups.assignors.assignor import GroupSpec
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["SimpleAssignor"]

Unit = tuple[bytes, int]
"""A partition by topic id."""

_SMALLEST_TABLE: Final = 16


class SimpleAssignor:
    """Assigns the partitions of `assignable`: those whose share partitions are initialized."""

    name = "simple"

    def __init__(self, assignable: TopicPartitions) -> None:
        self._assignable = assignable

    def assign(self, spec: GroupSpec) -> Mapping[str, TopicPartitions]:
        """Return the assignment by member.

        Raises:
            AssignorError: A topic does not exist.
        """
        members = list(spec.members)
        subscriptions = [list(spec.members[member_id].topic_ids) for member_id in members]
        topics = list(dict.fromkeys(topic_id for topic_ids in subscriptions for topic_id in topic_ids))
        if spec.homogeneous:
            topics = subscriptions[0] if subscriptions else []
        if not topics:
            return {}
        units = {topic_id: self._units(topic_id, spec.partitions_of(topic_id)) for topic_id in topics}
        everyone = range(len(members))
        before = [member.target for member in spec.members.values()]
        if spec.homogeneous:
            before = [{each: target[each] for each in target if each in units} for target in before]
        held = list(map(_Held, before))
        if spec.homogeneous:
            _share([unit for topic_id in topics for unit in units[topic_id]], everyone, held, set(topics), _unit_hash)
        else:
            for topic_id in topics:
                subscribers = [index for index in everyone if topic_id in subscriptions[index]]
                _share(units[topic_id], subscribers, held, {topic_id}, _partition_hash)
        return {member_id: held[index].grouped() for index, member_id in enumerate(members)}

    def _units(self, topic_id: bytes, count: int) -> list[Unit]:
        assignable = self._assignable.get(topic_id, frozenset())
        return [(topic_id, partition) for partition in range(count) if partition in assignable]


class _Held:
    """The partitions that a member has: a topic of its target so far stays when it has lost its partitions."""

    __slots__ = ("_sets", "units")

    def __init__(self, target: TopicPartitions) -> None:
        self._sets = {topic_id: IntegerSet(partitions) for topic_id, partitions in ordered(target)}
        self.units: dict[Unit, None] = {
            (topic_id, partition): None for topic_id, each in self._sets.items() for partition in each.listed()
        }

    def add(self, unit: Unit) -> None:
        self.units[unit] = None
        topic_id, partition = unit
        if topic_id not in self._sets:
            self._sets[topic_id] = IntegerSet()
        self._sets[topic_id].add(partition)

    def remove(self, unit: Unit) -> None:
        del self.units[unit]
        self._sets[unit[0]].discard(unit[1])

    def grouped(self) -> TopicPartitions:
        return {topic_id: ListedPartitions.of(each.listed()) for topic_id, each in self._sets.items()}


def _share(
    units: Sequence[Unit],
    subscribers: Sequence[int],
    held: list[_Held],
    topics: set[bytes],
    hash_of: Callable[[Unit], int],
) -> None:
    """Change what members hold of some topics until the partitions are spread."""
    sharing = ceil(len(subscribers) / len(units)) if units else 0
    precise = sharing * len(units) / len(subscribers)
    wanted = dict.fromkeys(range(len(held)), 0)
    for place, index in enumerate(subscribers):
        wanted[index] = ceil(precise * (place + 1)) - ceil(precise * place)
    holders: dict[Unit, dict[int, None]] = {}
    of_member: dict[int, list[Unit]] = {}
    for index, of_one in enumerate(held):
        of_member[index] = _java_order([unit for unit in of_one.units if unit[0] in topics], hash_of)
        for unit in of_member[index]:
            holders.setdefault(unit, {})[index] = None
    for index, own in of_member.items():
        for unit in own[: max(len(own) - wanted[index], 0)]:
            held[index].remove(unit)
            del holders[unit][index]
    table = _presized_table(len(units))
    for unit in _java_order(holders, hash_of, table):
        for index in sorted(holders[unit])[: max(len(holders[unit]) - sharing, 0)]:
            held[index].remove(unit)
            del holders[unit][index]
    for unit in units:
        holders.setdefault(unit, {})
    unfilled = [index for index in subscribers if _count(held[index], topics) < wanted[index]]
    _fill(_java_order(holders, hash_of, table), holders, unfilled, held, wanted, sharing, topics)


def _fill(
    units: Iterable[Unit],
    holders: dict[Unit, dict[int, None]],
    unfilled: list[int],
    held: list[_Held],
    wanted: Mapping[int, int],
    sharing: int,
    topics: set[bytes],
) -> None:
    """Deal units to members in turn, until each unit is shared enough. Mirrors assignRemainingPartitions."""
    place, progress = 0, False
    for unit in units:
        while len(holders[unit]) < sharing:
            if place >= len(unfilled):
                if not progress:
                    break
                place, progress = 0, False
                if not unfilled:
                    break
            index = unfilled[place]
            place += 1
            if index in holders[unit]:
                continue
            holders[unit][index] = None
            held[index].add(unit)
            progress = True
            if _count(held[index], topics) >= wanted[index]:
                place -= 1
                del unfilled[place]
        if not unfilled:
            return


def _count(held: _Held, topics: set[bytes]) -> int:
    return sum(unit[0] in topics for unit in held.units)


def _unit_hash(unit: Unit) -> int:
    return 31 * uuid_hash(unit[0]) + unit[1]


def _partition_hash(unit: Unit) -> int:
    return unit[1]


def _presized_table(entries: int) -> int:
    """Return the size of the table of AssignorHelpers.newHashMap."""
    capacity = int((entries + 1) / 0.75) + 1
    return 1 << (capacity - 1).bit_length()


def _java_order(units: Iterable[Unit], hash_of: Callable[[Unit], int], table: int = _SMALLEST_TABLE) -> list[Unit]:
    """Return units as a hash table lists them that began with a size; equal buckets keep the given order."""
    given = list(units)
    while len(given) > table * 0.75:
        table *= 2
    return sorted(given, key=lambda unit: hash_bucket(hash_of(unit), table))
