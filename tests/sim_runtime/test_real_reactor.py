from __future__ import annotations

import signal
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import globalLogPublisher

from sim_runtime.real_reactor import new_reactor, release_reactor, stop_at_signals


def test_a_second_signal_while_a_reactor_stops_is_no_error() -> None:
    reactor = new_reactor()
    stop_at_signals(reactor)
    failures: list[Any] = []

    def observe(event: Any) -> None:
        if "log_failure" in event:
            failures.append(event["log_failure"].value)

    def shut_down() -> Deferred[None]:
        signal.raise_signal(signal.SIGINT)
        ended: Deferred[None] = Deferred()
        reactor.callLater(0, reactor.callLater, 0, ended.callback, None)
        return ended

    reactor.addSystemEventTrigger("before", "shutdown", shut_down)
    reactor.callWhenRunning(signal.raise_signal, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    globalLogPublisher.addObserver(observe)
    try:
        reactor.run()
    finally:
        globalLogPublisher.removeObserver(observe)
        for number, handler in before.items():
            signal.signal(number, handler)
        release_reactor(reactor)
    assert failures == []
