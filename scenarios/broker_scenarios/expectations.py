"""What a scenario's file expects of its run, and whether the verdict meets it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from broker_scenarios.errors import ScenarioError
from broker_scenarios.findings import FindingKind
from broker_scenarios.verdict import COUNT_NAMES, RunVerdict, Validity

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EXPECTABLE", "CountRange", "Expectation", "Judgement", "judge"]

EXPECTABLE: Final = ("sent", *COUNT_NAMES, *(kind.value for kind in FindingKind))
"""The names that a count expectation may use: the columns of the result table, and the kinds of findings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRange:
    """How many of something there shall be; no upper end means: any number."""

    at_least: int = 0
    at_most: int | None = None

    def holds(self, count: int) -> bool:
        """Whether the count lies in the range."""
        return count >= self.at_least and (self.at_most is None or count <= self.at_most)

    def __str__(self) -> str:
        if self.at_most is None:
            return f"at least {self.at_least}"
        if self.at_least == self.at_most:
            return f"exactly {self.at_least}"
        return f"{self.at_least} to {self.at_most}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The verdict and the counts that a scenario's file names; what it does not name is not judged."""

    validity: Validity | None = Validity.VALID
    counts: Mapping[str, CountRange] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.counts:
            if name not in EXPECTABLE:
                raise ScenarioError(f"expected count {name!r} is unknown; there are {', '.join(EXPECTABLE)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Whether a run ended as its file expects; `misses` says in what it did not."""

    misses: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """True when nothing was missed."""
        return not self.misses


def judge(verdict: RunVerdict, expectation: Expectation, problems: tuple[str, ...] = ()) -> Judgement:
    """Compare; `problems` are misses that the runner saw itself (a rule that never fired)."""
    misses = list(problems)
    if expectation.validity is not None and verdict.validity is not expectation.validity:
        misses.append(
            f"verdict {verdict.validity.value}, expected {expectation.validity.value}: {'; '.join(verdict.reasons)}"
        )
    counted = verdict.counts.as_dict()
    for name, wanted in expectation.counts.items():
        count = counted[name] if name in counted else verdict.found(name)
        if not wanted.holds(count):
            misses.append(f"{name} {count}, expected {wanted}")
    return Judgement(misses=tuple(misses))
