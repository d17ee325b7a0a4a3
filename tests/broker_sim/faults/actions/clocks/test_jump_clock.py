from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_clock_is_ahead_until_the_rule_closes(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas()
    clock = made.cluster.broker(2).clock
    report = fire(made, {"jump_clock": {"broker": 2, "ms": [-90_000, -60_000]}}, until={"delay_ms": 1_000})
    assert clock.offset_ms == report.decisions["act.ms@1"]
    assert -90_000 <= clock.offset_ms <= -60_000
    made.run(ms=2_000)
    assert (clock.offset_ms, made.cluster.broker(1).clock.offset_ms) == (0, 0)
