from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_clock_gains_until_the_rule_closes(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas()
    clock = made.cluster.broker(2).clock
    assert fire(made, {"drift_clock": {"broker": 2, "ppm": 1_000}}, until={"delay_ms": 10_000}).problem is None
    made.run(ms=20_000)
    assert round(clock.offset_ms, 6) == 10
