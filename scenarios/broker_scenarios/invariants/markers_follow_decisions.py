"""markers-follow-decisions: a coordinator's marker ends a transaction as it was decided, and none that is not.

Mirrors TransactionMarkerChannelManager. Markers that an administrator sends (WriteTxnMarkers, KIP-664) are not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.findings import FindingKind
from broker_scenarios.invariants.invariant import Broken, Invariant
from broker_sim.control.events import TransactionMarkerWritten, TransactionStateChanged
from broker_sim.control.transaction_events import COORDINATOR_PREFIX, NO_ERROR
from broker_sim.coordinators.transactions.transaction_state import TransactionState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.invariants.invariant import ClusterView
    from broker_sim.control.events import Event

__all__ = ["MarkersFollowDecisions"]

_DECIDED: Final = {
    TransactionState.ONGOING.label: None,
    TransactionState.PREPARE_COMMIT.label: True,
    TransactionState.PREPARE_ABORT.label: False,
}
"""Whether a transaction in a state ends with a commit; a complete one keeps what was decided."""


class MarkersFollowDecisions(Invariant):
    """Remembers the decision on each producer's last transaction."""

    kind = FindingKind.MARKERS_FOLLOW_DECISIONS
    claim = "a coordinator's marker ends a transaction as it was decided, and none that is open"
    events = (TransactionStateChanged, TransactionMarkerWritten)

    def __init__(self, cluster: ClusterView) -> None:
        super().__init__(cluster)
        self._decisions: dict[int, bool | None] = {}

    def check(self, event: Event) -> Iterator[Broken]:
        """Return the marker that contradicts the decision."""
        if isinstance(event, TransactionStateChanged):
            if event.state in _DECIDED:
                self._decisions[event.producer_id] = _DECIDED[event.state]
            return
        assert isinstance(event, TransactionMarkerWritten), "these are the kinds"
        producer_id = event.producer_id
        if event.error != NO_ERROR or not event.client_id.startswith(COORDINATOR_PREFIX):
            return
        if producer_id not in self._decisions or self._decisions[producer_id] is event.committed:
            return
        decision = {None: "is open", True: "was committed", False: "was aborted"}[self._decisions[producer_id]]
        marker = "a commit" if event.committed else "an abort"
        yield Broken(
            subject=(producer_id, event.producer_epoch, event.topic, event.partition),
            detail=f"{marker} marker ends the transaction of producer {producer_id}, which {decision}",
            topic=event.topic,
            partition=event.partition,
        )
