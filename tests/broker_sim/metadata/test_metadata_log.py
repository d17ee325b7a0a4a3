"""Offsets, high watermark, truncation, snapshots and idle time of the metadata log."""

from __future__ import annotations

from typing import Any

import pytest

from broker_sim.config.config_resource import ConfigRecord, ConfigResource, ResourceType
from broker_sim.control.events import MetadataCommitted
from broker_sim.metadata.metadata_image import MetadataImage
from broker_sim.metadata.metadata_log import IMAGES_KEPT, MetadataBatch, MetadataLog, MetadataLogLimits
from broker_sim.metadata.metadata_log_codec import decode_batches, image_of_snapshot
from broker_sim.metadata.metadata_records import records_of_change
from protocol_specs.records.record_batch import iterate_batches
from protocol_specs.schemas.leader_change_message import LeaderChangeMessage, Voter

Make = Any
EMPTY = MetadataImage.empty("cluster").with_finalized_features({"metadata.version": 30})
BROKER = ConfigResource(ResourceType.BROKER, "1")


class Clock:
    def __init__(self) -> None:
        self.now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


def log_of(**limits: int) -> tuple[MetadataLog, Clock]:
    clock = Clock()
    log = MetadataLog(EMPTY, now_ms=clock, limits=MetadataLogLimits(**{"idle_interval_ms": 0, **limits}))
    voters = [Voter(voter_id=1)]
    log.append_leader_change(1, LeaderChangeMessage(leader_id=1, voters=voters, granting_voters=voters))
    return log, clock


def append(log: MetadataLog, value: str) -> MetadataBatch:
    image = log.image.with_configs([ConfigRecord(resource=BROKER, name="log.cleaner.threads", value=value)])
    return log.append(records_of_change(log.image, image), image)


def value_in(image: MetadataImage) -> str | None:
    return image.config_of(*BROKER).get("log.cleaner.threads")


def test_an_images_version_is_the_offset_of_its_last_record() -> None:
    log, _ = log_of()
    assert (log.image.version, log.end_offset, log.high_watermark) == (0, 1, 1)
    batch = append(log, "2")
    assert (batch.base_offset, batch.last_offset, log.image.version, log.committed_image.version) == (1, 1, 1, 1)
    assert [(each.offset, each.leader_epoch, type(each.message).__name__) for each in log.records()] == [
        (0, 1, "LeaderChangeMessage"),
        (1, 1, "ConfigRecord"),
    ]
    assert [each.offset for each in log.records(1)] == [1]


def test_what_a_quorum_has_not_acknowledged_is_not_committed_and_may_vanish() -> None:
    log, _ = log_of()
    handed_on: list[MetadataBatch] = []
    log.replicate = handed_on.append
    batches = [append(log, value) for value in ("2", "3", "4")]
    assert handed_on == batches
    assert (value_in(log.image), value_in(log.committed_image), log.high_watermark) == ("4", None, 1)
    assert log.read_committed(1) == []
    log.advance_high_watermark(2)
    assert (value_in(log.committed_image), log.read_committed(1)) == ("2", batches[:1])
    log.truncate_to(3)
    assert (value_in(log.image), log.end_offset) == ("3", 3)
    log.truncate_to(log.high_watermark)
    assert (value_in(log.image), log.end_offset) == ("2", 2)


def test_a_follower_has_the_leaders_image_from_its_batches_alone() -> None:
    leader, _ = log_of()
    append(leader, "2")
    append(leader, "3")
    follower = MetadataLog(EMPTY, now_ms=lambda: 0)
    for batch in decode_batches(b"".join(batch.encode() for batch in leader.batches)):
        follower.append_replicated(batch)
    assert value_in(follower.committed_image) is None
    follower.advance_high_watermark(leader.end_offset)
    assert follower.committed_image == leader.committed_image


def test_old_batches_have_no_image_and_lead_to_the_same_one() -> None:
    log, _ = log_of()
    for value in range(IMAGES_KEPT + 5):
        append(log, str(value))
    batches = log.batches
    assert [batch.image is None for batch in batches] == [True] * 6 + [False] * IMAGES_KEPT
    image = EMPTY
    for batch in batches:
        image = batch.applied_to(image)
    assert image == log.image


def test_a_snapshot_bounds_the_log_and_holds_what_went() -> None:
    log, _ = log_of(records_between_snapshots=10)
    for value in range(35):
        append(log, str(value))
    snapshot = log.snapshot
    assert snapshot is not None
    assert snapshot.id == (30, 1)
    assert (log.start_offset, log.batches[0].base_offset, log.end_offset) == (20, 20, 36)
    loaded = image_of_snapshot(snapshot.encode(), MetadataImage.empty("cluster"), end_offset=snapshot.id.end_offset)
    assert loaded == snapshot.image


def test_snapshots_may_be_made_by_bytes_and_by_time() -> None:
    log, _ = log_of(bytes_between_snapshots=300)
    sizes = [len(append(log, value * 20).encode()) for value in "123"]
    assert log.snapshot is not None
    assert sum(sizes) > 300
    log, clock = log_of(snapshot_interval_ms=5_000)
    append(log, "1")
    assert log.snapshot is None
    clock.now_ms += 5_000
    append(log, "2")
    assert log.snapshot is not None


def test_a_snapshot_is_a_file_between_header_and_footer() -> None:
    log, _ = log_of()
    append(log, "2")
    headers = [header for header, _ in iterate_batches(log.make_snapshot().encode())]
    assert [header.is_control for header in headers] == [True, False, True]
    assert headers[1].base_offset == 1


def test_the_no_ops_of_an_idle_controller_are_written_on_access() -> None:
    log, clock = log_of(idle_interval_ms=500)
    clock.now_ms += 2_600
    assert [type(each.message).__name__ for each in log.records(1)] == ["NoOpRecord"] * 5
    clock.now_ms += 300
    assert append(log, "2").base_offset == 6
    assert [batch.append_time_ms for batch in log.batches] == [1_000, 3_500, 3_900]


def test_one_that_does_not_lead_writes_no_no_ops() -> None:
    log, clock = log_of(idle_interval_ms=500)
    log.resign()
    clock.now_ms += 10_000
    assert log.end_offset == len(log.records()) == 1


def test_a_cluster_makes_snapshots_as_it_is_configured(replicas: Make) -> None:
    cluster = replicas(config={"metadata.log.max.record.bytes.between.snapshots": "1000"})
    assert cluster.cluster.controller.metadata_log.snapshot is not None
    assert replicas().cluster.controller.metadata_log.snapshot is None


def test_the_journal_counts_the_records_of_every_commit(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.delete_topic("t")
    (*_, last) = cluster.journal.events_of(MetadataCommitted)
    log = cluster.cluster.controller.metadata_log
    assert (last.records, last.last_offset, last.leader_epoch) == ("RemoveTopicRecord 1", log.end_offset - 1, 1)


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_an_image_is_written_in_the_versions_of_its_release(replicas: Make, release: str) -> None:
    records = replicas(release=release).cluster.controller.metadata_log.records()
    versions = {type(each.message).__name__: each.version for each in records}
    wanted = {"3.7.2": (3, 1, 0), "4.3.1": (4, 2, 3)}[release]
    names = ("RegisterBrokerRecord", "PartitionRecord", "BrokerRegistrationChangeRecord")
    assert tuple(versions[name] for name in names) == wanted
