"""Every API of a broker has a rule; entries have rights of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.apis.authorization.broker_rules import BROKER_RULES
from broker_sim.apis.handler_result import NoResponse
from broker_sim.apis.kafka_apis import HANDLERS
from broker_sim.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from protocol_specs.messages.describe_acls import DescribeAclsRequest

if TYPE_CHECKING:
    from tests.broker_sim.apis.authorization.conftest import Guarded


def test_every_api_has_a_rule_and_no_rule_is_left_over() -> None:
    assert [key.api_name for key in HANDLERS.served if key not in BROKER_RULES] == []
    own = {key for key in BROKER_RULES if not key.facts.cluster_action}
    assert [key.api_name for key in own - {*HANDLERS.served}] == []


def described(resource_type: int) -> DescribeAclsRequest:
    return DescribeAclsRequest(
        resource_type_filter=resource_type, pattern_type_filter=1, operation=1, permission_type=1
    )


def test_entries_need_describe_on_the_cluster_and_a_request_that_can_be_read(guarded: Guarded) -> None:
    assert guarded.exchange(described(1), 3).error_code == 0
    guarded.deny(AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    response = guarded.exchange(described(1), 3)
    assert (response.error_code, response.error_message[-26:]) == (31, "needs DESCRIBE permission.")
    assert guarded.bench.call(described(0), 3) is NoResponse.CLOSE_CONNECTION
