from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord, Log
from broker_sim.coordinators.transactions.transaction_metadata import (
    PACKED_VERSION,
    TransactionMetadata,
    TransactionTarget,
    is_exhausted,
)
from broker_sim.coordinators.transactions.transaction_state import TransactionState
from broker_sim.errors import BrokerSimError
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.schemas.coordinator.transaction_log import TransactionLogValue
from protocol_specs.schemas.record_serde import encode_value

ORDERS = TopicPartition("orders", 0)


def known(**fields: int) -> TransactionMetadata:
    usual = {"producer_id": 7, "producer_epoch": 3, "timeout_ms": 1000, "last_update_ms": 50}
    return TransactionMetadata(transactional_id="t", **(usual | fields))  # type: ignore[arg-type]


def test_a_pending_change_allows_no_other_one() -> None:
    metadata = known()
    metadata.prepare_add([ORDERS], 60, 0)
    assert metadata.pending_state is TransactionState.ONGOING
    with pytest.raises(BrokerSimError, match="cannot become Empty"):
        metadata.prepare_increment(1000, None, 60)


def test_the_start_is_that_of_the_first_partition() -> None:
    metadata = known()
    for number, now_ms in ((0, 60), (1, 70)):
        metadata.complete(metadata.prepare_add([TopicPartition("orders", number)], now_ms, 0), keeps_start=False)
    assert (metadata.start_ms, metadata.last_update_ms, len(metadata.partitions)) == (60, 70, 2)


def test_a_producer_that_continues_may_repeat_its_request() -> None:
    metadata = known()
    metadata.complete(metadata.prepare_increment(1000, 3, 60), keeps_start=False)
    assert (metadata.producer_epoch, metadata.last_producer_epoch) == (4, 3)
    metadata.complete(metadata.prepare_increment(1000, 3, 60), keeps_start=False)
    assert metadata.producer_epoch == 4
    with pytest.raises(CoordinatorError) as refused:
        metadata.prepare_increment(1000, 2, 60)
    assert refused.value.error_code is ErrorCode.PRODUCER_FENCED


def test_a_fence_that_was_not_written_keeps_its_epoch() -> None:
    metadata = known()
    metadata.complete(metadata.prepare_add([ORDERS], 60, 0), keeps_start=False)
    epoch = metadata.prepare_fence(fences_largest=False)
    metadata.begin_fenced_end(epoch)
    metadata.has_failed_epoch_fence = True
    assert (epoch, metadata.prepare_fence(fences_largest=False)) == (4, 4)


@pytest.mark.parametrize("version", [0, 1])
def test_a_record_restores_the_state(version: int) -> None:
    metadata = known()
    target = metadata.prepare_add([ORDERS], 60, 2)
    key, value = target.record("t", version, java_sets=True).encode()
    decoded = CoordinatorRecord.decode(Log.TRANSACTION_STATE, key, value)
    assert isinstance(decoded.value, TransactionLogValue)
    restored = TransactionMetadata.of_record("t", decoded.value)
    metadata.complete(target, keeps_start=False)
    assert (restored.state, restored.partitions, restored.start_ms) == (metadata.state, metadata.partitions, 60)
    assert restored.client_version == (2 if version else 0)


INT64 = st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=100)
@given(
    target=st.builds(
        TransactionTarget,
        producer_id=INT64,
        previous_producer_id=INT64 | st.just(-1),
        next_producer_id=INT64 | st.just(-1),
        producer_epoch=st.integers(-(2**15), 2**15 - 1),
        last_producer_epoch=st.just(0),
        timeout_ms=st.integers(-(2**31), 2**31 - 1),
        state=st.sampled_from(TransactionState),
        partitions=st.lists(
            st.builds(TopicPartition, st.sampled_from(["a", "b", "orders"]), st.integers(0, 200)), unique=True
        ).map(tuple),
        start_ms=INT64,
        last_update_ms=INT64,
        client_version=st.integers(0, 2),
        copied=st.integers(0, 9),
    ),
    java_sets=st.booleans(),
)
def test_a_packed_record_has_the_bytes_of_the_encoder(target: TransactionTarget, *, java_sets: bool) -> None:
    encoded = encode_value(target.value(PACKED_VERSION, java_sets=java_sets), PACKED_VERSION)
    assert target.record("t", PACKED_VERSION, java_sets=java_sets).encode()[1] == encoded


def test_the_last_epoch_of_a_producer_is_below_the_largest_one() -> None:
    assert [is_exhausted(epoch) for epoch in (32_765, 32_766, 32_767)] == [False, True, True]
