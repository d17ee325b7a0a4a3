"""The `expect` of a scenario file as an Expectation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.expectations import EXPECTABLE, CountRange, Expectation, ExpectedMeasure
from broker_scenarios.language.kinds import parse_count
from broker_scenarios.verdict import Validity

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["expectation_of"]

_BY_NAME: Final = ("errors", "outcome", "transactions", "calls")


def expectation_of(value: Mapping[str, Any]) -> Expectation:
    """Return what a checked `expect` states."""
    verdict = value.get("verdict", Validity.VALID.value)
    ranges = {key: {name: _range(count) for name, count in value.get(key, {}).items()} for key in _BY_NAME}
    return Expectation(
        validity=None if verdict == "any" else Validity(verdict),
        counts={name: _range(value[name]) for name in EXPECTABLE if name in value},
        live_within_ms=value.get("live_within_ms"),
        measures=tuple(_measure(name, given) for name, given in value.get("measures", {}).items()),
        **ranges,
    )


def _measure(name: str, given: Mapping[str, Any]) -> ExpectedMeasure:
    select = {key: value for key, value in given.items() if key not in {"measure", "is"}}
    return ExpectedMeasure(name=name, measure=given["measure"], select=select, wanted=_range(given["is"]))


def _range(written: int | str) -> CountRange:
    at_least, at_most = parse_count(written)
    return CountRange(at_least=at_least, at_most=at_most)
