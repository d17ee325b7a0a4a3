"""Dictionaries that can be read as of an earlier offset and reverted, against plain copies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry, TimelineDict

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.sampled_from("abc"), st.integers(0, 9)),
        st.tuples(st.just("pop"), st.sampled_from("abc")),
        st.tuples(st.just("snapshot")),
        st.tuples(st.just("advance")),
        st.tuples(st.just("revert"), st.integers(0, 3)),
        st.tuples(st.just("delete"), st.integers(0, 3)),
    ),
    max_size=30,
)


@given(STEPS)
def test_reads_and_reverts_equal_copies(steps):
    registry = SnapshotRegistry()
    timeline: TimelineDict[str, int] = TimelineDict(registry)
    copies: dict[int, dict[str, int]] = {}
    plain: dict[str, int] = {}
    offset = 0
    for step in steps:
        match step:
            case ("set", key, value):
                timeline[key] = plain[key] = value
            case ("pop", key):
                assert timeline.pop(key) == plain.pop(key, None)
            case ("snapshot",):
                offset += 1
                registry.snapshot(offset)
                copies[offset] = dict(plain)
            case ("advance",):
                offset += 1
                registry.advance_to(offset)
                copies = {offset: dict(plain)}
            case ("revert", index) if copies:
                offset = list(copies)[index % len(copies)]
                registry.revert_to(offset)
                plain = dict(copies[offset])
                copies = {each: copy for each, copy in copies.items() if each <= offset}
            case ("delete", index) if copies:
                first = list(copies)[index % len(copies)]
                registry.delete_before(first)
                copies = {each: copy for each, copy in copies.items() if each >= first}
        assert registry.offsets == list(copies)
        assert dict(timeline.items()) == plain
        for at, copy in copies.items():
            assert timeline.at(at) == copy
            assert {key: timeline.get_at(key, at) for key in "abc"} == {key: copy.get(key) for key in "abc"}


def test_an_unknown_offset_is_named():
    registry = SnapshotRegistry()
    registry.snapshot(5)
    with pytest.raises(ValueError, match="no snapshot at 4"):
        registry.revert_to(4)
    with pytest.raises(ValueError, match="older than the one at 5"):
        registry.snapshot(4)
