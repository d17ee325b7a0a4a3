"""A broker's log directories on a virtual disk: the fixture `machine`."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.log.files.file_log import FileReplicaLog
from broker_sim.log.files.file_storage import FileStorage
from broker_sim.topic_partition import TopicPartition
from protocol_specs.records.record_batch import RecordBatchBuilder, read_records
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.log.append_results import PartitionAppend
    from sim_runtime.disk import Disk

NOW_MS = 1_767_225_600_000
TOPIC_ID = bytes(range(16))
ORDERS = TopicPartition("orders", 0)
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def batch(*values: int, producer: tuple[int, int, int] = (-1, -1, -1), timestamp_ms: int = NOW_MS) -> bytes:
    """One batch; `producer` is (id, epoch, base sequence)."""
    producer_id, producer_epoch, base_sequence = producer
    builder = RecordBatchBuilder(producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence)
    for value in values:
        builder.append(timestamp_ms, None, struct.pack(">q", value))
    return builder.build()


class Machine:
    """A disk and the storage of broker 1 on it, which lives until it is stopped, killed, or without power."""

    def __init__(
        self,
        *,
        config: Mapping[str, str] | None = None,
        topic_config: Mapping[str, str] | None = None,
        disk: Disk | None = None,
        root: str = "/data",
        directories: int = 1,
        release: str = "4.3.1",
    ) -> None:
        self.disk = VirtualDisk() if disk is None else disk
        self.reactor = VirtualReactor()
        self.random = random.Random(1)
        self.names = [f"{root}/{index}" for index in range(directories)]
        self.broker_config = BrokerConfig.parse({"log.dirs": ",".join(self.names), **(config or {})}, release=release)
        self.topic_config = dict(topic_config or {})
        self.offline: list[str] = []
        self.storage = self.start()

    def start(self, *, cluster_id: str = CLUSTER_ID, broker_id: int = 1) -> FileStorage:
        """A new process on the same disk."""
        self.storage = FileStorage(
            self.broker_config,
            disk=self.disk,
            reactor=self.reactor,
            cluster_id=cluster_id,
            broker_id=broker_id,
            now_ms=self.now_ms,
            random=self.random,
        )
        self.storage.directory_failed = self.offline.append
        self.storage.open(self.now_ms())
        return self.storage

    def now_ms(self) -> int:
        return round(self.reactor.seconds() * 1000)

    def stop(self) -> None:
        """End in order."""
        self.storage.close(self.now_ms(), clean_epoch=7)

    def kill(self) -> None:
        """End at once; the page cache stays."""
        self.storage.close(self.now_ms(), clean_epoch=None)

    def lose_power(self) -> None:
        self.kill()
        self.storage.lose_power(self.random)

    def log(self, topic_partition: TopicPartition = ORDERS) -> FileReplicaLog:
        found = self.storage.get_or_create(topic_partition, TOPIC_ID, self.topic_config, self.now_ms())
        assert isinstance(found, FileReplicaLog)
        return found

    def append(
        self, *values: int, leader_epoch: int = 0, producer: tuple[int, int, int] = (-1, -1, -1)
    ) -> PartitionAppend:
        return self.log().append_as_leader(
            batch(*values, producer=producer), leader_epoch=leader_epoch, now_ms=self.now_ms()
        )

    def values(self) -> list[int]:
        """Return the records of the log, in order."""
        records = [record for each in self.log().batches() for record in read_records(each.data)]
        return [struct.unpack(">q", record.value or b"")[0] for record in records]

    def files(self, topic_partition: TopicPartition = ORDERS) -> list[str]:
        return self.disk.list_directory(self.log(topic_partition).path)


@pytest.fixture
def machine() -> Machine:
    return Machine()
