"""API keys and names -> declarations, imported when first asked for. Mirrors Kafka's ApiKeys.

Three tables: the APIs by key, the schemas that are no request and no response by name, and the names that APIs had
once. The headers stand in `protocol_specs.messages.headers`.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import UnknownApi

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from protocol_specs.message import Kind, Message

_MODULES: Final[Mapping[int, tuple[str, str]]] = {
    0: ("Produce", "produce"),
    1: ("Fetch", "fetch"),
    2: ("ListOffsets", "list_offsets"),
    3: ("Metadata", "metadata"),
    4: ("LeaderAndIsr", "leader_and_isr"),
    5: ("StopReplica", "stop_replica"),
    6: ("UpdateMetadata", "update_metadata"),
    7: ("ControlledShutdown", "controlled_shutdown"),
    8: ("OffsetCommit", "offset_commit"),
    9: ("OffsetFetch", "offset_fetch"),
    10: ("FindCoordinator", "find_coordinator"),
    11: ("JoinGroup", "join_group"),
    12: ("Heartbeat", "heartbeat"),
    13: ("LeaveGroup", "leave_group"),
    14: ("SyncGroup", "sync_group"),
    15: ("DescribeGroups", "describe_groups"),
    16: ("ListGroups", "list_groups"),
    17: ("SaslHandshake", "sasl_handshake"),
    18: ("ApiVersions", "api_versions"),
    19: ("CreateTopics", "create_topics"),
    20: ("DeleteTopics", "delete_topics"),
    21: ("DeleteRecords", "delete_records"),
    22: ("InitProducerId", "init_producer_id"),
    23: ("OffsetForLeaderEpoch", "offset_for_leader_epoch"),
    24: ("AddPartitionsToTxn", "add_partitions_to_txn"),
    25: ("AddOffsetsToTxn", "add_offsets_to_txn"),
    26: ("EndTxn", "end_txn"),
    27: ("WriteTxnMarkers", "write_txn_markers"),
    28: ("TxnOffsetCommit", "txn_offset_commit"),
    29: ("DescribeAcls", "describe_acls"),
    30: ("CreateAcls", "create_acls"),
    31: ("DeleteAcls", "delete_acls"),
    32: ("DescribeConfigs", "describe_configs"),
    33: ("AlterConfigs", "alter_configs"),
    34: ("AlterReplicaLogDirs", "alter_replica_log_dirs"),
    35: ("DescribeLogDirs", "describe_log_dirs"),
    36: ("SaslAuthenticate", "sasl_authenticate"),
    37: ("CreatePartitions", "create_partitions"),
    38: ("CreateDelegationToken", "create_delegation_token"),
    39: ("RenewDelegationToken", "renew_delegation_token"),
    40: ("ExpireDelegationToken", "expire_delegation_token"),
    41: ("DescribeDelegationToken", "describe_delegation_token"),
    42: ("DeleteGroups", "delete_groups"),
    43: ("ElectLeaders", "elect_leaders"),
    44: ("IncrementalAlterConfigs", "incremental_alter_configs"),
    45: ("AlterPartitionReassignments", "alter_partition_reassignments"),
    46: ("ListPartitionReassignments", "list_partition_reassignments"),
    47: ("OffsetDelete", "offset_delete"),
    48: ("DescribeClientQuotas", "describe_client_quotas"),
    49: ("AlterClientQuotas", "alter_client_quotas"),
    50: ("DescribeUserScramCredentials", "describe_user_scram_credentials"),
    51: ("AlterUserScramCredentials", "alter_user_scram_credentials"),
    52: ("Vote", "vote"),
    53: ("BeginQuorumEpoch", "begin_quorum_epoch"),
    54: ("EndQuorumEpoch", "end_quorum_epoch"),
    55: ("DescribeQuorum", "describe_quorum"),
    56: ("AlterPartition", "alter_partition"),
    57: ("UpdateFeatures", "update_features"),
    58: ("Envelope", "envelope"),
    59: ("FetchSnapshot", "fetch_snapshot"),
    60: ("DescribeCluster", "describe_cluster"),
    61: ("DescribeProducers", "describe_producers"),
    62: ("BrokerRegistration", "broker_registration"),
    63: ("BrokerHeartbeat", "broker_heartbeat"),
    64: ("UnregisterBroker", "unregister_broker"),
    65: ("DescribeTransactions", "describe_transactions"),
    66: ("ListTransactions", "list_transactions"),
    67: ("AllocateProducerIds", "allocate_producer_ids"),
    68: ("ConsumerGroupHeartbeat", "consumer_group_heartbeat"),
    69: ("ConsumerGroupDescribe", "consumer_group_describe"),
    70: ("ControllerRegistration", "controller_registration"),
    71: ("GetTelemetrySubscriptions", "get_telemetry_subscriptions"),
    72: ("PushTelemetry", "push_telemetry"),
    73: ("AssignReplicasToDirs", "assign_replicas_to_dirs"),
    74: ("ListConfigResources", "list_config_resources"),
    75: ("DescribeTopicPartitions", "describe_topic_partitions"),
    76: ("ShareGroupHeartbeat", "share_group_heartbeat"),
    77: ("ShareGroupDescribe", "share_group_describe"),
    78: ("ShareFetch", "share_fetch"),
    79: ("ShareAcknowledge", "share_acknowledge"),
    80: ("AddRaftVoter", "add_raft_voter"),
    81: ("RemoveRaftVoter", "remove_raft_voter"),
    82: ("UpdateRaftVoter", "update_raft_voter"),
    83: ("InitializeShareGroupState", "initialize_share_group_state"),
    84: ("ReadShareGroupState", "read_share_group_state"),
    85: ("WriteShareGroupState", "write_share_group_state"),
    86: ("DeleteShareGroupState", "delete_share_group_state"),
    87: ("ReadShareGroupStateSummary", "read_share_group_state_summary"),
    88: ("StreamsGroupHeartbeat", "streams_group_heartbeat"),
    89: ("StreamsGroupDescribe", "streams_group_describe"),
    90: ("DescribeShareGroupOffsets", "describe_share_group_offsets"),
    91: ("AlterShareGroupOffsets", "alter_share_group_offsets"),
    92: ("DeleteShareGroupOffsets", "delete_share_group_offsets"),
}

_SCHEMAS: Final[Mapping[str, str]] = {
    "ConsumerGroupCurrentMemberAssignmentKey": "coordinator.consumer_group_current_member_assignment",
    "ConsumerGroupCurrentMemberAssignmentValue": "coordinator.consumer_group_current_member_assignment",
    "ConsumerGroupMemberMetadataKey": "coordinator.consumer_group_member_metadata",
    "ConsumerGroupMemberMetadataValue": "coordinator.consumer_group_member_metadata",
    "ConsumerGroupMetadataKey": "coordinator.consumer_group_metadata",
    "ConsumerGroupMetadataValue": "coordinator.consumer_group_metadata",
    "ConsumerGroupPartitionMetadataKey": "coordinator.consumer_group_partition_metadata",
    "ConsumerGroupPartitionMetadataValue": "coordinator.consumer_group_partition_metadata",
    "ConsumerGroupRegularExpressionKey": "coordinator.consumer_group_regular_expression",
    "ConsumerGroupRegularExpressionValue": "coordinator.consumer_group_regular_expression",
    "ConsumerGroupTargetAssignmentMemberKey": "coordinator.consumer_group_target_assignment_member",
    "ConsumerGroupTargetAssignmentMemberValue": "coordinator.consumer_group_target_assignment_member",
    "ConsumerGroupTargetAssignmentMetadataKey": "coordinator.consumer_group_target_assignment_metadata",
    "ConsumerGroupTargetAssignmentMetadataValue": "coordinator.consumer_group_target_assignment_metadata",
    "GroupMetadataKey": "coordinator.group_metadata",
    "GroupMetadataValue": "coordinator.group_metadata",
    "LegacyOffsetCommitKey": "coordinator.legacy_offset_commit",
    "LegacyOffsetCommitValue": "coordinator.legacy_offset_commit",
    "OffsetCommitKey": "coordinator.offset_commit",
    "OffsetCommitValue": "coordinator.offset_commit",
    "ShareGroupCurrentMemberAssignmentKey": "coordinator.share_group_current_member_assignment",
    "ShareGroupCurrentMemberAssignmentValue": "coordinator.share_group_current_member_assignment",
    "ShareGroupMemberMetadataKey": "coordinator.share_group_member_metadata",
    "ShareGroupMemberMetadataValue": "coordinator.share_group_member_metadata",
    "ShareGroupMetadataKey": "coordinator.share_group_metadata",
    "ShareGroupMetadataValue": "coordinator.share_group_metadata",
    "ShareGroupStatePartitionMetadataKey": "coordinator.share_group_state_partition_metadata",
    "ShareGroupStatePartitionMetadataValue": "coordinator.share_group_state_partition_metadata",
    "ShareGroupTargetAssignmentMemberKey": "coordinator.share_group_target_assignment_member",
    "ShareGroupTargetAssignmentMemberValue": "coordinator.share_group_target_assignment_member",
    "ShareGroupTargetAssignmentMetadataKey": "coordinator.share_group_target_assignment_metadata",
    "ShareGroupTargetAssignmentMetadataValue": "coordinator.share_group_target_assignment_metadata",
    "ShareSnapshotKey": "coordinator.share_snapshot",
    "ShareSnapshotValue": "coordinator.share_snapshot",
    "ShareUpdateKey": "coordinator.share_update",
    "ShareUpdateValue": "coordinator.share_update",
    "StreamsGroupCurrentMemberAssignmentKey": "coordinator.streams_group_current_member_assignment",
    "StreamsGroupCurrentMemberAssignmentValue": "coordinator.streams_group_current_member_assignment",
    "StreamsGroupMemberMetadataKey": "coordinator.streams_group_member_metadata",
    "StreamsGroupMemberMetadataValue": "coordinator.streams_group_member_metadata",
    "StreamsGroupMetadataKey": "coordinator.streams_group_metadata",
    "StreamsGroupMetadataValue": "coordinator.streams_group_metadata",
    "StreamsGroupTargetAssignmentMemberKey": "coordinator.streams_group_target_assignment_member",
    "StreamsGroupTargetAssignmentMemberValue": "coordinator.streams_group_target_assignment_member",
    "StreamsGroupTargetAssignmentMetadataKey": "coordinator.streams_group_target_assignment_metadata",
    "StreamsGroupTargetAssignmentMetadataValue": "coordinator.streams_group_target_assignment_metadata",
    "StreamsGroupTopologyKey": "coordinator.streams_group_topology",
    "StreamsGroupTopologyValue": "coordinator.streams_group_topology",
    "TransactionLogKey": "coordinator.transaction_log",
    "TransactionLogValue": "coordinator.transaction_log",
    "AbortTransactionRecord": "metadata.abort_transaction_record",
    "AccessControlEntryRecord": "metadata.access_control_entry_record",
    "BeginTransactionRecord": "metadata.begin_transaction_record",
    "BrokerRegistrationChangeRecord": "metadata.broker_registration_change_record",
    "ClearElrRecord": "metadata.clear_elr_record",
    "ClientQuotaRecord": "metadata.client_quota_record",
    "ConfigRecord": "metadata.config_record",
    "DelegationTokenRecord": "metadata.delegation_token_record",
    "EndTransactionRecord": "metadata.end_transaction_record",
    "FeatureLevelRecord": "metadata.feature_level_record",
    "FenceBrokerRecord": "metadata.fence_broker_record",
    "NoOpRecord": "metadata.no_op_record",
    "PartitionChangeRecord": "metadata.partition_change_record",
    "PartitionRecord": "metadata.partition_record",
    "ProducerIdsRecord": "metadata.producer_ids_record",
    "RegisterBrokerRecord": "metadata.register_broker_record",
    "RegisterControllerRecord": "metadata.register_controller_record",
    "RemoveAccessControlEntryRecord": "metadata.remove_access_control_entry_record",
    "RemoveDelegationTokenRecord": "metadata.remove_delegation_token_record",
    "RemoveTopicRecord": "metadata.remove_topic_record",
    "RemoveUserScramCredentialRecord": "metadata.remove_user_scram_credential_record",
    "TopicRecord": "metadata.topic_record",
    "UnfenceBrokerRecord": "metadata.unfence_broker_record",
    "UnregisterBrokerRecord": "metadata.unregister_broker_record",
    "UserScramCredentialRecord": "metadata.user_scram_credential_record",
    "ZkMigrationStateRecord": "metadata.zk_migration_state_record",
    "RemoteLogSegmentMetadataRecord": "remote_log.remote_log_segment_metadata_record",
    "RemoteLogSegmentMetadataSnapshotRecord": "remote_log.remote_log_segment_metadata_snapshot_record",
    "RemoteLogSegmentMetadataUpdateRecord": "remote_log.remote_log_segment_metadata_update_record",
    "RemotePartitionDeleteMetadataRecord": "remote_log.remote_partition_delete_metadata_record",
    "ConsumerProtocolAssignment": "consumer_protocol_assignment",
    "ConsumerProtocolSubscription": "consumer_protocol_subscription",
    "ControlRecordTypeSchema": "control_record_type_schema",
    "DefaultPrincipalData": "default_principal_data",
    "EndTxnMarker": "end_txn_marker",
    "KRaftVersionRecord": "k_raft_version_record",
    "LeaderChangeMessage": "leader_change_message",
    "ProducerSnapshot": "producer_snapshot",
    "QuorumStateData": "quorum_state_data",
    "SnapshotFooterRecord": "snapshot_footer_record",
    "SnapshotHeaderRecord": "snapshot_header_record",
    "VotersRecord": "voters_record",
}

_EARLIER_NAMES: Final[Mapping[str, int]] = {
    "ListOffset": 2,
    "ElectPreferredLeaders": 43,
    "AlterIsr": 56,
    "ListClientMetricsResources": 74,
}

API_KEYS: Final[tuple[int, ...]] = tuple(_MODULES)
"""Every declared API key, ascending."""

SCHEMA_NAMES: Final[tuple[str, ...]] = tuple(_SCHEMAS)
"""The declared schemas that are neither request, response nor header."""

HEADER_NAMES: Final = ("RequestHeader", "ResponseHeader")


@lru_cache(maxsize=256)
def request_type(api_key: int) -> type[Message]:
    """The request class of an API key. Raises UnknownApi."""
    return _message_type(api_key, "Request")


@lru_cache(maxsize=256)
def response_type(api_key: int) -> type[Message]:
    """The response class of an API key. Raises UnknownApi."""
    return _message_type(api_key, "Response")


@lru_cache(maxsize=256)
def schema_type(name: str) -> type[Message]:
    """The class of a header or of a schema outside the APIs, by its exact name. Raises UnknownApi."""
    if name in HEADER_NAMES:
        module = "messages.headers"
    elif name in _SCHEMAS:
        module = f"schemas.{_SCHEMAS[name]}"
    else:
        raise UnknownApi(repr(name), _nearest(name, (*SCHEMA_NAMES, *HEADER_NAMES)))
    found: type[Message] = getattr(import_module(f"protocol_specs.{module}"), name)
    return found


def every_message() -> Iterator[type[Message]]:
    """Every declaration: requests and responses by API key, the headers, then the schemas. Imports all of them."""
    for key in API_KEYS:
        yield request_type(key)
        yield response_type(key)
    for name in (*HEADER_NAMES, *SCHEMA_NAMES):
        yield schema_type(name)


def find(name: str, kind: Kind) -> type[Message]:
    """The declaration of that kind under that name. Raises UnknownApi with the nearest names."""
    if kind.value in {"request", "response"}:
        return _message_type(api_key(name), kind.value.capitalize())
    known = [cls.__name__ for cls in map(schema_type, (*HEADER_NAMES, *SCHEMA_NAMES)) if cls.KIND is kind]
    for candidate in known:
        if candidate.lower() == name.lower():
            return schema_type(candidate)
    raise UnknownApi(repr(name), _nearest(name, known))


def api_name(api_key: int) -> str:
    """Kafka's name of an API key. Raises UnknownApi."""
    return _entry(api_key)[0]


