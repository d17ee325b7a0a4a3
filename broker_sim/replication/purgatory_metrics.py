"""The metrics of a broker's purgatories, under the names of DelayedOperationPurgatory.

NumDelayedOperations counts the operations before their deadline, PurgatorySize the keys that they watch: one per
partition, or topic, that may complete them. Kafka also counts completed operations until its reaper removes them; here
a completed operation is removed at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from broker_sim.metrics.metric import Metric
from broker_sim.replication.delayed_delete_records import DelayedDeleteRecords
from broker_sim.replication.delayed_fetch import DelayedFetch
from broker_sim.replication.delayed_produce import DelayedProduce
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.replication.replica_manager import ReplicaManager
    from protocol_specs.releases import Release

__all__ = ["purgatory_metrics"]

PRODUCE: Final = "Produce"
FETCH: Final = "Fetch"
DELETE_RECORDS: Final = "DeleteRecords"
TOPIC: Final = "topic"
"""The changes of topics (created, enlarged or deleted) at a broker that is the controller."""


class PurgatoryHost(Protocol):
    """The parts of a broker that hold delayed operations."""

    id: int
    config: BrokerConfig
    release: Release
    replica_manager: ReplicaManager

    @property
    def delayed_admin_operations(self) -> Sequence[tuple[str, int]]:
        """The purgatory of each delayed change of topics, and the number of keys that the change watches."""


def purgatory_metrics(broker: PurgatoryHost) -> list[Metric]:
    """Return two gauges per purgatory of the release; none for 0.8, which had them under other names."""
    made = []
    for name, watched in _purgatories(broker).items():
        for gauge, value in (("PurgatorySize", sum(watched)), ("NumDelayedOperations", len(watched))):
            made.append(
                Metric(
                    domain="kafka.server",
                    type="DelayedOperationPurgatory",
                    name=gauge,
                    broker=broker.id,
                    tags=(("delayedOperation", name),),
                    value=float(value),
                )
            )
    return made


def _purgatories(broker: PurgatoryHost) -> dict[str, list[int]]:
    """Return the number of keys that each operation watches, by purgatory."""
    behaviour = broker.config.behaviour
    purgatories: dict[str, list[int]] = {name: [] for name in behaviour.purgatories}
    if behaviour.zookeeper and ApiKey.CREATE_TOPICS in broker.release.api_versions:
        purgatories[TOPIC] = []
    manager = broker.replica_manager
    for operation in manager.delayed_operations:
        if isinstance(operation, DelayedProduce):
            _add(purgatories, PRODUCE, len(operation.waiting))
        elif isinstance(operation, DelayedFetch):
            _add(purgatories, FETCH, len(operation.partitions))
        elif isinstance(operation, DelayedDeleteRecords):
            _add(purgatories, DELETE_RECORDS, operation.waiting_count)
    for session in manager.roles.sessions:
        if session.parked:
            _add(purgatories, FETCH, session.partition_count)
    for name, keys in broker.delayed_admin_operations:
        purgatories.setdefault(name, []).append(keys)
    return purgatories


def _add(purgatories: dict[str, list[int]], name: str, watched: int) -> None:
    if name in purgatories:
        purgatories[name].append(watched)
