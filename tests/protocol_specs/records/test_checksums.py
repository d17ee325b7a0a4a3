from __future__ import annotations

import crcmod.predefined
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.records.checksums import crc32c

reference = crcmod.predefined.mkPredefinedCrcFun("crc-32c")


def test_the_check_value_of_crc_32c() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0


@given(st.binary(max_size=2000), st.integers(0, 2000))
def test_it_agrees_with_crcmod_whole_and_in_parts(data: bytes, cut: int) -> None:
    assert crc32c(data) == reference(data)
    view = memoryview(data)
    assert crc32c(view[cut:], crc32c(bytearray(data[:cut]))) == reference(data)
