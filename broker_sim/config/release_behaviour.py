"""The differences between the emulated releases, as named switches: no other module compares release names.

Each switch states the releases in which it is set: the first number of a pair is the first release that has it, the
second the last one. A release is one of the table in `protocol_specs.releases`, from 0.8.0 to 4.3.1, by its full name
or its minor's. The default of a configuration is no switch: the tables of configurations are each release's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from broker_sim.config.config_resource import ResourceType
from broker_sim.errors import ConfigError, nearest
from protocol_specs import releases
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import UnknownRelease

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_RELEASE: Final = "4.3.1"
_STEPS: Final = "steps"


def _steps(values: Mapping[str, object]) -> Any:
    """A switch that has each of these values from a release on; "0" is the first of all."""
    return field(metadata={_STEPS: {_numbers(release): value for release, value in values.items()}})


def _since(release: str, until: str = "") -> Any:
    """A switch that is set from a release on, and before `until`."""
    return _steps({"0": False, release: True} | ({until: False} if until else {}))


def _until(release: str) -> Any:
    """A switch that is set before a release."""
    return _steps({"0": True, release: False})


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseBehaviour:
    """The switches of one release; each docstring states the behaviour when the switch is set."""

    release: str

    # Leadership.
    zookeeper: bool = _until("3.3")
    """A broker among the brokers is the controller, and the metadata is in ZooKeeper (else KRaft).

    Up to 3.9 both modes exist: 3.3 is the first whose KRaft was meant for production (KIP-833); 4.0 has no other.
    """

    high_watermark_waits_for_min_isr: bool = _since("3.7")
    """A high watermark stays while the ISR is smaller than min.insync.replicas (KIP-966)."""
    min_isr_within_replicas: bool = _since("3.7")
    """min.insync.replicas above the number of replicas requires all of them (KIP-966; else more than there are)."""
    kraft_elects_uncleanly: bool = _since("3.9")
    """A KRaft controller obeys unclean.leader.election.enable (KAFKA-12670; else ElectLeaders alone is unclean)."""

    # Requests.
    versions_are_checked: bool = _since("0.10")
    """A request of a version that is not served closes the connection (else it is read as the newest known, KIP-35)."""
    unreadable_requests_are_ignored: bool = _since("0.9", "0.10")
    """A truncated request, or one of an unknown API, is ignored (else the connection closes)."""
    api_versions_names_itself: bool = _since("2.4")
    """An ApiVersions request of an unknown version gets the supported versions (KIP-511; else an empty list)."""
    metadata_partitions_from_a_set: bool = _since("3.3", "4.0")
    """Metadata lists partitions in the order of a set of their states (else by number)."""
    telemetry_served_unlisted: bool = _since("3.7")
    """The first versions of the telemetry APIs are served where no receiver makes ApiVersions list them (KIP-714)."""

    # Records.
    newest_magic: int = _steps({"0": 0, "0.10": 1, "0.11": 2})
    """The newest message format that brokers know: timestamps came in 0.10 (KIP-32), batches in 0.11 (KIP-98)."""
    message_format_version_counts: bool = _since("0.10", "3.0")
    """`message.format.version` sets the format in which a log is stored (KIP-31; without effect since KIP-724)."""
    newest_codec: int = _steps({"0": 2, "0.8.2": 3, "2.1": 4})
    """The newest compression codec that brokers know: snappy, lz4, zstd (KIP-110)."""
    segments_age_by_records: bool = _since("0.10.1")
    """Segments roll and expire by the timestamps of their records (KIP-33; else by the times of their files)."""
    producer_batches_kept: int = _steps({"0": 1, "1.0": 5})
    """How many batches of a producer a log remembers, to know a retry by them (KAFKA-5494)."""
    unknown_producers_begin_anywhere: bool = _since("2.5")
    """The first batch of a producer that is new to the log may have any sequence (KIP-360; else 0 alone)."""
    producers_go_with_their_records: bool = _until("2.4")
    """A producer is forgotten, with its open transaction, when its last batch is below the log start (KIP-360)."""
    producers_known_by_markers_are_unknown: bool = _since("2.0", "2.5")
    """A batch after a marker of a producer without batches is 59 unless its sequence is 0 (KAFKA-6997; else 45)."""
    markers_replace_batches: bool = _until("1.0")
    """A marker takes the place of its producer's last batch, with the last sequence: a retry is not known by it."""
    empty_transactions_complete: bool = _until("2.8")
    """The marker of a producer without an open transaction begins and ends one, which an index of aborts lists."""
    unstable_offsets_are_those_of_batches: bool = _since("4.0")
    """Below the log start, an open transaction holds the last stable offset at the batch there (else at the start)."""
    markers_of_version_2_have_newer_epochs: bool = _since("4.2")
    """A marker of transaction version 2 with the epoch of the open transaction is refused (KIP-1228)."""
    produce_without_batches_is_unreadable: bool = _until("2.8")
    """Null records, and from v3 on none that is whole, close the connection (else the partition has an error)."""
    produce_of_old_batches_is_unreadable: bool = _until("2.1")
    """So do another magic than 2, and two batches for one partition, from v3 on (else the partition has an error)."""
    null_produce_records_hang: bool = _since("3.8")
    """Produce with null records never gets a response (else the partition gets -1)."""
    produce_responds_by_topic_id: bool = _since("4.1")
    """Produce keeps its results by topic id and partition (KIP-516; else by topic and partition)."""
    produce_lowest_served: int = _steps({"0": 0, "4.0": 3})
    """Produce below this version closes the connection although ApiVersions lists it (KIP-896)."""

    late_transactions_are_counted: bool = _since("3.2")
    """Brokers have the metric PartitionsWithLateTransactionsCount (KIP-664)."""

    producer_ids_are_counted: bool = _since("3.5")
    """Brokers have the metric ProducerIdCount (KIP-847)."""

    compaction_keeps_its_last_batch: bool = _since("4.0")
    """The last batch of a round of compaction stays, emptied (KAFKA-17076; else only those of active producers)."""

    # Purgatories.
    purgatories: tuple[str, ...] = _steps(
        {
            "0": (),
            "0.9": ("Produce", "Fetch"),
            "0.11": ("Produce", "Fetch", "DeleteRecords"),
            "2.2": ("Produce", "Fetch", "DeleteRecords", "ElectPreferredLeader"),
            "2.4": ("Produce", "Fetch", "DeleteRecords", "ElectLeader"),
            "3.6": ("Produce", "Fetch", "DeleteRecords", "RemoteFetch", "ElectLeader"),
            "4.0": ("Produce", "Fetch", "DeleteRecords", "RemoteFetch", "RemoteListOffsets", "ShareFetch"),
        }
    )
    """The purgatories of a broker's replicas; that of elections, the last before 4.0, went with ZooKeeper (KIP-460)."""

    # Files.
    directories_name_their_node: bool = _since("0.9")
    """A log directory has meta.properties with the broker's id (KAFKA-1070)."""
    directories_name_their_cluster: bool = _since("2.4")
    """It has the cluster's id too (KAFKA-7335)."""
    logs_name_their_topic: bool = _since("2.8")
    """A log has partition.metadata with its topic's id (KIP-516)."""
    segments_have_time_indexes: bool = _since("0.10.1")
    """A segment has a .timeindex (KIP-33)."""
    logs_keep_epochs_and_producers: bool = _since("0.11")
    """A log has leader-epoch-checkpoint (KIP-101) and .snapshot files, its directory log-start-offset-checkpoint."""
    clean_shutdown_names_epoch: bool = _since("3.7")
    """.kafka_cleanshutdown holds the broker's epoch (KIP-966; else it is empty)."""

    # Offsets and fetches.
    list_offsets_special_timestamps_gated: bool = _since("3.9")
    """ListOffsets -3, -4, -5 need their own versions and other negatives are 35 (else taken as a time)."""
    list_offsets_lowest_timestamp: int = _steps({"0": -2, "3.0": -3, "3.5": -4, "3.9": -5, "4.2": -6})
    """The lowest of the special timestamps: -3 came with KIP-734, -4 with KIP-405, -5 with KIP-1005, then KIP-1023."""
    max_timestamp_offset_is_the_records: bool = _steps({"0": True, "3.7": False, "3.8": True})
    """ListOffsets -3 returns the first record with the largest timestamp (3.7 alone: the last one of its batch)."""
    duplicate_list_offsets_served_once: bool = _since("4.0")
    """The same partition twice in ListOffsets gives one entry with 42 (else two)."""
    list_offsets_isolation_always_checked: bool = _since("4.0")
    """An unknown isolation level in ListOffsets is -1 for every client (else for consumers alone)."""
    down_converts_to_one_codec: bool = _until("0.11")
    """Old fetches get all records in the codec of the first, in one wrapper if it has one (else batch by batch)."""
    down_converts_while_sending: bool = _since("2.0")
    """Old fetches are converted piece by piece while they are sent (KIP-283; else before)."""
    fetch_endpoints_for_followers: bool = _until("4.0")
    """The response to a follower's Fetch has the new leader's endpoint too (KIP-951)."""
    fetch_error_records_null: bool = _until("4.0")
    """A Fetch that fails as a whole has null records in its partitions (else empty ones)."""
    fetch_gates_zstd_topics: bool = _since("2.1", "4.0")
    """A topic whose compression.type is zstd returns 76 to Fetch before v10."""
    fetch_session_shards: int = _steps({"0": 1, "3.8": 8})
    """Into how many parts the cache of fetch sessions is divided, each with its own ids and slots (KAFKA-9401)."""
    fetch_session_zero_ids_fail: bool = _until("4.1")
    """A partition without a topic id in a fetch session fails the whole request."""

    # Committed offsets.
    offset_commit_value_version: int = _steps({"0": 0, "0.9": 1, "2.1": 3, "4.1": 4})
    """The version of the records of committed offsets: v3 has leader epochs (KIP-320), v4 topic ids (KIP-848).

    Offsets that state their expiration have v1 in every release; those of v0 have a key of their own.
    """
    commits_state_their_expiration: bool = _until("2.1")
    """The record of an offset states when it expires (else its retention counts from the group's end, KIP-211)."""
    commits_check_topics_alone: bool = _until("2.0")
    """An offset can be committed for a partition that an existing topic does not have (else 3)."""
    offset_fetch_loses_errors: bool = _since("3.5", "4.1")
    """OffsetFetch v1 has no topics where the whole group has an error (else the error per partition)."""
    offset_fetch_of_no_groups_hangs: bool = _since("3.0", "4.1")
    """OffsetFetch without groups never gets a response (else an empty one)."""

    transactions_are_in_java_sets: bool = _since("4.2")
    """A transaction lists its partitions in the order of a HashSet, and its start ends with a new epoch (else the
    orders of Scala's sets, and DescribeTransactions has the start of the last transaction)."""
    largest_epochs_are_fenced: bool = _since("4.3")
    """A transaction with the largest epoch is aborted with that epoch (else the abort is an error)."""
    two_phase_commits_are_unstable: bool = _since("4.1")
    """InitProducerId has a version with two-phase commits, which is served with unstable versions (KIP-939)."""
    later_transaction_records_are_ignored: bool = _since("4.3")
    """A value of an unknown version in `__transaction_state` is passed over (else the load ends there)."""
    pending_transaction_counts_last: bool = _until("4.0")
    """AddPartitionsToTxn checks the producer before it refuses because of a pending change (else after)."""
    unverified_transactions_are_abortable: bool = _since("3.8")
    """A partition that is not in its transaction is TRANSACTION_ABORTABLE (KIP-1050; else INVALID_TXN_STATE)."""
    transactions_are_verified: bool = _since("3.6")
    """A log takes transactional records only after a verification by the transaction coordinator (KIP-890)."""
    coordinators_transactions_are_verified: bool = _since("3.7")
    """So does it for those of a group coordinator (else for those of clients alone)."""
    group_verifications_lack_replicas: bool = _since("3.7", "3.8")
    """A verification for a group coordinator fails with NOT_ENOUGH_REPLICAS where a retry helps (else as it is)."""
    transactions_have_client_versions: bool = _since("4.0")
    """A transaction keeps the version of the transactions protocol that its producer uses (KIP-890)."""
    verified_transactions_have_epochs: bool = _since("4.0")
    """A transaction that an older epoch has open needs a verification too."""
    verification_checks_epochs: bool = _since("4.1")
    """A verification fails an old epoch (47), a marker leaves that of the next transaction, and with transaction
    version 2 a producer without state starts at sequence 0 (KAFKA-18575)."""

    # Topics.
    illegal_topic_names: bool = _until("3.3")
    """The error text of an invalid topic name has "illegal" (else "invalid")."""
    disabled_deletion_has_an_error: bool = _since("2.1")
    """DeleteTopics without `delete.topic.enable` is 73, or 42 before v3 (KIP-322; else it only times out)."""
    min_insync_replicas_is_dynamic_default: bool = _since("4.1")
    """A new cluster has min.insync.replicas as cluster-wide dynamic configuration (KIP-966)."""
    share_coordinator: bool = _since("3.9")
    """FindCoordinator serves key type 2 (share) from v6 on."""
    placement_mentions_cordoned_directories: bool = _since("4.3")
    """The refusal of a replication factor speaks of cordoned log directories too."""
    creation_counts_partitions: bool = _since("3.9")
    """CreateTopics rejects too many partitions with a text of their own, before it counts metadata records."""
    cluster_metadata_creation_is_invalid: bool = _since("3.9")
    """Creating __cluster_metadata is 42 with a reason (else 29)."""
    records_go_without_a_policy: bool = _since("4.2")
    """DeleteRecords serves a topic whose cleanup.policy is empty (else only one whose policy is to delete)."""
    reassignment_shrinks_safely: bool = _since("4.0")
    """A reassignment to fewer replicas completes when all remaining ones are in sync (else: all new ones)."""

    # Groups.
    old_group_coordinator: bool = _until("4.0")
    """Groups have the coordinator of before KIP-848, unless configurations of 3.x choose the new one."""
    group_metadata_version: int = _steps({"0": 0, "0.10.1": 1, "2.1": 2, "2.3": 3})
    """The version of the records of classic groups (KIP-62, KIP-211, KIP-345)."""
    awaited_assignment_state: str = _steps({"0": "AwaitingSync", "1.1": "CompletingRebalance"})
    """The name of the state of a group that waits for its leader's assignment."""
    groups_end_without_members: bool = _until("0.10.1")
    """A group whose last member is gone is deleted (else it stays, Empty, with its offsets, KAFKA-2720)."""
    heartbeats_wait_for_assignments: bool = _since("2.4")
    """A member that waits for its assignment may send heartbeats (else they return REBALANCE_IN_PROGRESS)."""
    refused_join_generation: int = _steps({"0": 0, "2.2": -1})
    """The generation of the response to a refused JoinGroup."""
    groups_wait_for_sync_requests: bool = _since("3.0")
    """Members that send no SyncGroup within the rebalance time-out are removed (KAFKA-12890)."""
    group_states_are_filtered_in_any_case: bool = _since("3.8")
    """The states of ListGroups may have any case (else that of their names)."""
    deleted_groups_are_a_set: bool = _since("4.1")
    """DeleteGroups returns the groups of a partition as a hash set does (else as the request does)."""
    group_operations: int = _steps({"0": 328, "4.0": 3400})
    """The operations on groups as bits: READ, DELETE, DESCRIBE, then those of configurations (KIP-848)."""

    # Consumer groups (KIP-848).
    consumer_groups_need_a_feature: bool = _since("3.8")
    """The feature group.version enables consumer groups (else configurations alone)."""
    consumer_groups_begin_at_one: bool = _since("4.3")
    """The epochs of a new consumer group are 1 (else 0)."""
    new_consumer_groups_get_an_epoch: bool = _since("4.1")
    """The first heartbeat of a group makes an epoch, also without topics."""
    groups_hash_their_topics: bool = _since("4.1")
    """The subscribed topics of a group are a hash in the record of its epoch (KIP-1101; else a record of their own)."""
    uniform_extras_stay: bool = _since("4.1")
    """The uniform assignor leaves an extra partition with a member that has one (else the first members get them)."""
    range_assignor_is_sticky: bool = _until("3.9")
    """The range assignor leaves partitions with the members that have them."""
    groups_record_racks: bool = _until("4.0")
    """The record of the subscribed topics has the racks of their replicas."""
    groups_time_their_assignments: bool = _since("4.3")
    """Records have the time of an assignment, and the epoch at which a member got each partition."""
    classic_members_rejoin_for_assignments: bool = _since("4.3")
    """A classic member of a consumer group joins again after a new assignment (else after a new epoch of the group)."""
    dropped_topics_are_revoked_at_once: bool = _since("4.2")
    """A member whose subscription changes must revoke the topics that it dropped before the next assignment."""
    empty_classic_and_streams_groups_convert: bool = _since("4.2")
    """An empty classic group becomes a streams group with the first heartbeat of a member, and an empty streams group a
    classic one with the first JoinGroup."""
    described_members_show_revocations: bool = _since("4.3")
    """ConsumerGroupDescribe lists partitions that a member must revoke in its assignment."""
    descriptions_explain_errors: bool = _since("4.0")
    """ConsumerGroupDescribe has a text for a group that is not found."""
    consumer_groups_are_previews: bool = _until("4.0")
    """Heartbeats are checked in the order of before 4.0, and a member cannot join again with epoch 0."""
    consumer_groups_are_first_previews: bool = _until("3.8")
    """Owned partitions in a heartbeat request the assignment, states are lower case, groups keep their type, and the
    new coordinator keeps the offsets of deleted topics, fails transactional commits and lists few in OffsetDelete."""

    # Producer ids.
    producer_ids_are_waited_for: bool = _until("3.6")
    """InitProducerId waits for its broker's block of ids (else COORDINATOR_LOAD_IN_PROGRESS meanwhile, KAFKA-14694)."""

    # Configurations.
    errors_of_configs_may_have_no_words: bool = _until("2.7")
    """DescribeConfigs has a null text for a success or an error without a text (else an empty one), and names the
    resource of an unknown type (else it has the text of the error); messages were written by hand then."""
    lists_refuse_empty_items: bool = _since("4.2")
    """A list configuration with an empty item has an error text of its own."""
    describes_groups: bool = _since("4.0")
    """DescribeConfigs serves groups (resource type 32) and returns defaults for unknown client metrics names."""
    described_resource_types: tuple[ResourceType, ...] = _steps(
        {since: tuple(ResourceType)[:count] for since, count in {"0": 2, "2.4": 3, "3.7": 4, "4.0": 5}.items()}
    )
    """The resource types of DescribeConfigs: loggers came with KIP-412, client metrics with KIP-714."""
    heartbeats_come_within_sessions: bool = _since("4.0")
    """A broker does not start with heartbeats of groups that take as long as their sessions."""
    scala_collections_in_messages: bool = _until("4.3")
    """Error texts list configurations as Set(a, b), else as [a, b]; other texts changed with it."""
    validates_properties: bool = _until("4.3")
    """Configurations are validated in the order of java.util.Properties (else of a HashMap): the first is named."""
    unknown_list_is_server_error: bool = _until("4.0")
    """Appending to an unknown broker configuration is -1 (else rejected by name)."""
    knows_cordoned_directories: bool = _since("4.3")
    """Brokers have cordoned.log.dirs, which must be among their directories."""

    # The cluster and its clients.
    missing_authorizers_are_the_brokers: bool = _until("3.0")
    """The text of CreateAcls and DeleteAcls without an authorizer names the broker."""
    authorization_errors_name_operations: bool = _since("4.0")
    """The text of a refused operation on the cluster names the operation (else that the request is not authorized)."""
    refusals_name_envelopes: bool = _since("2.8")
    """The text of a refused operation on the cluster names the envelope of the request (KIP-590), and the bytes of one
    that may be forwarded."""
    refused_unregistrations_have_texts: bool = _since("4.1")
    """UnregisterBroker in the middle of an authentication has the text of the exception."""
    coordinators_have_texts: bool = _since("2.3")
    """FindCoordinator has a text, also beside a success (else none); messages were written by hand then."""
    refused_creations_have_texts: bool = _since("2.3")
    """CreateTopics of a broker in ZooKeeper mode has a text for a topic that the client may not create (else none)."""
    unknown_errors_have_texts: bool = _until("2.6")
    """A result with UNKNOWN_SERVER_ERROR has the text of the exception (else none, which may be a secret)."""
    refused_quotas_have_texts: bool = _since("2.8")
    """A client that may not alter quotas gets a text (else none)."""
    refused_producers_have_texts: bool = _since("3.0")
    """DescribeProducers has a text for a topic that the client may not read (else none)."""
    refused_groups_are_in_place: bool = _until("3.5")
    """DescribeGroups lists refused groups in the order of the request, and DeleteGroups in that of the other results
    (else first, and at the end)."""
    group_refusals_are_exceptions: bool = _until("2.4")
    """FindCoordinator has the text of GroupAuthorizationException (else the one of the error)."""
    groups_hide_topics: bool = _since("4.0")
    """Members of the new groups, and clients that describe these, need DESCRIBE on the groups' topics (KAFKA-18813)."""
    markers_need_alter_alone: bool = _since("3.8")
    """WriteTxnMarkers needs ALTER or CLUSTER_ACTION on the cluster (KAFKA-16513; else CLUSTER_ACTION)."""
    acl_principals_have_types: bool = _since("4.0")
    """CreateAcls refuses a principal without a type (else it is stored, and fails every check that reads it)."""
    token_times_have_an_end: bool = _since("4.0")
    """The time of a delegation token is at most the largest number; before, a longer period makes it negative."""
    scram_refusals_name_the_feature: bool = _since("3.8")
    """AlterUserScramCredentials is refused below a level of "metadata.version", before of "metadata version"."""
    zookeeper_authorizers: tuple[str, ...] = _steps(
        {
            "0": (),
            "1.1": ("kafka.security.auth.SimpleAclAuthorizer",),
            "2.4": ("kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer"),
            "3.0": ("kafka.security.authorizer.AclAuthorizer",),
        }
    )
    """The authorizers of brokers in ZooKeeper mode: the first is the release's own (KIP-504). Earlier releases than 1.1
    have one too, and rules that hide topics in other ways: the simulator lacks them."""
    idempotent_producers_need_the_cluster: bool = _until("2.8")
    """Producers with an id but no transactions need IDEMPOTENT_WRITE on the cluster (else WRITE on any topic is enough
    for InitProducerId, and Produce does not check the id, KIP-679)."""
    last_record_set_decides: bool = _until("2.1")
    """The rights of Produce are those that its last record set needs (else all of them)."""
    refused_producer_ids_have_epoch_0: bool = _until("2.3")
    """InitProducerId has epoch 0 beside an error (else -1); messages were written by hand then."""
    cluster_creates_topics: bool = _until("2.0")
    """Creation of topics needs CREATE on the cluster, and CreateTopics fails as a whole with 31 (else CREATE on each
    topic is enough, KIP-277)."""
    group_list_needs_the_cluster: bool = _until("2.1")
    """ListGroups is 31 without DESCRIBE on the cluster (else it lists the groups that the client may describe)."""
    epochs_are_for_brokers: bool = _until("2.1")
    """OffsetForLeaderEpoch needs CLUSTER_ACTION (else DESCRIBE on each topic is enough, KIP-320)."""
    acl_types_are_refused: bool = _until("2.0")
    """CreateAcls refuses an entry with the type of a filter (else it fails as a whole, or the connection closes)."""
    acl_messages_are_generated: bool = _since("2.5")
    """CreateAcls and DescribeAcls have an empty text for success, and CreateAcls fails as a whole because of the codes
    of filters (else no text, and the connection closes); messages were written by hand then."""
    acl_filters_are_checked: bool = _since("2.8")
    """Filters with codes of 0 close the connection (else they select nothing)."""
    acl_names_have_no_slash: bool = _since("3.3")
    """A broker in ZooKeeper mode refuses an entry whose resource name has a slash (KAFKA-13983)."""
    highest_acl_codes: tuple[int, int] = _steps({"0": (6, 12), "3.3": (7, 14), "4.1": (7, 15)})
    """The highest resource type and operation: users came with KIP-373, two-phase commits with KIP-939."""
    quota_kinds_stay: bool = _until("4.2")
    """A kind of entity that has had a client quota counts until the node stops (else while it has one)."""
    throttles_before_the_response: bool = _until("2.0")
    """A client over its quota gets its response when its throttle time has ended (else at once, KIP-219)."""
    features_change_all_or_nothing: bool = _since("4.0")
    """UpdateFeatures changes all features or none, and returns one error at the top (else one per feature)."""
    downgrades_name_both_levels: bool = _since("4.2")
    """The rejection of a lossy metadata.version names both versions (else the new one)."""
    client_metrics_are_a_set: bool = _until("4.1")
    """Subscriptions of client metrics are listed as a Scala set has their names (else as their map has them)."""
    unregistration_explains: bool = _since("4.0")
    """UnregisterBroker names the broker that is not registered (else its error has no text)."""
    fenced_brokers_have_sessions: bool = _since("4.0")
    """A fenced broker with heartbeats keeps its id from others (else only an unfenced one does)."""
    telemetry_is_decompressed: bool = _since("3.8")
    """PushTelemetry rejects metrics that do not decompress (else they are not decompressed)."""
    telemetry_is_small_decompressed: bool = _since("4.3")
    """It refuses those that do not decompress within telemetry.max.bytes, too."""
    telemetry_knows_ports: bool = _since("4.0")
    """The pattern client_source_port of a client metrics subscription matches the client's port (else nothing)."""
    telemetry_excuses_errors: bool = _since("4.0")
    """A client whose push was rejected for its subscription or codec may request its subscriptions at once."""
    telemetry_ends_with_connection: bool = _since("4.0")
    """A client instance is forgotten when the connection of its first request is closed."""

    sasl_first_refusals_wait: bool = _until("4.0")
    """A first frame that is no request, and a request before SaslHandshake, are failed authentications, whose close is
    delayed (else the connection is closed immediately).
    """
    sasl_ssl_has_client_auth: bool = _since("2.8")
    """A listener of SASL_SSL has its own ssl.client.auth (KIP-684), else none."""
    sasl_tokens_are_url_safe: bool = _since("4.2")
    """The parts of a token of OAUTHBEARER are in the alphabet for URLs, as RFC 7515 has it (else in plain Base64)."""
    sasl_tokens_have_base64: bool = _since("3.8")
    """A token of OAUTHBEARER may have the characters `+`, `/` and `~`, and end with `=` (else it is malformed)."""
    sasl_lifetimes_are_exact: bool = _since("4.2")
    """A session whose nanoseconds exceed 64 bits closes the connection (else its end wraps around)."""

    def known(self, error: ErrorCode) -> ErrorCode:
        """Return the error, or the release's substitute for a code that it does not have yet."""
        older = _BEFORE_THERE_WAS_A_CODE.get(error)
        return error if older is None or release_number(error.since) <= _numbers(self.release) else older


