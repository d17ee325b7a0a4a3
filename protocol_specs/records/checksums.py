"""The checksum of record batches: CRC-32C (Castagnoli). Mirrors org.apache.kafka.common.utils.Crc32C."""

from __future__ import annotations

from crc32c import crc32c as _crc32c


def crc32c(buffer: bytes | bytearray | memoryview, value: int = 0) -> int:
    """Answer the checksum of `buffer`; `value` is that of the bytes before it when they come in parts."""
    return _crc32c(buffer, value)
