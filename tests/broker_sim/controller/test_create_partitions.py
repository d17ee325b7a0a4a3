"""Partitions that come later: where they go, and what is refused."""

from __future__ import annotations

from typing import Any

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)

Make = Any


def grow(cluster: Any, count: int, *assigned: list[int], validate_only: bool = False) -> tuple[int, str | None]:
    """Request a number of partitions of the topic; return error and text of the result."""
    assignments = [CreatePartitionsAssignment(broker_ids=ids) for ids in assigned]
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=count, assignments=assignments or None)],
        timeout_ms=1_000,
        validate_only=validate_only,
    )
    (result,) = cluster.cluster.controller.controls.partitions.create(request, None).results
    return result.error_code, result.error_message


def test_new_partitions_have_logs_on_their_replicas_and_the_old_ones_stay(replicas: Make) -> None:
    cluster = replicas(replication_factor=2)
    cluster.produce(1)
    before = cluster.cluster.registration_of("t", 0)
    assert grow(cluster, 3, [3, 1], [2, 3]) == (ErrorCode.NONE, None)
    cluster.settle()
    assert cluster.cluster.registration_of("t", 0) == before
    assert cluster.cluster.leader_of("t", 1) == 3
    assert [broker for broker in (1, 2, 3) if cluster.cluster.log_of(broker, "t", 2) is not None] == [2, 3]
    assert cluster.values(2) == [1]


def test_partitions_without_an_assignment_have_the_factor_of_the_first(replicas: Make) -> None:
    cluster = replicas(replication_factor=2)
    assert grow(cluster, 10) == (ErrorCode.NONE, None)
    placed = [cluster.cluster.registration_of("t", index) for index in range(10)]
    assert {len(set(each.replicas)) for each in placed} == {2}
    assert {each.leader for each in placed} == {1, 2, 3}


def test_replicas_that_are_down_are_not_in_sync(replicas: Make) -> None:
    cluster = replicas(replication_factor=2)
    cluster.cluster.kill(3)
    cluster.run(ms=9_500)
    assert grow(cluster, 2, [3, 1]) == (ErrorCode.NONE, None)
    assert (cluster.cluster.leader_of("t", 1), cluster.cluster.registration_of("t", 1).isr) == (1, (1,))


def test_a_partition_on_brokers_that_are_all_down_is_refused(replicas: Make) -> None:
    cluster = replicas(replication_factor=1)
    cluster.cluster.kill(3)
    cluster.run(ms=9_500)
    message = (
        "All brokers specified in the manual partition assignment for partition 2 are fenced or in controlled shutdown."
    )
    assert grow(cluster, 3, [1], [3]) == (ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    assert len(cluster.cluster.controller.image.topics["t"].partitions) == 1


def test_of_too_many_partitions_the_first_ten_thousand_are_made_and_an_error_is_returned(replicas: Make) -> None:
    cluster = replicas(brokers=1, replication_factor=1)
    assert grow(cluster, 10_002, validate_only=True) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    assert len(cluster.cluster.controller.image.topics["t"].partitions) == 1
    assert grow(cluster, 10_002) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    assert len(cluster.cluster.controller.image.topics["t"].partitions) == 10_001
