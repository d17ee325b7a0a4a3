"""Groups to assign partitions to, drawn from a seed: equal and unequal subscriptions, owned partitions, racks."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

from broker_client.consumer_groups import ConsumerGroupMetadata
from broker_client.core.groups.assignors.cooperative_sticky_assignor import CooperativeStickyAssignor
from broker_client.core.groups.assignors.range_assignor import RangeAssignor
from broker_client.core.groups.assignors.round_robin_assignor import RoundRobinAssignor
from broker_client.core.groups.assignors.sticky_assignor import StickyAssignor
from broker_client.core.groups.consumer_protocol import (
    Assignment,
    Subscription,
    assignment_of,
    encoded_assignment,
    encoded_subscription,
)
from broker_client.core.groups.hash_order import in_hash_order
from broker_client.core.network.cluster import Cluster, Node, TopicMetadata
from broker_client.records import PartitionInfo, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.groups.assignors.assignor import PartitionAssignor

CASES: Final = 400
RACKS: Final = ("a", "b", "c")
ASSIGNORS: Final[dict[str, Callable[[], PartitionAssignor]]] = {
    "range": RangeAssignor,
    "roundrobin": RoundRobinAssignor,
    "sticky": StickyAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


@dataclass(slots=True)
class Case:
    """One group; `racks` are those of nodes 0, 1, 2."""

    assignor: str
    racks: list[str | None]
    topics: dict[str, list[list[int]]]
    members: dict[str, Subscription] = field(default_factory=dict)

    @property
    def cluster(self) -> Cluster:
        return Cluster(
            nodes={number: Node(number, "h", 1, rack) for number, rack in enumerate(self.racks)},
            topics={
                name: TopicMetadata(
                    name=name,
                    topic_id=None,
                    partitions=tuple(
                        PartitionInfo(
                            topic=name,
                            partition=number,
                            leader=replicas[0],
                            leader_epoch=0,
                            replicas=tuple(replicas),
                            in_sync_replicas=tuple(replicas),
                            offline_replicas=(),
                        )
                        for number, replicas in enumerate(partitions)
                    ),
                )
                for name, partitions in self.topics.items()
            },
        )

    def assigned(self) -> dict[str, bytes]:
        """The encoded assignment of each member, in the order of the leader's SyncGroup."""
        subscriptions = {name: _decoded(one) for name, one in self.members.items()}
        assigned = ASSIGNORS[self.assignor]().assign(self.cluster, subscriptions)
        return {name: encoded_assignment(assigned[name]) for name in in_hash_order(assigned)}


def _decoded(subscription: Subscription) -> Subscription:
    from broker_client.core.groups.consumer_protocol import subscription_of

    read = subscription_of(encoded_subscription(subscription))
    read.group_instance_id = subscription.group_instance_id
    return read


def case(number: int) -> Case:
    """The case of this number: a new group, or one that was assigned before and has changed since."""
    random = Random(number)
    assignor = list(ASSIGNORS)[number % len(ASSIGNORS)]
    has_racks = random.random() < 0.4
    topics = {
        f"topic-{letter}": [random.sample(range(3), random.choice((1, 2, 3))) for _ in range(random.randint(1, 9))]
        for letter in "abcdef"[: random.randint(1, 5)]
    }
    made = Case(assignor, list(RACKS) if has_racks else [None] * 3, topics)
    is_equal = random.random() < 0.5
    names = [f"member-{random.randrange(10**6)}" for _ in range(random.randint(1, 6))]
    for name in names:
        known = list(topics) if is_equal else random.sample(list(topics), random.randint(1, len(topics)))
        made.members[name] = Subscription(
            topics=known + (["unknown"] if random.random() < 0.1 else []),
            group_instance_id=f"instance-{random.randrange(100)}" if random.random() < 0.2 else None,
            rack_id=random.choice(RACKS) if has_racks and random.random() < 0.8 else None,
        )
    if random.random() < 0.7:
        _assign_before(made, random)
    return made


def _assign_before(made: Case, random: Random) -> None:
    """Give members what an earlier round assigned; then some leave, join, or have an older generation."""
    assigned = {name: assignment_of(data).partitions for name, data in made.assigned().items()}
    if random.random() < 0.2 and len(assigned) > 1:
        first, second, *_ = assigned
        assigned[first] = assigned[first] + assigned[second][:1]  # claimed twice
    for name, one in made.members.items():
        generation = random.choice((7, 7, 7, 6))
        _own(made.assignor, one, assigned[name], generation)
    if len(made.members) > 1 and random.random() < 0.4:
        del made.members[random.choice(list(made.members))]
    for number in range(random.randint(0, 2)):
        subscribed = list(made.topics) if random.random() < 0.7 else [random.choice(list(made.topics))]
        made.members[f"new-{number}"] = Subscription(topics=subscribed)


def _own(assignor: str, subscription: Subscription, partitions: list[TopicPartition], generation: int) -> None:
    made = ASSIGNORS[assignor]()
    metadata = ConsumerGroupMetadata(group_id="g", generation_id=generation, member_id="m")
    made.on_assignment(Assignment(partitions=partitions), metadata)
    subscription.user_data = made.subscription_user_data(subscription.topics)
    subscription.owned = partitions
    subscription.generation_id = generation
