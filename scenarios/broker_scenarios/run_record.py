"""One finished run, as the result table and the report tell it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_scenarios.expectations import Expectation, Judgement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_scenarios.timeline import RunTimeline
    from broker_scenarios.verdict import RunVerdict

__all__ = ["RunRecord"]


@dataclass(slots=True, kw_only=True)
class RunRecord:
    """A run with its verdict and all that a reader wants to know beside it."""

    name: str
    verdict: RunVerdict
    judgement: Judgement
    expectation: Expectation = field(default_factory=Expectation)
    description: str = ""
    timeline: RunTimeline | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    """What the run was: seed, release, brokers, load, engine, digest ... in the order in which it is told."""
    rules: Sequence[str] = ()
    """One line a fault rule: how often it fired."""
    replay: str = ""
    """The command that runs it again."""
