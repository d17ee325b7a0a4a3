"""Stretches of sends, against a definition that compares every send with every other."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pytest

from broker_scenarios.arrow.send_order import disordered_ranges, inside_ranges, joined_ranges, stretches_of


def disordered(offsets: list[int]) -> list[int]:
    """The places of the sends between two neighbouring cuts that are not alone there."""
    cuts = [at for at in range(len(offsets) + 1) if max(offsets[:at], default=-1) < min(offsets[at:], default=1 << 60)]
    spans = [range(first, end) for first, end in itertools.pairwise(cuts)]
    return [at for span in spans if len(span) > 1 for at in span]


@pytest.mark.parametrize("seed", range(40))
def test_the_ranges_are_those_between_cuts(seed: int) -> None:
    chance = Random(seed)
    offsets = list(range(0, 90, 3))
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(offsets) - 5)
        offsets.insert(at, offsets.pop(at + chance.randrange(1, 5)))
    indexes = np.arange(len(offsets)) * 2
    whole = disordered_ranges(stretches_of(indexes, np.array(offsets)))
    assert np.flatnonzero(inside_ranges(whole, indexes)).tolist() == disordered(offsets)
    # Blocks whose sends interleave can only widen the ranges, to whole ordered stretches.
    parts = [slice(0, 11), slice(11, 12), slice(12, None)]
    in_blocks = [each for part in parts for each in stretches_of(indexes[part], np.array(offsets[part]))]
    assert set(disordered(offsets)) <= set(
        np.flatnonzero(inside_ranges(disordered_ranges(in_blocks), indexes)).tolist()
    )


def test_long_ordered_stretches_are_short_pieces() -> None:
    numbers = np.arange(5_000)
    stretches = list(stretches_of(numbers, numbers))
    assert [(each.first_index, each.last_index) for each in stretches][:2] == [(0, 999), (1_000, 1_999)]
    assert not len(disordered_ranges(stretches))


def test_ranges_are_joined() -> None:
    assert joined_ranges(np.array([0, 2, 7, 9]), np.array([2, 4, 8, 12])).tolist() == [0, 4, 7, 12]
