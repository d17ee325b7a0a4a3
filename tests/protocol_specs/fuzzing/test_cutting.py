from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.fuzzing.cutting import cut_pieces


@given(st.binary(max_size=60), st.data())
def test_what_the_property_needs_is_left_in_its_order(data: bytes, draw: st.DataObject) -> None:
    needed = draw.draw(st.lists(st.integers(0, len(data) - 1), max_size=4, unique=True)) if data else []
    keys: list[str | int] = [*range(len(data))]
    assert cut_pieces(keys, lambda left: {*needed} <= {*left}) == sorted(needed)
    assert cut_pieces(data, lambda left: left.count(b"\0") == data.count(b"\0")) == b"\0" * data.count(b"\0")


def test_a_search_ends_when_nothing_has_the_property_any_more() -> None:
    tried: list[bytes] = []

    def holds(left: bytes) -> bool:
        tried.append(left)
        return len(tried) <= 2

    assert cut_pieces(b"12345678", holds) == b""
    tried.clear()
    assert cut_pieces(b"123456789", holds) == b"9"
