"""The current leader of a partition, for a client of another broker (KIP-951). Mirrors KafkaApis.getCurrentLeader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.java_hash import hash_set_order

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.metadata.metadata_image import BrokerRegistration
    from broker_sim.topic_partition import TopicPartition

__all__ = ["LeaderEndpoints"]


class LeaderEndpoints:
    """Collects the endpoints of the leaders that a response names; `nodes` by broker id."""

    __slots__ = ("_context", "nodes")

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self.nodes: dict[int, BrokerRegistration] = {}

    def of(self, topic_partition: TopicPartition) -> tuple[int, int]:
        """Return the leader's id and epoch as this broker knows them, -1 for none; keep its endpoint if it is alive."""
        broker = self._context.broker
        leader_id, leader_epoch = broker.replica_manager.current_leader(topic_partition)
        registration = broker.metadata_cache.image.nodes(self._context.listener_name).get(leader_id)
        if registration is not None and not registration.fenced:
            self.nodes[leader_id] = registration
        return leader_id, leader_epoch

    def listed(self) -> list[BrokerRegistration]:
        """Return the nodes in the order of Kafka's hash table."""
        nodes = list(self.nodes.values())
        return [nodes[place] for place in hash_set_order(self.nodes)]
