"""AlterReplicaLogDirs, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol_specs.messages.describe_log_dirs import DescribeLogDirsRequest
from tests.differential.case import case
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def move(*wanted: tuple[str, str, list[int]]) -> AlterReplicaLogDirsRequest:
    """A request of (directory, topic, partitions), a directory entry each."""
    return AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=partitions)])
            for path, topic, partitions in wanted
        ]
    )


def _directory(probe: Probe) -> str:
    response: Any = probe.quiet(DescribeLogDirsRequest(topics=[]), 3)
    return str(response.results[0].log_dir)


@case()
def every_version(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    directory = _directory(probe)
    for version in all_versions(AlterReplicaLogDirsRequest):
        probe.exchange(move((directory, topic, [0, 1])), version, note="where it is already")
        probe.exchange(move(("/none", topic, [0, 1])), version, note="a directory that does not exist")


@case()
def what_does_not_exist(probe: Probe) -> None:
    topic = probe.topic()
    directory = _directory(probe)
    for version in all_versions(AlterReplicaLogDirsRequest):
        for path in (directory, "/none"):
            for name, index in ((f"{probe.name}-none", 0), (topic, 1), (topic, -1), ("", 0), ("a b", 0)):
                probe.exchange(move((path, name, [index])), version, note=f"{path == directory} {name} {index}")


@case()
def odd_paths(probe: Probe) -> None:
    topic = probe.topic()
    directory = _directory(probe)
    for note, path in {
        "nothing": "",
        "relative": "none",
        "a slash more": directory + "/",
        "a space more": directory + " ",
        "a dot more": directory + "/.",
        "above": directory.rpartition("/")[0],
    }.items():
        probe.exchange(move((path, topic, [0])), 2, note=note)


@case()
def long_names(probe: Probe) -> None:
    directory = _directory(probe)
    for length in (212, 213, 214, 215, 249, 250):
        for path in (directory, "/none"):
            probe.exchange(move((path, "x" * length, [0])), 2, note=f"{length} {path == directory}")
    probe.exchange(move((directory, "y" * 213, [10])), 2, note="a partition of two digits")


@case()
def nothing_at_all(probe: Probe) -> None:
    topic = probe.topic()
    directory = _directory(probe)
    for version in all_versions(AlterReplicaLogDirsRequest):
        probe.exchange(AlterReplicaLogDirsRequest(dirs=[]), version)
        probe.exchange(AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=directory, topics=[])]), version)
        probe.exchange(move((directory, topic, [])), version)


@case()
def named_twice(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    directory = _directory(probe)
    probe.exchange(move((directory, topic, [0, 0])), 2)
    probe.exchange(move((directory, topic, [0]), (directory, topic, [1])), 2, note="the directory twice")
    probe.exchange(move(("/none", topic, [0]), (directory, topic, [0])), 2, note="no directory, then its own")
    probe.exchange(move((directory, topic, [0]), ("/none", topic, [0])), 2, note="its own, then no directory")
    probe.exchange(move(("/none", topic, [0]), (directory, topic, [1])), 2, note="one of each")


@case(brokers=3)
def a_broker_without_the_replica(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    leaders = {each.partition_index: each.leader_id for each in probe.await_topic(topic, 3).topics[0].partitions}
    others = [index for index, leader in leaders.items() if leader != 1]
    directory = _directory(probe)
    for version in all_versions(AlterReplicaLogDirsRequest):
        for path in (directory, "/none"):
            probe.exchange(
                move((path, topic, [others[0]])),
                version,
                only=lambda response: [each["errorCode"] for each in response["results"][0]["partitions"]],
            )
