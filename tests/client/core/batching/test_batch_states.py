"""The transition table of a producer's batch."""

from __future__ import annotations

import pytest

from broker_client.core.batching.batch_states import BATCH_STATES, BatchState, BatchStep
from broker_client.core.batching.compression_ratio import CompressionRatioEstimator
from broker_client.core.batching.producer_batch import Compression, ProducerBatch
from broker_client.errors import ProducerClosed, ProducerError
from broker_client.records import TopicPartition
from sim_runtime.state_table import IllegalTransition

CLOSE, DRAIN, REQUEST_END, RETRY, SUCCEED, FAIL, ABORT = BatchStep
STEPS_OF_STATES = {
    BatchState.OPEN: {CLOSE, FAIL, ABORT},
    BatchState.CLOSED: {DRAIN, RETRY, SUCCEED, FAIL, ABORT},
    BatchState.IN_FLIGHT: {REQUEST_END, FAIL, ABORT},
    BatchState.SUCCEEDED: set(),
    BatchState.FAILED: {SUCCEED, FAIL},
    BatchState.ABORTED: {SUCCEED, FAIL},
    BatchState.FAILED_IN_FLIGHT: {REQUEST_END},
    BatchState.ABORTED_IN_FLIGHT: {REQUEST_END},
}


def batch_of() -> ProducerBatch:
    batch = ProducerBatch(
        TopicPartition("t", 0),
        number=0,
        compression=Compression(),
        estimator=CompressionRatioEstimator(),
        write_limit_bytes=1_000,
        granted_bytes=1_000,
        now_ms=0,
    )
    assert batch.try_append(0, None, b"v", (), None, 0) is not None
    return batch


@pytest.mark.parametrize("state", list(BatchState))
def test_each_state_takes_its_steps_and_no_others(state: BatchState) -> None:
    assert set(BATCH_STATES.allowed(state)) == STEPS_OF_STATES[state]


def test_a_final_state_is_never_left() -> None:
    final = {BatchState.SUCCEEDED, BatchState.FAILED, BatchState.ABORTED}
    assert [
        after for (state, _), after in BATCH_STATES.transitions.items() if state in final and after is not state
    ] == []


def test_a_batch_that_is_retried_and_acknowledged() -> None:
    batch = batch_of()
    seen = [batch.state]
    for step in (
        batch.close,
        lambda: batch.drained(1),
        batch.request_ended,
        lambda: batch.reenqueued(2, 100),
        lambda: batch.drained(200),
        batch.request_ended,
        lambda: batch.complete(7, -1),
    ):
        step()
        seen.append(batch.state)
    assert [state.name for state in seen] == [
        "OPEN",
        "CLOSED",
        "IN_FLIGHT",
        "CLOSED",
        "CLOSED",
        "IN_FLIGHT",
        "CLOSED",
        "SUCCEEDED",
    ]
    assert batch.in_retry


@pytest.mark.parametrize("ends", ["fail", "abort"])
def test_a_batch_that_ends_in_flight_ignores_its_late_response(ends: str) -> None:
    batch = batch_of()
    batch.close()
    batch.drained(1)
    if ends == "fail":
        assert batch.fail(lambda _: ProducerError("expired"))
    else:
        batch.abort(ProducerClosed("closed"))
    assert (batch.in_flight, batch.is_done) == (True, True)
    batch.request_ended()
    assert not batch.complete(7, -1)
    assert (batch.in_flight, batch.is_done) == (False, True)
    assert batch.result.base_offset == -1


def test_a_full_batch_is_closed_and_takes_no_record() -> None:
    batch = batch_of()
    assert batch.try_append(0, None, bytes(1_000 - batch.estimated_size_in_bytes - 9), (), None, 0) is not None
    assert batch.state is BatchState.CLOSED
    assert batch.try_append(0, None, b"", (), None, 0) is None


def test_a_batch_in_flight_cannot_be_drained_again() -> None:
    batch = batch_of()
    batch.close()
    batch.drained(1)
    with pytest.raises(IllegalTransition, match="in state IN_FLIGHT does not take DRAIN"):
        batch.drained(2)
