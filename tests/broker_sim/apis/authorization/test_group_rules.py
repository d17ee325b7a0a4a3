"""Groups and transactional ids that the client may not use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from protocol_specs.messages.describe_groups import DescribeGroupsRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest

if TYPE_CHECKING:
    from tests.broker_sim.apis.authorization.conftest import Guarded


def test_a_producer_needs_its_transactional_id_or_some_topic(guarded: Guarded) -> None:
    plain = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000)
    guarded.deny(AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME)
    assert guarded.exchange(plain, 4).error_code != 31
    guarded.deny(AclOperation.WRITE, ResourceType.TOPIC, "*")
    assert guarded.exchange(plain, 4).error_code == 31
    guarded.deny(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x")
    named = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=1_000)
    assert guarded.exchange(named, 4).error_code == 53


def test_denied_groups_are_described_first(guarded: Guarded) -> None:
    guarded.deny(AclOperation.DESCRIBE, ResourceType.GROUP, "b")
    response = guarded.exchange(DescribeGroupsRequest(groups=["a", "b"]), 5)
    assert [(group.group_id, group.error_code == 30) for group in response.groups] == [("b", True), ("a", False)]
