"""The admin client for programs with threads: what tests and pipelines set up and look at. Mirrors Admin.

    with Admin(bootstrap_servers="localhost:9092") as admin:
        admin.create_topic("orders", partitions=6, replication_factor=3)

Every call waits for its answer, at most default.api.timeout.ms (60,000 by default): what a move or an outage prevents
is asked again until then. Raises ProducerTimeout when it is over, UnsupportedVersion when the brokers' release lacks
the request, ItemsFailed (a BrokerError) when some of the items that a call was given were refused: `errors` has the
error of each, `done` the answers of the others.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from broker_client.admin_errors import ItemsFailed
from broker_client.client_options import client_options, parsed_options
from broker_client.config.consumer_keys import ADMIN_KEYS
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
from broker_client.core.admin.log_dirs import LogDirDescription, ReplicaInfo, TopicPartitionReplica
from broker_client.core.admin.quotas import QuotaEntity, QuotaFilter
from broker_client.core.admin.records import HIGH_WATERMARK, ListedOffset, OffsetSpec
from broker_client.core.admin.replicas import ElectionType, PartitionReassignment
from broker_client.core.admin.topic_partitions import PARTITIONS_PER_RESPONSE_MAX
from broker_client.core.admin.topics import (
    CreatedTopic,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicListing,
    TopicPartitionInfo,
)
from broker_client.core.network.client_core import ClientCore
from broker_client.errors import ProducerClosed
from broker_client.isolation_levels import IsolationLevel
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from broker_client.records import PartitionInfo, TopicPartition

__all__ = [
    "HIGH_WATERMARK",
    "Admin",
    "AlterConfigOp",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigOperation",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "CreatedTopic",
    "ElectionType",
    "FeatureMetadata",
    "FeatureUpdate",
    "FeatureUpgradeType",
    "IsolationLevel",
    "ItemsFailed",
    "ListedOffset",
    "LogDirDescription",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "PartitionReassignment",
    "QuorumInfo",
    "QuorumReplica",
    "QuotaEntity",
    "QuotaFilter",
    "ReplicaInfo",
    "TopicDescription",
    "TopicListing",
    "TopicPartitionInfo",
    "TopicPartitionReplica",
    "VersionLevels",
]

T = TypeVar("T")

_GRACE_S: Final = 5.0


class Admin:
    """For any number of threads. Options are the client's, with underscores; see the module for what calls raise."""

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

        self._core, self._admin = self._thread.call(start)
        self._closed = False

    # Topics

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
    ) -> list[PartitionInfo]:
        """Create a topic and wait until its partitions have leaders."""
        topic = NewTopic(name=name, partitions=partitions, replication_factor=replication_factor, configs=configs or {})
        self._call(lambda: self._admin.create_topics([topic]))
        return self._call(lambda: self._admin.wait_for_topic(name))

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> dict[str, CreatedTopic]:
        """Create several topics in one request, or only try; answers what was made by name.

        With `validate_only` nothing is made (from 0.10.2 on). The answer comes before every broker knows the topics.
        """
        return self._call(lambda: self._admin.create_topics(topics, validate_only=validate_only))

    def create_partitions(self, partitions: Mapping[str, NewPartitions], *, validate_only: bool = False) -> None:
        """Raise the partition counts of topics, by name; from 1.0 on."""
        self._call(lambda: self._admin.create_partitions(partitions, validate_only=validate_only))

    def delete_topics(self, names: Sequence[str]) -> None:
        """Delete topics by name."""
        self._call(lambda: self._admin.delete_topics(names))

    def delete_topics_by_id(self, topic_ids: Sequence[str]) -> None:
        """Delete topics by their ids, as descriptions tell them; from 2.8 on."""
        self._call(lambda: self._admin.delete_topics_by_id(topic_ids))

    def list_topics(self, *, list_internal: bool = False) -> dict[str, TopicListing]:
        """All topics by name, in the order of names; internal ones only when asked for."""
        return self._call(lambda: self._admin.list_topics(list_internal=list_internal))

    def describe_topic(self, name: str) -> list[PartitionInfo]:
        """The partitions of a topic as the client's metadata has them, which is refreshed first."""
        return self._call(lambda: self._admin.describe_topic(name))

    def describe_topics(
        self, names: Sequence[str], *, partitions_per_response: int = PARTITIONS_PER_RESPONSE_MAX
    ) -> dict[str, TopicDescription]:
        """Topics with leaders, replicas, in-sync replicas and (from 3.8 on) eligible leader replicas, by name.

        Brokers from 3.8 on tell them in pages of at most `partitions_per_response`; their own limit is 2,000.
        """
        return self._call(lambda: self._admin.describe_topics(names, partitions_per_response=partitions_per_response))

    def describe_topics_by_id(self, topic_ids: Sequence[str]) -> dict[str, TopicDescription]:
        """The same by topic id and without eligible leader replicas, as in Java; from 3.1 on."""
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
        """The effective configurations of topics, brokers, broker loggers ... by resource and name; from 0.11 on.

        Synonyms come from 1.1 on, documentation and types from 2.6 on.
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
        """The effective configurations of a topic, by name."""
        return self._call(lambda: self._admin.describe_topic_configs(name))

    def describe_broker_configs(self, broker_id: int) -> dict[str, ConfigEntry]:
        """The effective configurations of a broker, by name."""
        return self._call(lambda: self._admin.describe_broker_configs(broker_id))

    def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, Sequence[AlterConfigOp]], *, validate_only: bool = False
    ) -> None:
        """Set, delete, append to or subtract from single configurations, or only try; from 2.3 on."""
        self._call(lambda: self._admin.incremental_alter_configs(changes, validate_only=validate_only))

    def list_config_resources(self, types: Sequence[ConfigResourceType] = ()) -> list[ConfigResource]:
        """What has configurations: client metrics from 3.7 on, all types or those of `types` from 4.1 on."""
        return self._call(lambda: self._admin.list_config_resources(types))

    # Records and offsets

    def list_offsets(
        self,
        partitions: Mapping[TopicPartition, OffsetSpec | int],
        *,
        isolation_level: IsolationLevel | str = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[TopicPartition, ListedOffset]:
        """The offset that each partition's spec names: an OffsetSpec, or the first record at or after a time in ms.

        With read_committed LATEST is the last stable offset.
        """
        level = IsolationLevel.of(isolation_level)
        return self._call(lambda: self._admin.list_offsets(partitions, isolation_level=level))

    def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Delete the records before an offset (HIGH_WATERMARK: all) of each partition; answers the low watermarks."""
        return self._call(lambda: self._admin.delete_records(before))

    # Leaders, replicas, log directories

    def elect_leaders(
        self, election_type: ElectionType, partitions: Sequence[TopicPartition] | None = None
    ) -> list[TopicPartition]:
        """Elect leaders of partitions (None: of all); answers those that have a new one.

        Preferred from 2.2 on, unclean from 2.4 on. One that has its leader already fails with ELECTION_NOT_NEEDED when
        it is named, and is passed over when it is not.
        """
        return self._call(lambda: self._admin.elect_leaders(election_type, partitions))

    def alter_partition_reassignments(self, reassignments: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        """Begin to move partitions to other brokers, the preferred leader first; None: stop doing so. From 2.4 on."""
        self._call(lambda: self._admin.alter_partition_reassignments(reassignments))

    def list_partition_reassignments(
        self, partitions: Sequence[TopicPartition] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """What is being moved, of these partitions or of all; from 2.4 on."""
        return self._call(lambda: self._admin.list_partition_reassignments(partitions))

    def describe_log_dirs(self, broker_ids: Sequence[int]) -> dict[int, dict[str, LogDirDescription]]:
        """The log directories of brokers by id and path, and what is in them; from 1.0 on."""
        return self._call(lambda: self._admin.describe_log_dirs(broker_ids))

    def alter_replica_log_dirs(self, moves: Mapping[TopicPartitionReplica, str]) -> None:
        """Begin to move replicas to other directories of their brokers; from 1.0 on."""
        self._call(lambda: self._admin.alter_replica_log_dirs(moves))

    # The cluster

    def describe_cluster(self, *, include_fenced_brokers: bool = False) -> ClusterDescription:
        """The cluster's id, brokers and controller; fenced brokers from 4.0 on."""
        return self._call(lambda: self._admin.describe_cluster(include_fenced_brokers=include_fenced_brokers))

    def describe_metadata_quorum(self) -> QuorumInfo:
        """Leader, voters and observers of the metadata log; of KRaft clusters alone."""
        return self._call(self._admin.describe_metadata_quorum)

    def describe_features(self) -> FeatureMetadata:
        """The features that are finalized, and those that a broker supports; empty before 2.7."""
        return self._call(self._admin.describe_features)

    def update_features(self, updates: Mapping[str, FeatureUpdate], *, validate_only: bool = False) -> None:
        """Finalize features at other levels, or (from 3.3 on) only try; from 2.7 on."""
        self._call(lambda: self._admin.update_features(updates, validate_only=validate_only))

    def describe_client_quotas(self, only: QuotaFilter | None = None) -> dict[QuotaEntity, dict[str, float]]:
        """Quotas by entity and name, of all or of those that a filter fits; from 2.6 on."""
        return self._call(lambda: self._admin.describe_client_quotas(only))

    def alter_client_quotas(
        self, changes: Mapping[QuotaEntity, Mapping[str, float | None]], *, validate_only: bool = False
    ) -> None:
        """Set quotas by name, None: remove; or only try. From 2.6 on."""
        self._call(lambda: self._admin.alter_client_quotas(changes, validate_only=validate_only))

    def close(self) -> None:
        """Close the connections and end the thread; twice does nothing."""
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
