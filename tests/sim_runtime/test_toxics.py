from __future__ import annotations

import pytest

from sim_runtime.toxics import TOXICS, ToxicError, toxic
from sim_runtime.wire_shaping import Bandwidth, Impairment, Latency, Limit, Reset, Silence, Slices, SlowClose


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("latency", {"latency": 100, "jitter": 20}, Latency(80, 120)),
        ("latency", {"latency": 100}, Latency(100, 100)),
        ("bandwidth", {"rate": 64}, Bandwidth(64_000)),
        ("slow_close", {"delay": 5}, SlowClose(5)),
        ("timeout", {"timeout": 1_000}, Silence(1_000)),
        ("timeout", {}, Silence(None)),
        ("reset_peer", {"timeout": 7}, Reset(after_bytes=0, after_ms=7)),
        ("slicer", {"average_size": 10, "size_variation": 2, "delay": 30}, Slices(size=10, variation=2, delay_us=30)),
        ("limit_data", {"bytes": 11}, Limit(11)),
    ],
)
def test_a_toxic_is_an_impairment(name: str, attributes: dict[str, object], expected: Impairment) -> None:
    assert toxic(name, attributes) == expected


def test_every_toxic_but_down_acts_on_a_stream() -> None:
    assert set(TOXICS) == {"latency", "bandwidth", "slow_close", "timeout", "reset_peer", "slicer", "limit_data"}


@pytest.mark.parametrize(
    ("name", "attributes", "attribute", "problem"),
    [
        ("latancy", {}, None, "'latancy' is no toxic of a stream; they are latency, bandwidth"),
        ("latency", {"delay": 1}, "delay", "latency has the attributes latency, jitter, not 'delay'"),
        ("latency", {"latency": -1}, "latency", "expected a whole number of at least 0, not -1"),
        ("slicer", {"average_size": 4, "size_variation": 4}, "average_size", "must be above size_variation=4"),
    ],
)
def test_a_wrong_toxic_is_refused(
    name: str, attributes: dict[str, object], attribute: str | None, problem: str
) -> None:
    with pytest.raises(ToxicError, match=problem) as caught:
        toxic(name, attributes)
    assert caught.value.attribute == attribute
