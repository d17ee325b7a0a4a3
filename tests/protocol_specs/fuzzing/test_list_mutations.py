"""Mutations of arrays: append, reverse, and paths that name every element."""

from __future__ import annotations

import pytest

from protocol_specs.fuzzing import Mutation, MutationError, mutate_message
from protocol_specs.messages.fetch import AbortedTransaction, FetchableTopicResponse, FetchResponse, PartitionData

PATH = "responses[0].partitions[0].aborted_transactions"


def mutated(version: int, *mutations: Mutation) -> FetchResponse:
    aborted = [AbortedTransaction(producer_id=1, first_offset=3), AbortedTransaction(producer_id=2, first_offset=5)]
    partitions = [PartitionData(partition_index=i, high_watermark=5, aborted_transactions=aborted) for i in (0, 1)]
    response = FetchResponse(responses=[FetchableTopicResponse(topic="a", partitions=partitions)])
    return FetchResponse.decode(version, mutate_message(FetchResponse, version, response.encode(version), mutations))


@pytest.mark.parametrize("version", [4, 11, 12])
def test_an_element_is_appended_and_the_order_turns(version: int) -> None:
    added = {"producer_id": 7, "first_offset": 9}
    after = mutated(
        version, Mutation.append(PATH, added), Mutation.reverse(PATH), Mutation.set(f"{PATH}[0].first_offset", 8)
    )
    [partition, _] = after.responses[0].partitions
    found = [(each.producer_id, each.first_offset) for each in partition.aborted_transactions]
    assert found == [(7, 8), (2, 5), (1, 3)]


@pytest.mark.parametrize("version", [4, 12])
def test_an_element_is_appended_to_an_empty_list(version: int) -> None:
    after = mutated(
        version, Mutation.set("responses", []), Mutation.append("responses", {"topic": "x", "partitions": []})
    )
    assert [topic.topic for topic in after.responses] == ["x"]


@pytest.mark.parametrize("version", [4, 12])
def test_a_path_names_every_element(version: int) -> None:
    after = mutated(
        version,
        Mutation.set("responses[*].partitions[*].error_code", 6),
        Mutation.delete("responses[0].partitions[*].aborted_transactions[*]"),
    )
    assert [(each.error_code, each.aborted_transactions) for each in after.responses[0].partitions] == [
        (6, []),
        (6, []),
    ]


def test_only_arrays_have_elements() -> None:
    with pytest.raises(MutationError, match="append needs an array"):
        mutated(4, Mutation.append("throttle_time_ms", 1))
    with pytest.raises(MutationError, match="there is no such element"):
        mutated(4, Mutation.set("topics[*].name", "x"))
