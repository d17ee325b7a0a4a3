from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.worker_processes import workers

if TYPE_CHECKING:
    from collections.abc import Iterator


def pid_of(_: int) -> int:
    return os.getpid()


def first_returns_others_wait(number: int) -> int:
    if number:
        signal.pause()
    return os.getpid()


def test_results_are_in_the_order_of_the_arguments() -> None:
    with workers(2) as results:
        assert list(results(abs, range(-5, 0))) == [5, 4, 3, 2, 1]
        pids = set(results(pid_of, range(20)))
    assert os.getpid() not in pids


@pytest.fixture
def interrupts() -> Iterator[None]:
    """SIGINT interrupts: a shell without job control lets the commands that it starts with & ignore it."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("interrupts")
def test_an_interruption_ends_the_processes_at_once_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    found = []
    with pytest.raises(KeyboardInterrupt), workers(2) as results:  # noqa: PT012 - the interruption is in the loop
        for each in results(first_returns_others_wait, range(6)):
            found.append(each)
            signal.raise_signal(signal.SIGINT)
            pytest.fail("the signal has not interrupted")
    [pid] = found
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert capfd.readouterr().err == ""