def api_key(name: str) -> int:
    """The API key behind Kafka's name, present or earlier, in any case. Raises UnknownApi with the nearest names."""
    asked = name.lower()
    for key, (known, _) in _MODULES.items():
        if known.lower() == asked:
            return key
    for known, key in _EARLIER_NAMES.items():
        if known.lower() == asked:
            return key
    raise UnknownApi(repr(name), _nearest(name, [known for known, _ in _MODULES.values()]))


def earlier_names(api_key: int) -> tuple[str, ...]:
    """The names that an API had before its present one."""
    return tuple(name for name, key in _EARLIER_NAMES.items() if key == api_key)


def _nearest(name: str, known: Sequence[str]) -> tuple[str, ...]:
    from difflib import get_close_matches

    by_lower = {candidate.lower(): candidate for candidate in known}
    return tuple(by_lower[near] for near in get_close_matches(name.lower(), list(by_lower)))


def _entry(api_key: int) -> tuple[str, str]:
    if api_key not in _MODULES:
        raise UnknownApi(f"key {api_key}", known=f"keys go from {API_KEYS[0]} to {API_KEYS[-1]}")
    return _MODULES[api_key]


def _message_type(api_key: int, kind: str) -> type[Message]:
    name, module = _entry(api_key)
    found: type[Message] = getattr(import_module(f"protocol_specs.messages.{module}"), name + kind)
    return found
