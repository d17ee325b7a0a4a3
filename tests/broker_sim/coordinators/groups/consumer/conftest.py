"""A cluster on virtual time, and short forms of the requests of consumer groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from tests.broker_sim.apis.conftest import ApiBench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from broker_sim.coordinators.groups.group_shard import GroupShard

TOPICS = {"a": 3, "b": 2}


class ConsumerBench:
    """One broker with the topics `a` (3 partitions) and `b` (2), and one shard of groups."""

    def __init__(self, *, release: str, config: Mapping[str, str]) -> None:
        self.api = ApiBench(
            brokers=1,
            topics=[TopicSpec(name=name, partitions=partitions) for name, partitions in TOPICS.items()],
            config={"offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "1", **config},
            release=release,
            seed=1,
        )
        self.api.call(FindCoordinatorRequest(key="g", key_type=0), 3)
        self.wait(100)
        self.broker = self.api.cluster.brokers[1]

    def wait(self, ms: int) -> None:
        """Let virtual time pass."""
        self.api.reactor.run_for(ms=ms)

    @property
    def shard(self) -> GroupShard:
        """The shard of all groups."""
        shard = self.broker.coordinators.groups.runtime.shard(0)
        assert shard is not None
        return shard

    def group(self, group_id: str = "g") -> Any:
        """The newest state of a group."""
        return self.shard.groups.get(group_id)

    def heartbeat(self, member_id: str, epoch: int, *, version: int = 1, owned: Any = None, **fields: Any) -> Any:
        """The response to a heartbeat; `owned` is the owned partitions by topic."""
        request = ConsumerGroupHeartbeatRequest(
            **{"group_id": "g", "member_id": member_id, "member_epoch": epoch, **fields}
        )
        if owned is not None:
            request.topic_partitions = [
                TopicPartitions(topic_id=self.topic_id(topic), partitions=partitions)
                for topic, partitions in owned.items()
            ]
        return self.api.exchange(request, version)

    def join(self, member_id: str, *topics: str, **fields: Any) -> Any:
        """The response to the first heartbeat of a member."""
        names = {"subscribed_topic_names": list(topics)} if topics else {}
        return self.heartbeat(member_id, 0, owned={}, **{"rebalance_timeout_ms": 60_000, **names, **fields})

    def partitions(self, response: Any) -> dict[str, list[int]] | None:
        """The assignment of a response by topic, None if it has none."""
        if response.assignment is None:
            return None
        names = {self.topic_id(topic): topic for topic in self.broker.metadata_cache.image.topics}
        found = {names[topic.topic_id]: topic.partitions for topic in response.assignment.topic_partitions}
        return dict(sorted(found.items()))

    def describe(self, *group_ids: str, version: int = 1) -> Any:
        """The described groups, or the only one."""
        request = ConsumerGroupDescribeRequest(group_ids=list(group_ids or ("g",)))
        groups = self.api.exchange(request, version).groups
        return groups[0] if len(groups) == 1 else groups

    def topic_id(self, topic: str) -> bytes:
        """The id of a topic."""
        return self.broker.metadata_cache.image.topics[topic].topic_id


@pytest.fixture
def consumers() -> Iterator[Callable[..., ConsumerBench]]:
    benches: list[ConsumerBench] = []

    def start(*, release: str = "4.3.1", **config: Any) -> ConsumerBench:
        given = {name.replace("_", "."): str(value) for name, value in config.items()}
        benches.append(ConsumerBench(release=release, config=given))
        return benches[-1]

    yield start
    for each in benches:
        each.api.cluster.close()
