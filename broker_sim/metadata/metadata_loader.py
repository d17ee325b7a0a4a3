"""Loads a broker's metadata: one waiting fetch of the metadata log, then the broker's own lag. Mirrors MetadataLoader
and BrokerMetadataPublisher, with the observer's side of KafkaRaftClient.

The records of one fetch are published as one image. A broker that starts, or is too far behind for the log, loads a
snapshot first. A paused loader continues to fetch, up to a limit, and publishes nothing until it is resumed.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.links.controller_versions import controller_version
from broker_sim.links.node_links import CONTROLLER_ID, LinkFailure
from broker_sim.metadata.metadata_fetches import MetadataRecords, fetch_request, fetch_snapshot_request
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.links.node_links import NodeLinks
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.metadata.metadata_log import MetadataBatch
    from protocol_specs.messages.fetch import FetchResponse, PartitionData, SnapshotId
    from protocol_specs.messages.fetch_snapshot import FetchSnapshotResponse
    from protocol_specs.releases import Release
    from sim_runtime.interfaces import IReactor

RETRY_BACKOFF_MS: Final = 100
REQUEST_TIMEOUT_MS: Final = 2_000
"""controller.quorum.request.timeout.ms: how soon a lost fetch of the metadata log is tried again."""
PENDING_MAX: Final = 1_000
"""How many fetches' worth of records may wait to be published; a loader that has as many fetches no more."""
NO_EPOCH: Final = 0


class _Pending(NamedTuple):
    due_s: float
    batches: list[MetadataBatch]
    snapshot: MetadataImage | None = None


