"""The hash behind keyed partitions, against values that Java's Utils.murmur2 returns."""

from __future__ import annotations

import pytest

from broker_client.core.batching.murmur2 import murmur2, to_positive


# The first six are in Kafka's own UtilsTest.
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_javas(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected % 2**32


def test_to_positive_drops_the_sign_bit() -> None:
    assert to_positive((-973932308) % 2**32) == -973932308 & 0x7FFFFFFF
