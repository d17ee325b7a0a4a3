"""Checkpoints: small text files of a version, a count, and one line per entry. Mirrors CheckpointFile with
OffsetCheckpointFile and LeaderEpochCheckpointFile.

Offsets by partition are in one file per directory (`recovery-point-offset-checkpoint` and others), leader epochs in
one file per log. Every release that this simulator knows writes version 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.log.files.errors import CorruptFile
from broker_sim.log.leader_epoch_cache import EpochEntry
from broker_sim.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sim_runtime.disk import Disk

RECOVERY_POINT_FILE: Final = "recovery-point-offset-checkpoint"
REPLICATION_FILE: Final = "replication-offset-checkpoint"
LOG_START_FILE: Final = "log-start-offset-checkpoint"
CLEANER_FILE: Final = "cleaner-offset-checkpoint"
LEADER_EPOCH_FILE: Final = "leader-epoch-checkpoint"
VERSION: Final = 0


def offsets_to_bytes(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The file with an offset for each partition."""
    return _to_bytes(f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """Return the offsets of a file, none if it does not exist.

    Raises:
        CorruptFile: A file cannot be read.
    """
    offsets = {}
    for position, line in _read(disk, path):
        topic, *numbers = line.split(" ")
        partition, offset = _numbers(path, position, line, numbers)
        offsets[TopicPartition(topic, partition)] = offset
    return offsets


def epochs_to_bytes(entries: Iterable[EpochEntry]) -> bytes:
    """The file with the start offset of each epoch."""
    return _to_bytes(f"{epoch} {start_offset}" for epoch, start_offset in entries)


def read_epochs(disk: Disk, path: str) -> list[EpochEntry]:
    """Return the epochs of a file, none if it does not exist.

    Raises:
        CorruptFile: A file cannot be read.
    """
    return [EpochEntry(*_numbers(path, position, line, line.split(" "))) for position, line in _read(disk, path)]


def _to_bytes(lines: Iterable[str]) -> bytes:
    entries = list(lines)
    return "".join(f"{line}\n" for line in (VERSION, len(entries), *entries)).encode()


def _read(disk: Disk, path: str) -> list[tuple[int, str]]:
    """Each entry with the byte at which it begins."""
    if not disk.is_file(path):
        return []
    data = disk.read(path)
    if not data:
        return []  # Kafka makes its checkpoints empty
    lines: list[tuple[int, str]] = []
    position = 0
    for line in data.decode("utf-8", "replace").split("\n"):
        lines.append((position, line))
        position += len(line.encode()) + 1
    _, version = lines[0]
    if version != str(VERSION):
        raise CorruptFile(path, 0, f"checkpoint version {version!r} is not {VERSION}")
    if len(lines) < 2 or not lines[1][1].isdecimal():
        raise CorruptFile(path, lines[-1][0], "a checkpoint's second line is the number of its entries")
    count = int(lines[1][1])
    entries = [entry for entry in lines[2:] if entry[1]]
    if len(entries) != count:
        raise CorruptFile(path, lines[1][0], f"{count} entries are expected, {len(entries)} are there")
    return entries


def _numbers(path: str, position: int, line: str, texts: list[str]) -> tuple[int, int]:
    try:
        first, second = map(int, texts)
    except ValueError:
        raise CorruptFile(path, position, f"malformed checkpoint line {line!r}") from None
    return first, second
