"""One finished run, the input of the result table, the report and the result files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from broker_scenarios.expectations import Expectation, Judgement
from broker_scenarios.measurements import Measurements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_scenarios.timeline import RunTimeline
    from broker_scenarios.verdict import RunVerdict

__all__ = ["RunRecord"]


@dataclass(slots=True, kw_only=True)
class RunRecord:
    """A run with its verdict and the facts beside it."""

    name: str
    verdict: RunVerdict
    judgement: Judgement
    expectation: Expectation = field(default_factory=Expectation)
    description: str = ""
    timeline: RunTimeline | None = None
    measurements: Measurements = field(default_factory=Measurements)
    facts: Mapping[str, str] = field(default_factory=dict)
    """The parameters of the run: seed, release, brokers, load, digest ..., in the order in which they are shown."""
    decisions: Mapping[str, Any] = field(default_factory=dict)
    """What the seed has drawn: values of the file by the path of their key, and the draws of each rule by name."""
    rules: Sequence[str] = ()
    """One line per fault rule: how often it fired."""
    fired: Mapping[str, int] = field(default_factory=dict)
    """How often each fault rule fired, by its name."""
    reproduce: str = ""
    """The command that runs it again."""
