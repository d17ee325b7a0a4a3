from __future__ import annotations

import pytest

from sim_runtime.interruptible_waits import wait_in_slices


def test_a_wait_ends_with_its_event() -> None:
    waited: list[float] = []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        return len(waited) == 3

    assert wait_in_slices(wait, None)
    assert waited == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("timeout_s", "slices"), [(0, [0]), (-1, [0]), (0.5, [0.5]), (1, [1]), (2.5, [1, 1, 0.5]), (3, [1, 1, 1])]
)
def test_it_takes_no_longer_than_it_may(timeout_s: float, slices: list[float]) -> None:
    waited: list[float] = []
    assert not wait_in_slices(lambda seconds: bool(waited.append(seconds)), timeout_s)  # type: ignore[func-returns-value]
    assert waited == slices
