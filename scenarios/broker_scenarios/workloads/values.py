"""The value of a record: its id in eight bytes, big endian, then filler that the id alone decides.

So the logs can be read back and every stored record traced to its send. The filler has sixteen different
bytes, so that codecs find about the redundancy of text.
"""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from typing import Final

from broker_scenarios.errors import ScenarioError
from broker_scenarios.workloads.splitmix import CounterStream, mix64

__all__ = ["BLOCK_BYTES", "VALUE_BYTES_MIN", "filler_block", "value_bytes", "value_id_of"]

VALUE_BYTES_MIN: Final = 8
BLOCK_BYTES: Final = 1 << 16
_ALPHABET: Final = b"abcdefghijklmnop"
_VERIFIABLE: Final = re.compile(rb"([0-9]{1,10})[.]([0-9]{1,10})")
_ID: Final = struct.Struct(">q")


def value_bytes(value_id: int, size_bytes: int) -> bytes:
    """The value of a record, `size_bytes` long."""
    filler = size_bytes - VALUE_BYTES_MIN
    if filler < 0:
        raise ScenarioError(f"a value of {size_bytes} bytes cannot hold its id: at least {VALUE_BYTES_MIN}")
    block = filler_block()
    start = mix64(value_id) % BLOCK_BYTES
    part = block[start : start + filler]
    if len(part) < filler:
        part = (part + block * (filler // BLOCK_BYTES + 1))[:filler]
    return _ID.pack(value_id) + part


def value_id_of(value: bytes | memoryview | None) -> int:
    """The id of a stored value; -1 for bytes that no load has made.

    The values of Java's VerifiableProducer are texts, `PREFIX.NUMBER`: their id is the sum. An id in eight bytes begins
    with a zero.
    """
    if value and value[0] and (verifiable := _VERIFIABLE.fullmatch(value)) is not None:
        return int(verifiable[1]) + int(verifiable[2])
    if value is None or len(value) < VALUE_BYTES_MIN:
        return -1
    (value_id,) = _ID.unpack_from(value)
    return int(value_id)


@lru_cache(maxsize=1)
def filler_block() -> bytes:
    """Return the bytes that fillers are parts of, from a start that the id decides, over and over."""
    stream = CounterStream(0, 0)
    return bytes(
        _ALPHABET[(word >> shift) & 15]
        for word in (stream.at(counter) for counter in range(BLOCK_BYTES // 16))
        for shift in range(0, 64, 4)
    )
