"""The rule of each API at a broker. Mirrors KafkaApis.

A broker forwards most admin requests with the client's principal: the controller checks them (`controller_rules`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.authorization import config_rules, group_rules, topic_rules
from broker_sim.apis.authorization.rule import FORWARDED, NODES_ALONE, OPEN, cluster, group, transactional_id
from broker_sim.security.acl import AclOperation
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.apis.authorization.rule import Rule

__all__ = ["BROKER_RULES"]

_O = AclOperation
_IN_HANDLER: Final = OPEN
"""The handler checks each group, topic or transactional id where Kafka does."""

BROKER_RULES: Final[Mapping[ApiKey, Rule]] = {
    **NODES_ALONE,
    # Records and offsets.
    ApiKey.PRODUCE: group_rules.produce,
    ApiKey.FETCH: _IN_HANDLER,
    ApiKey.LIST_OFFSETS: topic_rules.list_offsets,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: topic_rules.offset_for_leader_epoch,
    ApiKey.DELETE_RECORDS: _IN_HANDLER,
    ApiKey.DESCRIBE_PRODUCERS: _IN_HANDLER,
    # The cluster and its topics.
    ApiKey.API_VERSIONS: OPEN,
    ApiKey.SASL_AUTHENTICATE: OPEN,
    ApiKey.SASL_HANDSHAKE: OPEN,
    ApiKey.METADATA: topic_rules.metadata,
    ApiKey.DESCRIBE_CLUSTER: topic_rules.describe_cluster,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: topic_rules.describe_topic_partitions,
    ApiKey.CREATE_TOPICS: FORWARDED,
    ApiKey.DELETE_TOPICS: FORWARDED,
    ApiKey.CREATE_PARTITIONS: FORWARDED,
    ApiKey.ELECT_LEADERS: FORWARDED,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: FORWARDED,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: FORWARDED,
    ApiKey.ALTER_REPLICA_LOG_DIRS: cluster(_O.ALTER),
    ApiKey.DESCRIBE_LOG_DIRS: cluster(_O.DESCRIBE),
    ApiKey.DESCRIBE_QUORUM: FORWARDED,
    ApiKey.UPDATE_FEATURES: FORWARDED,
    ApiKey.UNREGISTER_BROKER: FORWARDED,
    ApiKey.ADD_RAFT_VOTER: FORWARDED,
    ApiKey.REMOVE_RAFT_VOTER: FORWARDED,
    # Configurations, quotas, rights.
    ApiKey.DESCRIBE_CONFIGS: config_rules.describe_configs,
    ApiKey.ALTER_CONFIGS: FORWARDED,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: FORWARDED,
    ApiKey.LIST_CONFIG_RESOURCES: cluster(_O.DESCRIBE_CONFIGS),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: cluster(_O.DESCRIBE_CONFIGS),
    ApiKey.ALTER_CLIENT_QUOTAS: FORWARDED,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: cluster(_O.DESCRIBE),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: FORWARDED,
    ApiKey.CREATE_DELEGATION_TOKEN: _IN_HANDLER,
    ApiKey.RENEW_DELEGATION_TOKEN: _IN_HANDLER,
    ApiKey.EXPIRE_DELEGATION_TOKEN: _IN_HANDLER,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: _IN_HANDLER,
    ApiKey.DESCRIBE_ACLS: cluster(_O.DESCRIBE, explains=True),
    ApiKey.CREATE_ACLS: FORWARDED,
    ApiKey.DELETE_ACLS: FORWARDED,
    # Groups.
    ApiKey.FIND_COORDINATOR: _IN_HANDLER,
    ApiKey.JOIN_GROUP: group(_O.READ),
    ApiKey.SYNC_GROUP: group_rules.sync_group,
    ApiKey.HEARTBEAT: group(_O.READ),
    ApiKey.LEAVE_GROUP: group(_O.READ),
    ApiKey.OFFSET_COMMIT: group(_O.READ),
    ApiKey.OFFSET_FETCH: _IN_HANDLER,
    ApiKey.OFFSET_DELETE: group(_O.DELETE),
    ApiKey.DESCRIBE_GROUPS: group_rules.describe_groups,
    ApiKey.LIST_GROUPS: group_rules.list_groups,
    ApiKey.DELETE_GROUPS: group_rules.delete_groups,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _IN_HANDLER,
    ApiKey.CONSUMER_GROUP_DESCRIBE: _IN_HANDLER,
    ApiKey.STREAMS_GROUP_HEARTBEAT: _IN_HANDLER,
    ApiKey.STREAMS_GROUP_DESCRIBE: _IN_HANDLER,
    ApiKey.SHARE_GROUP_HEARTBEAT: _IN_HANDLER,
    ApiKey.SHARE_GROUP_DESCRIBE: _IN_HANDLER,
    ApiKey.SHARE_FETCH: _IN_HANDLER,
    ApiKey.SHARE_ACKNOWLEDGE: _IN_HANDLER,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _IN_HANDLER,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _IN_HANDLER,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _IN_HANDLER,
    # Transactions.
    ApiKey.INIT_PRODUCER_ID: group_rules.init_producer_id,
    ApiKey.ADD_PARTITIONS_TO_TXN: group_rules.add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: transactional_id(_O.WRITE, group(_O.READ)),
    ApiKey.TXN_OFFSET_COMMIT: transactional_id(_O.WRITE, group(_O.READ)),
    ApiKey.END_TXN: transactional_id(_O.WRITE),
    ApiKey.DESCRIBE_TRANSACTIONS: _IN_HANDLER,
    ApiKey.LIST_TRANSACTIONS: group_rules.list_transactions,
    # Metrics of clients.
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: OPEN,
    ApiKey.PUSH_TELEMETRY: OPEN,
    ApiKey.WRITE_TXN_MARKERS: group_rules.write_txn_markers,
}
