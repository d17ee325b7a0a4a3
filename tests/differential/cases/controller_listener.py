"""The responses of a controller's own listener to tools and clients (KIP-919), as raw probes see them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from protocol_specs.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol_specs.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol_specs.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.unregister_broker import UnregisterBrokerRequest
from protocol_specs.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.differential.case import case
from tests.differential.cases.describe_quorum import METADATA_TOPIC, of, steady
from tests.differential.config_requests import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    TOPIC,
    incremental,
    legacy,
)
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from protocol_specs.message import Message
    from tests.differential.probe import Connection, Probe

OWN_CLUSTER = (("num.io.threads", "7"),)
"""Of cases that leave something behind."""

STATIC, DEFAULT = 4, 5
"""Sources of configurations: a broker's file, Kafka's defaults."""


def controller(probe: Probe, node: int = 1) -> Connection:
    """A connection to a node's controller."""
    return probe.connect(node, listener="CONTROLLER")


def exchange(probe: Probe, request: Message, *versions: int, note: str = "", only: Any = None) -> None:
    """Send a request to the controller in each version, each time on a new connection."""
    for version in versions:
        probe.exchange(request, version, on=controller(probe), note=note, only=only)


@case()
def api_versions(probe: Probe) -> None:
    for version in range(5):
        request = ApiVersionsRequest(client_software_name="probe", client_software_version="1.0")
        probe.exchange(request, version, on=controller(probe))
    exchange(probe, ApiVersionsRequest(client_software_name="-no-", client_software_version="1"), 3)


@case()
def api_versions_of_no_known_version(probe: Probe) -> None:
    for version in (5, 99, -1):
        probe.raw_body(18, version, b"", note=f"version {version}", listener="CONTROLLER")


@case()
def describe_cluster(probe: Probe) -> None:
    for endpoint_type in (0, 1, 2, 3, -1):
        exchange(
            probe, DescribeClusterRequest(endpoint_type=endpoint_type), 1, 2, note=f"endpoint type {endpoint_type}"
        )
    exchange(probe, DescribeClusterRequest(), 0)
    operations = DescribeClusterRequest(endpoint_type=2, include_cluster_authorized_operations=True)
    exchange(probe, operations, 1, 2, note="with operations")
    exchange(probe, DescribeClusterRequest(endpoint_type=2, include_fenced_brokers=True), 2, note="with the fenced")


@case(brokers=3)
def describe_cluster_of_three(probe: Probe) -> None:
    for node in (1, 2, 3):
        probe.exchange(
            DescribeClusterRequest(endpoint_type=2), 1, on=controller(probe, node), only=_without_the_controllers_id
        )


def _without_the_controllers_id(response: dict[str, Any]) -> dict[str, Any]:
    """Which of three leads is chance."""
    if response["controllerId"] in {1, 2, 3}:
        response["controllerId"] = "<one of them>"
    return response


@case()
def describe_quorum(probe: Probe) -> None:
    exchange(probe, of((METADATA_TOPIC, (0,))), *all_versions(type(of())), only=steady)
    exchange(probe, of(("other", (0,))), 0, 1, 2, note="another topic")
    exchange(probe, of((METADATA_TOPIC, (0, 1))), 0, 1, 2, note="two partitions")


@case()
def apis_of_brokers_alone(probe: Probe) -> None:
    for api_key, version in ((0, 9), (2, 5), (3, 9), (8, 8), (9, 8), (10, 3), (11, 5), (22, 4), (26, 3), (48, 1)):
        probe.raw_body(api_key, version, b"\0" * 8, note=f"key {api_key}", listener="CONTROLLER")
    for api_key, version in ((61, 0), (66, 0), (71, 0), (74, 0), (75, 0)):
        probe.raw_body(api_key, version, b"\0" * 8, note=f"key {api_key}", listener="CONTROLLER")
    probe.exchange(MetadataRequest(topics=[]), 9, on=controller(probe))


@case()
def versions_out_of_range(probe: Probe) -> None:
    for api_key, version in ((1, 3), (1, 19), (19, 8), (19, -1), (60, 3), (62, 5), (63, 3), (52, 3), (70, 1), (56, 4)):
        probe.raw_body(api_key, version, b"\0" * 8, note=f"key {api_key}", listener="CONTROLLER")