_BEFORE_THERE_WAS_A_CODE: Final = {
    ErrorCode.INVALID_RECORD: ErrorCode.CORRUPT_MESSAGE,  # KIP-467
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.UNKNOWN_SERVER_ERROR,  # KIP-112
    ErrorCode.UNKNOWN_PRODUCER_ID: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,  # KAFKA-5793
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: ErrorCode.UNKNOWN_SERVER_ERROR,  # KIP-110
}


@cache
def behaviour_of(release: str) -> ReleaseBehaviour:
    """Return the switches of a release, named in full (4.3.1) or by its minor (4.3).

    Raises:
        ConfigError: No release has that name.
    """
    try:
        name = releases.full_name(release)
    except UnknownRelease:
        known = releases.names()
        msg = f"release {release!r} is not emulated: known are {', '.join(known)}{_nearest_release(release, known)}"
        raise ConfigError(msg) from None
    return ReleaseBehaviour(release=name, **_switches(_numbers(name)))


def _nearest_release(release: str, known: Sequence[str]) -> str:
    """Return the hint for an unknown release: the patch of the same minor that is emulated, else the nearest name."""
    minor = f"{release.rpartition('.')[0]}."
    return nearest(release, [name for name in known if name.startswith(minor)]) or nearest(release, known)


@cache
def release_number(release: str) -> tuple[int, ...]:
    """Return a release as numbers that compare in the order of releases; a short name means its newest patch."""
    return _numbers(releases.full_name(release))


def _switches(version: tuple[int, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for switch in fields(ReleaseBehaviour):
        for since, value in switch.metadata.get(_STEPS, {}).items():
            if since <= version:
                found[switch.name] = value
    return found
