from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.broker_sim.offset_requests import commit, fetch, with_coordinator

if TYPE_CHECKING:
    from collections.abc import Callable

UNVERIFIED = {"transaction.partition.verification.enable": "false", "transaction.state.log.replication.factor": "1"}


def commit_in_transaction(api: Any, *, version: int = 3, topic: str = "orders", **fields: Any) -> list[int]:
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    request = TxnOffsetCommitRequest(
        **({"group_id": "readers", "transactional_id": "t", "producer_id": 4, "producer_epoch": 0} | fields),
        topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])],
    )
    response = api.exchange(request, version)
    return [each.error_code for topic in response.topics for each in topic.partitions]


def test_offsets_of_an_open_transaction_are_pending(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, config=UNVERIFIED)
    commit(api, {("orders", 0): 1})
    assert commit_in_transaction(api) == [ErrorCode.NONE]
    assert fetch(api, {"orders": [0]}) == [("orders", 0, 1, -1, "", ErrorCode.NONE)]
    assert fetch(api, {"orders": [0]}, require_stable=True) == [
        ("orders", 0, -1, -1, "", ErrorCode.UNSTABLE_OFFSET_COMMIT)
    ]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"topic": "nothing"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"generation_id": 1, "member_id": "m"}, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_a_commit_is_refused(bench: Callable[..., Any], fields: dict[str, Any], error: ErrorCode) -> None:
    assert commit_in_transaction(with_coordinator(bench, config=UNVERIFIED), **fields) == [error]


def test_a_transaction_that_no_coordinator_knows_is_refused(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, config={"transaction.state.log.replication.factor": "1"})
    assert commit_in_transaction(api) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    api.exchange(FindCoordinatorRequest(key="t", key_type=1), 1)
    api.reactor.run_for(ms=1_000)
    assert commit_in_transaction(api) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
