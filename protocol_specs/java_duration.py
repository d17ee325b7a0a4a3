"""Durations as ISO 8601 and Java's Duration write them: P1DT2H3M4.5S."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["duration_ms"]

_FORM: Final = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?[0-9]+)D)?"
    r"(?P<time>T(?:(?P<hours>[-+]?[0-9]+)H)?(?:(?P<minutes>[-+]?[0-9]+)M)?"
    r"(?:(?P<seconds>[-+]?[0-9]+)(?:[.,](?P<fraction>[0-9]{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_UNITS_SECONDS: Final = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_LONGEST: Final = 1 << 63


def duration_ms(text: str) -> int:
    """Return the whole milliseconds of a duration. Raises ValueError. Mirrors Duration.parse."""
    found = _FORM.fullmatch(text)
    if found is None or found["time"] in {"T", "t"} or not any(found[name] is not None for name in _UNITS_SECONDS):
        raise ValueError(f"{text!r} is no duration such as P1DT2H3M4.5S")
    parts = [int(found[name] or 0) * unit for name, unit in _UNITS_SECONDS.items()]
    if any(not -_LONGEST <= part < _LONGEST for part in (*parts, sum(parts))):
        raise ValueError(f"{text!r} is no duration of at most 2**63 - 1 seconds")
    total_ms = sum(parts) * 1_000
    fraction_ms = int((found["fraction"] or "").ljust(3, "0")[:3])
    total_ms += -fraction_ms if (found["seconds"] or "").startswith("-") else fraction_ms
    return -total_ms if found["sign"] == "-" else total_ms
