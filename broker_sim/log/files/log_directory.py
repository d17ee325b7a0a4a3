"""One of `log.dirs` on disk: its owner, its lock, its checkpoints, and its failure. Mirrors LogManager with
LogDirFailureChannel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_sim.log.files.checkpoint_files import offsets_to_bytes, read_offsets
from broker_sim.log.files.errors import ForeignDirectory
from broker_sim.log.files.property_files import (
    CLEAN_SHUTDOWN_FILE,
    KRAFT_VERSION,
    LOCK_FILE,
    META_PROPERTIES_FILE,
    ZOOKEEPER_VERSION,
    MetaProperties,
    clean_shutdown_to_bytes,
    read_meta_properties,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.faults.slow_disks import DiskPace
    from broker_sim.topic_partition import TopicPartition
    from sim_runtime.disk import Disk, DiskLock

_log = Logger()

ID_BYTES: Final = 16


class LogDirectory:
    """`failed` is called on every error; the first one takes the directory offline and calls `on_failure`."""

    def __init__(
        self, path: str, *, disk: Disk, behaviour: ReleaseBehaviour, on_failure: Callable[[LogDirectory], None]
    ) -> None:
        self.path = path
        self.disk = disk
        self.behaviour = behaviour
        self.directory_id = bytes(ID_BYTES)
        self.offline = False
        self.pace: DiskPace | None = None
        """The delays of its disk, if it is slow."""
        self.was_clean = False
        """True after an orderly stop of the last run."""
        self._on_failure = on_failure
        self._lock: DiskLock | None = None
        self._written: dict[str, bytes] = {}

    def open(self, *, cluster_id: str, broker_id: int, random: Random) -> None:
        """Lock the directory and check its owner; format one without an owner.

        Raises:
            ForeignDirectory: The directory belongs to another owner.
            CorruptFile: A file cannot be read.
            OSError: The disk fails.
        """
        self.disk.make_directory(self.path)
        try:
            self._lock = self.disk.lock(f"{self.path}/{LOCK_FILE}")
        except BlockingIOError:
            raise ForeignDirectory(
                f"{self.path}/{LOCK_FILE} is locked: another broker, of this process or another, uses the directory"
            ) from None
        try:
            if self.behaviour.directories_name_their_node:
                self._identify(cluster_id, broker_id, random)
            clean_file = f"{self.path}/{CLEAN_SHUTDOWN_FILE}"
            self.was_clean = self.disk.is_file(clean_file)
            if self.was_clean:
                self.disk.remove(clean_file)
        except BaseException:
            self.unlock()
            raise

    def _identify(self, cluster_id: str, broker_id: int, random: Random) -> None:
        behaviour = self.behaviour
        path = f"{self.path}/{META_PROPERTIES_FILE}"
        known = read_meta_properties(self.disk, path)
        version = ZOOKEEPER_VERSION if behaviour.zookeeper else KRAFT_VERSION
        named = cluster_id if behaviour.directories_name_their_cluster else None
        if known is not None:
            if known.version != version:
                mode = "with ZooKeeper" if behaviour.zookeeper else "of KRaft"
                raise ForeignDirectory(f"{path}: version={known.version}, but a cluster {mode} has version={version}")
            if known.cluster_id not in (None, cluster_id):
                raise ForeignDirectory(
                    f"{path}: cluster.id={known.cluster_id} is another cluster than this one, {cluster_id}"
                )
            if known.node_id != broker_id:
                raise ForeignDirectory(f"{path}: node.id={known.node_id} is another broker than this one, {broker_id}")
            if known.directory_id is not None:
                self.directory_id = known.directory_id
                return
            if behaviour.zookeeper and known.cluster_id == named:
                return
        directory_id = None
        if not behaviour.zookeeper:
            self.directory_id = directory_id = random.randbytes(ID_BYTES)
        own = MetaProperties(cluster_id=named, node_id=broker_id, directory_id=directory_id, version=version)
        self.disk.replace(path, own.to_bytes())

    def failed(self, error: OSError) -> None:
        """Take the directory offline: a read or a write has failed."""
        if not self.offline:
            _log.error("log directory {path} has failed: {error}", path=self.path, error=error)
            self.offline = True
            self._on_failure(self)

    def read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """Return the offsets of one checkpoint.

        Raises:
            CorruptFile: A file cannot be read.
            OSError: The disk fails.
        """
        return read_offsets(self.disk, f"{self.path}/{name}")

    def write_checkpoint(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Write these offsets if they have changed; a missing directory is an error in any case."""
        if self.offline:
            return
        data = offsets_to_bytes(offsets)
        path = f"{self.path}/{name}"
        try:
            if self._written.get(name) != data:
                self.disk.replace(path, data)
                self._written[name] = data
            else:
                self.disk.size(path)
        except OSError as error:
            self.failed(error)

    def note_clean_shutdown(self, broker_epoch: int) -> None:
        """Write the clean shutdown file, the last step of an orderly stop: the next start skips recovery."""
        if not self.offline:
            epoch = broker_epoch if self.behaviour.clean_shutdown_names_epoch else None
            try:
                self.disk.replace(f"{self.path}/{CLEAN_SHUTDOWN_FILE}", clean_shutdown_to_bytes(epoch))
            except OSError as error:
                self.failed(error)

    def unlock(self) -> None:
        """Unlock the directory."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()
