"""Strict mode: what the clients of a simulated cluster do wrong, or as only old clients do, is a finding.

The checks are those on the wire that need no knowledge of the clients' configurations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts, WireWatch
from broker_scenarios.checks.wire_check import check_wire
from broker_scenarios.errors import ScenarioError
from broker_scenarios.findings import FINDING_HELP, FindingKind
from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.errors import nearest
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from broker_scenarios.checks.on_the_wire.wire_facts import SentBatch
    from broker_scenarios.findings import CheckResult, Finding
    from broker_sim.control.events import Event
    from broker_sim.running_cluster import AttachedCluster

__all__ = ["STRICT_CHECKS", "StrictClients", "Wire", "check_allowed"]

STRICT_CHECKS: Final = tuple(
    kind.value
    for kind in (
        FindingKind.WIRE_UNREADABLE,
        FindingKind.WIRE_OLD_VERSION,
        FindingKind.WIRE_HOT_LOOP,
        FindingKind.WIRE_THROTTLE,
        FindingKind.WIRE_RATE,
        FindingKind.WIRE_BATCH_IDENTITY,
        FindingKind.WIRE_SEQ,
        FindingKind.WIRE_EPOCH,
        FindingKind.WIRE_STALE_LEADER,
    )
)
"""The checks of strict mode by name."""
SHOWN_MAX: Final = 5
"""The findings of one check that are reported."""


class Wire(NamedTuple):
    """The batches that clients have sent, the journal, and the release of the brokers."""

    batches: list[SentBatch]
    journal: list[Event]
    release: str


class StrictClients:
    """Follows the clients of a cluster from now on. A cluster that is reset needs another one.

    Raises:
        ScenarioError: `allow` has a name that is no check of strict mode.
    """

    def __init__(self, cluster: ThreadedCluster | AttachedCluster, allow: Collection[str] = ()) -> None:
        check_allowed(allow)
        self._wire_of: Callable[[], Wire]
        self._checks = [name for name in STRICT_CHECKS if name not in allow]
        if not isinstance(cluster, ThreadedCluster):
            # Its requests are in the journal that HTTP returns.
            from broker_scenarios.remote_wire import remote_wire

            self._wire_of = lambda: remote_wire(cluster)
            return
        inner = cluster.cluster
        watch: WireWatch = cluster.call(lambda: WireWatch(inner.faults, inner.journal))
        self._wire_of = lambda: Wire(watch.batches, cluster.events(), inner.config.release)

    def result(self) -> CheckResult:
        """Return the findings of all checks but the allowed ones, and the checks that crashed."""
        batches, journal, release = self._wire_of()
        facts = WireFacts(
            batches=batches,
            journal=journal,
            history=(),
            operations=(),
            clients={},
            configs={},
            release=release,
            responds_before_throttling=not behaviour_of(release).throttles_before_the_response,
        )
        return check_wire(facts, self._checks)

    def problems(self) -> list[str]:
        """Return the findings as text, one entry per check."""
        result = self.result()
        by_kind: dict[FindingKind, list[Finding]] = {}
        for finding in result.findings:
            by_kind.setdefault(finding.kind, []).append(finding)
        problems = [f"strict mode: check {crash.kind} crashed: {crash.detail}" for crash in result.crashes]
        for kind, findings in by_kind.items():
            lines = [f"strict mode: {kind.value} ({len(findings)}): {FINDING_HELP[kind]}"]
            lines += [f"  {finding.detail}" for finding in findings[:SHOWN_MAX]]
            lines.append(f"  permitted by @pytest.mark.kafka_strict(allow=[{kind.value!r}])")
            problems.append("\n".join(lines))
        return problems


def check_allowed(names: Collection[str]) -> None:
    """Raise ScenarioError for a name that is no check of strict mode."""
    for name in names:
        if name not in STRICT_CHECKS:
            raise ScenarioError(
                f"kafka_strict(allow=[{name!r}]): unknown{nearest(str(name), STRICT_CHECKS)}; "
                f"expected {', '.join(STRICT_CHECKS)}"
            )
