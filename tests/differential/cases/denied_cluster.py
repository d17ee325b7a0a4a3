"""Operations on the cluster that the client may not do, as raw probes see them, at brokers and at controllers.

Each case has a cluster of its own: what it denies, it cannot allow again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from protocol_specs import releases
from protocol_specs.api_key import ApiKey
from protocol_specs.messages import alter_user_scram_credentials as alter_scram
from protocol_specs.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol_specs.messages.describe_client_quotas import DescribeClientQuotasRequest
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol_specs.messages.describe_log_dirs import DescribeLogDirsRequest
from protocol_specs.messages.describe_quorum import DescribeQuorumRequest
from protocol_specs.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from protocol_specs.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.list_config_resources import ListConfigResourcesRequest
from protocol_specs.messages.list_groups import ListGroupsRequest
from protocol_specs.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.unregister_broker import UnregisterBrokerRequest
from protocol_specs.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from protocol_specs.registry import request_type
from tests.differential.acl_requests import (
    AUTHORIZER,
    DENY,
    O,
    T,
    acl,
    acl_filter,
    creating,
    deleting,
    describing,
    give,
    restrict,
    restrict_cluster,
)
from tests.differential.case import case
from tests.differential.cases.describe_quorum import METADATA_TOPIC, of
from tests.differential.cases.find_coordinator import SHARE
from tests.differential.config_requests import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    SET,
    TOPIC,
    incremental,
    legacy,
)
from tests.differential.group_requests import commit, group_of
from tests.differential.requests import all_versions
from tests.differential.transaction_requests import markers

if TYPE_CHECKING:
    from protocol_specs.message import Message
    from tests.differential.probe import Probe

CLUSTER: Final = "kafka-cluster"


def own(number: int) -> tuple[tuple[str, str], ...]:
    """The settings of a cluster of one case's own."""
    return (*AUTHORIZER, ("num.io.threads", "9"), ("queued.max.requests", str(400 + number)))


def deny(probe: Probe, *operations: O) -> None:
    """Allow everything on the cluster but these operations."""
    entries = [acl(T.CLUSTER, CLUSTER, each, permission=DENY) for each in operations]
    give(probe, acl(T.CLUSTER, CLUSTER, O.ALL))
    give(probe, *entries)


def exchange(probe: Probe, request: Message, *, note: str = "", controller: bool = True, only: Any = None) -> None:
    """Send a request in all versions to the broker, and in the newest to the controller."""
    versions = all_versions(type(request))
    for version in versions:
        probe.exchange(request, version, note=note, only=only or without_details)
    served = releases.get(probe.release).listeners["controller"].api_versions
    if controller and request.API_KEY in served:
        connection = probe.connect(listener="CONTROLLER")
        newest = min(served[request.API_KEY].highest, versions[-1])
        probe.exchange(request, newest, on=connection, note=f"{note} at the controller", only=only or without_details)


def without_details(response: Any) -> Any:
    """Cut the request out of the text of a refusal, which prints its connection, its session and its buffer."""
    if isinstance(response, dict):
        return {name: without_details(value) for name, value in response.items()}
    if isinstance(response, str):
        return re.sub(r"Request Request\(.*\) ", "<request> ", response)
    return [without_details(each) for each in response] if isinstance(response, list) else response


@case(settings=own(1))
def without_describe(probe: Probe) -> None:
    topic = probe.topic("t")
    group = group_of(probe)
    probe.quiet(commit(group, (topic, {0: 5})), 8)
    restrict(probe, T.GROUP, f"{group}-hidden")
    deny(probe, O.DESCRIBE)
    exchange(probe, describing(acl_filter()))
    exchange(probe, DescribeQuorumRequest(topics=of((METADATA_TOPIC, (0,))).topics))
    exchange(probe, ListPartitionReassignmentsRequest(topics=None))
    exchange(probe, DescribeLogDirsRequest(topics=None))
    exchange(probe, DescribeClusterRequest(include_cluster_authorized_operations=True), controller=False)
    metadata = MetadataRequest(topics=[], include_cluster_authorized_operations=True)
    for version in (8, 9, 10):
        probe.exchange(metadata, version)

    def mine(response: dict[str, Any]) -> Any:
        return sorted(each["groupId"] for each in response["groups"] if each["groupId"].startswith(group))

    probe.exchange(ListGroupsRequest(), 4, only=mine)


