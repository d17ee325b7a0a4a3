"""Where a partition without a position begins: auto.offset.reset. Mirrors AutoOffsetResetStrategy (KIP-1106)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from broker_client.core.admin.records import OffsetSpec
from broker_client.errors import ConfigError
from protocol_specs.java_duration import duration_ms

__all__ = ["ByDuration", "OffsetReset", "offset_reset_of"]

_BY_DURATION: Final = "by_duration:"
_NAMED: Final = {"earliest": OffsetSpec.EARLIEST, "latest": OffsetSpec.LATEST, "none": None}


@dataclass(slots=True, frozen=True)
class ByDuration:
    """The first record that is at most so old when the offset is looked up."""

    duration_ms: int


OffsetReset: TypeAlias = int | ByDuration
"""An offset spec, a time in ms, or a duration before now."""


def offset_reset_of(value: object) -> OffsetReset | None:
    """Return what a value of auto.offset.reset stands for; None for none.

    Raises:
        ConfigError: the value is none of earliest, latest, none and by_duration with a duration that is not negative.
    """
    if isinstance(value, str):
        if value in _NAMED:
            return _NAMED[value]
        try:
            length_ms = duration_ms(value.removeprefix(_BY_DURATION)) if value.startswith(_BY_DURATION) else -1
        except ValueError:
            length_ms = -1
        if length_ms >= 0:
            return ByDuration(length_ms)
    raise ConfigError(
        f"auto.offset.reset={value!r}: expected earliest, latest, none, or by_duration: with a duration, "
        "such as by_duration:PT1H"
    )
