"""The verifications of transactions that go on in one log (KIP-890). Mirrors VerificationStateEntry and its part of
ProducerStateManager.

A transactional batch may begin a transaction in a log only after the transaction coordinator has confirmed that it
knows the transaction. The batch brings the guard that its verification has created. An append or a marker in between
removes the guard, so that a late confirmation opens no transaction that stays open for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.log.stored_batch import StoredBatch

__all__ = ["VerificationState", "VerificationStates", "verifies_transactions"]

_ENABLE: Final = "transaction.partition.verification.enable"


def verifies_transactions(config: BrokerConfig) -> bool:
    """Return True if a log takes no transactional batch without a guard."""
    return bool(config.behaviour.transactions_are_verified and config[_ENABLE])


@dataclass(slots=True, kw_only=True)
class VerificationState:
    """The verification of one producer: its guard, and the lowest sequence of its batches."""

    started_ms: int
    epoch: int
    lowest_sequence: int
    supports_epoch_bump: bool
    """True for a transaction of version 2, each of which has an epoch of its own."""
    guard: object = field(default_factory=object)


class VerificationStates:
    """The verifications by producer id; each is removed by an append, a marker, or with the idle producers."""

    __slots__ = ("_epochs_count", "states")

    def __init__(self, *, epochs_count: bool) -> None:
        """With `epochs_count` the marker before a transaction of version 2 leaves the verification of that one."""
        self._epochs_count = epochs_count
        self.states: dict[int, VerificationState] = {}

    def start(
        self, producer_id: int, producer_epoch: int, sequence: int, *, supports_epoch_bump: bool, now_ms: int
    ) -> object:
        """Return the guard of the producer's verification, which a lower sequence or a newer epoch changes."""
        state = self.states.get(producer_id)
        if state is None:
            state = self.states[producer_id] = VerificationState(
                started_ms=now_ms,
                epoch=producer_epoch,
                lowest_sequence=sequence,
                supports_epoch_bump=supports_epoch_bump,
            )
        elif producer_epoch > state.epoch:
            state.epoch = producer_epoch
            state.lowest_sequence = sequence
        elif producer_epoch == state.epoch:
            state.lowest_sequence = min(state.lowest_sequence, sequence)
        return state.guard

    def appended(self, batch: StoredBatch) -> None:
        """Remove the verification of the producer of a transactional batch or a marker."""
        state = self.states.get(batch.producer_id)
        if state is None:
            return
        is_of_next = self._epochs_count and state.supports_epoch_bump and batch.producer_epoch == state.epoch
        if not (is_of_next and batch.is_control):
            del self.states[batch.producer_id]

    def remove_started_before(self, time_ms: int) -> None:
        """Remove the verifications that no append has followed."""
        self.states = {key: state for key, state in self.states.items() if state.started_ms > time_ms}
