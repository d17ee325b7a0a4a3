from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sim_runtime.spinning_wait import HISTORY_WAITS, SpinningWait

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORT_WAITS_MIN = 8
EVENT = ["event"]
SHORT = (0.0001, EVENT)
OFTEN = [SHORT] * (SHORT_WAITS_MIN + HISTORY_WAITS)
"""As many short waits as make the next one spin."""
LONG = (1.0, EVENT)


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})


class Poller:
    """Returns events from a script of (seconds that pass, events) for each `poll`, and records each time-out."""

    def __init__(self, script: Sequence[tuple[float, list[str]]]) -> None:
        self.script = list(script)
        self.now = 100.0
        self.timeouts: list[float] = []

    def poll(self, timeout: float, events_max: int) -> list[str]:
        assert events_max == 3
        self.timeouts.append(timeout)
        seconds, events = self.script.pop(0)
        self.now += seconds
        return events


def polled(*script: tuple[float, list[str]], timeout: float = 5.0) -> list[float]:
    """The time-outs of the polls of as many waits as the script has events."""
    poller = Poller(script)
    spinning = SpinningWait(lambda: poller.now, short_waits_min=SHORT_WAITS_MIN)
    while poller.script:
        spinning.wait(poller.poll, timeout, 3)
    return poller.timeouts


@pytest.mark.parametrize("timeout", [5.0, -1])
def test_after_many_short_waits_it_polls_before_it_blocks(timeout: float) -> None:
    timeouts = polled(*OFTEN, (0.00005, []), (0.00005, EVENT), SHORT, timeout=timeout)
    assert timeouts == [timeout] * len(OFTEN) + [0, 0, 0]


def test_it_blocks_after_the_time_of_a_spin() -> None:
    timeouts = polled(*OFTEN, (0.0002, []), (0.0002, []), (1.0, EVENT), SHORT)
    assert timeouts[len(OFTEN) :] == [0, 0, 5.0, 5.0]


def test_an_unsuccessful_spin_ends_spinning() -> None:
    timeouts = polled(*OFTEN, (0.0003, []), (0.0001, EVENT), *OFTEN, SHORT)
    assert timeouts[len(OFTEN) :] == [0, 5.0, *[5.0] * len(OFTEN), 0]


def test_it_spins_no_longer_than_the_timeout() -> None:
    timeouts = polled(*OFTEN, (0.00015, []), (0.0, []), timeout=0.0001)
    assert timeouts[len(OFTEN) :] == [0, 0.0001]


def test_it_does_not_spin_after_the_few_pieces_of_one_large_request() -> None:
    pieces = [*OFTEN[:-1], LONG]
    assert polled(*pieces, *pieces) == [5.0] * 2 * len(pieces)


def test_it_spins_for_the_short_waits_alone_of_those_that_repeat() -> None:
    transaction = [LONG, SHORT, SHORT]
    learned = polled(*transaction * (SHORT_WAITS_MIN + HISTORY_WAITS))
    assert learned[-9:] == [5.0, 0, 0] * 3


def test_a_wait_that_nothing_ends_is_not_a_short_one() -> None:
    nothing = (0.0001, [])
    assert polled(*OFTEN, SHORT, (0.0003, []), nothing, SHORT)[len(OFTEN) :] == [0, 0, 5.0, 5.0]


def test_with_one_processor_it_sleeps_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert polled(*OFTEN, SHORT, SHORT) == [5.0] * (len(OFTEN) + 2)
