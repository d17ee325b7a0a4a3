"""`.txnindex` files: the aborted transactions of a segment. Mirrors TransactionIndex and AbortedTxn.

A segment has the file from its first abort marker on. An entry has its version, the producer id, the first offset, the
offset of the marker, and the last stable offset after it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from broker_sim.log.files.errors import CorruptFile
from broker_sim.log.transaction_index import AbortedTransaction

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION: Final = 0
ENTRY: Final = struct.Struct(">hqqqq")


def aborted_to_bytes(transactions: Iterable[AbortedTransaction]) -> bytes:
    """The entries as in the file."""
    return b"".join(ENTRY.pack(VERSION, *transaction) for transaction in transactions)


def aborted_from_bytes(data: bytes, path: str, base_offset: int) -> list[AbortedTransaction]:
    """Return the entries of a file; an incomplete one at its end is not read.

    Raises:
        CorruptFile: an entry has an unknown version, or is of a marker before the segment or before another entry.
    """
    found: list[AbortedTransaction] = []
    lowest = base_offset
    for position in range(0, len(data) - ENTRY.size + 1, ENTRY.size):
        version, *fields = ENTRY.unpack_from(data, position)
        transaction = AbortedTransaction(*fields)
        if version > VERSION:
            raise CorruptFile(path, position, f"version {version} of an aborted transaction is not {VERSION}")
        if transaction.last_offset < lowest:
            raise CorruptFile(path, position, f"the marker at offset {transaction.last_offset} is below {lowest}")
        lowest = transaction.last_offset + 1
        found.append(transaction)
    return found
