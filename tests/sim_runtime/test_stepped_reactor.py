from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from sim_runtime.stepped_reactor import SteppedReactor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sim_runtime.stepped_reactor import Lane


class Post:
    """A lane whose messages are texts."""

    source = "here"
    target = "there"
    can_be_lost = True

    def __init__(self, reactor: SteppedReactor, name: str, log: list[str]) -> None:
        self.name = name
        self._reactor = reactor
        self._log = log
        self._queue: deque[str] = deque()

    @property
    def is_ready(self) -> bool:
        return bool(self._queue)

    def send(self, message: str) -> None:
        self._queue.append(message)
        self._reactor.offer(self)

    def deliver(self) -> None:
        self._log.append(f"{self.name}: {self._queue.popleft()}")

    def lose(self) -> None:
        self._queue.popleft()


class LastFirst:
    """Takes the lane that got busy last."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def next_step(self, ready: Sequence[Lane]) -> Callable[[], object] | None:
        return ready[-1].deliver if ready else None

    def time_moves(self, now_us: int) -> None:  # noqa: ARG002
        self._log.append("time")


def test_messages_arrive_in_the_order_in_which_their_lanes_got_busy() -> None:
    reactor = SteppedReactor()
    log: list[str] = []
    first, second = Post(reactor, "first", log), Post(reactor, "second", log)
    first.send("a")
    second.send("b")
    first.send("c")
    reactor.run_for(ms=1)
    assert log == ["first: a", "first: c", "second: b"]


def test_the_scheduler_takes_a_step_when_the_present_instant_is_over_and_time_moves_when_no_message_is_left() -> None:
    reactor = SteppedReactor()
    log: list[str] = []
    reactor.scheduler = LastFirst(log)
    first, second = Post(reactor, "first", log), Post(reactor, "second", log)
    first.send("a")
    second.send("b")
    reactor.callLater(0, log.append, "now")
    reactor.callLater(0.001, log.append, "timer")
    reactor.callLater(0.001, second.send, "c")
    reactor.callLater(5, log.append, "late")
    began_us = reactor.now_us
    reactor.run_for(ms=2)
    assert log == ["now", "second: b", "first: a", "time", "timer", "second: c"]
    assert reactor.now_us == began_us + 2_000


def test_a_cancelled_timer_does_not_move_time_and_one_that_was_delayed_does_it_later() -> None:
    reactor = SteppedReactor()
    log: list[str] = []
    reactor.scheduler = LastFirst(log)
    reactor.callLater(1, log.append, "cancelled").cancel()
    reactor.callLater(2, log.append, "delayed").delay(2)
    reactor.callLater(3, log.append, "timer")
    reactor.run_for(ms=10_000)
    assert log == ["time", "timer", "time", "delayed"]


def test_a_condition_ends_the_run_between_two_steps() -> None:
    reactor = SteppedReactor()
    log: list[str] = []
    post = Post(reactor, "post", log)
    post.send("a")
    post.send("b")
    reactor.run_until(lambda: log)
    assert log == ["post: a"]
