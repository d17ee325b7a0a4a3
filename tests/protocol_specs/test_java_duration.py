"""Durations are read as Java's Duration.parse reads them."""

from __future__ import annotations

import pytest

from protocol_specs.java_duration import duration_ms


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("PT0S", 0),
        ("PT1H", 3_600_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("pt0.0009s", 0),
        ("PT-1.5S", -1_500),
        ("-PT1M", -60_000),
        ("P-1DT25H", 3_600_000),
        ("+P2D", 172_800_000),
        ("PT5,25S", 5_250),
    ],
)
def test_a_duration_has_days_hours_minutes_and_seconds(text: str, expected_ms: int) -> None:
    assert duration_ms(text) == expected_ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "P",
        "PT",
        "P1DT",
        "1H",
        "PT1",
        "P1H",
        "PT1H2H",
        "P1Y",
        "PT1.S1",
        "PT٣S",
        "PT1S ",
        "PT9223372036854775808S",
        "P106751991167301D",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        duration_ms(text)
