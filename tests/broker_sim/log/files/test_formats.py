"""The small files byte for byte, as a real broker writes them, and the errors of unreadable ones."""

from __future__ import annotations

from collections import deque

import pytest

from broker_sim.log.files.checkpoint_files import epochs_to_bytes, offsets_to_bytes, read_epochs, read_offsets
from broker_sim.log.files.errors import CorruptFile
from broker_sim.log.files.index_entries import parse_offset_index, parse_time_index
from broker_sim.log.files.producer_snapshot_file import snapshot_from_bytes, snapshot_to_bytes
from broker_sim.log.files.property_files import (
    MetaProperties,
    clean_shutdown_to_bytes,
    partition_metadata_to_bytes,
    read_meta_properties,
    read_partition_metadata,
)
from broker_sim.log.leader_epoch_cache import EpochEntry
from broker_sim.log.producer_state import BatchMetadata, ProducerStateEntry
from broker_sim.topic_partition import TopicPartition
from protocol_specs import uuids
from sim_runtime.virtual_disk import VirtualDisk

PATH = "/file"
TOPIC_ID = uuids.from_text("0mbBJCaxTFiNRbiodmGD2Q")


@pytest.fixture
def disk() -> VirtualDisk:
    return VirtualDisk()


def test_offsets_by_partition(disk: VirtualDisk) -> None:
    offsets = {TopicPartition("orders", 0): 102, TopicPartition("a-b.c_d", 12): 0}
    disk.replace(PATH, offsets_to_bytes(offsets))
    assert disk.read(PATH) == b"0\n2\norders 0 102\na-b.c_d 12 0\n"
    assert read_offsets(disk, PATH) == offsets
    assert read_offsets(disk, "/none") == {}


def test_epochs(disk: VirtualDisk) -> None:
    entries = [EpochEntry(0, 0), EpochEntry(3, 17)]
    disk.replace(PATH, epochs_to_bytes(entries))
    assert disk.read(PATH) == b"0\n2\n0 0\n3 17\n"
    assert read_epochs(disk, PATH) == entries


def test_an_empty_checkpoint_is_one_without_entries(disk: VirtualDisk) -> None:
    disk.replace(PATH, b"")
    assert read_offsets(disk, PATH) == {}


@pytest.mark.parametrize(
    ("data", "position", "problem"),
    [
        (b"1\n0\n", 0, "checkpoint version '1' is not 0"),
        (b"0\n", 2, "a checkpoint's second line is the number of its entries"),
        (b"0\n2\norders 0 1\n", 2, "2 entries are expected, 1 are there"),
        (b"0\n2\norders 0 1\norders x 1\n", 15, "malformed checkpoint line 'orders x 1'"),
        (b"0\n1\norders 0\n", 4, "malformed checkpoint line 'orders 0'"),
    ],
)
def test_a_wrong_checkpoint_is_named_with_its_byte(disk: VirtualDisk, data: bytes, position: int, problem: str) -> None:
    disk.replace(PATH, data)
    with pytest.raises(CorruptFile) as refused:
        read_offsets(disk, PATH)
    assert str(refused.value) == f"/file: byte {position}: {problem}"


def test_meta_properties(disk: VirtualDisk) -> None:
    written = MetaProperties(cluster_id="A4UkQz_guIv8lnraDOCjlg", node_id=1, directory_id=TOPIC_ID)
    disk.replace(PATH, written.to_bytes())
    assert b"directory.id=0mbBJCaxTFiNRbiodmGD2Q\nversion=1\n" in disk.read(PATH)
    assert read_meta_properties(disk, PATH) == written
    disk.replace(PATH, b"#\n#Sat Nov 21 18:56:14 UTC 2026\nnode.id=1\nversion=1\ncluster.id=x\n")
    assert read_meta_properties(disk, PATH) == MetaProperties(cluster_id="x", node_id=1, directory_id=None)
    assert read_meta_properties(disk, "/none") is None


@pytest.mark.parametrize("data", [b"", b"node.id=1\n", b"cluster.id=x\n", b"cluster.id=x\nnode.id=one\n"])
def test_meta_properties_without_a_cluster_or_a_broker_are_refused(disk: VirtualDisk, data: bytes) -> None:
    disk.replace(PATH, data)
    with pytest.raises(CorruptFile):
        read_meta_properties(disk, PATH)


def test_partition_metadata(disk: VirtualDisk) -> None:
    disk.replace(PATH, partition_metadata_to_bytes(TOPIC_ID))
    assert disk.read(PATH) == b"version: 0\ntopic_id: 0mbBJCaxTFiNRbiodmGD2Q"
    assert read_partition_metadata(disk, PATH) == TOPIC_ID
    for wrong in (b"", b"version: 1\ntopic_id: 0mbBJCaxTFiNRbiodmGD2Q", b"version: 0\ntopic_id: short"):
        disk.replace(PATH, wrong)
        with pytest.raises(CorruptFile):
            read_partition_metadata(disk, PATH)


def test_the_mark_of_an_orderly_stop() -> None:
    assert clean_shutdown_to_bytes(13) == b'{"version":0,"brokerEpoch":13}'


def test_a_snapshot_keeps_the_last_batch_of_each_producer() -> None:
    batches = deque([BatchMetadata(0, 1, 10, 11, 5), BatchMetadata(2, 4, 12, 14, 6)], 5)
    entry = ProducerStateEntry(producer_id=7, producer_epoch=2, last_timestamp=6, batches=batches)
    control_only = ProducerStateEntry(producer_id=8, producer_epoch=1, last_timestamp=9)
    data = snapshot_to_bytes({7: entry, 8: control_only})
    assert len(data) == 2 + 4 + 4 + 2 * 46
    read = snapshot_from_bytes(data, PATH)
    assert read[7].batches == deque([BatchMetadata(2, 4, 12, 14, 6)])
    assert (read[7].producer_epoch, read[7].last_timestamp) == (2, 6)
    assert (read[8].producer_epoch, read[8].last_sequence) == (1, -1)


def test_sequences_of_a_snapshot_wrap() -> None:
    batches = deque([BatchMetadata(2**31 - 2, 1, 10, 13, 5)], 5)
    entry = ProducerStateEntry(producer_id=7, producer_epoch=0, last_timestamp=5, batches=batches)
    assert snapshot_from_bytes(snapshot_to_bytes({7: entry}), PATH)[7].batches == batches


def test_a_wrong_snapshot_is_refused() -> None:
    data = snapshot_to_bytes({7: ProducerStateEntry(producer_id=7)})
    for wrong in (data[:-1], data[:-1] + b"\1", b"\0\2" + data[2:], b""):
        with pytest.raises(CorruptFile):
            snapshot_from_bytes(wrong, PATH)


def test_indexes_grow() -> None:
    assert parse_offset_index(bytes.fromhex("0000000100000005 0000000200000009"), 10) == [(1, 5), (2, 9)]
    assert parse_offset_index(bytes.fromhex("0000000100000005 0000000200000009"), 9) is None
    assert parse_offset_index(bytes.fromhex("0000000200000005 0000000200000009"), 10) is None
    assert parse_offset_index(bytes(7), 10) is None
    assert parse_time_index(bytes.fromhex("0000000000000001 00000001 0000000000000002 00000001")) == [(1, 1), (2, 1)]
    assert parse_time_index(bytes.fromhex("0000000000000002 00000001 0000000000000002 00000001")) is None
    assert parse_time_index(bytes(13)) is None
