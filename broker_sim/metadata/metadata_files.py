"""The metadata log on disk: `__cluster_metadata-0` with one segment, which kafka-dump-log --cluster-metadata-decoder
reads. Mirrors KafkaMetadataLog.

Every start rewrites the log from the records of the last one, as if from a snapshot; commits are flushed at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from twisted.logger import Logger

from broker_sim.errors import BrokerSimError
from broker_sim.metadata.metadata_log_codec import decode_batches
from protocol_specs.errors import ProtocolError, RecordBatchError
from protocol_specs.records.batch_peek import check_batch

if TYPE_CHECKING:
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.metadata.metadata_log import MetadataBatch, MetadataLog
    from sim_runtime.disk import Disk, DiskFile

_log = Logger()

METADATA_FOLDER: Final = "__cluster_metadata-0"
SEGMENT: Final = f"{0:020d}.log"


class LogOwner(Protocol):
    """The controller that writes the metadata log."""

    log: MetadataLog


class MetadataFiles:
    """The controller's directory, read at the start and written from then on."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._folder = f"{directory}/{METADATA_FOLDER}"
        self._path = f"{self._folder}/{SEGMENT}"
        self._file: DiskFile | None = None

    def read(self, empty: MetadataImage) -> MetadataImage:
        """Return the image of the last cluster up to the first incomplete batch; `empty` for a new directory.

        Raises:
            BrokerSimError: The log cannot be read.
        """
        if not self._disk.is_file(self._path):
            return empty
        data = self._disk.read(self._path)
        size = valid_size(data)
        if size < len(data):
            text = "metadata: truncating log path={path} size={size} of={length}: the remainder was never flushed"
            _log.warn(text, path=self._path, size=size, length=len(data))
        image = empty
        try:
            for batch in decode_batches(data[:size]):
                image = batch.applied_to(image)
        except ProtocolError as error:
            raise BrokerSimError(f"{self._path} cannot be read: {error}") from error
        return image

    def follow(self, controller: LogOwner) -> None:
        """Replace the old file with the committed batches of the log, then append each batch that it commits."""
        log = controller.log
        self._disk.make_directory(self._folder)
        batches = [batch for batch in log.batches if batch.last_offset < log.high_watermark]
        self._disk.replace(self._path, b"".join(batch.encode() for batch in batches))
        file = self._file = self._disk.open(self._path)

        def committed(batch: MetadataBatch) -> None:
            try:
                file.append(batch.encode())
                file.sync()
            except OSError as error:
                _log.error("metadata: log append failed path={path} error={error}", path=self._path, error=error)

        log.on_commit(committed)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def valid_size(data: bytes) -> int:
    """Return the size of the leading part of a log that consists of whole batches."""
    position = 0
    while position < len(data):
        try:
            position += check_batch(data, position).size_in_bytes
        except RecordBatchError:
            break
    return position
