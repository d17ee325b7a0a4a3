from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_sim.apis import add_partitions_to_txn, end_txn
from broker_sim.apis.repeated_response import frame_tail, frame_with_tail
from protocol_specs.framing import encode_response
from protocol_specs.messages.add_partitions_to_txn import (
    AddPartitionsToTxnResponse,
    ResponseAddPartitionsToTxnPartitionResult,
    ResponseAddPartitionsToTxnTopicResult,
)
from protocol_specs.messages.end_txn import EndTxnResponse
from protocol_specs.messages.heartbeat import HeartbeatResponse

CORRELATION_IDS = st.integers(-(2**31), 2**31 - 1)


@pytest.mark.parametrize("version", [0, 4])
def test_a_tail_serves_all_correlation_ids(version: int) -> None:
    response = HeartbeatResponse(error_code=27)
    tail = frame_tail(response, version)
    for correlation_id in (7, -1):
        expected = encode_response(response, version, correlation_id=correlation_id)
        assert frame_with_tail(correlation_id, tail) == expected


@settings(max_examples=40)
@given(
    correlation_id=CORRELATION_IDS,
    version=st.integers(0, 3),
    topic=st.text(alphabet="ab.-_", min_size=1, max_size=249),
    partition=st.integers(0, 2**31 - 1),
)
def test_the_frame_of_an_added_partition_has_the_bytes_of_the_encoder(
    correlation_id: int, version: int, topic: str, partition: int
) -> None:
    one = ResponseAddPartitionsToTxnPartitionResult(partition_index=partition)
    topics = [ResponseAddPartitionsToTxnTopicResult(name=topic, results_by_partition=[one])]
    response = AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics)
    expected = encode_response(response, version, correlation_id=correlation_id)
    assert add_partitions_to_txn.success_frame(correlation_id, version, topic, partition) == expected


@pytest.mark.parametrize("version", range(5))
def test_the_frame_of_an_ended_transaction_has_the_bytes_of_the_encoder(version: int) -> None:
    response = EndTxnResponse(producer_id=7, producer_epoch=3)  # which older versions do not have
    expected = encode_response(response, version, correlation_id=5)
    assert end_txn.success_frame(5, version) == expected
