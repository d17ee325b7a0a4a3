"""The interface between the runtime and one kind of coordinator. Mirrors CoordinatorShard and its builder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.control.journal import Journal
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.coordinator_timers import CoordinatorTimers
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
    from broker_sim.metadata.metadata_cache import MetadataCache
    from broker_sim.replication.replica_manager import ReplicaManager
    from sim_runtime.interfaces import IReactor

__all__ = ["CoordinatorHost", "Shard", "ShardContext"]


class CoordinatorHost(Protocol):
    """The parts of its broker that a coordinator uses."""

    id: int
    config: BrokerConfig
    reactor: IReactor
    journal: Journal
    metadata_cache: MetadataCache
    replica_manager: ReplicaManager

    def now_ms(self) -> int:
        """Return the broker's own wall clock, in milliseconds since the epoch."""

    def random(self, part: str) -> Random:
        """Return the random stream of one of the broker's parts."""


class ShardContext:
    """The surroundings of one shard: its partition, timers, snapshots and host."""

    def __init__(
        self,
        *,
        partition: int,
        leader_epoch: int,
        host: CoordinatorHost,
        timers: CoordinatorTimers,
        snapshots: SnapshotRegistry,
    ) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch
        """The epoch of the leadership for which the shard was loaded: the coordinator epoch."""
        self.host = host
        self.timers = timers
        self.snapshots = snapshots
        self.is_active = False
        """True from the end of the replay to the end of the shard."""
        self.now_ms = host.now_ms
        """Returns the broker's own wall clock, in milliseconds since the epoch."""

    @property
    def config(self) -> BrokerConfig:
        """The broker's present configuration."""
        return self.host.config


class Shard(Protocol):
    """The state machine of one partition. All calls come one after another, never inside each other."""

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        """Apply a record to the state; the producer id is -1 outside transactions."""

    def base_sequence(self, record: CoordinatorRecord) -> int:
        """Return the sequence number of a batch that begins with this record."""

    def replay_end_of_transaction(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """Apply the control record that ends a transaction."""

    def written(self) -> None:
        """All records of one operation are replayed."""

    def loaded(self) -> None:
        """All records of the log are replayed: start timers."""

    def unloaded(self) -> None:
        """The broker does not lead the partition any more: end parked requests with NOT_COORDINATOR."""

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:
        """The broker has applied metadata in which these topics have changed or are gone."""
