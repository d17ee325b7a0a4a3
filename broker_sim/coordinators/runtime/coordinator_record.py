"""A record of a coordinator's topic. Mirrors CoordinatorRecord and CoordinatorRecordSerde."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol_specs.schemas.record_serde import Log, decode_key, decode_value, encode_key, encode_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.message import Message

__all__ = ["NO_PRODUCER", "NO_TYPES", "CoordinatorRecord", "Log", "Producer"]

Producer = tuple[int, int]
"""The producer id and epoch of transactional records."""
NO_PRODUCER: Final[Producer] = (-1, -1)
NO_TYPES: Final[Mapping[int, type[Message]]] = MappingProxyType({})


class CoordinatorRecord(NamedTuple):
    """A key and a value; a value of None without `encoded_value` is a tombstone.

    `version` is the version of the value. A record that is not replayed may have its value as bytes alone.
    """

    key: Message
    value: Message | None
    version: int = 0
    encoded_key: bytes | None = None
    """The bytes of the key where they are known already."""
    encoded_value: bytes | None = None
    """The bytes of the value where they are known already."""

    def encode(self) -> tuple[bytes, bytes | None]:
        """Return the bytes of key and value."""
        value = self.encoded_value
        if value is None and self.value is not None:
            value = encode_value(self.value, self.version)
        return self.encoded_key or encode_key(self.key), value

    @classmethod
    def decode(
        cls, log: Log, key: bytes, value: bytes | None, value_types: Mapping[int, type[Message]] = NO_TYPES
    ) -> CoordinatorRecord:
        """Return the record of these bytes.

        `value_types` has the classes of the record types whose values differ from those of the registry.

        Raises:
            UnknownRecordType: This release does not know the type of the record.
            MessageDecodeError, UnsupportedVersion: The bytes are no record of their type.
        """
        decoded = decode_key(log, key)
        if value is None:
            return cls(decoded, None)
        body, version = decode_value(log, decoded.RECORD_TYPE, value, value_types)
        return cls(decoded, body, version)
