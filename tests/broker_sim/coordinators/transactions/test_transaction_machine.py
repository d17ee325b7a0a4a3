"""After any faults of producers, leaders and coordinators, all of a transaction is read committed, or nothing.

Each defect that is put in on purpose is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.coordinators.transactions.marker_channel import MarkerChannel, _Ending
from broker_sim.coordinators.transactions.partition_verifier import PartitionVerifier
from broker_sim.coordinators.transactions.transaction_shard import TransactionShard
from broker_sim.defects import DEFECTS
from broker_sim.log.replica_log import ReplicaLog
from protocol_specs.error_codes import ErrorCode
from tests.broker_sim.coordinators.run_machine import run_machine
from tests.broker_sim.coordinators.transactions.transaction_machine import TransactionMachine
from tests.broker_sim.planted_defects import planted

if TYPE_CHECKING:
    from broker_sim.defects.defect import Defect
    from broker_sim.log.transaction_index import AbortedTransaction

EXAMPLES = 20
EXAMPLES_UNTIL_FOUND = 150
FOUND_SOON = 2
"""Draws examples of which the first find every defect."""
STEPS = 30
LATE_MS = 50
"""Markers are written later than this only if they are held, or sent again."""


def test_all_of_a_transaction_is_read_or_nothing() -> None:
    run_machine(TransactionMachine, examples=EXAMPLES, steps=STEPS)


class FailedMarkersAreNotSentAgain(MarkerChannel):
    def _failed(self, broker_id: int, *_: Any) -> None:
        self._sent(broker_id)


class RefusedMarkersCountAsWritten(MarkerChannel):
    retried = frozenset()
    written = frozenset(ErrorCode)


class TheLastStableOffsetIsTheHighWatermark(ReplicaLog):
    __slots__ = ()

    @property
    def last_stable_offset(self) -> int:
        return self.high_watermark


class MarkersEndTransactionsBeforeTheyAreReplicated(ReplicaLog):
    __slots__ = ()

    @property
    def last_stable_offset(self) -> int:
        return min([self.high_watermark, *self.producers.transactions._ongoing])


class AbortedTransactionsAreNotListed(ReplicaLog):
    __slots__ = ()

    def aborted_transactions_of_read(self, *_: Any) -> list[AbortedTransaction]:
        return []


class AMovedCoordinatorSendsNoMarkers(TransactionShard):
    def loaded(self) -> None:
        pass


class _LateEnding(_Ending):
    __slots__ = ()

    def marker(self, partitions: Any) -> Any:
        made = super().marker(partitions)
        made.transaction_result &= self.shard.context.now_ms() < self.metadata.last_update_ms + LATE_MS
        return made


class LateMarkersAbort(MarkerChannel):
    _ending_type = _LateEnding


class ProducersAreNotFenced(TransactionShard):
    @staticmethod
    def _check_producer(*_: Any) -> None:
        pass


class LateEndsAreServed(TransactionShard):
    @staticmethod
    def _check_end_of_v2(*_: Any) -> bool:
        return False


class OnePartitionGetsAMarker(MarkerChannel):
    def send_markers(self, shard: Any, metadata: Any) -> None:
        metadata.partitions = dict.fromkeys(list(metadata.partitions)[:1])
        super().send_markers(shard, metadata)


class TransactionsAreNotVerified(PartitionVerifier):
    def verify(self, *arguments: Any, **_: Any) -> None:
        arguments[-1]({})


PLANTED = [
    *map(
        planted,
        (
            FailedMarkersAreNotSentAgain,
            RefusedMarkersCountAsWritten,
            TheLastStableOffsetIsTheHighWatermark,
            MarkersEndTransactionsBeforeTheyAreReplicated,
            AbortedTransactionsAreNotListed,
            AMovedCoordinatorSendsNoMarkers,
            LateMarkersAbort,
            ProducersAreNotFenced,
            LateEndsAreServed,
            OnePartitionGetsAMarker,
            TransactionsAreNotVerified,
        ),
    ),
    DEFECTS["moved-coordinator-loses-a-marker"],
    DEFECTS["read-committed-above-stable-offset"],
]


@pytest.mark.parametrize("defect", PLANTED, ids=lambda defect: defect.name)
def test_a_defect_is_found(defect: Defect) -> None:
    machine = type(TransactionMachine.__name__, (TransactionMachine,), {"defects": (defect,)})
    with pytest.raises(AssertionError):
        run_machine(machine, examples=EXAMPLES_UNTIL_FOUND, steps=STEPS, drawn_from=FOUND_SOON)
