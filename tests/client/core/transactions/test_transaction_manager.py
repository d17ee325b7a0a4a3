"""The state of a transactional producer: sequences after failures, the effect of a new epoch, the ends of waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_client.core.batching.compression_ratio import CompressionRatioEstimator
from broker_client.core.batching.producer_batch import Compression, ProducerBatch, ProducerIdAndEpoch
from broker_client.core.network.api_versions import ApiVersions, NodeApiVersions
from broker_client.core.transactions.transaction_handlers import CoordinatorType
from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.core.transactions.transaction_states import TransactionState
from broker_client.errors import BatchExpired, BrokerError, IllegalState, ProducerError
from broker_client.records import TopicPartition
from broker_client.transaction_errors import TransactionAbortable
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.end_txn import EndTxnResponse
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.version_range import VersionRange

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = TopicPartition("t", 0)
COORDINATOR = 1


def manager_of(*, init_producer_id: int = 5, transaction_version: int = 1) -> TransactionManager:
    """In a transaction, with the partition in it."""
    versions = ApiVersions()
    ranges = {InitProducerIdRequest.API_KEY: VersionRange(0, init_producer_id)}
    versions.update(COORDINATOR, NodeApiVersions(ranges, {"transaction.version": transaction_version}, 1))

    def at_once(function: Callable[[], None]) -> None:
        function()

    manager = TransactionManager(
        transactional_id="t",
        transaction_timeout_ms=60_000,
        retry_backoff_ms=100,
        api_versions=versions,
        call_from_thread=at_once,
    )
    manager.initialize_transactions().is_acked = True
    manager.coordinator_found(CoordinatorType.TRANSACTION, COORDINATOR, "host", 9092)
    manager.coordinator_ready()
    assert manager.take_request(has_incomplete_batches=False) is not None
    manager.id_given(ProducerIdAndEpoch(producer_id=7, epoch=0), reset_sequences=False)
    manager.maybe_update_transaction_v2_enabled(on_initialization=True)
    manager.begin_transaction()
    assert manager.maybe_add_partition(KEY)
    manager.partitions_added([KEY])
    return manager


@pytest.fixture
def manager() -> TransactionManager:
    return manager_of()


def drained(manager: TransactionManager, records: int = 1) -> ProducerBatch:
    """A batch of the partition as a drain leaves it."""
    batch = ProducerBatch(
        KEY,
        number=0,
        compression=Compression(),
        estimator=CompressionRatioEstimator(),
        write_limit_bytes=10_000,
        granted_bytes=0,
        now_ms=0,
    )
    for _ in range(records):
        batch.try_append(0, None, b"x", (), None, 0)
    manager.assign_sequence(batch)
    batch.close()
    return batch


def test_batches_behind_a_failed_one_take_its_sequence(manager: TransactionManager) -> None:
    first, failed, last = drained(manager, 2), drained(manager, 3), drained(manager, 1)
    error = BrokerError(ErrorCode.INVALID_RECORD)
    manager.handle_failed_batch(failed, error, adjust_sequence_numbers=True)
    assert (first.base_sequence, last.base_sequence, manager._entry(KEY).next_sequence) == (0, 2, 3)
    assert manager.state is TransactionState.ABORTABLE_ERROR


def test_exhausted_retries_are_an_abortable_error(manager: TransactionManager) -> None:
    error = BatchExpired("expired", "delivery.timeout.ms")
    manager.handle_failed_batch(drained(manager), error, adjust_sequence_numbers=False)
    assert isinstance(manager.last_error, TransactionAbortable)
    assert manager.last_error.__cause__ is error


@pytest.mark.parametrize(
    ("init_producer_id", "transaction_version", "state", "bumps"),
    [
        (5, 1, TransactionState.ABORTABLE_ERROR, True),
        (5, 2, TransactionState.ABORTABLE_ERROR, False),
        (2, 1, TransactionState.FATAL_ERROR, False),
    ],
)
def test_an_unknown_end_of_a_batch_is_healed_by_a_new_epoch_or_not_at_all(
    init_producer_id: int, transaction_version: int, state: TransactionState, bumps: bool
) -> None:
    manager = manager_of(init_producer_id=init_producer_id, transaction_version=transaction_version)
    batch = drained(manager)
    manager.mark_sequence_unresolved(batch)
    manager.remove_in_flight_batch(batch)
    manager.maybe_resolve_sequences()
    assert manager.state is state
    assert manager.client_side_epoch_bump_required is bumps
    assert not manager.has_unresolved_sequence(KEY)


def test_a_gap_fails_only_the_batch_that_is_next_in_line(manager: TransactionManager) -> None:
    first, second = drained(manager), drained(manager)
    assert manager.can_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert not manager.can_retry(first, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)


def test_an_id_that_retention_took_begins_anew_in_the_same_transaction(manager: TransactionManager) -> None:
    manager.handle_completed_batch(drained(manager, 5), 100)
    batch = drained(manager)
    assert not manager.can_retry(batch, ErrorCode.UNKNOWN_PRODUCER_ID, 50)
    assert manager.can_retry(batch, ErrorCode.UNKNOWN_PRODUCER_ID, 105)
    assert (batch.base_sequence, batch.producer_epoch) == (0, 0)


def test_an_illegal_transition_of_our_own_poisons_the_manager(manager: TransactionManager) -> None:
    with pytest.raises(IllegalState, match="does not take ID_GIVEN"):
        manager.id_given(ProducerIdAndEpoch(producer_id=8, epoch=0), reset_sequences=False)
    assert manager.state is TransactionState.FATAL_ERROR


def test_a_fatal_error_fails_every_wait(manager: TransactionManager) -> None:
    committing = manager.begin_commit()
    error = ProducerError("over")
    manager.transition_to_fatal_error(error)
    assert committing.completed
    assert committing.error is error
    assert manager.take_request(has_incomplete_batches=False) is None


def test_the_newest_finalized_features_count_and_outlive_their_node() -> None:
    versions = ApiVersions()
    versions.update(1, NodeApiVersions({}, {"transaction.version": 2}, 7))
    versions.update(2, NodeApiVersions({}, {"transaction.version": 1}, 6))
    versions.remove(1)
    assert versions.finalized_features == {"transaction.version": 2}
    assert versions.max_finalized_features_epoch == 7


def test_the_protocol_of_a_transaction_does_not_change_within_it(manager: TransactionManager) -> None:
    manager._api_versions.update(COORDINATOR, NodeApiVersions({}, {"transaction.version": 2}, 2))
    assert not manager.is_transaction_v2_enabled
    manager.begin_commit()
    requests = []
    while (request := manager.take_request(has_incomplete_batches=False)) is not None:
        requests.append((request.REQUEST.NAME, request.highest_version))
        if request.is_end_txn:
            request.handle(EndTxnResponse())
    assert requests == [("AddPartitionsToTxn", 3), ("EndTxn", 4), ("InitProducerId", 5)]
    assert manager.is_transaction_v2_enabled