@case()
def bodies_that_are_cut(probe: Probe) -> None:
    for api_key, version in ((1, 13), (19, 7), (52, 0), (55, 1), (58, 0), (60, 1), (62, 1), (63, 1), (67, 0), (70, 0)):
        probe.raw_body(api_key, version, b"\0", note=f"key {api_key}", listener="CONTROLLER")


def _topics(probe: Probe, *suffixes: str, partitions: int = 1, replicas: int = 1) -> list[CreatableTopic]:
    return [
        CreatableTopic(name=f"{probe.name}-{suffix}", num_partitions=partitions, replication_factor=replicas)
        for suffix in suffixes
    ]


@case()
def create_topics(probe: Probe) -> None:
    for version in range(2, 8):
        request = CreateTopicsRequest(topics=_topics(probe, f"v{version}", partitions=2), timeout_ms=10_000)
        exchange(probe, request, version, only=_without_ids)
    exchange(probe, CreateTopicsRequest(topics=_topics(probe, "v7"), timeout_ms=10_000), 2, 5, 7, note="exists")
    exchange(probe, CreateTopicsRequest(topics=_topics(probe, "same", "same"), timeout_ms=10_000), 7, note="twice")
    reserved = [CreatableTopic(name="__cluster_metadata", num_partitions=1, replication_factor=1)]
    exchange(probe, CreateTopicsRequest(topics=reserved, timeout_ms=10_000), 7, note="reserved")
    exchange(
        probe, CreateTopicsRequest(topics=_topics(probe, "b@d", "", "f9", replicas=9), timeout_ms=10_000), 7, note="bad"
    )
    configured = _topics(probe, "configured")
    configured[0].configs = [CreatableTopicConfig(name="retention.ms", value="77")]
    exchange(
        probe,
        CreateTopicsRequest(topics=configured, timeout_ms=10_000, validate_only=True),
        5,
        7,
        note="validate",
        only=_without_ids,
    )
    exchange(probe, CreateTopicsRequest(topics=[], timeout_ms=10_000), 7, note="none")
    exchange(probe, CreateTopicsRequest(topics=_topics(probe, "late"), timeout_ms=-1), 7, note="no time")


def _without_ids(response: dict[str, Any]) -> dict[str, Any]:
    for topic in response["topics"]:
        if topic.get("topicId"):
            topic["topicId"] = "<id>"
    return response


@case()
def delete_topics(probe: Probe) -> None:
    names = [probe.topic(f"t{number}") for number in range(4)]
    exchange(probe, DeleteTopicsRequest(topic_names=[names[0]], timeout_ms=10_000), 1)
    exchange(probe, DeleteTopicsRequest(topic_names=[names[1], names[1]], timeout_ms=10_000), 5, note="twice")
    by_name = [DeleteTopicState(name=names[1]), DeleteTopicState(name=f"{probe.name}-missing")]
    exchange(probe, DeleteTopicsRequest(topics=by_name, timeout_ms=10_000), 6, note="by name")
    by_id = [
        DeleteTopicState(name=None, topic_id=probe.topic_id(names[2])),
        DeleteTopicState(name=None, topic_id=b"\7" * 16),
    ]
    exchange(probe, DeleteTopicsRequest(topics=by_id, timeout_ms=10_000), 6, note="by id")
    both = [DeleteTopicState(name=names[3], topic_id=probe.topic_id(names[3])), DeleteTopicState(name=None)]
    exchange(probe, DeleteTopicsRequest(topics=both, timeout_ms=10_000), 6, note="both and neither")
    exchange(probe, DeleteTopicsRequest(topic_names=["__cluster_metadata"], timeout_ms=10_000), 5, note="metadata")


@case()
def create_partitions(probe: Probe) -> None:
    name = probe.topic()
    for count, note in ((3, "more"), (3, "as many"), (1, "fewer"), (0, "none")):
        topics = [CreatePartitionsTopic(name=name, count=count, assignments=None)]
        exchange(probe, CreatePartitionsRequest(topics=topics, timeout_ms=10_000), 0, 3, note=note)
    missing = [CreatePartitionsTopic(name=f"{probe.name}-missing", count=2, assignments=None)]
    exchange(probe, CreatePartitionsRequest(topics=missing, timeout_ms=10_000), 3, note="missing")


