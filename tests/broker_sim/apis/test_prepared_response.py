from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from broker_sim.apis import prepared_response
from broker_sim.apis.prepared_response import LOWEST_VERSION, produced
from protocol_specs.framing import encode_response
from protocol_specs.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

if TYPE_CHECKING:
    import pytest

NUMBER = st.integers(-(2**63), 2**63 - 1)


@given(
    version=st.integers(LOWEST_VERSION, 13),
    topic=st.text(alphabet="ab.-_", min_size=1, max_size=249),
    topic_id=st.binary(min_size=16, max_size=16),
    partition=st.integers(0, 2**31 - 1),
    numbers=st.tuples(NUMBER, NUMBER, NUMBER),
    correlation_id=st.integers(-(2**31), 2**31 - 1),
)
def test_the_frame_is_the_one_of_the_message(
    version: int,
    topic: str,
    topic_id: bytes,
    partition: int,
    numbers: tuple[int, int, int],
    correlation_id: int,
) -> None:
    base_offset, log_append_time_ms, log_start_offset = numbers
    response = PartitionProduceResponse(
        index=partition,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
    )
    topics = [TopicProduceResponse(name=topic, topic_id=topic_id, partition_responses=[response])]
    expected = encode_response(ProduceResponse(responses=topics), version, correlation_id=correlation_id)
    assert produced(correlation_id, version, topic, topic_id, partition, *numbers) == expected


def test_examples_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_response, "EXAMPLES_LIMIT", 3)
    monkeypatch.setattr(prepared_response, "_examples", {})
    for partition in range(10):
        produced(7, 9, "orders", bytes(16), partition, 0, -1, 0)
        assert len(prepared_response._examples) <= 3
