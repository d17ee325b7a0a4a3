"""A voter's directory: `__cluster_metadata-0` with one segment, `quorum-state` and `meta.properties`. Mirrors
KafkaMetadataLog and FileQuorumStateStore.

Everything is durable when the voter goes on: a leader counts itself, and a follower fetches further, only after its
flush. The log is one segment from offset 0 on, without snapshots, because the voter's log in memory is that too.
kafka-dump-log --cluster-metadata-decoder reads it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from twisted.logger import Logger

from broker_sim.errors import BrokerSimError
from broker_sim.log.files.errors import CorruptFile, ForeignDirectory
from broker_sim.log.files.property_files import META_PROPERTIES_FILE, MetaProperties, read_meta_properties
from broker_sim.metadata.metadata_files import METADATA_FOLDER, SEGMENT, valid_size
from broker_sim.metadata.metadata_log import MetadataBatch
from broker_sim.metadata.metadata_log_codec import decode_batches, encode_batch
from broker_sim.quorum.raft_log import OffsetAndEpoch, RaftBatch, RaftLog, RaftSnapshot, RaftStorage
from protocol_specs.errors import ProtocolError
from protocol_specs.schemas.quorum_state_data import QuorumStateData, Voter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.schemas.leader_change_message import LeaderChangeMessage
    from sim_runtime.disk import Disk, DiskFile

__all__ = ["FileRaftLog", "FileRaftStorage"]

_log = Logger()

QUORUM_STATE_FILE: Final = "quorum-state"
STATE_VERSION: Final = 0
"""That of voters which the configuration names, as all of ours are (kraft.version 0)."""


class FileRaftLog(RaftLog):
    """A voter's log that appends a batch only after it is durable."""

    __slots__ = ("_disk", "_file", "_path", "_positions")

    def __init__(self, disk: Disk, directory: str) -> None:
        """Read the log up to the first incomplete batch.

        Raises:
            BrokerSimError: The log cannot be read.
            OSError: The disk fails.
        """
        super().__init__()
        self._disk = disk
        self._positions: list[int] = []
        folder = f"{directory}/{METADATA_FOLDER}"
        self._path = f"{folder}/{SEGMENT}"
        disk.make_directory(folder)
        data = disk.read(self._path) if disk.is_file(self._path) else b""
        self._file: DiskFile = disk.open(self._path)
        size = valid_size(data)
        if size < len(data):
            text = "quorum: truncating log path={path} size={size} of={length}: the remainder was never flushed"
            _log.warn(text, path=self._path, size=size, length=len(data))
            self._file.truncate(size)
        self._restore(data[:size])

    def _restore(self, data: bytes) -> None:
        try:
            batches = decode_batches(data)
        except ProtocolError as error:
            raise BrokerSimError(f"{self._path} cannot be read: {error}") from error
        position = 0
        for batch in batches:
            batch.encoded = _batch_at(data, position)
            control = batch.control
            super().append(
                RaftBatch(
                    base_offset=batch.base_offset,
                    last_offset=batch.last_offset,
                    epoch=batch.leader_epoch,
                    content=batch if control is None else control,
                    control_ms=None if control is None else batch.append_time_ms,
                )
            )
            self._positions.append(position)
            position += len(batch.encoded)

    def append(self, batch: RaftBatch) -> None:
        """Add the next batch, durably."""
        position = self._file.size
        try:
            self._file.append(self._bytes(batch))
            self._file.sync()
        except OSError as error:
            _log.error("quorum: log append failed path={path} error={error}", path=self._path, error=error)
        super().append(batch)
        self._positions.append(position)

    def _bytes(self, batch: RaftBatch) -> bytes:
        if batch.control_ms is None:
            assert isinstance(batch.content, MetadataBatch), "controllers replicate batches of metadata"
            return batch.content.encode()
        control: LeaderChangeMessage = batch.content
        return encode_batch(
            MetadataBatch(
                base_offset=batch.base_offset,
                leader_epoch=batch.epoch,
                append_time_ms=batch.control_ms,
                control=control,
            )
        )

    def keep_snapshot(self, snapshot: RaftSnapshot, *, start_offset: int) -> None:
        """Keep everything: on a disk the log is the only source."""

    def begin_with(self, snapshot: RaftSnapshot) -> None:
        """Refuse a snapshot: a log on a disk begins at offset 0.

        Raises:
            BrokerSimError: Always.
        """
        raise BrokerSimError(f"{self._path}: a log on a disk begins at offset 0, not at {snapshot.id.offset}")

    def truncate_to(self, end: OffsetAndEpoch) -> int:
        """Remove the records that a leader does not have, in the file too."""
        offset = super().truncate_to(end)
        count = len(self.batches)
        if count < len(self._positions):
            position = self._positions[count]
            del self._positions[count:]
            try:
                self._file.truncate(position)
                self._file.sync()
            except OSError as error:
                _log.error("quorum: log truncation failed path={path} error={error}", path=self._path, error=error)
        return offset

    def close(self) -> None:
        """Close the files."""
        self._file.close()