@case()
def describe_configs(probe: Probe) -> None:
    topic = probe.topic(retention_ms="4711")
    for kind, name, note in (
        (TOPIC, topic, "a topic"),
        (TOPIC, f"{probe.name}-missing", "no topic"),
        (TOPIC, "b@d", "a bad name"),
        (BROKER, "", "all brokers"),
        (BROKER, "x", "not a number"),
        (BROKER, "7", "another node"),
        (BROKER_LOGGER, "7", "loggers of another node"),
        (BROKER_LOGGER, "", "loggers of no broker"),
        (GROUP, "", "no group"),
        (CLIENT_METRICS, "", "no subscription"),
        (77, "x", "no known type"),
    ):
        resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=["retention.ms"])
        exchange(probe, DescribeConfigsRequest(resources=[resource], include_synonyms=True), 1, 4, note=note)
    for keys in (
        ["node.id", "num.io.threads", "controller.listener.names"],
        ["log.retention.ms", "background.threads"],
    ):
        own = DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=keys)
        exchange(probe, DescribeConfigsRequest(resources=[own], include_synonyms=True), 1, 4, note="itself")


@case()
def incremental_alter_configs(probe: Probe) -> None:
    topic = probe.topic()
    for kind, name, changes, note in (
        (TOPIC, topic, [("retention.ms", SET, "4711")], "a topic"),
        (TOPIC, topic, [("retention.ms", SET, "x")], "a bad value"),
        (TOPIC, topic, [("retention.ms", SET, None)], "null"),
        (TOPIC, topic, [("retention.ms", APPEND, "1")], "append to what is no list"),
        (TOPIC, topic, [("retention.ms", DELETE, None)], "delete"),
        (TOPIC, topic, [("retention.ms", SET, "1"), ("retention.ms", SET, "2")], "a key twice"),
        (TOPIC, topic, [("no.such.config", SET, "1")], "an unknown key"),
        (TOPIC, topic, [], "nothing"),
        (TOPIC, "", [("retention.ms", SET, "1")], "the default topic"),
        (TOPIC, "b@d", [("retention.ms", SET, "1")], "a bad name"),
        (TOPIC, f"{probe.name}-missing", [("retention.ms", SET, "1")], "no topic"),
        (BROKER, "x", [("background.threads", SET, "10")], "a broker without a number"),
        (BROKER, "7", [("background.threads", SET, "x")], "a bad value of another broker"),
        (BROKER, "7", [("broker.id", SET, "9")], "read-only of another broker"),
        (BROKER, "1", [("background.threads", SET, "x")], "a bad value"),
        (BROKER, "1", [("broker.id", SET, "9")], "read-only"),
        (BROKER, "", [("background.threads", SET, "x")], "a bad value for all"),
        (BROKER_LOGGER, "7", [("kafka", SET, "INFO")], "loggers of another node"),
        (BROKER_LOGGER, "x", [("kafka", SET, "INFO")], "loggers of no node"),
        (BROKER_LOGGER, "1", [("kafka.controller", SET, "NOPE")], "no such level"),
        (GROUP, "", [("consumer.session.timeout.ms", SET, "1")], "no group"),
        (CLIENT_METRICS, "", [("interval.ms", SET, "100")], "no subscription"),
        (0, "x", [("a", SET, "1")], "type 0"),
        (1, "x", [("a", SET, "1")], "type 1"),
        (77, "x", [("a", SET, "1")], "no known type"),
    ):
        exchange(probe, incremental((kind, name, changes), validate_only=True), 1, note=note)
    exchange(probe, incremental((TOPIC, topic, [("retention.ms", SET, "4711")])), 0, 1, note="for good")
    change = (TOPIC, topic, [("retention.ms", SET, "1")])
    exchange(
        probe, incremental(change, change, (77, "x", []), (TOPIC, "b@d", [])), 1, note="a resource twice, and others"
    )
    exchange(probe, incremental(), 1, note="no resource")


@case()
def alter_configs(probe: Probe) -> None:
    topic = probe.topic()
    for kind, name, configs, note in (
        (TOPIC, topic, [("retention.ms", "4711")], "a topic"),
        (TOPIC, topic, [("retention.ms", "x")], "a bad value"),
        (TOPIC, topic, [("retention.ms", None)], "null"),
        (TOPIC, f"{probe.name}-missing", [("retention.ms", "1")], "no topic"),
        (BROKER, "7", [("background.threads", "x")], "a bad value of another broker"),
        (BROKER_LOGGER, "1", [("kafka", "INFO")], "loggers"),
        (77, "x", [("a", "1")], "no known type"),
    ):
        exchange(probe, legacy((kind, name, configs), validate_only=True), 0, 2, note=note)
    change = (TOPIC, topic, [("retention.ms", "1")])
    exchange(probe, legacy(change, change), 2, note="a resource twice")
    exchange(probe, legacy(change), 2, note="for good")


