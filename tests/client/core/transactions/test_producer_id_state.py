"""Sequence numbers: who gets which, what a lost one leads to, when the epoch is bumped."""

from __future__ import annotations

import pytest

from broker_client.core.batching.compression_ratio import CompressionRatioEstimator
from broker_client.core.batching.producer_batch import (
    NO_PRODUCER_ID_AND_EPOCH,
    Compression,
    ProducerBatch,
    ProducerIdAndEpoch,
)
from broker_client.core.transactions.producer_id_state import EPOCH_MAX, ProducerIdState
from broker_client.core.transactions.transaction_states import TransactionState
from broker_client.errors import BrokerError, ProducerError, UnsupportedVersion
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.init_producer_id import InitProducerIdResponse

KEY = TopicPartition("t", 0)


@pytest.fixture
def manager() -> ProducerIdState:
    made = ProducerIdState()
    made.bump_epoch_and_reset_id_if_needed()
    assert made.next_request() is not None
    assert made.handle_init_producer_id(InitProducerIdResponse(producer_id=7, producer_epoch=0))
    return made


def drained(manager: ProducerIdState, records: int = 1) -> ProducerBatch:
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


def test_an_id_is_requested_once(manager: ProducerIdState) -> None:
    assert manager.state is TransactionState.READY
    manager.bump_epoch_and_reset_id_if_needed()
    assert manager.next_request() is None


def test_sequences_count_records(manager: ProducerIdState) -> None:
    assert [drained(manager, 3).base_sequence, drained(manager, 2).base_sequence] == [0, 3]
    assert manager._entry(KEY).next_sequence == 5
    assert manager.first_in_flight_sequence(KEY) == 0


def test_only_what_is_next_in_line_makes_a_gap(manager: ProducerIdState) -> None:
    first, second = drained(manager), drained(manager)
    assert manager.can_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    manager.bump_epoch_and_reset_id_if_needed()
    assert manager.producer_id_and_epoch.epoch == 0
    assert manager.can_retry(first, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    manager.bump_epoch_and_reset_id_if_needed()
    assert manager.producer_id_and_epoch.epoch == 1
    assert [(one.producer_epoch, one.base_sequence) for one in (first, second)] == [(1, 0), (1, 1)]


def test_an_unknown_producer_id_is_retried_and_bumps_unless_reset_before(manager: ProducerIdState) -> None:
    batch = drained(manager)
    assert manager.can_retry(batch, ErrorCode.UNKNOWN_PRODUCER_ID, -1)
    manager.bump_epoch_and_reset_id_if_needed()
    assert manager.producer_id_and_epoch.epoch == 0
    assert manager.can_retry(batch, ErrorCode.UNKNOWN_PRODUCER_ID, 5)
    manager.bump_epoch_and_reset_id_if_needed()
    assert manager.producer_id_and_epoch.epoch == 1
    assert batch.sequence_has_been_reset
    assert manager.can_retry(batch, ErrorCode.UNKNOWN_PRODUCER_ID, 5)
    manager.bump_epoch_and_reset_id_if_needed()
    assert manager.producer_id_and_epoch.epoch == 1


def test_a_refused_sequence_is_given_again_under_a_new_epoch(manager: ProducerIdState) -> None:
    failed, later = drained(manager), drained(manager)
    manager.handle_failed_batch(failed, BrokerError(ErrorCode.INVALID_RECORD), adjust_sequence_numbers=True)
    manager.bump_epoch_and_reset_id_if_needed()
    assert (later.producer_epoch, later.base_sequence) == (1, 0)


def test_an_expired_batch_blocks_its_partition_until_the_rest_is_known(manager: ProducerIdState) -> None:
    expired, other = drained(manager), drained(manager)
    manager.handle_failed_batch(expired, ProducerError("expired"), adjust_sequence_numbers=False)
    manager.mark_sequence_unresolved(expired)
    manager.maybe_resolve_sequences()
    assert manager.has_unresolved_sequence(KEY)
    manager.handle_completed_batch(other, base_offset=10)
    manager.maybe_resolve_sequences()
    # The later batch was written, so the expired one was too: the sequence goes on.
    assert not manager.has_unresolved_sequence(KEY)
    manager.bump_epoch_and_reset_id_if_needed()
    assert (manager.producer_id_and_epoch.epoch, manager._entry(KEY).next_sequence) == (0, 2)


def test_when_everything_expired_the_epoch_is_bumped(manager: ProducerIdState) -> None:
    expired = drained(manager)
    manager.handle_failed_batch(expired, ProducerError("expired"), adjust_sequence_numbers=False)
    manager.mark_sequence_unresolved(expired)
    manager.maybe_resolve_sequences()
    manager.bump_epoch_and_reset_id_if_needed()
    assert (manager.producer_id_and_epoch.epoch, manager._entry(KEY).next_sequence) == (1, 0)


def test_a_used_up_epoch_needs_a_new_id(manager: ProducerIdState) -> None:
    manager.producer_id_and_epoch = ProducerIdAndEpoch(producer_id=7, epoch=EPOCH_MAX)
    expired = drained(manager)
    manager.handle_failed_batch(expired, ProducerError("expired"), adjust_sequence_numbers=True)
    manager.bump_epoch_and_reset_id_if_needed()
    assert manager.producer_id_and_epoch == NO_PRODUCER_ID_AND_EPOCH
    assert manager.has_request_due


def test_other_partitions_move_to_the_new_epoch_when_nothing_is_in_flight(manager: ProducerIdState) -> None:
    waiting = drained(manager)
    other = TopicPartition("t", 1)
    manager.producer_id_and_epoch = ProducerIdAndEpoch(producer_id=7, epoch=1)
    assert manager.has_stale_producer_id_and_epoch(KEY)
    manager.maybe_update_producer_id_and_epoch(KEY)
    assert manager.has_stale_producer_id_and_epoch(KEY)
    manager.handle_completed_batch(waiting, base_offset=0)
    manager.maybe_update_producer_id_and_epoch(KEY)
    manager.maybe_update_producer_id_and_epoch(other)
    assert not manager.has_stale_producer_id_and_epoch(KEY)
    assert (manager._entry(KEY).next_sequence, manager._entry(other).next_sequence) == (0, 0)


@pytest.mark.parametrize("code", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR])
def test_a_retriable_error_repeats_the_request(code: ErrorCode) -> None:
    manager = ProducerIdState()
    manager.bump_epoch_and_reset_id_if_needed()
    assert manager.next_request() is not None
    assert not manager.handle_init_producer_id(InitProducerIdResponse(error_code=code))
    assert manager.next_request() is not None


def test_an_unexpected_error_is_fatal() -> None:
    manager = ProducerIdState()
    manager.bump_epoch_and_reset_id_if_needed()
    manager.handle_init_producer_id(InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST))
    assert manager.has_fatal_error
    assert not manager.is_send_to_partition_allowed(KEY)
    assert "INVALID_REQUEST" in str(manager.last_error)


def test_brokers_without_idempotence_end_everything() -> None:
    manager = ProducerIdState()
    manager.bump_epoch_and_reset_id_if_needed()
    manager.version_mismatch(UnsupportedVersion("too old"))
    assert manager.has_fatal_error
