"""wire-hot-loop: a client repeats a request on one connection without a pause.

Clients wait `retry.backoff.ms` between two attempts, and refresh metadata at most once per back-off. The requests of a
loop of the client itself are counted, not those with which an application sends, reads or commits.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from broker_scenarios.checks.on_the_wire.wire_facts import finding_of_request
from broker_scenarios.findings import FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts
    from broker_scenarios.findings import Finding

__all__ = ["hot_loops"]

LIMIT: Final = 50
WINDOW_US: Final = 1_000_000
"""More than LIMIT requests of one API within this time are a loop: one per 20 ms, a fifth of the usual back-off."""
_OF_CLIENTS: Final = frozenset(
    (
        "Metadata",
        "FindCoordinator",
        "JoinGroup",
        "SyncGroup",
        "Heartbeat",
        "ConsumerGroupHeartbeat",
        "ShareGroupHeartbeat",
        "InitProducerId",
        "ApiVersions",
    )
)


def hot_loops(facts: WireFacts) -> Iterator[Finding]:
    """Find the loops; one finding per connection and API."""
    recent: dict[tuple[int, str, str], deque[int]] = {}
    reported: dict[tuple[int, str, str], None] = {}
    for event in facts.requests:
        loop = (event.broker_id, event.connection_id, event.api)
        if event.api not in _OF_CLIENTS or loop in reported:
            continue
        times = recent.setdefault(loop, deque(maxlen=LIMIT))
        if len(times) == LIMIT and event.time_us - times[0] < WINDOW_US:
            reported[loop] = None
            after_ms = (event.time_us - times[0]) / 1000
            detail = f"after {LIMIT} others of this API on its connection within {after_ms:,.1f} ms"
            yield finding_of_request(FindingKind.WIRE_HOT_LOOP, event, detail)
        times.append(event.time_us)
