"""How brokers follow the metadata log: by reference or by bytes, late, held, and from a snapshot."""

from __future__ import annotations

from typing import Any

from broker_sim.config.config_resource import ConfigRecord, ConfigResource, ResourceType
from broker_sim.control.events import RequestReceived
from broker_sim.links.node_links import CONTROLLER_ID
from broker_sim.metadata.metadata_fetches import (
    MetadataFetches,
    MetadataRecords,
    fetch_request,
    fetch_snapshot_request,
)
from broker_sim.metadata.metadata_log_codec import decode_batches
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import FetchRequest, FetchResponse, SnapshotId
from protocol_specs.messages.fetch_snapshot import FetchSnapshotResponse

Make = Any
RESOURCE = ConfigResource(ResourceType.BROKER, "1")


def change(cluster: Any, value: str) -> int:
    """Commit a record; its offset."""
    records = [ConfigRecord(resource=RESOURCE, name="log.cleaner.threads", value=value)]
    committed = cluster.cluster.controller.change("a test", lambda image: image.with_configs(records))
    return int(committed.result.version)


def versions(cluster: Any) -> list[int]:
    return [broker.metadata_version for broker in cluster.cluster.brokers.values()]


def fetch(cluster: Any, **changes: Any) -> Any:
    """The controller's response to a fetch, encoded and decoded as on the wire."""
    log = cluster.cluster.controller.metadata_log
    fields = {"cluster_id": cluster.cluster.cluster_id, "fetch_offset": 0, "last_epoch": 0, "leader_epoch": 1}
    request = fetch_request(2, 17, **{**fields, **changes})
    decoded = FetchRequest.decode(17, request.encode(17))
    fetches = MetadataFetches(log, cluster_id=cluster.cluster.cluster_id, leader_id=lambda: 1, now_ms=lambda: 0)
    return fetches.fetch(decoded)


def test_all_that_one_turn_commits_is_published_as_one_image(replicas: Make) -> None:
    cluster = replicas()
    before = versions(cluster)
    for value in "234":
        last = change(cluster, value)
    assert versions(cluster) == before
    cluster.run(ms=0)
    assert versions(cluster) == [last] * 3


