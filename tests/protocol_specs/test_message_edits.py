"""Edits of message objects: the changed structs are copies, all others stay the same objects."""

from __future__ import annotations

import pytest

from protocol_specs.fuzzing import Mutation, MutationError
from protocol_specs.message_edits import edited
from protocol_specs.messages.fetch import AbortedTransaction, FetchableTopicResponse, FetchResponse, PartitionData


def response() -> FetchResponse:
    aborted = [AbortedTransaction(producer_id=1, first_offset=3)]
    partitions = [PartitionData(partition_index=i, high_watermark=5, aborted_transactions=aborted) for i in (0, 1)]
    return FetchResponse(responses=[FetchableTopicResponse(topic="a", partitions=partitions)])


def test_a_field_is_set_and_nothing_else_changes() -> None:
    before = response()
    after = edited(before, [Mutation.set("responses[0].partitions[1].error_code", 6)])
    assert after.responses[0].partitions[1].error_code == 6  # type: ignore[attr-defined]
    assert after.responses[0].partitions[0] is before.responses[0].partitions[0]  # type: ignore[attr-defined]
    assert before == response()


def test_lists_grow_shrink_and_turn() -> None:
    path = "responses[0].partitions[0].aborted_transactions"
    after = edited(
        response(),
        [
            Mutation.append(path, {"producer_id": 7, "first_offset": 9}),
            Mutation.reverse(path),
            Mutation.delete("responses[0].partitions[1]"),
            Mutation.duplicate("responses[0].partitions[0]", times=2),
            Mutation.set("responses[*].partitions[*].high_watermark", 8),
        ],
    )
    partitions = after.responses[0].partitions  # type: ignore[attr-defined]
    assert [partition.high_watermark for partition in partitions] == [8, 8, 8]
    assert [each.producer_id for each in partitions[0].aborted_transactions] == [7, 1]


@pytest.mark.parametrize(
    ("mutation", "problem"),
    [
        (Mutation.set("responses[0].partition", 1), "has no field 'partition': did you mean partitions"),
        (Mutation.set("responses[3].topic", "b"), "responses has 1 elements"),
        (Mutation.set("responses[0].topic.length", 1), "no struct with a field 'length'"),
        (Mutation.set("responses[x]", 1), "is no field and no element"),
        (Mutation.reverse("throttle_time_ms"), "it is no list"),
        (Mutation.lengthen("responses[0].topic"), "lengthen changes bytes: this message travels by reference"),
    ],
)
def test_an_impossible_edit_is_named(mutation: Mutation, problem: str) -> None:
    with pytest.raises(MutationError, match=problem):
        edited(response(), [mutation])