@case(settings=own(2))
def without_alter(probe: Probe) -> None:
    topic = probe.topic("t")
    deny(probe, O.ALTER)
    exchange(probe, creating(acl(T.TOPIC, "t", O.READ), acl(T.TOPIC, "", O.READ)))
    exchange(probe, deleting(acl_filter(), acl_filter(0)))
    exchange(probe, deleting(acl_filter()))
    partitions = [TopicPartitions(topic=topic, partitions=[0])]
    exchange(probe, ElectLeadersRequest(topic_partitions=partitions, timeout_ms=1_000))
    exchange(probe, ElectLeadersRequest(topic_partitions=None, timeout_ms=1_000), note="all")
    moved = [ReassignableTopic(name=topic, partitions=[ReassignablePartition(partition_index=0, replicas=[1])])]
    exchange(probe, AlterPartitionReassignmentsRequest(topics=moved))
    logs = [AlterReplicaLogDir(path="/nowhere", topics=[AlterReplicaLogDirTopic(name=topic, partitions=[0, 1])])]
    exchange(probe, AlterReplicaLogDirsRequest(dirs=logs))
    updates = [FeatureUpdateKey(feature="metadata.version", max_version_level=1)]
    exchange(probe, UpdateFeaturesRequest(feature_updates=updates, timeout_ms=1_000))
    exchange(probe, UnregisterBrokerRequest(broker_id=99))
    exchange(probe, DescribeClusterRequest(endpoint_type=2, include_cluster_authorized_operations=True))
    exchange(probe, DescribeClusterRequest(include_cluster_authorized_operations=True), controller=False)


@case(settings=own(3))
def without_configs(probe: Probe) -> None:
    topic = probe.topic("t")
    other, group = probe.topic("other"), f"{probe.name}-g"
    restrict(probe, T.TOPIC, other)
    restrict(probe, T.GROUP, f"{group}-other")
    deny(probe, O.ALTER_CONFIGS, O.DESCRIBE_CONFIGS)
    kinds = [(BROKER, "1"), (BROKER, ""), (BROKER_LOGGER, "1"), (CLIENT_METRICS, "m"), (TOPIC, other)]
    kinds += [(GROUP, f"{group}-other")] if probe.release != "3.7.2" else []
    for kind, name in kinds:
        resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=["x"])
        described = DescribeConfigsRequest(resources=[resource])
        exchange(probe, described, note=f"{kind} {name}")
        exchange(probe, incremental((kind, name, [("segment.bytes", SET, "1")])), note=f"{kind} {name}")
        exchange(probe, legacy((kind, name, [("segment.bytes", "1")])), note=f"{kind} {name}")
    resources = [
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=["retention.ms"])
        for kind, name in ((BROKER, "1"), (TOPIC, topic), (TOPIC, other))
    ]
    exchange(probe, DescribeConfigsRequest(resources=resources), note="mixed")
    mixed = [(BROKER, "1", [("x", SET, "1")]), (TOPIC, topic, [("retention.ms", SET, "9")]), (TOPIC, other, [])]
    probe.exchange(incremental(*mixed), 1, note="mixed")  # type: ignore[arg-type]
    exchange(probe, DescribeClientQuotasRequest(components=[], strict=False))
    entity = [EntityData(entity_type="user", entity_name="ann")]
    entries = [EntryData(entity=entity, ops=[OpData(key="producer_byte_rate", value=1000.0, remove=False)])]
    exchange(probe, AlterClientQuotasRequest(entries=entries, validate_only=False))
    exchange(probe, ListConfigResourcesRequest())


def _without_ids(response: Any) -> Any:
    """Cut the ids of topics that are not created."""
    for topic in response["topics"]:
        topic.pop("topicId", None)
    return response


def _unordered(response: Any) -> Any:
    """Sort the results of DeleteTopics, which Kafka shuffles."""
    response["responses"].sort(key=str)
    return response


