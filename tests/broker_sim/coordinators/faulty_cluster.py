"""Two brokers on virtual time that crash and start again, and partitions whose leaders move: for state machines."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from broker_sim.broker_state import BrokerState
from broker_sim.cluster import Cluster
from broker_sim.links.node_links import CONTROLLER_ID
from broker_sim.rpc.plain_call import PlainCalls
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from twisted.internet.defer import Deferred

    from broker_sim.apis.request_context import ConnectionInfo
    from broker_sim.coordinators.groups.modern.epoch_group import EpochGroup
    from broker_sim.defects.defect import Defect
    from broker_sim.topic_spec import TopicSpec

BROKERS: Final = (1, 2)
OFFSETS_TOPIC: Final = "__consumer_offsets"
GROUP_RESOURCE: Final = 32
_CONFIG: Final = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "1500",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "2",
}
_UNAVAILABLE_MS: Final = 60_000


class FaultyCluster:
    """Two brokers, with a replica of every partition on each. One of them may be down."""

    def __init__(
        self,
        topics: Sequence[TopicSpec],
        config: Mapping[str, str],
        *,
        link_delay_ms: float,
        defects: Sequence[Defect] = (),
    ) -> None:
        self.reactor = VirtualReactor()
        self.cluster = Cluster(
            reactor=self.reactor,
            streams=RandomStreams(1),
            brokers=len(BROKERS),
            topics=topics,
            config={**_CONFIG, **config},
            listen=False,
            link_delay_ms=link_delay_ms,
            defects=defects,
        )
        self.cluster.start()

    def run(self, ms: int) -> None:
        """Let virtual time pass."""
        self.reactor.run_for(ms=ms)

    # Requests.

    def send(
        self, broker_id: int, request: Any, version: int, connection: ConnectionInfo | None = None
    ) -> Deferred[Any]:
        """Send a request as it comes from the wire; no response comes if the broker is killed first."""
        broker = self.cluster.brokers[broker_id]
        received = type(request).decode(version, request.encode(version))
        context = PlainCalls(broker).context(received, version, client_id="machine")
        if connection is not None:
            context.connection = connection
        broker.rpc.receive(context)
        return context.origin.addCallback(  # type: ignore[no-any-return]
            lambda response: type(response).decode(version, response.encode(version))
        )

    def call(self, broker_id: int, request: Any, version: int) -> Any:
        """Return the response of a broker that runs."""
        return self.reactor.run_until(self.send(broker_id, request, version), deadline_ms=_UNAVAILABLE_MS)

    def create_coordinators(self, key_type: int, key: str, version: int) -> None:
        """Have the internal topic of a kind of coordinators created and led."""
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        while self.call(1, request, version).coordinators[0].error_code:
            self.run(100)

    def configure_group(self, group_id: str, name: str, value: str) -> None:
        """Set a configuration of a group."""
        configs = [AlterableConfig(name=name, config_operation=0, value=value)]
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group_id, configs=configs)
        response = self.call(self.running[0], IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert response.responses[0].error_code == 0, response
        self.run(10)

    # Faults.

    @property
    def running(self) -> list[int]:
        """The ids of the brokers that run."""
        return [broker_id for broker_id in BROKERS if self.cluster.is_running(broker_id)]

    def serves(self, broker_id: int) -> bool:
        """Return True if clients reach the broker: it runs, and has opened its listeners."""
        state = self.cluster.brokers[broker_id].lifecycle.state
        return self.cluster.is_running(broker_id) and state is not BrokerState.STARTING

    def leader(self, topic: str, partition: int = 0) -> int | None:
        """Return the leader of a partition if clients reach it."""
        leader = self.cluster.leader_of(topic, partition)
        return leader if leader is not None and self.serves(leader) else None

    @property
    def in_sync(self) -> bool:
        """True if both brokers run and have every replica in sync: one of them may be killed."""
        counts = self.cluster.partition_counts
        return len(self.running) == len(BROKERS) and all(
            len(self.cluster.registration_of(topic, partition).isr) == len(BROKERS)
            for topic, partitions in counts.items()
            for partition in range(partitions)
        )

    def shard(self, topic: str) -> Any:
        """Return the only shard of a kind of coordinator; None while it moves, loads or has uncommitted records.

        After a move the high watermark may be behind, and the shard with it.
        """
        broker_id = self.leader(topic)
        log = None if broker_id is None else self.cluster.log_of(broker_id, topic, 0)
        if broker_id is None or log is None or log.high_watermark < log.log_end_offset:
            return None
        coordinators = self.cluster.brokers[broker_id].coordinators
        coordinator: Any = coordinators.groups if topic == OFFSETS_TOPIC else coordinators.share
        return coordinator.runtime.shard(0)

    def group_epochs(self, group_type: type[EpochGroup[Any, Any]], group_id: str) -> tuple[int, dict[str, int]] | None:
        """Return the committed epochs of a group and of its members; None while its coordinator moves."""
        shard = self.shard(OFFSETS_TOPIC)
        group = None if shard is None else shard.groups.find(group_type, group_id)
        if group is None:
            return None
        return group.group_epoch.get(), {each: member.member_epoch for each, member in group.members.items()}

    def kill(self, broker_id: int) -> None:
        """Kill a broker."""
        self.cluster.kill(broker_id)

    def start_brokers(self) -> None:
        """Start the brokers that are down."""
        for broker_id in BROKERS:
            if not self.cluster.is_running(broker_id):
                self.cluster.restart(broker_id)

    def move_leader(self, topic: str, partition: int = 0) -> None:
        """Make the follower of a partition its leader; both replicas are in sync.

        The next leader sends the requests: the former one may be without metadata.
        """
        known = self.cluster.registration_of(topic, partition)
        replicas = [broker_id for broker_id in BROKERS if broker_id != known.leader] + [known.leader]
        reassigned = [ReassignablePartition(partition_index=partition, replicas=replicas)]
        topics = [ReassignableTopic(name=topic, partitions=reassigned)]
        self.call(replicas[0], AlterPartitionReassignmentsRequest(topics=topics), 0)
        preferred = [TopicPartitions(topic=topic, partitions=[partition])]
        self.call(replicas[0], ElectLeadersRequest(topic_partitions=preferred), 2)
        self.run(20)

    @contextmanager
    def without_metadata(self, broker_id: int) -> Iterator[None]:
        """Hold everything that the controller sends to a broker: it learns of changes at the end."""
        link = self.cluster.links.link(CONTROLLER_ID, broker_id)
        link.hold()
        try:
            yield
        finally:
            link.release()

    def close(self) -> None:
        """End all nodes."""
        self.cluster.close()