def test_every_batch_comes_as_late_as_the_loader_is(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.broker(2).metadata_lag_ms = 100.0
    first = change(cluster, "2")
    cluster.run(ms=50)
    second = change(cluster, "3")
    cluster.run(ms=49)
    assert versions(cluster)[1] < first
    cluster.run(ms=1)
    assert versions(cluster) == [second, first, second]
    cluster.run(ms=50)
    assert versions(cluster) == [second] * 3


def test_a_held_loader_publishes_nothing_until_it_is_resumed(replicas: Make) -> None:
    cluster = replicas()
    broker = cluster.cluster.broker(2)
    stale = broker.metadata_version
    broker.hold_metadata()
    change(cluster, "2")
    cluster.run(ms=1_000)
    last = change(cluster, "3")
    cluster.run(ms=1_000)
    assert versions(cluster) == [last, stale, last]
    broker.resume_metadata()
    assert versions(cluster) == [last] * 3
    last = change(cluster, "4")
    cluster.run(ms=0)
    assert versions(cluster) == [last] * 3


def test_a_broker_that_is_held_stays_so_when_it_starts_again(replicas: Make) -> None:
    cluster = replicas()
    broker = cluster.cluster.broker(2)
    broker.hold_metadata()
    cluster.cluster.kill(2)
    cluster.run(ms=10_000)
    cluster.cluster.restart(2)
    cluster.run(ms=5_000)
    assert broker.metadata_version == -1
    broker.resume_metadata()
    cluster.settle()


def test_a_broker_that_is_too_far_behind_loads_a_snapshot(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.kill(3)
    cluster.run(ms=10_000)
    log = cluster.cluster.controller.metadata_log
    for value in range(3):
        change(cluster, str(value))
        cluster.run(ms=1)
        log.make_snapshot()
    assert log.start_offset > 0
    cluster.cluster.restart(3)
    cluster.settle()
    requested = [each for each in cluster.journal.events_of(RequestReceived) if each.api == "FetchSnapshot"]
    assert [(each.client_id, each.api_version) for each in requested] == [("broker-3", 1)]
    images = [broker.metadata_cache.image for broker in cluster.cluster.brokers.values()]
    assert images[2] == images[0]


def test_a_snapshot_may_come_in_parts(replicas: Make) -> None:
    cluster = replicas()
    controller = cluster.cluster.controller
    snapshot = controller.metadata_log.make_snapshot()
    wanted = SnapshotId(end_offset=snapshot.id.end_offset, epoch=snapshot.id.epoch)
    parts = b""
    while len(parts) < len(snapshot.encode()):
        request = fetch_snapshot_request(
            2, cluster_id=cluster.cluster.cluster_id, snapshot_id=wanted, position=len(parts), leader_epoch=1
        )
        request.max_bytes = 100
        response = controller.fetch_snapshot(request)
        read = FetchSnapshotResponse.decode(1, response.encode(1)).topics[0].partitions[0]
        assert (read.error_code, read.size, read.position) == (0, len(snapshot.encode()), len(parts))
        parts += bytes(read.unaligned_records)
    assert parts == snapshot.encode()


def test_a_snapshot_that_is_not_there_and_a_position_outside_are_refused(replicas: Make) -> None:
    cluster = replicas()
    controller = cluster.cluster.controller
    snapshot = controller.metadata_log.make_snapshot()
    for end_offset, position, epoch, error in (
        (1, 0, 1, ErrorCode.SNAPSHOT_NOT_FOUND),
        (snapshot.id.end_offset, 10**6, 1, ErrorCode.POSITION_OUT_OF_RANGE),
        (snapshot.id.end_offset, 0, 0, ErrorCode.FENCED_LEADER_EPOCH),
        (snapshot.id.end_offset, 0, 2, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ):
        request = fetch_snapshot_request(
            2,
            cluster_id=cluster.cluster.cluster_id,
            snapshot_id=SnapshotId(end_offset=end_offset, epoch=1),
            position=position,
            leader_epoch=epoch,
        )
        response = controller.fetch_snapshot(request)
        assert response.topics[0].partitions[0].error_code is error


def test_a_fetch_of_bytes_holds_the_batches_of_the_log(replicas: Make) -> None:
    cluster = replicas()
    response = fetch(cluster)
    (partition,) = response.responses[0].partitions
    assert isinstance(partition.records, MetadataRecords)
    partition.records = partition.records.encoded()
    log = cluster.cluster.controller.metadata_log
    read = FetchResponse.decode(17, response.encode(17)).responses[0].partitions[0]
    assert (read.high_watermark, read.log_start_offset) == (log.end_offset, 0)
    assert (read.current_leader.leader_id, read.current_leader.leader_epoch) == (1, 1)
    assert [each.last_offset for each in decode_batches(bytes(read.records))] == [
        batch.last_offset for batch in log.batches
    ]


def test_a_fetch_is_refused_for_its_cluster_and_its_epoch(replicas: Make) -> None:
    cluster = replicas()
    assert fetch(cluster, cluster_id="another").error_code is ErrorCode.INCONSISTENT_CLUSTER_ID
    for epoch, error in ((0, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        assert fetch(cluster, leader_epoch=epoch).responses[0].partitions[0].error_code is error


def test_a_broker_that_starts_learns_of_the_controllers_epoch_first(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.kill(2)
    cluster.run(ms=10_000)
    cluster.cluster.restart(2)
    cluster.settle()
    fetches = [
        each
        for each in cluster.journal.events_of(RequestReceived)
        if (each.api, each.broker_id, each.client_id) == ("Fetch", CONTROLLER_ID, "broker-2")
    ]
    assert {each.api_version for each in fetches} == {18}