@case(settings=own(4))
def topics_without_rights_on_the_cluster(probe: Probe) -> None:
    name = probe.name
    mine, shown, hidden = probe.topic("mine"), probe.topic("shown"), probe.topic("hidden")
    ids = {each: probe.topic_id(each) for each in (mine, shown, hidden)}
    restrict(probe, T.TOPIC, shown, hidden, f"{name}-no", f"{name}-none")
    everything = [acl(T.TOPIC, each, O.ALL) for each in (mine, f"{name}-yes")]
    give(probe, *everything, acl(T.TOPIC, shown, O.DESCRIBE), acl(T.TOPIC, f"{name}-blind", O.CREATE))
    restrict_cluster(probe)

    def creates(*suffixes: str) -> CreateTopicsRequest:
        topics = [CreatableTopic(name=f"{name}-{each}", num_partitions=1, replication_factor=1) for each in suffixes]
        return CreateTopicsRequest(topics=topics, timeout_ms=5_000, validate_only=True)

    for suffixes in (("yes",), ("no",), ("blind",), ("no", "yes"), ("yes", "blind", "no", "mine", "shown", "hidden")):
        exchange(probe, creates(*suffixes), note="+".join(suffixes), only=_without_ids)
    exchange(probe, creates("yes", "no", "yes"), note="one twice", only=_without_ids)
    exchange(probe, creates("no", "no"), note="a refused one twice", only=_without_ids)

    def adds(*topics: str) -> CreatePartitionsRequest:
        wanted = [CreatePartitionsTopic(name=each, count=3, assignments=None) for each in topics]
        return CreatePartitionsRequest(topics=wanted, timeout_ms=5_000, validate_only=True)

    for topics in ((mine,), (shown,), (hidden,), (f"{name}-none",), (shown, mine, hidden, f"{name}-none")):
        exchange(probe, adds(*topics), note=f"{len(topics)} from {topics[0]}")
    for version in all_versions(DeleteTopicsRequest):
        for topic in (shown, hidden, f"{name}-none"):
            request = DeleteTopicsRequest(topic_names=[topic], topics=[DeleteTopicState(name=topic)], timeout_ms=5_000)
            probe.exchange(request, version, note=topic)
    for topic in (shown, hidden):
        by_id = [DeleteTopicState(name=None, topic_id=ids[topic])]
        exchange(probe, DeleteTopicsRequest(topics=by_id, timeout_ms=5_000), note=f"{topic} by id", only=_unordered)
    both = [DeleteTopicState(name=None, topic_id=b"\7" * 16), DeleteTopicState(name=None, topic_id=ids[hidden])]
    every = [*both, DeleteTopicState(name=mine), DeleteTopicState(name=shown), DeleteTopicState(name=f"{name}-gone")]
    probe.exchange(DeleteTopicsRequest(topics=every, timeout_ms=5_000), 6, note="all", only=_unordered)


@case(settings=own(5))
def topics_with_delete_on_the_cluster(probe: Probe) -> None:
    hidden = probe.topic("hidden")
    restrict(probe, T.TOPIC, hidden)
    restrict_cluster(probe, O.DELETE)
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=hidden)], timeout_ms=5_000)
    probe.exchange(request, 6, only=_unordered)


@case(settings=own(6))
def without_cluster_action(probe: Probe) -> None:
    served = releases.get(probe.release)
    controllers = served.listeners["controller"].api_versions
    keys = [each for each in ApiKey if each.facts.cluster_action and not each.facts.forwardable]
    keys = [*(each for each in keys if each is not ApiKey.DESCRIBE_QUORUM), ApiKey.FETCH_SNAPSHOT]
    deny(probe, O.CLUSTER_ACTION)
    for api_key in keys:
        request = request_type(api_key)()
        if api_key in served.api_versions:
            probe.exchange(request, served.api_versions[api_key].highest, only=without_details)
        if api_key in controllers and api_key is not ApiKey.ENVELOPE:
            connection = probe.connect(listener="CONTROLLER")
            newest = controllers[api_key].highest
            probe.exchange(request, newest, on=connection, note="at the controller", only=without_details)
    for request, versions in (
        (FindCoordinatorRequest(coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAQ:0", "g"], key_type=SHARE), (4, 5, 6)),
        (markers((7, 0, True, {f"{probe.name}-none": [0]}, 0)), (0, 1, 2)),
    ):
        for version in versions:
            if version in served.api_versions[request.API_KEY]:
                probe.exchange(request, version, note="with ALTER", only=without_details)


@case(settings=own(7))
def scram_credentials(probe: Probe) -> None:
    names = [f"{probe.name}-{each}" for each in ("b", "a", "a", "")]
    deletions = [alter_scram.ScramCredentialDeletion(name=name, mechanism=1) for name in names]
    put = alter_scram.ScramCredentialUpsertion(name="z", mechanism=1, iterations=4096, salt=b"s", salted_password=b"p")
    request = alter_scram.AlterUserScramCredentialsRequest(deletions=deletions, upsertions=[put])
    described = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names])
    deny(probe, O.ALTER, O.DESCRIBE)
    exchange(probe, request)
    exchange(probe, alter_scram.AlterUserScramCredentialsRequest(deletions=[], upsertions=[]), note="no user")
    exchange(probe, described)
    exchange(probe, DescribeUserScramCredentialsRequest(users=[]), note="no user")
    probe.expect_silence(DescribeUserScramCredentialsRequest(users=None), 0, note="all")