@case(settings=OWN_CLUSTER)
def alter_client_quotas(probe: Probe) -> None:
    def quota(kind: str, name: str | None, key: str, value: float, *, remove: bool = False) -> EntryData:
        entity = [EntityData(entity_type=kind, entity_name=name)]
        return EntryData(entity=entity, ops=[OpData(key=key, value=value, remove=remove)])

    for entries, note in (
        ([quota("user", "ann", "producer_byte_rate", 1024.0)], "a user"),
        ([quota("user", "ann", "no_such", 1.0), quota("client-id", None, "consumer_byte_rate", 5.0)], "one is bad"),
        ([quota("tribe", "x", "producer_byte_rate", 1.0)], "no such entity"),
        ([quota("user", "ann", "producer_byte_rate", 0.0, remove=True)], "remove"),
        ([], "nothing"),
    ):
        exchange(probe, AlterClientQuotasRequest(entries=entries), 0, 1, note=note)


@case()
def elect_leaders(probe: Probe) -> None:
    name = probe.topic()
    for topic, partition, kind in (
        (name, 0, 0),
        (name, 7, 0),
        (f"{probe.name}-missing", 0, 0),
        (name, 0, 1),
        (name, 0, 5),
    ):
        wanted = [TopicPartitions(topic=topic, partitions=[partition])]
        request = ElectLeadersRequest(election_type=kind, topic_partitions=wanted, timeout_ms=10_000)
        exchange(probe, request, 0, 1, 2, note=f"partition {partition}, type {kind}")


@case()
def reassignments(probe: Probe) -> None:
    name = probe.topic()
    for replicas, note in (([1], "as it is"), ([9], "no such broker"), ([], "none"), (None, "cancel")):
        partition = ReassignablePartition(partition_index=0, replicas=replicas)
        topics = [ReassignableTopic(name=name, partitions=[partition])]
        exchange(probe, AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=10_000), 0, 1, note=note)
    exchange(probe, ListPartitionReassignmentsRequest(topics=None, timeout_ms=10_000), 0)


@case()
def update_features(probe: Probe) -> None:
    for name, level, kind, note in (
        ("no.such.feature", 1, 1, "unknown"),
        ("metadata.version", 99, 1, "too high"),
        ("metadata.version", 1, 2, "down"),
        ("metadata.version", 19, 7, "no such type"),
    ):
        updates = [FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)]
        exchange(
            probe,
            UpdateFeaturesRequest(timeout_ms=10_000, feature_updates=updates, validate_only=True),
            1,
            2,
            note=note,
        )


@case()
def unregister_broker(probe: Probe) -> None:
    exchange(probe, UnregisterBrokerRequest(broker_id=77), 0)
    exchange(probe, UnregisterBrokerRequest(broker_id=-1), 0)


@case(brokers=3)
def who_is_not_the_controller(probe: Probe) -> None:
    others = [each for each in (1, 2, 3) if each != _active(probe)]
    topic = CreatableTopic(name=f"{probe.name}-t", num_partitions=1, replication_factor=1)
    wanted = [TopicPartitions(topic=topic.name, partitions=[0])]
    entry = EntryData(
        entity=[EntityData(entity_type="user", entity_name="ann")], ops=[OpData(key="producer_byte_rate", value=1.0)]
    )
    partition = ReassignablePartition(partition_index=0, replicas=[1])
    reassigned = [ReassignableTopic(name=topic.name, partitions=[partition])]
    update = FeatureUpdateKey(feature="metadata.version", max_version_level=19, upgrade_type=1)
    more = CreatePartitionsTopic(name=topic.name, count=2, assignments=None)
    deleted = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)], timeout_ms=10_000)
    for request, version in (
        (CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5),
        (deleted, 6),
        (CreatePartitionsRequest(topics=[more], timeout_ms=10_000), 3),
        (incremental((TOPIC, topic.name, [("retention.ms", SET, "1")])), 1),
        (incremental((TOPIC, topic.name, [("retention.ms", SET, "1")]), validate_only=True), 1),
        (incremental((BROKER_LOGGER, "77", [("kafka", SET, "INFO")])), 1),
        (legacy((TOPIC, topic.name, [("retention.ms", "1")])), 2),
        (AlterClientQuotasRequest(entries=[entry]), 1),
        (ElectLeadersRequest(election_type=0, topic_partitions=wanted, timeout_ms=10_000), 2),
        (AlterPartitionReassignmentsRequest(topics=reassigned, timeout_ms=10_000), 0),
        (ListPartitionReassignmentsRequest(topics=None, timeout_ms=10_000), 0),
        (UpdateFeaturesRequest(timeout_ms=10_000, feature_updates=[update]), 1),
        (UnregisterBrokerRequest(broker_id=77), 0),
        (of((METADATA_TOPIC, (0,))), 1),
        (of(("other", (0,))), 1),
    ):
        probe.exchange(request, version, on=controller(probe, others[0]), only=_without_the_leader)


