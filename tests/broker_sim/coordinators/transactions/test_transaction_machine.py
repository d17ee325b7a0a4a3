"""After any faults of producers, leaders and coordinators, all of a transaction is read committed, or nothing.

Each defect that is put in on purpose is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.coordinators.transactions import marker_channel, transaction_shard
from broker_sim.coordinators.transactions.marker_channel import MarkerChannel
from broker_sim.coordinators.transactions.partition_verifier import PartitionVerifier
from broker_sim.coordinators.transactions.transaction_shard import TransactionShard
from broker_sim.log.replica_log import ReplicaLog
from tests.broker_sim.coordinators.run_machine import run_machine
from tests.broker_sim.coordinators.transactions.transaction_machine import TransactionMachine

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = 20
EXAMPLES_UNTIL_FOUND = 150
STEPS = 30
LATE_MS = 50
"""Markers are written later than this only if they are held, or sent again."""


def test_all_of_a_transaction_is_read_or_nothing() -> None:
    run_machine(TransactionMachine, examples=EXAMPLES, steps=STEPS)


def failed_markers_are_not_sent_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MarkerChannel, "_failed", lambda channel, broker_id, *_: channel._sent(broker_id))


def refused_markers_count_as_written(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(marker_channel, "_RETRIED", frozenset())


def the_last_stable_offset_is_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReplicaLog, "last_stable_offset", property(lambda log: log.high_watermark))


def markers_end_transactions_before_they_are_replicated(patch: pytest.MonkeyPatch) -> None:
    def last_stable_offset(log: ReplicaLog) -> int:
        return min([log.high_watermark, *log.producers.transactions._ongoing])

    patch.setattr(ReplicaLog, "last_stable_offset", property(last_stable_offset))


def aborted_transactions_are_not_listed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReplicaLog, "aborted_transactions_of_read", lambda *_: [])


def a_moved_coordinator_sends_no_markers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TransactionShard, "loaded", lambda *_: None)


def late_markers_abort(patch: pytest.MonkeyPatch) -> None:
    def marker(ending: Any, *arguments: Any) -> Any:
        made = original(ending, *arguments)
        made.transaction_result &= ending.shard.context.now_ms() < ending.metadata.last_update_ms + LATE_MS
        return made

    original = marker_channel._Ending.marker
    patch.setattr(marker_channel._Ending, "marker", marker)


def producers_are_not_fenced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(transaction_shard, "_check_producer", lambda *_: None)


def late_ends_are_served(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(transaction_shard, "_check_end_of_v2", lambda *_: False)


def one_partition_gets_a_marker(patch: pytest.MonkeyPatch) -> None:
    def send_markers(channel: MarkerChannel, shard: Any, metadata: Any) -> None:
        metadata.partitions = dict.fromkeys(list(metadata.partitions)[:1])
        original(channel, shard, metadata)

    original = MarkerChannel.send_markers
    patch.setattr(MarkerChannel, "send_markers", send_markers)


def transactions_are_not_verified(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PartitionVerifier, "verify", lambda *arguments, **_: arguments[-1]({}))


DEFECTS = [
    failed_markers_are_not_sent_again,
    refused_markers_count_as_written,
    the_last_stable_offset_is_the_high_watermark,
    markers_end_transactions_before_they_are_replicated,
    aborted_transactions_are_not_listed,
    a_moved_coordinator_sends_no_markers,
    late_markers_abort,
    producers_are_not_fenced,
    late_ends_are_served,
    one_partition_gets_a_marker,
    transactions_are_not_verified,
]


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found(defect: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    defect(monkeypatch)
    with pytest.raises(AssertionError):
        run_machine(TransactionMachine, examples=EXAMPLES_UNTIL_FOUND, steps=STEPS)