class FileRaftStorage(RaftStorage):
    """One voter's directory, as its meta.properties names it."""

    __slots__ = ("_cluster_id", "_disk", "_state_path")

    def __init__(
        self,
        disk: Disk,
        directory: str,
        *,
        node_id: int,
        voters: Sequence[int],
        cluster_id: str,
        new_directory_id: bytes,
    ) -> None:
        """Read a directory, or begin one. Raises BrokerSimError where it is not this voter's, or cannot be read."""
        self._disk = disk
        self._cluster_id = cluster_id
        self._state_path = f"{directory}/{METADATA_FOLDER}/{QUORUM_STATE_FILE}"
        disk.make_directory(directory)
        directory_id = self._identify(f"{directory}/{META_PROPERTIES_FILE}", node_id, new_directory_id)
        super().__init__(voters=tuple(voters), directory_id=directory_id, log=FileRaftLog(disk, directory))
        self._read_state()

    def _identify(self, path: str, node_id: int, new_directory_id: bytes) -> bytes:
        known = read_meta_properties(self._disk, path)
        if known is not None:
            if known.node_id != node_id:
                raise ForeignDirectory(f"{path}: node.id={known.node_id} is another node than this one, {node_id}")
            if known.cluster_id != self._cluster_id:
                raise ForeignDirectory(
                    f"{path}: cluster.id={known.cluster_id} is another cluster than this one, {self._cluster_id}"
                )
            if known.directory_id is not None:
                return known.directory_id
        own = MetaProperties(cluster_id=self._cluster_id, node_id=node_id, directory_id=new_directory_id)
        self._disk.replace(path, own.to_bytes())
        return new_directory_id

    def _read_state(self) -> None:
        if not self._disk.is_file(self._state_path):
            return
        try:
            state: dict[str, Any] = json.loads(self._disk.read(self._state_path))
            found = QuorumStateData(
                leader_id=int(state["leaderId"]),
                leader_epoch=int(state["leaderEpoch"]),
                voted_id=int(state["votedId"]),
                current_voters=[Voter(voter_id=int(each["voterId"])) for each in state["currentVoters"]],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFile(self._state_path, 0, f"no quorum state: {error!r}") from error
        voters = [each.voter_id for each in found.current_voters or []]
        if voters != list(self.voters):
            raise BrokerSimError(
                f"{self._state_path}: the voters are {voters}, but those configured are {list(self.voters)}"
            )
        self.quorum_state = found

    def write(self, *, epoch: int, leader_id: int, voted_id: int) -> None:
        """Keep the election state, durably; ids are -1 when there is none."""
        super().write(epoch=epoch, leader_id=leader_id, voted_id=voted_id)
        state = {
            "clusterId": "",
            "leaderId": leader_id,
            "leaderEpoch": epoch,
            "votedId": voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter} for voter in self.voters],
            "data_version": STATE_VERSION,
        }
        try:
            self._disk.replace(self._state_path, json.dumps(state, separators=(",", ":")).encode())
        except OSError as error:
            _log.error("quorum: state write failed path={path} error={error}", path=self._state_path, error=error)

    def close(self) -> None:
        """Close the files."""
        assert isinstance(self.log, FileRaftLog), "it was made here"
        self.log.close()


def _batch_at(data: bytes, position: int) -> bytes:
    from protocol_specs.records.batch_peek import peek_header

    return data[position : position + peek_header(data, position).size_in_bytes]
