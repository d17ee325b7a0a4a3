"""The directories of several controllers: `controller-3000`, ..., each with its own log and votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.metadata.metadata_log import MetadataBatch
from broker_sim.quorum.raft_files import FileRaftStorage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.metadata.metadata_image import MetadataImage
    from sim_runtime.disk import Disk

__all__ = ["ControllerDirectories"]


class ControllerDirectories:
    """`prefix` begins the names of the directories; the voters write their content themselves."""

    def __init__(self, disk: Disk, prefix: str, *, cluster_id: str) -> None:
        self._disk = disk
        self._prefix = prefix
        self._cluster_id = cluster_id
        self._storages: list[FileRaftStorage] = []

    def open(self, node_id: int, voters: Sequence[int], new_directory_id: bytes) -> FileRaftStorage:
        """One voter's directory. Raises BrokerSimError."""
        storage = FileRaftStorage(
            self._disk,
            f"{self._prefix}-{node_id}",
            node_id=node_id,
            voters=voters,
            cluster_id=self._cluster_id,
            new_directory_id=new_directory_id,
        )
        self._storages.append(storage)
        return storage

    def read(self, empty: MetadataImage) -> MetadataImage:
        """Return the image of the newest of the logs."""
        image = empty
        newest = max((storage.log for storage in self._storages), key=lambda log: (log.last_epoch, log.end_offset))
        for batch in newest.batches:
            if isinstance(batch.content, MetadataBatch):
                image = batch.content.applied_to(image)
            else:
                image = image.with_version(batch.last_offset)
        return image

    def follow(self, controller: Any) -> None:
        """The voters write by themselves."""

    def close(self) -> None:
        """Close the files."""
        for storage in self._storages:
            storage.close()
