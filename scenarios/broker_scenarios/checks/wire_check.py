"""The checks of clients on the wire and of their resources, by name: a run has those that its `expect` names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.checks.on_the_client.callbacks import stalled_callbacks
from broker_scenarios.checks.on_the_client.pools import overfull_pools
from broker_scenarios.checks.on_the_wire.batch_identity import changed_batches
from broker_scenarios.checks.on_the_wire.epochs import earlier_epochs
from broker_scenarios.checks.on_the_wire.hot_loops import hot_loops
from broker_scenarios.checks.on_the_wire.idempotence import batches_without_producer
from broker_scenarios.checks.on_the_wire.missing_requests import commits_without_request, sends_without_request
from broker_scenarios.checks.on_the_wire.old_versions import old_versions
from broker_scenarios.checks.on_the_wire.retry_rates import hasty_retries
from broker_scenarios.checks.on_the_wire.sequences import broken_sequences
from broker_scenarios.checks.on_the_wire.stale_leaders import stale_leaders
from broker_scenarios.checks.on_the_wire.throttles import ignored_throttles
from broker_scenarios.checks.on_the_wire.unreadable_bytes import unreadable_bytes
from broker_scenarios.checks.partition_check import run_checks
from broker_scenarios.findings import CheckResult, FindingKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts
    from broker_scenarios.findings import Finding

__all__ = ["NEEDS_BROKERS", "WIRE_CHECKS", "check_wire"]

WIRE_CHECKS: Final[Mapping[str, Callable[[WireFacts], Iterable[Finding]]]] = {
    FindingKind.WIRE_BATCH_IDENTITY.value: changed_batches,
    FindingKind.WIRE_SEQ.value: broken_sequences,
    FindingKind.WIRE_EPOCH.value: earlier_epochs,
    FindingKind.WIRE_IDEMPOTENCE.value: batches_without_producer,
    FindingKind.WIRE_THROTTLE.value: ignored_throttles,
    FindingKind.WIRE_RATE.value: hasty_retries,
    FindingKind.WIRE_STALE_LEADER.value: stale_leaders,
    FindingKind.WIRE_UNREADABLE.value: unreadable_bytes,
    FindingKind.WIRE_OLD_VERSION.value: old_versions,
    FindingKind.WIRE_HOT_LOOP.value: hot_loops,
    FindingKind.WIRE_NO_PRODUCE.value: sends_without_request,
    FindingKind.WIRE_NO_ENDTXN.value: commits_without_request,
    FindingKind.RES_POOL.value: overfull_pools,
    FindingKind.RES_CALLBACK.value: stalled_callbacks,
}
"""Every check by its name."""
NEEDS_BROKERS: Final = frozenset(
    kind.value
    for kind in (
        FindingKind.WIRE_BATCH_IDENTITY,
        FindingKind.WIRE_EPOCH,
        FindingKind.WIRE_THROTTLE,
        FindingKind.WIRE_RATE,
        FindingKind.WIRE_STALE_LEADER,
        FindingKind.WIRE_UNREADABLE,
        FindingKind.WIRE_OLD_VERSION,
        FindingKind.WIRE_HOT_LOOP,
    )
)
"""The checks that need what the brokers' journal has, which a proxy before other brokers does not see."""


def check_wire(facts: WireFacts, names: Collection[str]) -> CheckResult:
    """Return the findings of the named checks."""
    result = CheckResult()
    run_checks({name: check for name, check in WIRE_CHECKS.items() if name in names}, facts, result)
    return result
