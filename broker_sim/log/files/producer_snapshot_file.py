"""`.snapshot` files: the producer state of a log at an offset. Mirrors ProducerStateManager.writeSnapshot and
readSnapshot.

Of each producer the last batch alone is kept, so that after a restart a retry of an older one is out of order.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from broker_sim.log.files.errors import CorruptFile
from broker_sim.log.producer_state import BATCHES_TO_RETAIN, BatchMetadata, ProducerStateEntry
from protocol_specs.errors import ProtocolError
from protocol_specs.java_hash import hash_order_of_longs
from protocol_specs.records.batch_peek import decrement_sequence
from protocol_specs.records.checksums import crc32c
from protocol_specs.schemas.producer_snapshot import ProducerEntry, ProducerSnapshot
from protocol_specs.schemas.record_serde import decode_versioned, encode_versioned

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION: Final = 1
_CRC_OFFSET: Final = 2
_ENTRIES_OFFSET: Final = 6


def snapshot_to_bytes(producers: Mapping[int, ProducerStateEntry]) -> bytes:
    """The file, with the producers in the order of Kafka's hash table."""
    entries = [_to_file(producers[producer_id]) for producer_id in hash_order_of_longs(producers)]
    unsealed = encode_versioned(ProducerSnapshot(crc=0, producer_entries=entries), VERSION)
    crc = crc32c(memoryview(unsealed)[_ENTRIES_OFFSET:])
    return unsealed[:_CRC_OFFSET] + crc.to_bytes(4, "big") + unsealed[_ENTRIES_OFFSET:]


def snapshot_from_bytes(data: bytes, path: str) -> dict[int, ProducerStateEntry]:
    """Return the entries of a file by producer id.

    Raises:
        CorruptFile: A file cannot be read.
    """
    try:
        snapshot, _ = decode_versioned(ProducerSnapshot, data)
    except ProtocolError as error:
        raise CorruptFile(path, 0, str(error)) from error
    version = int.from_bytes(data[:_CRC_OFFSET], "big")
    if version != VERSION:
        raise CorruptFile(path, 0, f"snapshot version {version} is not {VERSION}")
    computed = crc32c(memoryview(data)[_ENTRIES_OFFSET:])
    if computed != snapshot.crc:
        raise CorruptFile(path, _CRC_OFFSET, f"stored crc {snapshot.crc} is not the computed one, {computed}")
    return {entry.producer_id: _from_file(entry) for entry in snapshot.producer_entries}


def _to_file(entry: ProducerStateEntry) -> ProducerEntry:
    last = entry.batches[-1] if entry.batches else None
    return ProducerEntry(
        producer_id=entry.producer_id,
        epoch=entry.producer_epoch,
        last_sequence=-1 if last is None else last.last_sequence,
        last_offset=-1 if last is None else last.last_offset,
        offset_delta=0 if last is None else last.last_offset - last.first_offset,
        timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_first_offset=entry.transaction_start,
    )


def _from_file(entry: ProducerEntry) -> ProducerStateEntry:
    batches: deque[BatchMetadata] = deque(maxlen=BATCHES_TO_RETAIN)
    if entry.last_offset >= 0:
        batches.append(
            BatchMetadata(
                first_sequence=decrement_sequence(entry.last_sequence, entry.offset_delta),
                last_sequence=entry.last_sequence,
                first_offset=entry.last_offset - entry.offset_delta,
                last_offset=entry.last_offset,
                timestamp=entry.timestamp,
            )
        )
    return ProducerStateEntry(
        producer_id=entry.producer_id,
        producer_epoch=entry.epoch,
        last_timestamp=entry.timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        transaction_start=entry.current_txn_first_offset,
        batches=batches,
    )
