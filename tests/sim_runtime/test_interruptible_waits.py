from __future__ import annotations

import pytest

from sim_runtime.interruptible_waits import wait_in_slices


def test_a_wait_is_over_when_what_it_waits_for_has_come() -> None:
    asked: list[float] = []

    def wait(seconds: float) -> bool:
        asked.append(seconds)
        return len(asked) == 3

    assert wait_in_slices(wait, None)
    assert asked == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("timeout_s", "slices"), [(0, [0]), (-1, [0]), (0.5, [0.5]), (1, [1]), (2.5, [1, 1, 0.5]), (3, [1, 1, 1])]
)
def test_it_takes_no_longer_than_it_may(timeout_s: float, slices: list[float]) -> None:
    asked: list[float] = []
    assert not wait_in_slices(lambda seconds: bool(asked.append(seconds)), timeout_s)  # type: ignore[func-returns-value]
    assert asked == slices
