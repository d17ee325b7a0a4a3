"""The checksum of record batches: CRC-32C (Castagnoli). Mirrors org.apache.kafka.common.utils.Crc32C.

`crc32c(buffer, value=0)` is the library's own, because a call around it would cost as much as a small batch does:
`value` is the checksum of the bytes before `buffer` when they come in parts.
"""

from __future__ import annotations

from crc32c import crc32c

__all__ = ["crc32c"]
