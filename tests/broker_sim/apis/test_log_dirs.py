"""DescribeLogDirs and AlterReplicaLogDirs over several directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.topic_partition import TopicPartition
from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol_specs.messages.describe_log_dirs import DescribeLogDirsRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

    Bench = Callable[..., ApiBench]

TWO_DIRS = {"log.dirs": "/data/one, /data/two/"}
TOPIC = TopicSpec(name="t", partitions=4, replication_factor=1)


def described(bench: ApiBench) -> dict[str, list[int]]:
    response = bench.exchange(DescribeLogDirsRequest(topics=None), 3)
    return {
        result.log_dir: sorted(each.partition_index for topic in result.topics for each in topic.partitions)
        for result in response.results
    }


def move(bench: ApiBench, path: str, topic: str, *partitions: int) -> list[int]:
    wanted = AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=list(partitions))])
    response = bench.exchange(AlterReplicaLogDirsRequest(dirs=[wanted]), 2)
    return [each.error_code for result in response.results for each in result.partitions]


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_new_logs_go_where_the_fewest_are(bench: Bench, release: str) -> None:
    started = bench(brokers=1, topics=[TOPIC], config=TWO_DIRS, release=release)
    assert described(started) == {"/data/one": [0, 2], "/data/two": [1, 3]}


def test_a_replica_moves_to_another_directory_with_its_bytes(bench: Bench) -> None:
    started = bench(brokers=1, topics=[TOPIC], config=TWO_DIRS)
    assert move(started, "/data/two", "t", 0, 1) == [ErrorCode.NONE, ErrorCode.NONE]
    assert described(started) == {"/data/one": [2], "/data/two": [0, 1, 3]}


def test_a_later_replica_goes_to_the_requested_directory(bench: Bench) -> None:
    started = bench(brokers=1, topics=[TOPIC], config=TWO_DIRS)
    assert move(started, "/data/two", "later", 0) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    started.cluster.create_topic(TopicSpec(name="later", partitions=1, replication_factor=1))
    started.settle()
    storage = started.cluster.broker(1).storage
    assert storage.directories.of(TopicPartition("later", 0)) == "/data/two"


def test_a_deleted_topic_leaves_its_directory(bench: Bench) -> None:
    started = bench(brokers=1, topics=[TOPIC], config=TWO_DIRS)
    started.cluster.delete_topic("t")
    started.settle()
    assert described(started) == {"/data/one": [], "/data/two": []}


def test_unknown_directories_are_refused(bench: Bench) -> None:
    started = bench(brokers=1, topics=[TOPIC], config=TWO_DIRS)
    assert move(started, "/data/three", "t", 0) == [ErrorCode.LOG_DIR_NOT_FOUND]


def test_cordoned_directories_are_shown(bench: Bench) -> None:
    started = bench(brokers=1, topics=[TOPIC], config=TWO_DIRS | {"cordoned.log.dirs": "/data/two/"})
    response = started.exchange(DescribeLogDirsRequest(topics=[]), 5)
    assert [(each.log_dir, each.is_cordoned) for each in response.results] == [
        ("/data/one", False),
        ("/data/two", True),
    ]
