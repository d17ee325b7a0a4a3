"""The metadata log and its snapshots as real Kafka's DumpLogSegments reads them: every record, in its version."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from broker_sim.cluster import Cluster, TopicSpec
from protocol_specs.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from protocol_specs.schemas.leader_change_message import LeaderChangeMessage
from sim_runtime.world import World
from tests.interop.kafka_release import RELEASES
from tests.interop.test_log_files import dump

if TYPE_CHECKING:
    from pathlib import Path

    from broker_sim.metadata.metadata_log import MetadataLog


def lived_through(release: str) -> MetadataLog:
    """The log of a cluster that has seen topics and users come and go, a broker die and come back, quotas and ids."""
    world = World(0)
    cluster = Cluster(
        reactor=world.reactor,
        streams=world.streams,
        topics=[
            TopicSpec(name="orders", partitions=3, replication_factor=3, configs={"min.insync.replicas": "2"}),
            TopicSpec(name="returns", partitions=1, replication_factor=1),
        ],
        release=release,
        listen=False,
    )
    cluster.storage_format.add_scram("SCRAM-SHA-512=[name=ann,password=a]", world.streams.stream("salts"))
    cluster.start()
    quota = EntryData(
        entity=[EntityData(entity_type="user", entity_name=None)],
        ops=[OpData(key="producer_byte_rate", value=1000.0, remove=False)],
    )
    broker = cluster.broker(2)
    broker.forward_to_controller(AlterClientQuotasRequest(entries=[quota], validate_only=False), timeout_ms=1_000)
    broker.producer_ids.generate()
    cluster.kill(1)
    world.run_for(ms=12_000)
    cluster.restart(1)
    world.run_for(ms=5_000)
    cluster.delete_topic("returns")
    world.run_until(cluster.admin.create_scram_user("bob", "b"))
    world.run_until(cluster.admin.delete_scram_user("bob"))
    world.run_for(ms=2_000)
    cluster.close()
    return cluster.controller.metadata_log


@pytest.mark.parametrize("release", RELEASES)
def test_every_record_is_dumped_with_its_offset_type_and_version(release: str, tmp_path: Path) -> None:
    log = lived_through(release)
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(b"".join(batch.encode() for batch in log.batches))
    text = dump(release, "--cluster-metadata-decoder", "--files", str(file))
    assert "isvalid: false" not in text
    dumped = [
        (int(offset), json.loads(payload))
        for offset, payload in re.findall(r"^\| offset: (\d+).* payload: (\{.*\})$", text, re.MULTILINE)
    ]
    written = [each for each in log.records() if not isinstance(each.message, LeaderChangeMessage)]
    assert [(offset, _class_name(record["type"]), record["version"]) for offset, record in dumped] == [
        (each.offset, type(each.message).__name__, each.version) for each in written
    ]
    kinds = {type(each.message).__name__ for each in written}
    assert kinds >= {
        "PartitionChangeRecord",
        "ClientQuotaRecord",
        "ProducerIdsRecord",
        "RemoveTopicRecord",
        "NoOpRecord",
        "UserScramCredentialRecord",
        "RemoveUserScramCredentialRecord",
    }


@pytest.mark.parametrize("release", RELEASES)
def test_a_snapshot_is_dumped(release: str, tmp_path: Path) -> None:
    snapshot = lived_through(release).make_snapshot()
    file = tmp_path / f"{snapshot.id.end_offset:020d}-{snapshot.id.epoch:010d}.checkpoint"
    file.write_bytes(snapshot.encode())
    text = dump(release, "--cluster-metadata-decoder", "--files", str(file))
    assert "isvalid: false" not in text
    assert "SnapshotHeader" in text
    assert "SnapshotFooter" in text
    assert text.count('"type":"PARTITION_RECORD"') == 3
    assert text.count('"type":"REGISTER_BROKER_RECORD"') == 3
    assert re.findall(r'"type":"USER_SCRAM_CREDENTIAL_RECORD".*"name":"(\w+)"', text) == ["ann"]


def _class_name(record_type: str) -> str:
    return "".join(word.capitalize() for word in record_type.split("_"))
