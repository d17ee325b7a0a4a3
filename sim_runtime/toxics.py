"""Toxiproxy's toxics by their names and attributes, as impairments (Toxiproxy 2, "Toxics" in its README).

Times are milliseconds, except the slicer's `delay` in microseconds; `rate` is in kilobytes (1,000 bytes) per second. An
attribute that is absent is 0, as in Toxiproxy. `down` is the eighth: it has no stage, because it refuses connections.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sim_runtime.wire_shaping import Bandwidth, Latency, Limit, Reset, Silence, Slices, SlowClose

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sim_runtime.wire_shaping import Impairment

__all__ = ["DOWN", "STREAMS", "TOXICS", "ToxicError", "ToxicType", "toxic"]

DOWN: Final = "down"
STREAMS: Final = ("upstream", "downstream")
"""`upstream` is the direction from the client to the server."""


class ToxicError(ValueError):
    """A toxic that does not exist, or a wrong attribute: `attribute` names it, if it is one."""

    def __init__(self, problem: str, attribute: str | None = None) -> None:
        super().__init__(problem)
        self.attribute = attribute


@dataclass(frozen=True, slots=True)
class ToxicType:
    """The attributes of a toxic, each with its description, and the impairment that they lead to."""

    attributes: Mapping[str, str]
    impairment: Callable[[Mapping[str, int]], Impairment]


TOXICS: Final[Mapping[str, ToxicType]] = {
    "latency": ToxicType(
        {"latency": "the delay in milliseconds", "jitter": "how much more or less, in milliseconds"},
        lambda given: Latency(given["latency"] - given["jitter"], given["latency"] + given["jitter"]),
    ),
    "bandwidth": ToxicType({"rate": "kilobytes per second"}, lambda given: Bandwidth(given["rate"] * 1000)),
    "slow_close": ToxicType({"delay": "the delay in milliseconds"}, lambda given: SlowClose(given["delay"])),
    "timeout": ToxicType(
        {"timeout": "after how many milliseconds the connection closes, 0 for never"},
        lambda given: Silence(given["timeout"] or None),
    ),
    "reset_peer": ToxicType(
        {"timeout": "how many milliseconds after the first byte the connection is reset"},
        lambda given: Reset(after_bytes=0, after_ms=given["timeout"]),
    ),
    "slicer": ToxicType(
        {
            "average_size": "the size of a piece in bytes",
            "size_variation": "how many bytes more or less, less than the size",
            "delay": "the pause after a piece in microseconds",
        },
        lambda given: Slices(size=given["average_size"], variation=given["size_variation"], delay_us=given["delay"]),
    ),
    "limit_data": ToxicType({"bytes": "how many bytes pass before the close"}, lambda given: Limit(given["bytes"])),
}
"""All toxics that act on a stream."""


def toxic(name: str, attributes: Mapping[str, object]) -> Impairment:
    """Return the impairment of a toxic. Raises ToxicError."""
    found = TOXICS.get(name)
    if found is None:
        raise ToxicError(f"{name!r} is no toxic of a stream; they are {', '.join(TOXICS)}")
    given = dict.fromkeys(found.attributes, 0)
    for key, value in attributes.items():
        if key not in given:
            raise ToxicError(f"{name} has the attributes {', '.join(given)}, not {key!r}", key)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ToxicError(f"expected a whole number of at least 0, not {value!r}", key)
        given[key] = value
    if name == "slicer" and given["average_size"] <= given["size_variation"]:
        problem = f"average_size={given['average_size']} must be above size_variation={given['size_variation']}"
        raise ToxicError(problem, "average_size")
    return found.impairment(given)
