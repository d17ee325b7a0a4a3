"""The hashes of the reference implementation (xxHash 0.8)."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.groups.modern.xxh3 import xxh3_64

INPUT = bytes(range(256)) * 8


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (8, 0x3A1C2D7C85AF88F8),
        (12, 0x5ACE6A511C10894B),
        (100, 0x4E4F921A64BD1C),
        (200, 0xF42A8864FEAF0703),
        (300, 0xD44052F5A3485425),
        (2000, 0x26AF7994E0E20830),
    ],
)
def test_hashes_equal_those_of_the_reference(length, expected):
    assert xxh3_64(INPUT[:length]) == expected
