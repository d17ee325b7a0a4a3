"""Rules without a selection on a cluster in memory: the fixture `fire` adds one, runs it and returns its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.faults.grammar import parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.faults.engine import RuleReport


@pytest.fixture
def fire() -> Callable[..., RuleReport]:
    def add(made: Any, act: Any, *, ms: float = 100, **rule: Any) -> RuleReport:
        faults = made.cluster.faults
        faults.add(parse_rule({"name": faults.free_name(), "act": act, **rule}))
        made.run(ms=ms)
        report: RuleReport = faults.reports()[-1]
        return report

    return add