class MetadataLoader:
    """Hands every image to `apply`, `lag_ms` after its records came, in order. `empty` is where a log begins."""

    def __init__(
        self,
        *,
        reactor: IReactor,
        links: NodeLinks,
        broker_id: int,
        release: Release,
        empty: MetadataImage,
        lag_ms: Callable[[], float],
        apply: Callable[[MetadataImage], None],
    ) -> None:
        self._reactor = reactor
        self._links = links
        self._broker_id = broker_id
        self._release = release
        self._empty = empty
        self._lag_ms = lag_ms
        self._apply = apply
        self._image = empty
        self._fetch_offset = 0
        self._last_epoch = NO_EPOCH
        self._leader_epoch = NO_EPOCH
        self._snapshot_parts: list[bytes] = []
        self._pending: deque[_Pending] = deque()
        self._timer: IDelayedCall | None = None
        self._retry: IDelayedCall | None = None
        self._fetching = False
        self._stopped = False
        self.held = False
        """Whether nothing is published until `resume`."""

    def start(self, image: MetadataImage | None = None, *, leader_epoch: int = NO_EPOCH) -> None:
        """Fetch the records after `image`, or load everything; `leader_epoch` is the controller's, if known."""
        if image is not None:
            self._image = image
            self._fetch_offset = image.version + 1
            self._last_epoch = self._leader_epoch = leader_epoch
        self._fetch()

    def stop(self) -> None:
        """The broker is gone."""
        self._stopped = True
        self._pending.clear()
        for timer in (self._timer, self._retry):
            if timer is not None:
                timer.cancel()
        self._timer = self._retry = None

    def hold(self) -> None:
        """Publish nothing until `resume`."""
        self.held = True

    def resume(self) -> None:
        """Publish the images that are due by now, and later ones."""
        self.held = False
        self._publish_due()
        self._fetch()

    # Fetching.

    def _fetch(self) -> None:
        if self._fetching or self._stopped or len(self._pending) >= PENDING_MAX:
            return
        self._fetching = True
        version = controller_version(self._release, ApiKey.FETCH)
        request = fetch_request(
            self._broker_id,
            version,
            cluster_id=self._empty.cluster_id,
            fetch_offset=self._fetch_offset,
            last_epoch=self._last_epoch,
            leader_epoch=self._leader_epoch,
        )
        response: Deferred[FetchResponse] = self._links.send(
            self._broker_id, CONTROLLER_ID, request, version=version, timeout_ms=REQUEST_TIMEOUT_MS
        )
        response.addCallbacks(self._fetched, self._failed)

    def _failed(self, failure: Failure) -> None:
        failure.trap(LinkFailure)
        self._fetching = False
        self._again_later()

    def _again_later(self) -> None:
        if not self._stopped and self._retry is None:
            self._retry = self._reactor.callLater(RETRY_BACKOFF_MS / 1000, self._retry_due)

    def _retry_due(self) -> None:
        self._retry = None
        self._fetch()

    def _fetched(self, response: FetchResponse) -> None:
        self._fetching = False
        if self._stopped:
            return
        if response.error_code or not response.responses:
            self._again_later()
            return
        partition = response.responses[0].partitions[0]
        if partition.error_code:
            self._refused(partition.current_leader.leader_epoch)
            return
        if partition.snapshot_id.end_offset >= 0:
            self._fetch_snapshot(partition.snapshot_id)
            return
        self._take(partition)
        self._fetch()

    def _refused(self, leader_epoch: int) -> None:
        """Fetch in a new epoch, at once if it is new to this broker."""
        news = leader_epoch > self._leader_epoch
        self._leader_epoch = max(leader_epoch, self._leader_epoch)
        if news:
            self._fetch()
        else:
            self._again_later()

    def _take(self, partition: PartitionData) -> None:
        records = partition.records
        if isinstance(records, MetadataRecords):
            batches = records.batches
        else:
            from broker_sim.metadata.metadata_log_codec import decode_batches

            assert isinstance(records, bytes | memoryview), "a fetch brings bytes, or batches by reference"
            batches = decode_batches(records)
        # The first batch may begin before the requested offset.
        batches = [batch for batch in batches if batch.last_offset >= self._fetch_offset]
        if batches:
            self._fetch_offset = batches[-1].last_offset + 1
            self._last_epoch = batches[-1].leader_epoch
            self._publish_later(batches, None)

    # Snapshots.

    def _fetch_snapshot(self, snapshot_id: SnapshotId) -> None:
        self._fetching = True
        position = sum(map(len, self._snapshot_parts))
        request = fetch_snapshot_request(
            self._broker_id,
            cluster_id=self._empty.cluster_id,
            snapshot_id=snapshot_id,
            position=position,
            leader_epoch=self._leader_epoch,
        )
        response: Deferred[FetchSnapshotResponse] = self._links.send(
            self._broker_id,
            CONTROLLER_ID,
            request,
            version=controller_version(self._release, ApiKey.FETCH_SNAPSHOT),
            timeout_ms=REQUEST_TIMEOUT_MS,
        )
        response.addCallbacks(self._snapshot_fetched, self._snapshot_failed, callbackArgs=(snapshot_id,))

    def _snapshot_failed(self, failure: Failure) -> None:
        self._snapshot_parts.clear()
        self._failed(failure)

    def _snapshot_fetched(self, response: FetchSnapshotResponse, snapshot_id: SnapshotId) -> None:
        self._fetching = False
        if self._stopped:
            return
        part = response.topics[0].partitions[0] if response.topics else None
        if response.error_code or part is None or part.error_code:
            # There is a newer snapshot by now, or a newer leader: the next fetch returns which.
            self._snapshot_parts.clear()
            self._again_later()
            return
        assert isinstance(part.unaligned_records, bytes | memoryview), "a snapshot is bytes"
        self._snapshot_parts.append(bytes(part.unaligned_records))
        if part.position + len(part.unaligned_records) < part.size:
            self._fetch_snapshot(snapshot_id)
            return
        from broker_sim.metadata.metadata_log_codec import image_of_snapshot

        data = b"".join(self._snapshot_parts)
        self._snapshot_parts.clear()
        image = image_of_snapshot(data, self._empty, end_offset=snapshot_id.end_offset)
        self._fetch_offset = snapshot_id.end_offset
        self._last_epoch = snapshot_id.epoch
        self._publish_later([], image)
        self._fetch()

    # Publishing.

    def _publish_later(self, batches: list[MetadataBatch], snapshot: MetadataImage | None) -> None:
        lag_ms = self._lag_ms()
        due_s = self._reactor.seconds() + max(lag_ms, 0) / 1000
        if self._pending and self._pending[-1].due_s > due_s:
            due_s = self._pending[-1].due_s
        self._pending.append(_Pending(due_s, batches, snapshot))
        if lag_ms <= 0 and len(self._pending) == 1 and not self.held:
            self._publish_due()
        else:
            self._schedule()

    def _schedule(self) -> None:
        if self._timer is None and self._pending and not self.held:
            delay_s = max(0.0, self._pending[0].due_s - self._reactor.seconds())
            self._timer = self._reactor.callLater(delay_s, self._timer_due)

    def _timer_due(self) -> None:
        self._timer = None
        full = len(self._pending) >= PENDING_MAX
        self._publish_due()
        if full:
            self._fetch()

    def _publish_due(self) -> None:
        now_s = self._reactor.seconds() + 5e-7
        while self._pending and not self.held and self._pending[0].due_s <= now_s:
            _, batches, snapshot = self._pending.popleft()
            image = self._image if snapshot is None else snapshot
            for batch in batches:
                image = batch.applied_to(image)
            self._image = image
            self._apply(image)
        self._schedule()
