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
_UNITS_MS: Final = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}


def duration_ms(text: str) -> int:
    """Return the whole milliseconds of a duration. Raises ValueError. Mirrors Duration.parse."""
    found = _FORM.fullmatch(text)
    if found is None or found["time"] in {"T", "t"} or not any(found[name] is not None for name in _UNITS_MS):
        raise ValueError(f"{text!r} is no duration such as P1DT2H3M4.5S")
    total_ms = sum(int(found[name] or 0) * unit_ms for name, unit_ms in _UNITS_MS.items())
    fraction_ms = int((found["fraction"] or "").ljust(3, "0")[:3])
    total_ms += -fraction_ms if (found["seconds"] or "").startswith("-") else fraction_ms
    return -total_ms if found["sign"] == "-" else total_ms
