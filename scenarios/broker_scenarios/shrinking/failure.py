"""Why a run fails: the anomalies that nothing permits, or else the expectations that it missed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from broker_scenarios.findings import FindingKind
    from broker_scenarios.run_record import RunRecord

__all__ = ["reasons", "without_numbers", "wording", "wording_of_stop"]

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


def without_numbers(text: str) -> str:
    """Return the text with an N in the place of each number."""
    return _NUMBER.sub("N", text)


def reasons(record: RunRecord, finding: FindingKind | None = None) -> tuple[str, ...]:
    """Return the reasons for which a run fails, the gravest first; none if nothing is broken and nothing missed.

    An anomaly has its name (`lost-write`). A missed expectation has its text without numbers: a smaller scenario misses
    the same expectation by another number. With `finding` a run fails if it has that anomaly, permitted or not.
    """
    if finding is not None:
        return (finding.value,) if record.verdict.found(finding) else ()
    broken = tuple(judged.kind.value for judged in record.verdict.judged if judged.broken)
    return broken or tuple(without_numbers(miss) for miss in record.judgement.misses)


def wording(record: RunRecord, reason: str) -> str:
    """Return a reason as the run words it: a missed expectation with its numbers."""
    return next((miss for miss in record.judgement.misses if without_numbers(miss) == reason), reason)


def wording_of_stop(error: Exception | str) -> str:
    """Return the reason for which a run fails that an error has stopped."""
    return f"the run was stopped: {error}"
