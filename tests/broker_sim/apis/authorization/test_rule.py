"""The rules that all APIs of a kind have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.apis.authorization.rule import edited
from broker_sim.apis.handler_result import LateResponse, NoResponse
from broker_sim.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.describe_acls import DescribeAclsRequest
from protocol_specs.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol_specs.messages.list_config_resources import ListConfigResourcesRequest

if TYPE_CHECKING:
    from tests.broker_sim.apis.authorization.conftest import Guarded


def test_a_group_and_the_cluster_need_their_rights(guarded: Guarded) -> None:
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert guarded.exchange(heartbeat, 4).error_code != 30
    guarded.deny(AclOperation.READ, ResourceType.GROUP, "g")
    assert guarded.exchange(heartbeat, 4).error_code == 30
    assert guarded.exchange(ListConfigResourcesRequest(), 0).error_code == 0
    guarded.deny(AclOperation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, CLUSTER_NAME)
    assert guarded.exchange(ListConfigResourcesRequest(), 0).error_code == 31


def test_the_text_of_a_refusal_has_the_protocol_of_the_listener(guarded: Guarded) -> None:
    guarded.deny(AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    everything = DescribeAclsRequest(
        resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1, principal_filter=None
    )
    refused = guarded.bench.call_as("User:ann", everything, 3)
    assert "securityProtocol=SASL_PLAINTEXT" in refused.error_message


def test_the_python_api_of_the_cluster_needs_no_rights(guarded: Guarded) -> None:
    guarded.deny(AclOperation.CREATE, ResourceType.TOPIC, "new")
    guarded.deny(AclOperation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME)
    cluster = guarded.bench.cluster
    guarded.bench.reactor.run_until(
        cluster.admin.create_topic(TopicSpec(name="new", partitions=1, replication_factor=1)), deadline_ms=1_000
    )
    assert "new" in cluster.controller.image.topics


def test_late_responses_and_missing_ones_are_edited_alike() -> None:
    def edit(response: HeartbeatResponse) -> None:
        response.error_code = 7

    late, sent = LateResponse(), []
    edited_late = edited(late, edit)
    assert isinstance(edited_late, LateResponse)
    edited_late.send_with(lambda response, _: sent.append(response), None)
    late.respond(HeartbeatResponse())
    assert [each.error_code for each in sent] == [7]
    assert edited(NoResponse.NO_OP, edit) is NoResponse.NO_OP
