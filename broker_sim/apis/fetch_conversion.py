"""Down-conversion of records for an old Fetch. Mirrors KafkaApis.maybeConvertFetchedData.

Versions 0 and 1 support messages of magic 0, versions 2 and 3 those of magic 1; no version below 10 supports zstd.
Records in an old enough format are sent unchanged, with the beginning of a message at their end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import UnsupportedCompressionType
from protocol_specs.records.down_conversion import down_convert_for_fetch, down_convert_or_keep
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.record_set import iterate_any, read_any_record_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.config.topic_config import TopicConfig
    from protocol_specs.messages.fetch import PartitionData

__all__ = ["CONVERTED_HIGHEST", "convert"]

CONVERTED_HIGHEST: Final = 9
"""The last version that may need conversion."""
MAGIC_V0_HIGHEST: Final = 1
MAGIC_V1_HIGHEST: Final = 3
_ENABLE: Final = "message.downconversion.enable"


def convert(
    data: PartitionData,
    *,
    version: int,
    config: TopicConfig,
    first_offset: int,
    from_follower: bool,
    behaviour: ReleaseBehaviour,
) -> None:
    """Convert one partition's result in place, or replace it, also an error of the log, by an error.

    Raises:
        RecordBatchError: The old format cannot hold the records.
    """
    if behaviour.fetch_gates_zstd_topics and config.compression_type == "zstd":
        _refuse(data, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    elif version <= MAGIC_V1_HIGHEST and not from_follower and not config.values.get(_ENABLE, True):
        _refuse(data, ErrorCode.UNSUPPORTED_VERSION)
    elif version <= MAGIC_V1_HIGHEST and data.records:
        records = b"".join(data.records) if isinstance(data.records, list) else data.records
        to_magic = 0 if version <= MAGIC_V0_HIGHEST else 1
        if _has_compatible_magic(records, to_magic):
            return
        try:
            data.records = _converter(behaviour)(records, to_magic=to_magic, first_offset=first_offset)
        except UnsupportedCompressionType:
            _refuse(data, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


def _has_compatible_magic(records: bytes | memoryview, to_magic: int) -> bool:
    """Return True if no whole batch is of a newer format. Mirrors AbstractRecords.hasCompatibleMagic."""
    return all(header.magic <= to_magic for header, _ in iterate_any(records))


def _converter(behaviour: ReleaseBehaviour) -> Callable[..., bytes]:
    if behaviour.down_converts_while_sending:
        return down_convert_for_fetch
    return _to_one_codec if behaviour.down_converts_to_one_codec else down_convert_or_keep


def _to_one_codec(records: bytes | memoryview, *, to_magic: int, first_offset: int) -> bytes:  # noqa: ARG001
    """Return the messages in the old format. Mirrors ByteBufferMessageSet.toMessageFormat."""
    first, _ = next(iterate_any(records))
    converted = list(read_any_record_set(records))
    builder = MessageSetBuilder(magic=to_magic, codec=first.codec, base_offset=converted[0].offset)
    for record in converted:
        builder.append_with_offset(record.offset, record.timestamp, record.key, record.value)
    return builder.build()


def _refuse(data: PartitionData, error_code: ErrorCode) -> None:
    """Mirrors FetchResponse.partitionResponse, whose records are null."""
    data.error_code = error_code
    data.high_watermark = data.last_stable_offset = data.log_start_offset = -1
    data.aborted_transactions = []
    data.records = None
