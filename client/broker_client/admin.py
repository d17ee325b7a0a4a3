"""The admin client for programs with threads: creates, describes and alters topics and clusters. Mirrors Admin.

    with Admin(bootstrap_servers="localhost:9092") as admin:
        admin.create_topic("orders", partitions=6, replication_factor=3)

Every call waits for its result, at most default.api.timeout.ms (60,000 by default), and retries requests that fail
because a leader or controller moved or is not available. "From 2.4 on" means brokers of release 2.4 or later.

Every call raises:
    ProducerTimeout: there is no result within default.api.timeout.ms.
    UnsupportedVersion: the brokers' release does not have the request.
    ItemsFailed: some items of the call failed, for example topics; `errors` has their errors, `done` the other results.
    BrokerError: a broker refused a request that has no items.
    ProducerClosed: the admin client is closed.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from broker_client.admin_errors import ItemsFailed
from broker_client.admin_security import SecurityAdmin
from broker_client.bootstrap_problems import bootstrap_problems
from broker_client.client_options import client_options, parsed_options
from broker_client.config.consumer_keys import ADMIN_KEYS
from broker_client.core.admin.acls import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from broker_client.core.admin.admin_core import AdminCore
from broker_client.core.admin.cluster import (
    ClusterDescription,
    FeatureMetadata,
    FeatureUpdate,
    FeatureUpgradeType,
    QuorumInfo,
    QuorumReplica,
    VersionLevels,
)
from broker_client.core.admin.configs import (
    AlterConfigOp,
    ConfigEntry,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    ConfigSynonym,
    ConfigType,
)
from broker_client.core.admin.delegation_tokens import BROKERS_PERIOD, DelegationToken, TokenInformation
from broker_client.core.admin.group_descriptions import (
    ClassicGroupDescription,
    ConsumerGroupDescription,
    MemberDescription,
    ShareGroupDescription,
    ShareMemberDescription,
)
from broker_client.core.admin.groups import GroupListing, GroupState, GroupType
from broker_client.core.admin.log_dirs import LogDirDescription, ReplicaInfo, TopicPartitionReplica
from broker_client.core.admin.log_reads import LogRead
from broker_client.core.admin.quotas import QuotaEntity, QuotaFilter
from broker_client.core.admin.records import HIGH_WATERMARK, ListedOffset, OffsetSpec
from broker_client.core.admin.replicas import ElectionType, PartitionReassignment
from broker_client.core.admin.scram_credentials import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from broker_client.core.admin.share_group_offsets import SharePartitionOffset
from broker_client.core.admin.streams_groups import (
    StreamsEndpoint,
    StreamsGroupDescription,
    StreamsMemberAssignment,
    StreamsMemberDescription,
    StreamsSubtopology,
    StreamsTaskOffset,
    StreamsTopicInfo,
)
from broker_client.core.admin.topic_partitions import PARTITIONS_PER_RESPONSE_MAX
from broker_client.core.admin.topics import (
    CreatedTopic,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicListing,
    TopicPartitionInfo,
)
from broker_client.core.admin.transactions import (
    NO_DURATION,
    AbortTransactionSpec,
    FencedProducer,
    ProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from broker_client.core.network.client_core import ClientCore
from broker_client.errors import ProducerClosed
from broker_client.isolation_levels import IsolationLevel
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from broker_client.config.value_parsing import ConfigText
    from broker_client.consumer_groups import OffsetAndMetadata
    from broker_client.records import PartitionInfo, TopicPartition

__all__ = [
    "BROKERS_PERIOD",
    "HIGH_WATERMARK",
    "NO_DURATION",
    "AbortTransactionSpec",
    "AclBinding",
    "AclBindingFilter",
    "AclOperation",
    "AclPermissionType",
    "Admin",
    "AlterConfigOp",
    "ClassicGroupDescription",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigOperation",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "ConsumerGroupDescription",
    "CreatedTopic",
    "DelegationToken",
    "ElectionType",
    "FeatureMetadata",
    "FeatureUpdate",
    "FeatureUpgradeType",
    "FencedProducer",
    "GroupListing",
    "GroupState",
    "GroupType",
    "IsolationLevel",
    "ItemsFailed",
    "ListedOffset",
    "LogDirDescription",
    "LogRead",
    "MemberDescription",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "PartitionReassignment",
    "PatternType",
    "ProducerState",
    "QuorumInfo",
    "QuorumReplica",
    "QuotaEntity",
    "QuotaFilter",
    "ReplicaInfo",
    "ResourceType",
    "ScramCredentialInfo",
    "ScramMechanism",
    "ShareGroupDescription",
    "ShareMemberDescription",
    "SharePartitionOffset",
    "StreamsEndpoint",
    "StreamsGroupDescription",
    "StreamsMemberAssignment",
    "StreamsMemberDescription",
    "StreamsSubtopology",
    "StreamsTaskOffset",
    "StreamsTopicInfo",
    "TokenInformation",
    "TopicDescription",
    "TopicListing",
    "TopicPartitionInfo",
    "TopicPartitionReplica",
    "TransactionDescription",
    "TransactionListing",
    "TransactionState",
    "UserScramCredentialAlteration",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
    "VersionLevels",
]

T = TypeVar("T")

_GRACE_S: Final = 5.0


class Admin(SecurityAdmin):
    """Administers a cluster, from any thread. The module's docstring lists the errors that calls raise.

    Options are Kafka's configurations of admin clients, with underscores.

    Raises:
        ConfigError: an option is unknown, wrong or not served.
    """

    def __init__(self, *, random: Random | None = None, **options: object) -> None:
        parsed = client_options(parsed_options(ADMIN_KEYS, options), client_id="admin-1")
        self._limit_s = parsed.default_api_timeout_ms / 1000 + _GRACE_S
        self._thread = ReactorThread(f"kafka-admin-client-thread | {parsed.network.client_id}")
        reactor = self._thread.reactor

        def start() -> tuple[ClientCore, AdminCore]:
            core = ClientCore(
                parsed,
                reactor,
                random if random is not None else Random(),
                call_from_thread=reactor.callFromThread,
            )
            return core, AdminCore(core)

        self._core, self._admin = self._thread.make(start)
        self._closed = False

    # Topics

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, ConfigText] | None = None,
    ) -> list[PartitionInfo]:
        """Create a topic, wait until its partitions have leaders, and return them; -1 stands for the brokers' default.

        Raises:
            ConfigError: a value in `configs` is neither text nor a number nor a boolean.
        """
        topic = NewTopic(name=name, partitions=partitions, replication_factor=replication_factor, configs=configs or {})
        self._call(lambda: self._admin.create_topics([topic]))
        return self._call(lambda: self._admin.wait_for_topic(name))

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> dict[str, CreatedTopic]:
        """Create several topics in one request and return them by name.

        With `validate_only` the controller only checks the request (from 0.10.2 on). The call returns before every
        broker has the topics in its metadata.

        Raises:
            ConfigError: a configuration of a topic is neither text nor a number nor a boolean.
            ProducerError: two topics have the same name.
        """
        return self._call(lambda: self._admin.create_topics(topics, validate_only=validate_only))

    def create_partitions(self, partitions: Mapping[str, NewPartitions], *, validate_only: bool = False) -> None:
        """Increase the partition counts of topics, by name; from 1.0 on."""
        self._call(lambda: self._admin.create_partitions(partitions, validate_only=validate_only))

    def delete_topics(self, names: Sequence[str]) -> None:
        """Delete topics by name."""
        self._call(lambda: self._admin.delete_topics(names))

    def delete_topics_by_id(self, topic_ids: Sequence[str]) -> None:
        """Delete topics by their ids, which descriptions have; from 2.8 on."""
        self._call(lambda: self._admin.delete_topics_by_id(topic_ids))

    def list_topics(self, *, list_internal: bool = False) -> dict[str, TopicListing]:
        """Return all topics by name, sorted; internal ones only with `list_internal`."""
        return self._call(lambda: self._admin.list_topics(list_internal=list_internal))

    def describe_topic(self, name: str) -> list[PartitionInfo]:
        """Refresh the metadata of a topic and return its partitions."""
        return self._call(lambda: self._admin.describe_topic(name))

    def describe_topics(
        self, names: Sequence[str], *, partitions_per_response: int = PARTITIONS_PER_RESPONSE_MAX
    ) -> dict[str, TopicDescription]:
        """Return topics by name, with leaders, replicas, ISR and (from 3.8 on) eligible leader replicas.

        Brokers from 3.8 on return pages of at most `partitions_per_response` partitions; their own limit is 2,000.
        """
        return self._call(lambda: self._admin.describe_topics(names, partitions_per_response=partitions_per_response))

    def describe_topics_by_id(self, topic_ids: Sequence[str]) -> dict[str, TopicDescription]:
        """Return topics by topic id, without eligible leader replicas, as in Java; from 3.1 on."""
        return self._call(lambda: self._admin.describe_topics_by_id(topic_ids))

    # Configurations

    def describe_configs(
        self,
        resources: Sequence[ConfigResource],
        *,
        names: Sequence[str] | None = None,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        """Return the effective configurations of topics, brokers, loggers ... by resource and name; from 0.11 on.

        `names` selects configurations. Synonyms exist from 1.1 on, documentation and types from 2.6 on.
        """
        return self._call(
            lambda: self._admin.describe_configs(
                resources,
                names=names,
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
            )
        )

    def describe_topic_configs(self, name: str) -> dict[str, ConfigEntry]:
        """Return the effective configurations of a topic, by name; from 0.11 on."""
        return self._call(lambda: self._admin.describe_topic_configs(name))

    def describe_broker_configs(self, broker_id: int) -> dict[str, ConfigEntry]:
        """Return the effective configurations of a broker, by name; from 0.11 on."""
        return self._call(lambda: self._admin.describe_broker_configs(broker_id))

    def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, Sequence[AlterConfigOp]], *, validate_only: bool = False
    ) -> None:
        """Set, delete, append to or subtract from single configurations; from 2.3 on.

        With `validate_only` the broker only checks the request.

        Raises:
            ConfigError: a value is neither text nor a number nor a boolean, or a resource has a wrong name.
        """
        self._call(lambda: self._admin.incremental_alter_configs(changes, validate_only=validate_only))

    def list_config_resources(self, types: Sequence[ConfigResourceType] = ()) -> list[ConfigResource]:
        """Return the resources that have configurations: client metrics from 3.7 on, all `types` from 4.1 on."""
        return self._call(lambda: self._admin.list_config_resources(types))

    # Records and offsets

    def list_offsets(
        self,
        partitions: Mapping[TopicPartition, OffsetSpec | int],
        *,
        isolation_level: IsolationLevel | str = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[TopicPartition, ListedOffset]:
        """Return the offset per partition that an OffsetSpec names, or of the first record at or after a time in ms.

        With read_committed, LATEST is the last stable offset.

        Raises:
            ConfigError: the isolation level is neither read_uncommitted nor read_committed.
        """
        level = IsolationLevel.of(isolation_level)
        return self._call(lambda: self._admin.list_offsets(partitions, isolation_level=level))

    def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Delete the records before an offset per partition (HIGH_WATERMARK: all); return the low watermarks."""
        return self._call(lambda: self._admin.delete_records(before))

    def read_logs(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, LogRead]:
        """Return whole batches of each partition, from the one on that has its offset, control records included.

        Kafka's Admin has no such call.
        """
        return self._call(lambda: self._admin.read_logs(offsets))

    # Groups

    def list_groups(
        self,
        *,
        states: Sequence[GroupState] = (),
        types: Sequence[GroupType] = (),
        protocol_types: Sequence[str] = (),
    ) -> dict[str, GroupListing]:
        """Return the groups of all brokers by id, sorted, or those with these states, types and protocol types.

        Brokers select by state from 2.6 on and by type from 3.8 on; failed items are broker ids.
        """
        return self._call(lambda: self._admin.list_groups(states=states, types=types, protocol_types=protocol_types))

    def describe_groups(self, group_ids: Sequence[str]) -> dict[str, ClassicGroupDescription]:
        """Return classic groups by id. Mirrors describeClassicGroups.

        A group that does not exist fails with GROUP_ID_NOT_FOUND from 4.0 on; before, it has the state DEAD.
        """
        return self._call(lambda: self._admin.describe_groups(group_ids))

    def describe_consumer_groups(self, group_ids: Sequence[str]) -> dict[str, ConsumerGroupDescription]:
        """Return groups of consumers by id, those of the consumer protocol (KIP-848) and classic ones."""
        return self._call(lambda: self._admin.describe_consumer_groups(group_ids))

    def describe_share_groups(self, group_ids: Sequence[str]) -> dict[str, ShareGroupDescription]:
        """Return share groups by id; from 4.1 on."""
        return self._call(lambda: self._admin.describe_share_groups(group_ids))

    def describe_streams_groups(self, group_ids: Sequence[str]) -> dict[str, StreamsGroupDescription]:
        """Return streams groups by id; from 4.1 on."""
        return self._call(lambda: self._admin.describe_streams_groups(group_ids))

    def delete_groups(self, group_ids: Sequence[str]) -> None:
        """Delete groups of any type that have no members, with their offsets; from 1.1 on."""
        self._call(lambda: self._admin.delete_groups(group_ids))

    def remove_group_members(
        self, group_id: str, group_instance_ids: Sequence[str] | None = None, *, reason: str = ""
    ) -> list[str]:
        """Remove static members, or all members with None, and return them; the others rebalance.

        Members are named by `group.instance.id` (from 2.4 on) or, without one, by member id. Mirrors
        removeMembersFromConsumerGroup.
        """
        return self._call(lambda: self._admin.remove_group_members(group_id, group_instance_ids, reason=reason))

    def list_group_offsets(
        self, groups: Sequence[str] | Mapping[str, Sequence[TopicPartition] | None], *, require_stable: bool = False
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata | None]]:
        """Return committed offsets by group and partition, None where a group has committed none.

        `groups` are ids of groups, or partitions by group id, None for all. With `require_stable`, partitions with
        offsets of an open transaction are left out (from 2.5 on).
        """
        return self._call(lambda: self._admin.list_group_offsets(groups, require_stable=require_stable))

    def alter_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit offsets of a group that has no members: it continues there."""
        self._call(lambda: self._admin.alter_group_offsets(group_id, offsets))

    def delete_group_offsets(self, group_id: str, partitions: Sequence[TopicPartition]) -> None:
        """Delete committed offsets of topics to which no member is subscribed; from 2.4 on."""
        self._call(lambda: self._admin.delete_group_offsets(group_id, partitions))

    def list_share_group_offsets(
        self, groups: Sequence[str] | Mapping[str, Sequence[TopicPartition] | None]
    ) -> dict[str, dict[TopicPartition, SharePartitionOffset | None]]:
        """Return start offsets of share groups by group and partition, as list_group_offsets does; from 4.1 on."""
        return self._call(lambda: self._admin.list_share_group_offsets(groups))

    def alter_share_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Set start offsets of a share group that has no members; from 4.1 on."""
        self._call(lambda: self._admin.alter_share_group_offsets(group_id, offsets))

    def delete_share_group_offsets(self, group_id: str, topics: Sequence[str]) -> None:
        """Delete the start offsets of topics of a share group that has no members; from 4.1 on."""
        self._call(lambda: self._admin.delete_share_group_offsets(group_id, topics))

    # Transactions

    def describe_transactions(self, transactional_ids: Sequence[str]) -> dict[str, TransactionDescription]:
        """Return transactional ids by name: state, producer, partitions; from 3.0 on.

        An id that no coordinator has fails with TransactionalIdNotFound.
        """
        return self._call(lambda: self._admin.describe_transactions(transactional_ids))

    def list_transactions(
        self,
        *,
        states: Sequence[TransactionState] = (),
        producer_ids: Sequence[int] = (),
        duration_ms: int = NO_DURATION,
        transactional_id_pattern: str | None = None,
    ) -> dict[str, TransactionListing]:
        """Return the transactional ids of all brokers, sorted, or those that match all of these; from 3.0 on.

        Brokers select transactions that are open for longer than `duration_ms` from 3.8 on, and ids by a regular
        expression (RE2) for the whole id from 4.1 on. Failed items are broker ids.
        """
        return self._call(
            lambda: self._admin.list_transactions(
                states=states,
                producer_ids=producer_ids,
                duration_ms=duration_ms,
                transactional_id_pattern=transactional_id_pattern,
            )
        )

    def describe_producers(
        self, partitions: Sequence[TopicPartition], *, broker_id: int | None = None
    ) -> dict[TopicPartition, tuple[ProducerState, ...]]:
        """Return the producers that the leaders of partitions remember, or a replica on `broker_id`; from 2.8 on."""
        return self._call(lambda: self._admin.describe_producers(partitions, broker_id=broker_id))

    def abort_transaction(self, spec: AbortTransactionSpec) -> None:
        """Abort a hanging transaction in one partition: write an abort marker to its leader; from 0.11 on.

        The coordinator is not involved. A marker with an old epoch fails with InvalidProducerEpoch or
        TransactionCoordinatorFenced.
        """
        self._call(lambda: self._admin.abort_transaction(spec))

    def fence_producers(self, transactional_ids: Sequence[str]) -> dict[str, FencedProducer]:
        """Fence the producers of transactional ids, and abort their open transactions; from 0.11 on.

        An id gets a new epoch and `request.timeout.ms` as transaction time-out, and is created if it does not exist.
        """
        return self._call(lambda: self._admin.fence_producers(transactional_ids))

    # Leaders, replicas, log directories

    def elect_leaders(
        self, election_type: ElectionType, partitions: Sequence[TopicPartition] | None = None
    ) -> list[TopicPartition]:
        """Elect leaders of partitions (None: of all); return the partitions that have a new leader.

        Preferred elections exist from 2.2 on, unclean ones from 2.4 on. A named partition that needs no election fails
        with ELECTION_NOT_NEEDED; with None it is left out.
        """
        return self._call(lambda: self._admin.elect_leaders(election_type, partitions))

    def alter_partition_reassignments(self, reassignments: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        """Start to move partitions to other brokers, the preferred leader first; None cancels a move. From 2.4 on."""
        self._call(lambda: self._admin.alter_partition_reassignments(reassignments))

    def list_partition_reassignments(
        self, partitions: Sequence[TopicPartition] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """Return the reassignments in progress, of these partitions or of all; from 2.4 on."""
        return self._call(lambda: self._admin.list_partition_reassignments(partitions))

    def describe_log_dirs(self, broker_ids: Sequence[int]) -> dict[int, dict[str, LogDirDescription]]:
        """Return the log directories of brokers by broker id and path, with their replicas; from 1.0 on."""
        return self._call(lambda: self._admin.describe_log_dirs(broker_ids))

    def alter_replica_log_dirs(self, moves: Mapping[TopicPartitionReplica, str]) -> None:
        """Start to move replicas to other log directories of their brokers, given by absolute path; from 1.0 on."""
        self._call(lambda: self._admin.alter_replica_log_dirs(moves))

    # The cluster

    def describe_cluster(self, *, include_fenced_brokers: bool = False) -> ClusterDescription:
        """Return the cluster's id, brokers and controller; fenced brokers from 4.0 on."""
        return self._call(lambda: self._admin.describe_cluster(include_fenced_brokers=include_fenced_brokers))

    def describe_metadata_quorum(self) -> QuorumInfo:
        """Return leader, voters and observers of the metadata log; KRaft clusters only."""
        return self._call(self._admin.describe_metadata_quorum)

    def describe_features(self) -> FeatureMetadata:
        """Return the finalized features, and those that a broker supports; empty before 2.7."""
        return self._call(self._admin.describe_features)

    def update_features(self, updates: Mapping[str, FeatureUpdate], *, validate_only: bool = False) -> None:
        """Finalize features at other levels; from 2.7 on. `validate_only` only checks the request, from 3.3 on."""
        self._call(lambda: self._admin.update_features(updates, validate_only=validate_only))

    def describe_client_quotas(self, only: QuotaFilter | None = None) -> dict[QuotaEntity, dict[str, float]]:
        """Return quotas by entity and name, of all entities or of those that match a filter; from 2.6 on."""
        return self._call(lambda: self._admin.describe_client_quotas(only))

    def alter_client_quotas(
        self, changes: Mapping[QuotaEntity, Mapping[str, float | None]], *, validate_only: bool = False
    ) -> None:
        """Set quotas by entity and name; None removes one. `validate_only` only checks the request. From 2.6 on."""
        self._call(lambda: self._admin.alter_client_quotas(changes, validate_only=validate_only))

    def connection_problems(self) -> list[str] | None:
        """Return why bootstrap servers cannot be reached so far, None once a broker has sent its metadata."""
        return self._thread.call(lambda: bootstrap_problems(self._core))

    def close(self) -> None:
        """Close the connections and stop the network thread; a second call has no effect."""
        self._closed = True
        if self._thread.running:
            self._thread.call(self._core.close)
            self._thread.stop()

    def _call(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._closed:
            raise ProducerClosed("the admin client is closed")
        return self._thread.call(call, timeout_s=self._limit_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
