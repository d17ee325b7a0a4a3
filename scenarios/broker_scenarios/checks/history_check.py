"""All checks of a history of the neutral form: those of each partition, then those of a wider scope.

A check that crashes yields a CheckCrash, and the other checks continue: the verdict is then unknown, never valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from broker_scenarios.checks.over_time.hung_transactions import hung_transactions
from broker_scenarios.checks.over_time.liveness import liveness
from broker_scenarios.checks.over_time.realtime_lag import realtime_lags
from broker_scenarios.checks.partition_check import CHECKS, check_analysis, run_checks
from broker_scenarios.checks.per_key.key_order import key_order
from broker_scenarios.checks.per_process.abort_classes import abort_classes
from broker_scenarios.checks.per_process.auto_commits import auto_commits
from broker_scenarios.checks.per_process.consume_counts import consume_counts
from broker_scenarios.checks.per_process.int_nonmonotonic_polls import int_nonmonotonic_polls
from broker_scenarios.checks.per_process.int_poll_skips import int_poll_skips
from broker_scenarios.checks.per_process.int_send_skips import int_send_skips
from broker_scenarios.checks.per_process.nonmonotonic_polls import nonmonotonic_polls
from broker_scenarios.checks.per_process.poll_skips import poll_skips
from broker_scenarios.checks.per_transaction.cycles import cycles
from broker_scenarios.checks.per_transaction.precommitted_reads import precommitted_reads
from broker_scenarios.checks.per_transaction.torn_transactions import torn_transactions
from broker_scenarios.checks.whole_history import WholeHistory
from broker_scenarios.findings import CheckResult, Finding, FindingKind

if TYPE_CHECKING:
    from broker_scenarios.checks.analysis import Analysis

__all__ = ["WIDER_CHECKS", "check_whole"]

WiderCheck = Callable[[WholeHistory], Iterable[Finding]]

WIDER_CHECKS: Final[Mapping[str, WiderCheck]] = {
    FindingKind.PRECOMMITTED_READ.value: precommitted_reads,
    FindingKind.TORN_TXN.value: torn_transactions,
    FindingKind.POLL_SKIP.value: poll_skips,
    FindingKind.INT_POLL_SKIP.value: int_poll_skips,
    FindingKind.INT_SEND_SKIP.value: int_send_skips,
    FindingKind.NONMONOTONIC_POLL.value: nonmonotonic_polls,
    FindingKind.INT_NONMONOTONIC_POLL.value: int_nonmonotonic_polls,
    FindingKind.CONSUME_COUNTS.value: consume_counts,
    FindingKind.KEY_ORDER.value: key_order,
    FindingKind.AUTO_COMMIT.value: auto_commits,
    FindingKind.ABORT_CLASS.value: abort_classes,
    FindingKind.G1C.value: cycles,
    FindingKind.HUNG_TXN.value: hung_transactions,
    FindingKind.LIVENESS.value: liveness,
    FindingKind.REALTIME_LAG.value: realtime_lags,
}


def check_whole(
    history: WholeHistory,
    partition_checks: Mapping[str, Callable[[Analysis], Iterable[Finding]]] = CHECKS,
    wider_checks: Mapping[str, WiderCheck] = WIDER_CHECKS,
) -> CheckResult:
    """Return the findings of all checks."""
    result = CheckResult()
    for key in sorted(history.analyses):
        check_analysis(history.analyses[key], result, partition_checks)
    run_checks(wider_checks, history, result)
    return result
