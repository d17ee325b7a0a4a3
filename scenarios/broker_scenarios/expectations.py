"""The expectations of a scenario's file, compared with the verdict and the figures of its run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.errors import ScenarioError
from broker_scenarios.findings import FINDING_HELP, FindingKind
from broker_scenarios.verdict import COUNT_NAMES, RunVerdict, Validity
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.measurements import Measurements

__all__ = ["COUNT_HELP", "EXPECTABLE", "CountRange", "Expectation", "ExpectedMeasure", "Judgement", "judge"]

COUNT_HELP: Final = {
    "sent": "records that the producers were given",
    "acked": "records that were acknowledged",
    "stored": "records that are in a log at the end",
    "lost": "records that were acknowledged and are in no log at the end",
    "duplicated": "records that are stored at two or more offsets",
    "reordered": "records that are stored out of the order in which one client sent them",
    "failed": "records that certainly were not stored when their send ended",
    "unknown": "records whose outcome the client does not know",
    **{kind.value: f"findings: {meaning}" for kind, meaning in FINDING_HELP.items()},
}
"""The meaning of each count."""
EXPECTABLE: Final = ("sent", *COUNT_NAMES, *(kind.value for kind in FindingKind))
"""The names that a count expectation may use: the columns of the result table, and the kinds of findings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRange:
    """The permitted range of a count; without `at_most` there is no upper limit."""

    at_least: int = 0
    at_most: int | None = None

    def holds(self, count: int) -> bool:
        """Return True if the count lies in the range."""
        return count >= self.at_least and (self.at_most is None or count <= self.at_most)

    def __str__(self) -> str:
        if self.at_most is None:
            return f"at least {self.at_least}"
        if self.at_least == self.at_most:
            return f"exactly {self.at_least}"
        return f"{self.at_least} to {self.at_most}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedMeasure:
    """One expected figure of a run: `measure` names a measure, `select` the part of the run that it measures."""

    name: str
    measure: str
    select: Mapping[str, Any]
    wanted: CountRange


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The verdict, counts and errors that a scenario's file names; the others are not judged."""

    validity: Validity | None = Validity.VALID
    counts: Mapping[str, CountRange] = field(default_factory=dict)
    errors: Mapping[str, CountRange] = field(default_factory=dict)
    """The number of batches that brokers refuse with an error, by the name of the error."""
    outcome: Mapping[str, CountRange] = field(default_factory=dict)
    """The number of sends by outcome (ok, fail, info, open), and of those that end with an error, by its name."""
    transactions: Mapping[str, CountRange] = field(default_factory=dict)
    """The same of transactions."""
    calls: Mapping[str, CountRange] = field(default_factory=dict)
    """The number of other calls of clients that end with an error, by its name."""
    measures: tuple[ExpectedMeasure, ...] = ()
    live_within_ms: float | None = None
    """Within what time after the last fault each partition acknowledges a record."""

    def __post_init__(self) -> None:
        for name in self.counts:
            if name not in EXPECTABLE:
                raise ScenarioError(f"expected count {name!r} is unknown; there are {', '.join(EXPECTABLE)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The result of the comparison; `misses` lists the differences."""

    misses: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """True when nothing was missed."""
        return not self.misses


def judge(
    verdict: RunVerdict, measurements: Measurements, expectation: Expectation, problems: tuple[str, ...] = ()
) -> Judgement:
    """Compare a run with its expectations; `problems` are misses that the runner found (a rule that never fired)."""
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
    for name, wanted in expectation.errors.items():
        batches = measurements.refused(name)
        if not wanted.holds(batches):
            misses.append(f"{plural(batches, 'batch', 'batches')} refused with {name}, expected {wanted}")
    return Judgement(misses=tuple(misses))
