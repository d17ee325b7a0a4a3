"""The rule of each API at a controller. Mirrors ControllerApis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.authorization import config_rules, topic_rules
from broker_sim.apis.authorization.rule import NODES_ALONE, OPEN, cluster
from broker_sim.security.acl import AclOperation
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.apis.authorization.rule import Handle, Rule
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.security.access import Access
    from protocol_specs.messages.describe_cluster import DescribeClusterRequest

__all__ = ["CONTROLLER_RULES"]

_O = AclOperation
_ALTER: Final = cluster(_O.ALTER, explains=True)


def describe_cluster(
    request: DescribeClusterRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """DescribeCluster: ALTER on the cluster; it shows the client's own operations."""

    def described(request: DescribeClusterRequest, context: RequestContext) -> HandlerResult:
        return topic_rules.describe_cluster(request, context, access, handle)

    return _ALTER(request, context, access, described)


def unregister_broker(request: Any, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
    """UnregisterBroker: ALTER on the cluster; older releases have no text beside the error."""
    rule = cluster(_O.ALTER, explains=context.behaviour.unregistration_explains)
    return rule(request, context, access, handle)


CONTROLLER_RULES: Final[Mapping[ApiKey, Rule]] = {
    **NODES_ALONE,
    ApiKey.API_VERSIONS: OPEN,
    ApiKey.SASL_AUTHENTICATE: OPEN,
    ApiKey.SASL_HANDSHAKE: OPEN,
    ApiKey.DESCRIBE_CLUSTER: describe_cluster,
    ApiKey.CREATE_TOPICS: topic_rules.create_topics,
    ApiKey.DELETE_TOPICS: topic_rules.delete_topics,
    ApiKey.CREATE_PARTITIONS: topic_rules.create_partitions,
    ApiKey.ELECT_LEADERS: _ALTER,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _ALTER,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: cluster(_O.DESCRIBE, explains=True),
    ApiKey.DESCRIBE_QUORUM: cluster(_O.DESCRIBE),
    ApiKey.UPDATE_FEATURES: _ALTER,
    ApiKey.UNREGISTER_BROKER: unregister_broker,
    ApiKey.ADD_RAFT_VOTER: _ALTER,
    ApiKey.REMOVE_RAFT_VOTER: _ALTER,
    ApiKey.DESCRIBE_CONFIGS: config_rules.describe_configs,
    ApiKey.ALTER_CONFIGS: config_rules.alter_resources,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: config_rules.alter_resources,
    ApiKey.ALTER_CLIENT_QUOTAS: cluster(_O.ALTER_CONFIGS),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: OPEN,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _ALTER,
    ApiKey.CREATE_DELEGATION_TOKEN: OPEN,
    ApiKey.RENEW_DELEGATION_TOKEN: OPEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN: OPEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: OPEN,
    ApiKey.DESCRIBE_ACLS: cluster(_O.DESCRIBE, explains=True),
    ApiKey.CREATE_ACLS: cluster(_O.ALTER, explains=True),
    ApiKey.DELETE_ACLS: cluster(_O.ALTER, explains=True),
    ApiKey.CONTROLLED_SHUTDOWN: OPEN,
    ApiKey.FETCH: cluster(_O.CLUSTER_ACTION),
    ApiKey.FETCH_SNAPSHOT: cluster(_O.CLUSTER_ACTION),
    ApiKey.CONTROLLER_REGISTRATION: cluster(_O.CLUSTER_ACTION),
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: cluster(_O.CLUSTER_ACTION),
    ApiKey.UPDATE_RAFT_VOTER: cluster(_O.CLUSTER_ACTION),
}
