"""The small files that identify a directory. Mirrors MetaProperties, PartitionMetadataFile and
CleanShutdownFileHandler.

`meta.properties` names cluster, broker and directory; `partition.metadata` a log's topic id; `.kafka_cleanshutdown`
is there from an orderly stop to the next start.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.log.files.errors import CorruptFile
from protocol_specs import uuids

if TYPE_CHECKING:
    from sim_runtime.disk import Disk

META_PROPERTIES_FILE: Final = "meta.properties"
PARTITION_METADATA_FILE: Final = "partition.metadata"
CLEAN_SHUTDOWN_FILE: Final = ".kafka_cleanshutdown"
LOCK_FILE: Final = ".lock"
UUID_TEXT_LENGTH: Final = 22
ZOOKEEPER_VERSION: Final = 0
KRAFT_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """Version 1 is that of KRaft, version 0 that of ZooKeeper, whose files older than 2.4 have no `cluster_id`.

    `directory_id` is None in files older than KIP-858, and where ZooKeeper is.
    """

    cluster_id: str | None
    node_id: int
    directory_id: bytes | None
    version: int = KRAFT_VERSION

    def to_bytes(self) -> bytes:
        """The file."""
        if self.version == ZOOKEEPER_VERSION:
            lines = [f"broker.id={self.node_id}", f"version={self.version}"]
        else:
            lines = [f"node.id={self.node_id}", f"version={self.version}"]
        if self.cluster_id is not None:
            lines.append(f"cluster.id={self.cluster_id}")
        if self.directory_id is not None:
            lines.insert(1, f"directory.id={uuids.to_text(self.directory_id)}")
        return "".join(f"{line}\n" for line in ("#", *lines)).encode()


def read_meta_properties(disk: Disk, path: str) -> MetaProperties | None:
    """Return the contents of the file, None if it does not exist.

    Raises:
        CorruptFile: A file cannot be read.
    """
    if not disk.is_file(path):
        return None
    values: dict[str, str] = {}
    for line in disk.read(path).decode("utf-8", "replace").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, value = line.partition("=")
            values[name.strip().replace(".", "_")] = value.strip()
    version = values.get("version", "").strip()
    if version not in ("0", "1"):
        raise CorruptFile(path, 0, f"version={version or None} is neither 0 nor 1")
    with_zookeeper = int(version) == ZOOKEEPER_VERSION
    node = "broker_id" if with_zookeeper else "node_id"
    missing = [name for name in (node, *(() if with_zookeeper else ("cluster_id",))) if name not in values]
    if missing or not values[node].lstrip("-").isdecimal():
        problem = f"{missing[0]} is missing" if missing else f"{node} is not a number"
        raise CorruptFile(path, 0, problem.replace("_", "."))
    directory_id = values.get("directory_id")
    return MetaProperties(
        cluster_id=values.get("cluster_id"),
        node_id=int(values[node]),
        directory_id=None if directory_id is None else _uuid(path, 0, directory_id),
        version=int(version),
    )


def partition_metadata_to_bytes(topic_id: bytes) -> bytes:
    """The file of one log."""
    return f"version: 0\ntopic_id: {uuids.to_text(topic_id)}".encode()


def read_partition_metadata(disk: Disk, path: str) -> bytes | None:
    """Return a log's topic id, None if the file is missing.

    Raises:
        CorruptFile: A file cannot be read.
    """
    if not disk.is_file(path):
        return None
    lines = disk.read(path).decode("utf-8", "replace").splitlines()
    if len(lines) < 2 or lines[0] != "version: 0" or not lines[1].startswith("topic_id: "):
        raise CorruptFile(path, 0, "expected 'version: 0' and 'topic_id: ...'")
    return _uuid(path, len(lines[0]) + 1, lines[1].removeprefix("topic_id: "))


def clean_shutdown_to_bytes(broker_epoch: int | None) -> bytes:
    """The file of an orderly stop; empty without an epoch, as before 3.7."""
    if broker_epoch is None:
        return b""
    return json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()


def _uuid(path: str, position: int, text: str) -> bytes:
    if len(text) != UUID_TEXT_LENGTH or not text.replace("-", "a").replace("_", "a").isalnum() or not text.isascii():
        raise CorruptFile(path, position, f"{text!r} is not an id")
    return uuids.from_text(text)
