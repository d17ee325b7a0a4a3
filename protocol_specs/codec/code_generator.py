"""Message and version -> straight-line Python functions. Mirrors org.apache.kafka.message.MessageDataGenerator.

Generated code does not track its position by field. Adjacent fields of fixed size, and the length after them, are read
by one `struct` call; every length is compared with the bytes that are left before it is used. When the bytes do not
fit, the code raises any exception, and `annotate` walks the same bytes again, slowly, to name the field and the byte.
The code accepts the same bytes as a broker: invalid UTF-8 becomes U+FFFD, a bool is any byte, bytes after the end are
ignored.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.codec.decode_writer import DecodeWriter
from protocol_specs.codec.encode_writer import EncodeWriter
from protocol_specs.codec.runtime import FAULTS
from protocol_specs.errors import MessageDecodeError, UnsupportedVersion

if TYPE_CHECKING:
    from protocol_specs.message import Buffer, DecodeFunction, EncodeFunction, Message

_BUFFERS: Final[tuple[type, ...]] = (bytes, bytearray, memoryview)


def decoder_for(cls: type[Message], version: int) -> DecodeFunction:
    """Make the decode function of one version; raise UnsupportedVersion when the message has no such version."""
    _check_version(cls, version)

    def located(data: Buffer, position: int, fault: Exception) -> Exception:
        from protocol_specs.codec.annotate import locate_decode_fault

        return locate_decode_fault(cls, version, data, position, fault)

    @lru_cache(maxsize=1)
    def general() -> DecodeFunction:
        return DecodeWriter(cls, version, strict=False).make(decode_any_buffer=None, located=located)

    def decode_any_buffer(data: Buffer, position: int) -> tuple[Any, int]:
        if not isinstance(data, _BUFFERS):
            from protocol_specs.codec.encode_faults import shown

            reason = f"{shown(data)} is no bytes, bytearray or memoryview"
            raise MessageDecodeError(cls.__name__, version, "", position, reason)
        return general()(data, position)

    return DecodeWriter(cls, version, strict=True).make(decode_any_buffer=decode_any_buffer, located=located)


def encoder_for(cls: type[Message], version: int) -> EncodeFunction:
    """Make the encode function of one version; raise UnsupportedVersion when the message has no such version."""
    _check_version(cls, version)
    generated: EncodeFunction = EncodeWriter(cls, version).make()

    def encode(message: Message, parts: list[Any]) -> None:
        length_before = len(parts)
        try:
            generated(message, parts)
        except FAULTS as fault:
            del parts[length_before:]
            from protocol_specs.codec.encode_faults import locate_encode_fault

            raise locate_encode_fault(message, version, fault) from None

    return encode


def generated_source(cls: type[Message], version: int) -> tuple[str, str]:
    """The decode and the encode source of one version, for readers."""
    _check_version(cls, version)
    return DecodeWriter(cls, version, strict=True).source(), EncodeWriter(cls, version).source()


def _check_version(cls: type[Message], version: int) -> None:
    if version not in cls.VERSIONS:
        raise UnsupportedVersion(cls.__name__, version, str(cls.VERSIONS))
