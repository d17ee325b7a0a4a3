"""Partitions of many keys at once: murmur2 by the column. Mirrors Utils.murmur2, a word of all keys in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.batching.murmur2 import MULTIPLIER, SEED
from protocol_specs.records.columnar.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from protocol_specs.records.columnar.arrays import Bytes, Ints
    from protocol_specs.records.columnar.columns import StringColumn

__all__ = ["partitions_of_keys"]

_WORD_BYTES: Final = 4
_BYTE_BITS: Final = np.uint32(8)
_MULTIPLIER: Final = np.uint32(MULTIPLIER)
_SHIFT_13: Final = np.uint32(13)
_SHIFT_15: Final = np.uint32(15)
_SHIFT_24: Final = np.uint32(24)
_POSITIVE: Final = np.uint32(0x7FFFFFFF)
# So many keys are hashed together: what they need in between stays small, however long the table.
_KEYS_AT_ONCE: Final = 65_536


def partitions_of_keys(keys: StringColumn, partition_count: int) -> Ints:
    """The partition of every key, as BuiltInPartitioner.partitionForKey; of a null key -1."""
    partitions = np.full(len(keys), -1, np.int64)
    for first in range(0, len(keys), _KEYS_AT_ONCE):
        rows = first + np.flatnonzero(keys.sizes[first : first + _KEYS_AT_ONCE] >= 0)
        if len(rows):
            hashes = _murmur2(keys.data, keys.starts[rows], keys.sizes[rows])
            partitions[rows] = (hashes & _POSITIVE).astype(np.int64) % partition_count
    return partitions


def _murmur2(data: Bytes, starts: Ints, sizes: Ints) -> NDArray[np.uint32]:
    hashes = np.uint32(SEED) ^ sizes.astype(np.uint32)
    words = sizes // _WORD_BYTES
    most = int(words.max())
    least = int(words.min())
    # The word that begins at each byte.
    at_byte: NDArray[np.uint32] = np.ndarray((max(len(data) - _WORD_BYTES + 1, 0),), "<u4", data, strides=(1,))
    for word in range(most):
        if word < least:
            hashes = _mixed(hashes, at_byte[starts + word * _WORD_BYTES])
        else:
            rows = np.flatnonzero(words > word)
            hashes[rows] = _mixed(hashes[rows], at_byte[starts[rows] + word * _WORD_BYTES])
    _mix_tails(hashes, data, starts + words * _WORD_BYTES, sizes % _WORD_BYTES)
    hashes = (hashes ^ (hashes >> _SHIFT_13)) * _MULTIPLIER
    return hashes ^ (hashes >> _SHIFT_15)


def _mixed(hashes: NDArray[np.uint32], words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    words = words * _MULTIPLIER
    words = (words ^ (words >> _SHIFT_24)) * _MULTIPLIER
    return (hashes * _MULTIPLIER) ^ words


def _mix_tails(hashes: NDArray[np.uint32], data: Bytes, starts: Ints, sizes: Ints) -> None:
    """The one to three bytes after the last whole word."""
    for byte in range(_WORD_BYTES - 1):
        rows = np.flatnonzero(sizes > byte)
        if len(rows):
            hashes[rows] ^= data[starts[rows] + byte].astype(np.uint32) << (_BYTE_BITS * np.uint32(byte))
    rows = np.flatnonzero(sizes)
    hashes[rows] *= _MULTIPLIER
