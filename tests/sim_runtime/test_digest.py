from __future__ import annotations

from enum import IntEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_runtime.digest import EventDigest

parts = st.lists(
    st.one_of(st.integers(), st.text(), st.binary(), st.floats(allow_nan=False), st.booleans(), st.none()), max_size=4
)


def digest_of(*events):
    digest = EventDigest()
    for event in events:
        digest.update(*event)
    return digest.hexdigest()


def shape(events):
    return [[(type(part), repr(part)) for part in event] for event in events]


@given(st.lists(parts, max_size=4), st.lists(parts, max_size=4))
def test_two_digests_are_equal_exactly_when_all_events_are(first, second):
    assert (digest_of(*first) == digest_of(*second)) == (shape(first) == shape(second))


def test_borders_between_parts_and_events_count():
    digests = [
        digest_of(("ab",)),
        digest_of(("a", "b")),
        digest_of(("a",), ("b",)),
        digest_of((b"ab",)),
        digest_of((1,)),
        digest_of((1.0,)),
        digest_of((True,)),
        digest_of(("1",)),
        digest_of((None,)),
        digest_of(()),
        digest_of(),
    ]
    assert len(dict.fromkeys(digests)) == len(digests)


def test_the_digest_of_known_events_never_changes():
    # Journals of other versions are compared with it.
    assert digest_of(("produce", 0, b"\x00", 1.5, True, None), (-1,)) == "bbd7f851d38b454bcfa0ba15eb176934"


def test_numbers_of_enums_and_views_of_bytes_count_as_what_they_are():
    class Code(IntEnum):
        NOT_LEADER = 6

    assert digest_of((Code.NOT_LEADER, memoryview(b"x"), bytearray(b"y"))) == digest_of((6, b"x", b"y"))


def test_events_are_counted():
    digest = EventDigest()
    digest.update("a")
    digest.update("b", 1)
    assert digest.count == 2


def test_what_has_no_fixed_form_is_refused():
    with pytest.raises(TypeError, match="not set"):
        EventDigest().update({1, 2})
