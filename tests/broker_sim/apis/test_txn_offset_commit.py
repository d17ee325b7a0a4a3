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


def test_a_producer_of_an_old_epoch_is_refused(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, config=UNVERIFIED)
    assert commit_in_transaction(api, producer_epoch=2) == [ErrorCode.NONE]
    assert commit_in_transaction(api, producer_epoch=1) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert commit_in_transaction(api, producer_id=5, producer_epoch=-1) == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_v5_adds_the_partition_to_the_transaction_unless_it_is_there(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, config=UNVERIFIED)
    assert commit_in_transaction(api, version=5) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert commit_in_transaction(api, version=4) == [ErrorCode.NONE]
    assert commit_in_transaction(api, version=5) == [ErrorCode.NONE]


@pytest.mark.parametrize(("release", "error"), [("4.3.1", 22), ("3.7.2", 25)])
def test_a_generation_of_an_unknown_group_is_refused(bench: Callable[..., Any], release: str, error: int) -> None:
    api = with_coordinator(bench, config=UNVERIFIED, release=release)
    assert commit_in_transaction(api, generation_id=1, member_id="m") == [error]
