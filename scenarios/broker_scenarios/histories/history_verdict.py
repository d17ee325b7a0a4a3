"""The verdict on a history: its findings, each with the reason why it is permitted, and what could not be judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from broker_scenarios.verdict import Validity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.operations import Value

__all__ = ["HistoryVerdict", "JudgedFinding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFinding:
    """One anomaly: its name, the values that it is about, and the reason why it is permitted."""

    name: str
    values: tuple[Value, ...]
    allowed: str | None
    """None: it breaks a promise."""
    key: str
    """Its partition; empty if there are several."""
    ops: tuple[int, ...]
    """The operations that it is about, by their `i`."""
    detail: str

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the finding of a JSON object of `as_json`."""
        return cls(**{**data, "values": tuple(data["values"]), "ops": tuple(data["ops"])})

    def as_json(self) -> dict[str, Any]:
        """The finding as `broker-sim check --json` prints it."""
        return {
            "name": self.name,
            "values": list(self.values),
            "allowed": self.allowed,
            "key": self.key,
            "ops": list(self.ops),
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryVerdict:
    """The verdict on a history."""

    validity: Validity
    findings: tuple[JudgedFinding, ...]
    """What breaks a promise first; then by name and partition."""
    unknown: tuple[str, ...] = ()
    """What could not be judged."""
    calls: int = 0

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the verdict of a JSON object of `as_json`."""
        return cls(
            validity=Validity(data["verdict"]),
            findings=tuple(map(JudgedFinding.from_json, data["findings"])),
            unknown=tuple(data["unknown"]),
            calls=data["operations"],
        )

    def found(self, name: str) -> list[JudgedFinding]:
        """The findings of a name."""
        return [finding for finding in self.findings if finding.name == name]

    def values(self, name: str) -> list[Value]:
        """The values of all findings of a name, in order."""
        return [value for finding in self.found(name) for value in finding.values]

    def as_json(self) -> dict[str, Any]:
        """The verdict as `broker-sim check --json` prints it."""
        return {
            "verdict": self.validity.value,
            "operations": self.calls,
            "findings": [finding.as_json() for finding in self.findings],
            "unknown": list(self.unknown),
        }
