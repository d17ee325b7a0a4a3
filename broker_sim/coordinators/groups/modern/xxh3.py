"""XXH3 of 64 bits with seed 0, for the hashes of topics in records. Mirrors hash4j's Hashing.xxh3_64 (KIP-1101).

https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
"""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["xxh3_64"]

_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
    "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a"
    "51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8f"
    "f8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_MASK: Final = (1 << 64) - 1
_PRIME32_1, _PRIME32_2, _PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_PRIME64_1, _PRIME64_2, _PRIME64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_PRIME64_4, _PRIME64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_PRIME_MX1, _PRIME_MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
_SHORT_MAX, _MIDDLE_MAX = 128, 240
_STRIPE, _STEP = 64, 8
_LANES: Final = struct.Struct("<8Q")


def xxh3_64(data: bytes) -> int:
    """Return the hash of at least 8 bytes as an unsigned number; shorter input does not occur."""
    length = len(data)
    if length == 8:
        return _of_8(data)
    if length <= 16:
        return _up_to_16(data)
    if length <= _SHORT_MAX:
        return _up_to_128(data)
    if length <= _MIDDLE_MAX:
        return _up_to_240(data)
    return _long(data)


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _fold(first: int, second: int) -> int:
    product = first * second
    return (product & _MASK) ^ (product >> 64)


def _avalanche(value: int) -> int:
    value ^= value >> 37
    value = value * _PRIME_MX1 & _MASK
    return value ^ value >> 32


def _mix_16(data: bytes, at: int, secret: int) -> int:
    return _fold(_u64(data, at) ^ _u64(_SECRET, secret), _u64(data, at + 8) ^ _u64(_SECRET, secret + 8))


def _of_8(data: bytes) -> int:
    turned = int.from_bytes(data[4:] + data[:4], "little")
    value = turned ^ _u64(_SECRET, 8) ^ _u64(_SECRET, 16)
    value ^= _rotated(value, 49) ^ _rotated(value, 24)
    value = value * _PRIME_MX2 & _MASK
    value ^= (value >> 35) + len(data)
    value = value * _PRIME_MX2 & _MASK
    return value ^ value >> 28


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK


def _up_to_16(data: bytes) -> int:
    low = _u64(data, 0) ^ _u64(_SECRET, 24) ^ _u64(_SECRET, 32)
    high = _u64(data, len(data) - 8) ^ _u64(_SECRET, 40) ^ _u64(_SECRET, 48)
    swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
    return _avalanche((len(data) + swapped + high + _fold(low, high)) & _MASK)


def _up_to_128(data: bytes) -> int:
    length = len(data)
    total = length * _PRIME64_1
    for index in range((length - 1) // 32 + 1):
        total += _mix_16(data, 16 * index, 32 * index)
        total += _mix_16(data, length - 16 * (index + 1), 32 * index + 16)
    return _avalanche(total & _MASK)


def _up_to_240(data: bytes) -> int:
    length = len(data)
    total = length * _PRIME64_1
    for index in range(8):
        total += _mix_16(data, 16 * index, 16 * index)
    total = _avalanche(total & _MASK)
    for index in range(8, length // 16):
        total += _mix_16(data, 16 * index, 16 * (index - 8) + 3)
    total += _mix_16(data, length - 16, 136 - 17)
    return _avalanche(total & _MASK)


def _long(data: bytes) -> int:
    lanes = [
        _PRIME32_3,
        _PRIME64_1,
        _PRIME64_2,
        _PRIME64_3,
        _PRIME64_4,
        _PRIME32_2,
        _PRIME64_5,
        _PRIME32_1,
    ]
    stripes = (len(_SECRET) - _STRIPE) // _STEP
    block = stripes * _STRIPE
    blocks = (len(data) - 1) // block
    for start in range(0, blocks * block, block):
        for stripe in range(stripes):
            _accumulate(lanes, data, start + stripe * _STRIPE, stripe * _STEP)
        _scramble(lanes)
    rest = blocks * block
    for stripe in range((len(data) - 1 - rest) // _STRIPE):
        _accumulate(lanes, data, rest + stripe * _STRIPE, stripe * _STEP)
    _accumulate(lanes, data, len(data) - _STRIPE, len(_SECRET) - _STRIPE - 7)
    total = len(data) * _PRIME64_1
    for pair in range(4):
        at = 11 + 16 * pair
        total += _fold(lanes[2 * pair] ^ _u64(_SECRET, at), lanes[2 * pair + 1] ^ _u64(_SECRET, at + 8))
    return _avalanche(total & _MASK)


def _accumulate(lanes: list[int], data: bytes, at: int, secret: int) -> None:
    for index, (value, key) in enumerate(
        zip(_LANES.unpack_from(data, at), _LANES.unpack_from(_SECRET, secret), strict=True)
    ):
        mixed = value ^ key
        lanes[index ^ 1] = (lanes[index ^ 1] + value) & _MASK
        lanes[index] = (lanes[index] + (mixed & 0xFFFFFFFF) * (mixed >> 32)) & _MASK


def _scramble(lanes: list[int]) -> None:
    for index, key in enumerate(_LANES.unpack_from(_SECRET, len(_SECRET) - _STRIPE)):
        value = lanes[index]
        lanes[index] = ((value ^ value >> 47 ^ key) * _PRIME32_1) & _MASK
