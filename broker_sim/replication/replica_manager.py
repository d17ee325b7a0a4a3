"""A broker's replicas: appends, fetches, offsets, changes of leadership. Mirrors ReplicaManager."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.defer import Deferred

    from broker_sim.controller.metadata_image import MetadataImage
    from broker_sim.replication.partition import Partition
    from broker_sim.replication.requests import (
        EpochEndOffset,
        EpochEndOffsetResult,
        FetchIsolation,
        FetchParams,
        OffsetResult,
        PartitionAppend,
        PartitionFetch,
        PartitionFetchResult,
    )
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.message import RecordsBuffer


class ReplicaManager:
    """The partitions that one broker hosts, by name; wired by Broker."""

    partitions: dict[TopicPartition, Partition]

    def append_records(
        self,
        *,
        request_id: int,
        timeout_ms: int,
        required_acks: int,
        entries: Sequence[tuple[TopicPartition, RecordsBuffer | None]],
        on_local_append: Callable[[list[PartitionAppend]], None] | None = None,
    ) -> list[PartitionAppend] | Deferred[list[PartitionAppend]]:
        """Append as leader; answer in the order of `entries`.

        A plain list when nothing has to be waited for (acks 0 or 1, or every partition failed, or the ISR is the
        leader alone); else a Deferred that fires when the high watermark has passed, or with REQUEST_TIMED_OUT after
        `timeout_ms`. `on_local_append` is called once, after the local appends and before any wait. The Deferred
        is never cancelled by the broker's death: it then simply never fires.
        """
        raise NotImplementedError

    def fetch(
        self, *, params: FetchParams, partitions: Sequence[PartitionFetch]
    ) -> list[PartitionFetchResult] | Deferred[list[PartitionFetchResult]]:
        """Read, for a consumer or (params.replica_id >= 0) a follower; answer in the order of `partitions`.

        A plain list when there is enough, an error, a diverging epoch or nothing to wait for; else a Deferred that
        fires when `min_bytes` are there, leadership changes, or `max_wait_ms` have passed.
        """
        raise NotImplementedError

    def list_offset(
        self,
        topic_partition: TopicPartition,
        *,
        timestamp: int,
        isolation: FetchIsolation | None,
        current_leader_epoch: int = -1,
        fetch_only_leader: bool = True,
    ) -> OffsetResult:
        """The offset for a timestamp, or for a special one (-1 latest, -2 earliest, -3 max timestamp, ...).

        `isolation` None is a follower or the debugging consumer: the latest offset is then the log end.
        """
        raise NotImplementedError

    def last_offset_for_leader_epoch(
        self, topic_partition: TopicPartition, *, current_leader_epoch: int, leader_epoch: int
    ) -> EpochEndOffsetResult:
        """Where `leader_epoch`, or the largest one below it, ends here; both -1 when unknown."""
        raise NotImplementedError

    def current_leader(self, topic_partition: TopicPartition) -> tuple[int, int]:
        """Leader id and leader epoch as this broker knows them, (-1, -1) for none (KIP-951)."""
        raise NotImplementedError

    def apply_image(self, old: MetadataImage, new: MetadataImage) -> None:
        """Become leader or follower of what changed, drop what was deleted, start and stop fetchers."""
        raise NotImplementedError


__all__ = ["EpochEndOffset", "ReplicaManager"]
