"""The uniform assignment of members with different topics. Mirrors UniformHeterogeneousAssignmentBuilder.

Members keep what they have; free partitions go to the least loaded subscribers, topics with the most partitions per
subscriber first; then partitions move from the most to the least loaded subscribers, topic by topic, in rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.groups.assignors.load_balancer import LoadBalancer
from broker_sim.coordinators.groups.modern.topic_partitions import ListedPartitions, ordered
from protocol_specs.java_hash import IntegerSet, hash_order_of_uuids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.coordinators.groups.assignors.assignor import GroupSpec
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["HeterogeneousAssignment"]

_ROUNDS_MAX: Final = 16
_NO_OWNER: Final = -1
_LOAD_FACTOR: Final = 0.75
"""Of java.util.HashMap: sets are made for the expected number of partitions."""
_INT64_SIGN: Final = 1 << 63


class HeterogeneousAssignment:
    """One run of the algorithm; members are handled by their index in the group's order."""

    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        self._subscribers: dict[bytes, list[int]] = {}
        for index, member in enumerate(spec.members.values()):
            for topic_id in member.topic_ids:
                self._subscribers.setdefault(topic_id, []).append(index)
        self._owners = {topic_id: [_NO_OWNER] * spec.partitions_of(topic_id) for topic_id in self._subscribers}
        self._loads = [0] * len(spec.members)
        self._targets: list[dict[bytes, IntegerSet]] = [{} for _ in spec.members]

    def build(self) -> Mapping[str, TopicPartitions]:
        """Return the assignment by member."""
        if not self._subscribers:
            return {}
        for index, member in enumerate(self._spec.members.values()):
            for topic_id, partitions in ordered(member.target):
                if topic_id in member.topic_ids:
                    self._loads[index] += len(partitions)
                    self._targets[index][topic_id] = IntegerSet(partitions)
                    for partition in partitions:
                        self._owners[topic_id][partition] = index
        self._deal()
        self._balance()
        return {
            member_id: {topic_id: ListedPartitions.of(each.listed()) for topic_id, each in self._targets[index].items()}
            for index, member_id in enumerate(self._spec.members)
        }

    def _deal(self) -> None:
        free = {
            topic_id: [partition for partition, owner in enumerate(owners) if owner == _NO_OWNER]
            for topic_id, owners in self._owners.items()
        }
        for topic_id in self._sorted(topic_id for topic_id, partitions in free.items() if partitions):
            balancer = LoadBalancer(self._loads, self._subscribers[topic_id])
            for partition in free[topic_id]:
                self._move(topic_id, partition, balancer.next_least_loaded())

    def _balance(self) -> None:
        topic_ids = self._sorted(each for each, members in self._subscribers.items() if len(members) > 1)
        last = -1
        for _ in range(_ROUNDS_MAX):
            for index, topic_id in enumerate(topic_ids):
                if index == last:
                    return
                if self._balance_topic(topic_id) or last == -1:
                    last = index

    def _balance_topic(self, topic_id: bytes) -> int:
        """Move partitions of a topic to less loaded members; return how many."""
        balancer = LoadBalancer(self._loads, self._subscribers[topic_id])
        if balancer.imbalance <= 1:
            return 0
        owned: dict[int, list[int]] = {}
        for partition, owner in enumerate(self._owners[topic_id]):
            owned.setdefault(owner, []).append(partition)
        moved = 0
        while not balancer.is_balanced():
            giver = balancer.next_most_loaded()
            while giver is not None and not owned.get(giver):
                balancer.exclude_most_loaded()
                giver = balancer.next_most_loaded()
            if giver is None:
                break
            partition = owned[giver].pop()
            taker = balancer.next_least_loaded()
            if balancer.is_balanced():
                break
            self._move(topic_id, partition, taker)
            moved += 1
        return moved

    def _move(self, topic_id: bytes, partition: int, member: int) -> None:
        owner = self._owners[topic_id][partition]
        if owner != _NO_OWNER:
            self._loads[owner] -= 1
            had = self._targets[owner][topic_id]
            had.discard(partition)
            if not had:
                del self._targets[owner][topic_id]
        self._owners[topic_id][partition] = member
        self._loads[member] += 1
        gets = self._targets[member]
        if topic_id not in gets:
            estimated = -(-len(self._owners[topic_id]) // len(self._subscribers[topic_id]))
            gets[topic_id] = IntegerSet(capacity=int(estimated / _LOAD_FACTOR) + 1)
        gets[topic_id].add(partition)

    def _sorted(self, topic_ids: Iterable[bytes]) -> list[bytes]:
        """The topics with the most partitions per subscriber first."""

        def rank(topic_id: bytes) -> tuple[float, int, int, int]:
            subscribers = len(self._subscribers[topic_id])
            high, low = int.from_bytes(topic_id[:8], "big"), int.from_bytes(topic_id[8:], "big")
            return -(len(self._owners[topic_id]) / subscribers), subscribers, high ^ _INT64_SIGN, low ^ _INT64_SIGN

        return sorted(hash_order_of_uuids(topic_ids), key=rank)
