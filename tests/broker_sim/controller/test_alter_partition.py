from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from broker_sim.controller.alter_partition import serve_alter_partition
from broker_sim.controller.election import Election, ElectionRules
from broker_sim.metadata.metadata_image import (
    RECOVERED,
    RECOVERING,
    BrokerRegistration,
    MetadataImage,
    PartitionRegistration,
    TopicImage,
)
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_partition import AlterPartitionRequest, BrokerState, PartitionData, TopicData

TOPIC_ID = bytes([7] * 16)
NAME = TopicPartition("t", 0)


def image(**fenced: bool) -> MetadataImage:
    found = MetadataImage.empty("cluster").with_topic(
        TopicImage(
            name="t",
            topic_id=TOPIC_ID,
            partitions=(
                PartitionRegistration(replicas=(1, 2, 3), isr=(1, 2), leader=1, leader_epoch=4, partition_epoch=6),
            ),
            configs={},
        )
    )
    for broker_id in (1, 2, 3):
        found = found.with_broker(
            BrokerRegistration(
                id=broker_id, host="h", port=1, rack=None, fenced=fenced.get(f"b{broker_id}", False), epoch=10
            )
        )
    return found


def rules_of(metadata: MetadataImage, _: TopicPartition) -> ElectionRules:
    return ElectionRules(election=Election.ONLINE, is_acceptable=metadata.is_active, min_isr=1, elr_enabled=False)


def send(metadata: MetadataImage, **changes: Any) -> tuple[Any, Any]:
    """Send a v3 request; `isr` is (broker, epoch) each."""
    topic_id, name = changes.pop("topic_id", TOPIC_ID), changes.pop("name", "")
    broker_id = changes.pop("broker_id", 1)
    members = changes.pop("isr", ((1, 10), (2, 10), (3, 10)))
    isr = [BrokerState(broker_id=replica, broker_epoch=epoch) for replica, epoch in members]
    fields: dict[str, Any] = {
        "partition_index": 0,
        "leader_epoch": 4,
        "partition_epoch": 6,
        "new_isr_with_epochs": isr,
    }
    proposal = PartitionData(**{**fields, **changes})
    topic = TopicData(topic_id=topic_id, topic_name=name, partitions=[proposal])
    request = AlterPartitionRequest(broker_id=broker_id, broker_epoch=10, topics=[topic])
    committed, response = serve_alter_partition(metadata, request, rules_of)
    return committed, response.topics[0].partitions[0]


def test_a_good_proposal_is_committed_with_the_next_partition_epoch() -> None:
    committed, response = send(image())
    assert committed[NAME].isr == (1, 2, 3)
    assert (response.error_code, response.isr, response.leader_epoch, response.partition_epoch) == (0, [1, 2, 3], 4, 7)


def test_a_committed_state_is_returned_unchanged() -> None:
    committed, response = send(image(), isr=((1, 10), (2, 10)))
    assert committed == {}
    assert (response.error_code, response.isr, response.partition_epoch) == (0, [1, 2], 6)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"topic_id": bytes(16)}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"partition_index": 1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_epoch": 5}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 7}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": 3}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"broker_id": 2}, ErrorCode.INVALID_REQUEST),
        ({"partition_epoch": 5}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"isr": ((2, 10),)}, ErrorCode.INVALID_REQUEST),
        ({"isr": ((1, 10), (1, 10))}, ErrorCode.INVALID_REQUEST),
        ({"isr": ((1, 10), (9, 10))}, ErrorCode.INVALID_REQUEST),
        ({"isr": ((1, 10), (3, 9))}, ErrorCode.INELIGIBLE_REPLICA),
        ({"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
        ({"leader_recovery_state": 1, "isr": ((1, 10),)}, ErrorCode.INVALID_REQUEST),
        ({"topic_id": bytes(16), "name": "u"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_proposal_is_refused_for_its_first_fault(changes: dict[str, Any], error: ErrorCode) -> None:
    committed, response = send(image(), **changes)
    assert (committed, response.error_code) == ({}, error)


def test_a_fenced_broker_is_not_eligible_with_any_claimed_epoch() -> None:
    for epoch in (10, -1):
        _, response = send(image(b3=True), isr=((1, 10), (3, epoch)))
        assert response.error_code is ErrorCode.INELIGIBLE_REPLICA
    _, response = send(image(), isr=((1, 10), (3, -1)))
    assert response.error_code is ErrorCode.NONE


def test_a_topic_may_be_named_as_before_v2_and_the_isr_be_without_epochs() -> None:
    committed, response = send(image(), topic_id=bytes(16), name="t", isr=(), new_isr=[1, 2, 3])
    assert committed[NAME].isr == (1, 2, 3)
    assert response.error_code is ErrorCode.NONE


def test_a_leader_of_an_unclean_election_has_recovered_when_it_requests_another_isr() -> None:
    metadata = image()
    recovering = replace(metadata.topics["t"].partitions[0], isr=(1,), leader_recovery_state=RECOVERING)
    metadata = metadata.with_partitions({NAME: recovering})
    committed, response = send(metadata, isr=((1, 10),), leader_recovery_state=RECOVERING)
    assert (committed, response.leader_recovery_state) == ({}, RECOVERING)
    committed, response = send(metadata, isr=((1, 10), (2, 10)))
    assert committed[NAME].leader_recovery_state == response.leader_recovery_state == RECOVERED
