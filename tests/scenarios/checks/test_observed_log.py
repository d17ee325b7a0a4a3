from __future__ import annotations

from broker_scenarios.checks.observed_log import ObservedLog


def test_a_value_in_several_places_and_values_that_share_one_have_no_neighbours() -> None:
    log = ObservedLog([(0, 1), (2, 2), (3, 3), (3, 4), (4, 5), (5, 6), (9, 6), (10, 7), (11, 8)])
    assert list(log.neighbours()) == [(1, 2), (7, 8)]
    assert log.offsets_of(6) == [5, 9]
    assert log.offsets_of(0) == []
