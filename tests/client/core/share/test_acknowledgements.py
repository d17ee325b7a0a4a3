"""The ranges of acknowledgements in requests: gaps, runs of one type, types per offset."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_client.core.share.acknowledgements import Acknowledgements
from broker_client.share_groups import AcknowledgeType

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
Types = dict[int, AcknowledgeType | None]


def ranges_of(types: Types) -> list[tuple[int, int, list[int]]]:
    acknowledgements = Acknowledgements()
    for offset, kind in types.items():
        acknowledgements.add(offset, kind)
    return [tuple(one) for one in acknowledgements.ranges()]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ({}, []),
        ({5: ACCEPT}, [(5, 5, [1])]),
        ({2: ACCEPT, 0: ACCEPT, 1: ACCEPT}, [(0, 2, [1])]),
        ({0: ACCEPT, 1: None, 2: REJECT}, [(0, 2, [1, 0, 3])]),
        ({0: ACCEPT, 2: ACCEPT}, [(0, 0, [1]), (2, 2, [1])]),
        (
            {0: RELEASE, **dict.fromkeys(range(1, 12), ACCEPT), 12: RENEW},
            [(0, 0, [2]), (1, 11, [1]), (12, 12, [4])],
        ),
        ({0: RELEASE, **dict.fromkeys(range(1, 11), ACCEPT)}, [(0, 10, [2, *[1] * 10])]),
    ],
)
def test_ranges_are_those_of_java(types: Types, expected: list[tuple[int, int, list[int]]]) -> None:
    assert ranges_of(types) == expected


@given(
    st.dictionaries(
        st.integers(0, 60), st.one_of(st.none(), st.sampled_from([ACCEPT, RELEASE])), min_size=1, max_size=60
    )
)
def test_ranges_state_the_type_of_every_offset_once(types: Types) -> None:
    stated: dict[int, int] = {}
    for first, last, kinds in ranges_of(types):
        assert len(kinds) in (1, last - first + 1)
        for index, offset in enumerate(range(first, last + 1)):
            assert offset not in stated
            stated[offset] = kinds[index] if len(kinds) > 1 else kinds[0]
    assert stated == {offset: kind or 0 for offset, kind in types.items()}


def test_merged_acknowledgements_win_and_the_first_of_all_stays() -> None:
    first, second = Acknowledgements(), Acknowledgements()
    first.add(0, ACCEPT)
    second.add(0, REJECT)
    assert not second.add_if_absent(0, ACCEPT)
    assert second.add_if_absent(1, RENEW)
    assert not first.has_renewals
    first.merge(second)
    assert (first.types, first.has_renewals) == ({0: REJECT, 1: RENEW}, True)
