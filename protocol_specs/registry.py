"""Find declarations by API key or name, and import them on first use. Mirrors ApiMessageType.

Requests and responses are found through the catalogue in `api_key`; schemas that belong to no API have a table here.
The headers are in `protocol_specs.messages.headers`.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from protocol_specs.api_key import ApiKey
from protocol_specs.errors import UnknownApi
from protocol_specs.spelling import close_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from protocol_specs.message import Kind, Message

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
        raise UnknownApi(repr(name), close_names(name, (*SCHEMA_NAMES, *HEADER_NAMES), count=3))
    found: type[Message] = getattr(import_module(f"protocol_specs.{module}"), name)
    return found


def every_message() -> Iterator[type[Message]]:
    """Every declaration: requests and responses by API key, the headers, then the schemas. Imports all of them."""
    for key in ApiKey:
        yield request_type(key)
        yield response_type(key)
    for name in (*HEADER_NAMES, *SCHEMA_NAMES):
        yield schema_type(name)


def find(name: str, kind: Kind) -> type[Message]:
    """The declaration of that kind under that name. Raises UnknownApi with the nearest names."""
    if kind.value in {"request", "response"}:
        return _message_type(ApiKey.named(name), kind.value.capitalize())
    known = [cls.__name__ for cls in map(schema_type, (*HEADER_NAMES, *SCHEMA_NAMES)) if cls.KIND is kind]
    for candidate in known:
        if candidate.lower() == name.lower():
            return schema_type(candidate)
    raise UnknownApi(repr(name), close_names(name, known, count=3))


def _message_type(api_key: int, kind: str) -> type[Message]:
    key = ApiKey.of(api_key)
    found: type[Message] = getattr(import_module(f"protocol_specs.messages.{key.module}"), key.api_name + kind)
    return found