def _without_the_leader(response: Any) -> Any:
    """Which of three leads is chance."""
    if isinstance(response, dict):
        return {name: _without_the_leader(item) for name, item in response.items()}
    if isinstance(response, list):
        return [_without_the_leader(each) for each in response]
    if not isinstance(response, str):
        return response
    return re.sub("(be node|Expected|received) [0-9]+", r"\1 <one of them>", response)


def _active(probe: Probe) -> int:
    response: Any = probe.quiet(of((METADATA_TOPIC, (0,))), 1)
    leader_id: int = response.topics[0].partitions[0].leader_id
    return leader_id


@case(settings=(("num.io.threads", "6"),))
def values_of_brokers_that_cannot_be(probe: Probe) -> None:
    """A controller takes them, because it knows the names alone, and shows them with what it makes; brokers do not."""
    name = probe.topic(retention_ms=None)
    for number, (node, key, value, of_topics) in enumerate(
        (
            ("1", "compression.type", "1", "compression.type"),
            ("1", "log.retention.ms", "abc", "retention.ms"),
            ("", "log.segment.bytes", "-1", "segment.bytes"),
            ("", "background.threads", "x", "retention.ms"),
            ("1", "log.retention.hours", "abc", "retention.ms"),
        )
    ):
        setting = f"{key}={value} of {node or 'all'}"
        exchange(probe, incremental((BROKER, node, [(key, SET, value)])), 1, note=setting)
        _look(probe, name, f"{number}-set", of_topics, setting)
        another = (BROKER, node, [("log.cleaner.threads", SET, "2")])
        probe.exchange(incremental(another), 1, note=f"another beside {setting}")
        _look(probe, name, f"{number}-another", of_topics, f"another beside {setting}")
        changes = [(key, DELETE, None), ("log.cleaner.threads", DELETE, None)]
        exchange(probe, incremental((BROKER, node, changes)), 1, note=f"no {setting}")
        _look(probe, name, f"{number}-unset", of_topics, f"no {setting}")


def _look(probe: Probe, name: str, suffix: str, key: str, note: str) -> None:
    """Record the inherited values: of a new topic, of an existing one, and as brokers describe them."""
    probe.topic(suffix)  # Brokers have followed the metadata so far.
    setting = [
        DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=[key]),
        DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=None),
        DescribeConfigsResource(resource_type=BROKER, resource_name="", configuration_keys=None),
    ]
    for on, listener in ((None, "broker"), (controller(probe), "controller")):
        topic = CreatableTopic(
            name=f"{name}-{suffix}-{listener}", num_partitions=1, replication_factor=1, assignments=[], configs=[]
        )
        created = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
        probe.exchange(created, 7, on=on, note=f"{note}, {listener}", only=_inherited)
        described = DescribeConfigsRequest(resources=setting, include_synonyms=True)
        probe.exchange(described, 4, on=on, note=f"{note}, {listener}", only=_dynamic)


def _inherited(response: Any) -> Any:
    (topic,) = response["topics"]
    return [topic["errorCode"], topic["errorMessage"], [of for of in topic["configs"] if of["configSource"] != DEFAULT]]


def _dynamic(response: Any) -> Any:
    of_topic, *of_brokers = response["results"]
    for each in of_brokers:
        each["configs"] = [of for of in each["configs"] if of["configSource"] not in (STATIC, DEFAULT)]
    return [of_topic, *of_brokers]
