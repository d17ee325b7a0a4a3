"""The files that an action on a virtual disk covers, and the bits that it flips."""

from __future__ import annotations

import pytest

from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.log_files import LogFiles
from broker_sim.faults.rule import NoEffect, RuleError
from sim_runtime.virtual_disk import VirtualDisk

SEGMENT = f"{0:020d}"


class Storage:
    def __init__(self) -> None:
        self.reloaded: list[tuple[str, int]] = []

    def reload(self, path: str, position: int, /) -> None:
        self.reloaded.append((path, position))


@pytest.fixture
def storage() -> Storage:
    return Storage()


@pytest.fixture
def files(storage: Storage) -> LogFiles:
    disk = VirtualDisk()
    for directory in ("/d/t-0", "/d/t-1", "/d/a.b-0", "/d/__cluster_metadata-0", "/d/t-0.1f-delete", "/other/t-0"):
        disk.make_directory(directory)
        for kind in ("log", "index"):
            disk.open(f"{directory}/{SEGMENT}.{kind}").append(bytes(4))
    return LogFiles(disk, ["/d"], storage)


def covered(files: LogFiles, topic: str | None, partition: int | None, kind: str = "log") -> list[str]:
    return [
        path.removeprefix("/d/").partition("/")[0] for path in files._disk.files(files.covers(topic, partition, kind))
    ]


def test_files_of_topics_and_partitions_are_covered_but_those_of_the_metadata(files: LogFiles) -> None:
    assert covered(files, None, None) == ["a.b-0", "t-0", "t-1"]
    assert covered(files, "t", None) == ["t-0", "t-1"]
    assert covered(files, None, 1) == ["t-1"]
    assert covered(files, "a.b", 0) == ["a.b-0"]
    assert covered(files, "axb", 0) == []
    assert covered(files, "t", 0, "snapshot") == []


@pytest.mark.parametrize(("place", "path", "position"), [(0, "/d/t-0", 0), (0.5, "/d/t-1", 0), (1, "/d/t-1", 3)])
def test_a_place_is_a_share_of_all_bytes(
    files: LogFiles, storage: Storage, place: float, path: str, position: int
) -> None:
    assert files.flip_bit(files.covers("t", None, "log"), place, 0) == f"{path}/{SEGMENT}.log"
    assert storage.reloaded == [(f"{path}/{SEGMENT}.log", position)]


def test_no_bit_flips_where_there_is_no_file(files: LogFiles) -> None:
    with pytest.raises(NoEffect):
        files.flip_bit(files.covers("none", None, "log"), 0, 0)


def test_a_kind_of_files_is_one_of_those_that_logs_have() -> None:
    with pytest.raises(RuleError, match="timeindex"):
        parse_rule({"act": {"read_error": {"broker": 1, "file": "checkpoint"}}})
