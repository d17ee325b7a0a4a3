"""The harness: scenario files become runs, runs become histories, histories become verdicts.

- `check_history`: judges a history of any client against any broker, see `docs/how-to/judge-a-history.md`.
- `HistoryVerdict`: its result.
- `ScenarioError`: the error that callers get for input that cannot be used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.histories.history_verdict import HistoryVerdict
    from broker_scenarios.histories.judge import check_history

__all__ = ["HistoryVerdict", "ScenarioError", "check_history"]

_MODULES = {
    "HistoryVerdict": "broker_scenarios.histories.history_verdict",
    "ScenarioError": "broker_scenarios.errors",
    "check_history": "broker_scenarios.histories.judge",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
