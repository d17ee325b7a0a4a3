"""The framing of schema records in a log: type and version before the body, and the class for a record type.

Mirrors CoordinatorRecordSerde (keys begin with their record type, values with their version), AbstractApiMessageSerde
(three unsigned varints before a metadata record) and ConsumerProtocol (a version; versions above the newest known one
are decoded as the newest).
"""

from __future__ import annotations

import enum
import struct
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from protocol_specs import registry
from protocol_specs.codec.runtime import CodecFault, uvarint, uvarint_bytes
from protocol_specs.errors import MessageDecodeError, MessageEndsInNumber, UnknownRecordType, UnsupportedVersion
from protocol_specs.message import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.message import Buffer, Message

M = TypeVar("M", bound="Message")

METADATA_FRAME_VERSION: Final = 1
_INT16: Final = struct.Struct(">h")
_NO_TYPES: Final[Mapping[int, type[Message]]] = MappingProxyType({})


class Log(enum.Enum):
    """The log of a record: each log numbers its record types from 0."""

    CONSUMER_OFFSETS = "__consumer_offsets"
    SHARE_GROUP_STATE = "__share_group_state"
    TRANSACTION_STATE = "__transaction_state"
    CLUSTER_METADATA = "__cluster_metadata"
    REMOTE_LOG_METADATA = "__remote_log_metadata"


def decode_key(log: Log, data: Buffer) -> Message:
    """The key of a coordinator's record. Raises UnknownRecordType and MessageDecodeError."""
    record_type = _leading_int16("record type", data)
    return _class_of(log, Kind.COORDINATOR_KEY, record_type).decode_from(0, data, _INT16.size)[0]


def encode_key(key: Message) -> bytes:
    """The bytes of a coordinator's key: its record type, then version 0 of it, which is the only one."""
    return _INT16.pack(key.RECORD_TYPE) + key.encode(0)


def decode_value(
    log: Log, record_type: int, data: Buffer, value_types: Mapping[int, type[Message]] = _NO_TYPES
) -> tuple[Message, int]:
    """The value beside a key of this type, and its version. Raises UnknownRecordType, UnsupportedVersion.

    `value_types` has the classes of the record types whose values differ from those of the registry.
    """
    cls = value_types.get(record_type) or _class_of(log, Kind.COORDINATOR_VALUE, record_type)
    version = _leading_int16(cls.__name__, data)
    return cls.decode_from(version, data, _INT16.size)[0], version


def encode_value(value: Message, version: int) -> bytes:
    """The bytes of a coordinator's value: its version, then the body."""
    return _INT16.pack(version) + value.encode(version)


def decode_metadata_record(log: Log, data: Buffer) -> tuple[Message, int]:
    """A record of the metadata log or of the remote log's, and its version. Raises UnknownRecordType and others."""
    try:
        frame_version, position = uvarint(data, 0)
        record_type, position = uvarint(data, position)
        version, position = uvarint(data, position)
    except (IndexError, CodecFault):
        raise MessageDecodeError(
            "metadata record", 0, "", len(data), "frame version, type and version needed"
        ) from None
    if frame_version != METADATA_FRAME_VERSION:
        reason = f"frame version {frame_version}: the only one is {METADATA_FRAME_VERSION}"
        raise MessageDecodeError("metadata record", version, "", 0, reason)
    return _class_of(log, Kind.METADATA, record_type).decode_from(version, data, position)[0], version


def encode_metadata_record(record: Message, version: int) -> bytes:
    """The bytes of a metadata record: frame version, record type, version, body."""
    head = (METADATA_FRAME_VERSION, record.RECORD_TYPE, version)
    return b"".join((*map(uvarint_bytes, head), record.encode(version)))


def decode_versioned(cls: type[M], data: Buffer) -> tuple[M, int]:
    """A subscription or assignment of ConsumerProtocol, and the version that it was read in.

    A version above the newest is decoded as the newest, and the bytes after it are ignored, as ConsumerProtocol does.
    Raises UnsupportedVersion for a version below 0.
    """
    version = _leading_int16(cls.__name__, data)
    if version < cls.VERSIONS.lowest:
        raise UnsupportedVersion(cls.__name__, version, str(cls.VERSIONS))
    known = min(version, cls.VERSIONS.highest)
    return cls.decode_from(known, data, _INT16.size)[0], known


def encode_versioned(message: Message, version: int) -> bytes:
    """The bytes of a subscription or assignment: its version, then the body."""
    return _INT16.pack(version) + message.encode(version)


def _leading_int16(name: str, data: Buffer) -> int:
    if len(data) < _INT16.size:
        raise MessageEndsInNumber(name, 0, "", 0, f"{_INT16.size} bytes needed, {len(data)} bytes left")
    return int(_INT16.unpack_from(data)[0])


def _class_of(log: Log, kind: Kind, record_type: int) -> type[Message]:
    known = _classes(log, kind)
    if record_type not in known:
        raise UnknownRecordType(log.value, record_type, tuple(known))
    return known[record_type]


_OF_SHARE_GROUP_STATE: Final = ("ShareSnapshot", "ShareUpdate")
_OF_TRANSACTION_STATE: Final = ("TransactionLog",)
_OF_REMOTE_LOG: Final = ("Remote",)


@cache
def _classes(log: Log, kind: Kind) -> dict[int, type[Message]]:
    """Record type -> class, of one log."""
    of_kind = [cls for cls in map(registry.schema_type, registry.SCHEMA_NAMES) if cls.KIND is kind]
    return {cls.RECORD_TYPE: cls for cls in of_kind if _log_of(cls) is log}


def _log_of(cls: type[Message]) -> Log:
    remote = Log.REMOTE_LOG_METADATA if cls.__name__.startswith(_OF_REMOTE_LOG) else Log.CLUSTER_METADATA
    if cls.KIND is Kind.METADATA:
        return remote
    if cls.__name__.startswith(_OF_SHARE_GROUP_STATE):
        return Log.SHARE_GROUP_STATE
    return Log.TRANSACTION_STATE if cls.__name__.startswith(_OF_TRANSACTION_STATE) else Log.CONSUMER_OFFSETS
