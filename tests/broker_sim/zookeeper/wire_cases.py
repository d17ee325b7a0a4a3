"""The requests of clients and controllers to a cluster of two brokers with ZooKeeper, in order, and the comparison.

`python -m tests.broker_sim.zookeeper.record_wire` has sent real brokers the same; their responses are in `recorded/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from protocol_specs.json_form import to_json
from protocol_specs.message import Message
from protocol_specs.messages import alter_partition, elect_leaders
from protocol_specs.messages.alter_partition import AlterPartitionRequest
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol_specs.messages.controlled_shutdown import ControlledShutdownRequest
from protocol_specs.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol_specs.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol_specs.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from protocol_specs.messages.elect_leaders import ElectLeadersRequest
from protocol_specs.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    RequestLeaderAndIsrPartitionState,
)
from protocol_specs.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol_specs.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from protocol_specs.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from protocol_specs.messages.update_metadata import UpdateMetadataRequest

CONTROLLER, OTHER = "controller", "other"
FUTURE_EPOCH = 1 << 60
VOLATILE = {"topicId", "port", "clusterId", "host", "throttleTimeMs", "clusterAuthorizedOperations"}
"""What differs from run to run, or has nothing to do with controllers."""

Send = Callable[[str, Message, int], "Message | str"]
Cases = Iterator[tuple[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The cluster: `send(who, request, version)`; `other` is the id of the broker that is no controller."""

    send: Send
    other: int
    versions: dict[int, int]

    def newest(self, request: Message, version: int) -> int:
        """The version of the requests."""
        return min(version, self.versions[request.API_KEY])


def comparable(response: Any, version: int) -> Any:
    """A response as JSON without volatile values, and with sorted lists: Kafka's order is that of hash tables."""
    return response if isinstance(response, str) else _plain(to_json(response, version))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return sorted((_plain(each) for each in value), key=repr)
    return value


def all_cases(cluster: Cluster) -> Cases:
    """Yield name and comparable response of each."""
    for name, who, request, version in _requests(cluster):
        if request.API_KEY in cluster.versions and version <= cluster.versions[request.API_KEY]:
            yield name, comparable(cluster.send(who, request, version), version)


def _requests(cluster: Cluster) -> Iterator[tuple[str, str, Message, int]]:
    yield from _creations(cluster)
    yield from _partitions(cluster)
    yield from _elections(cluster)
    yield from _reassignments(cluster)
    yield from _deletions(cluster)
    yield from _controlled_shutdowns(cluster)
    yield from _leader_and_isrs(cluster)
    yield from _stop_replicas()
    yield from _update_metadatas()
    yield from _alter_partitions()
    yield from _scram_credentials()


def _creations(cluster: Cluster) -> Iterator[tuple[str, str, Message, int]]:
    def topic(name: str, partitions: int = 1, factor: int = 1, assigned: Any = (), configs: Any = ()) -> CreatableTopic:
        return CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=factor,
            assignments=[CreatableReplicaAssignment(partition_index=i, broker_ids=list(ids)) for i, ids in assigned],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs],
        )

    def create(*topics: CreatableTopic, timeout_ms: int = 5_000, validate_only: bool = False) -> CreateTopicsRequest:
        return CreateTopicsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)

    requested: list[tuple[str, str, CreateTopicsRequest]] = [
        ("no controller", OTHER, create(topic("a"))),
        ("created", CONTROLLER, create(topic("a", 2, 2))),
        ("created twice", CONTROLLER, create(topic("a"))),
        ("too many replicas", CONTROLLER, create(topic("b", 1, 5))),
        ("no partitions", CONTROLLER, create(topic("b", 0, 1))),
        ("no replicas", CONTROLLER, create(topic("b", 1, -3))),
        ("illegal name", CONTROLLER, create(topic("b/c"))),
        ("two topics", CONTROLLER, create(topic("x.y"), topic("zz"))),
        ("colliding name", CONTROLLER, create(topic("x_y"))),
        ("counts and assignments", CONTROLLER, create(topic("b", 1, 1, [(0, (1,))]))),
        ("a broker twice", CONTROLLER, create(topic("b", -1, -1, [(0, (1, 1))]))),
        ("a gap", CONTROLLER, create(topic("b", -1, -1, [(0, (1,)), (2, (1,))]))),
        ("other sizes", CONTROLLER, create(topic("b", -1, -1, [(0, (1,)), (1, (1, 2))]))),
        ("an unknown broker", CONTROLLER, create(topic("b9", -1, -1, [(0, (9,))]), timeout_ms=500)),
        ("an unknown configuration", CONTROLLER, create(topic("b", 1, 1, configs=[("nope", "x")]))),
        ("late at once", CONTROLLER, create(topic("t0"), timeout_ms=0)),
        ("named twice", CONTROLLER, create(topic("d"), topic("d"))),
        ("validated", CONTROLLER, create(topic("v", 1, 1), validate_only=True)),
        ("validated and refused", CONTROLLER, create(topic("v", 1, 9), validate_only=True)),
    ]
    for name, who, request in requested:
        yield f"CreateTopics {name}", who, request, cluster.newest(request, 7)
    yield "CreateTopics v0", CONTROLLER, create(topic("v0")), 0
    yield "CreateTopics v0 at another", OTHER, create(topic("v1")), 0
    yield "CreateTopics of the metadata topic", CONTROLLER, create(topic("__cluster_metadata")), 7
    names = [MetadataRequestTopic(name="a"), MetadataRequestTopic(name="t0")]
    metadata = MetadataRequest(topics=names, allow_auto_topic_creation=False)
    yield "Metadata after creations", OTHER, MetadataRequest(topics=[]), cluster.newest(metadata, 8)


def _partitions(cluster: Cluster) -> Iterator[tuple[str, str, Message, int]]:
    def grow(*topics: tuple[str, int, Any], timeout_ms: int = 5_000, validate_only: bool = False) -> Message:
        return CreatePartitionsRequest(
            topics=[
                CreatePartitionsTopic(
                    name=name,
                    count=count,
                    assignments=None
                    if assigned is None
                    else [CreatePartitionsAssignment(broker_ids=list(ids)) for ids in assigned],
                )
                for name, count, assigned in topics
            ],
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )

    for name, who, request in [
        ("no controller", OTHER, grow(("a", 3, None))),
        ("grown", CONTROLLER, grow(("a", 3, None))),
        ("as many", CONTROLLER, grow(("a", 3, None))),
        ("fewer", CONTROLLER, grow(("a", 1, None))),
        ("unknown", CONTROLLER, grow(("nope", 1, None))),
        ("assignments for others", CONTROLLER, grow(("a", 5, [(1, 2)]))),
        ("an unknown broker", CONTROLLER, grow(("a", 4, [(1, 9)]))),
        ("a broker twice", CONTROLLER, grow(("a", 4, [(1, 1)]))),
        ("another factor", CONTROLLER, grow(("a", 4, [(1,)]))),
        ("no brokers", CONTROLLER, grow(("a", 4, [()]))),
        ("named twice", CONTROLLER, grow(("a", 4, None), ("a", 5, None))),
        ("late at once", CONTROLLER, grow(("a", 4, None), timeout_ms=0)),
        ("validated", CONTROLLER, grow(("a", 9, None), validate_only=True)),
    ]:
        yield f"CreatePartitions {name}", who, request, cluster.newest(request, 3)


def _elections(cluster: Cluster) -> Iterator[tuple[str, str, Message, int]]:
    def elect(partitions: list[tuple[str, list[int]]] | None, election_type: int = 0) -> ElectLeadersRequest:
        topics = None
        if partitions is not None:
            topics = [elect_leaders.TopicPartitions(topic=name, partitions=indexes) for name, indexes in partitions]
        return ElectLeadersRequest(election_type=election_type, topic_partitions=topics, timeout_ms=5_000)

    yield "ElectLeaders v0 no controller", OTHER, elect([("a", [0])]), 0
    yield "ElectLeaders v0 needless", CONTROLLER, elect([("a", [0, 1])]), 0
    for name, who, request in [
        ("no controller", OTHER, elect([("a", [0])])),
        ("needless", CONTROLLER, elect([("a", [0, 1])])),
        ("unknown", CONTROLLER, elect([("nope", [0]), ("a", [77])])),
        ("all", CONTROLLER, elect(None)),
        ("all, no controller", OTHER, elect(None)),
        ("unclean", CONTROLLER, elect([("a", [0])], 1)),
        ("of an unknown type", CONTROLLER, elect([("a", [0])], 7)),
    ]:
        yield f"ElectLeaders {name}", who, request, 2


def _reassignments(cluster: Cluster) -> Iterator[tuple[str, str, Message, int]]:
    def reassign(*topics: tuple[str, list[tuple[int, list[int] | None]]]) -> Message:
        return AlterPartitionReassignmentsRequest(
            timeout_ms=5_000,
            topics=[
                ReassignableTopic(
                    name=name,
                    partitions=[ReassignablePartition(partition_index=i, replicas=ids) for i, ids in partitions],
                )
                for name, partitions in topics
            ],
        )

    for name, who, request in [
        ("no controller", OTHER, reassign(("a", [(0, [1])]))),
        ("nothing to cancel", CONTROLLER, reassign(("a", [(0, None)]))),
        ("bad lists", CONTROLLER, reassign(("a", [(0, []), (1, [1, 1]), (2, [1, -1])]))),
        ("a dead broker", CONTROLLER, reassign(("a", [(0, [1, 9])]))),
        ("unknown", CONTROLLER, reassign(("nope", [(0, [1])]), ("a", [(99, [1])]))),
        ("cancel what is unknown", CONTROLLER, reassign(("nope", [(0, None)]))),
        ("nothing", CONTROLLER, reassign()),
        ("fewer replicas", CONTROLLER, reassign(("a", [(0, [2])]))),
    ]:
        yield f"AlterPartitionReassignments {name}", who, request, 0
    for who in (CONTROLLER, OTHER):
        request = ListPartitionReassignmentsRequest(timeout_ms=1_000, topics=None)
        yield f"ListPartitionReassignments of the {who}", who, request, 0
        update = UpdateFeaturesRequest(
            timeout_ms=1_000, feature_updates=[FeatureUpdateKey(feature="x", max_version_level=1)]
        )
        yield f"UpdateFeatures of the {who}", who, update, 0


def _deletions(cluster: Cluster) -> Iterator[tuple[str, str, Message, int]]:
    def delete(*names: str, timeout_ms: int = 5_000) -> Message:
        return DeleteTopicsRequest(topic_names=list(names), timeout_ms=timeout_ms)

    for name, who, request in [
        ("no controller", OTHER, delete("v0")),
        ("deleted", CONTROLLER, delete("v0")),
        ("unknown", CONTROLLER, delete("nope")),
        ("named twice", CONTROLLER, delete("x.y", "x.y")),
        ("late at once", CONTROLLER, delete("zz", timeout_ms=0)),
    ]:
        yield f"DeleteTopics {name}", who, request, cluster.newest(request, 5)
    for name, state in [
        ("an unknown name", DeleteTopicState(name="nope")),
        ("name and id", DeleteTopicState(name="a", topic_id=b"1" * 16)),
        ("an unknown id", DeleteTopicState(name=None, topic_id=b"1" * 16)),
        ("neither name nor id", DeleteTopicState(name=None)),
    ]:
        yield f"DeleteTopics v6 {name}", CONTROLLER, DeleteTopicsRequest(topics=[state], timeout_ms=5_000), 6


def _controlled_shutdowns(cluster: Cluster) -> Iterator[tuple[str, str, Message, int]]:
    for version in (0, 1, 2, 3):
        for name, who, request in [
            ("no controller", OTHER, ControlledShutdownRequest(broker_id=1)),
            ("an unknown broker", CONTROLLER, ControlledShutdownRequest(broker_id=77)),
        ]:
            yield f"ControlledShutdown v{version} {name}", who, request, version
    stale = ControlledShutdownRequest(broker_id=cluster.other, broker_epoch=0)
    yield "ControlledShutdown of an earlier life", CONTROLLER, stale, 2


def _leader_and_isrs(cluster: Cluster) -> Iterator[tuple[str, str, Message, int]]:
    def become(
        version: int, *, controller_epoch: int = 1, broker_epoch: int = -1, leader_epoch: int = 1, mine: bool = True
    ) -> Message:
        name = "raw" if mine else "foreign"
        common: dict[str, Any] = {
            "partition_index": 0,
            "controller_epoch": controller_epoch,
            "leader": 1,
            "leader_epoch": leader_epoch,
            "isr": [1, 2],
            "partition_epoch": 0,
            "replicas": [1, 2] if mine else [3 - cluster.other],
        }
        request = LeaderAndIsrRequest(
            controller_id=1, controller_epoch=controller_epoch, broker_epoch=broker_epoch, live_leaders=[]
        )
        if version < 2:
            request.ungrouped_partition_states = [LeaderAndIsrPartitionState(topic_name=name, **common)]
        else:
            state = RequestLeaderAndIsrPartitionState(**common)
            topic_id = b"\1" * 16 if version >= 5 else b"\0" * 16
            request.topic_states = [
                LeaderAndIsrTopicState(topic_name=name, topic_id=topic_id, partition_states=[state])
            ]
        return request

    for version in (0, 1, 2, 4, 5, 7):
        for name, request in [
            ("of an old controller", become(version, controller_epoch=0)),
            ("for an earlier life", become(version, broker_epoch=0 if version >= 2 else -1)),
            ("for a later life", become(version, broker_epoch=FUTURE_EPOCH if version >= 2 else -1)),
            ("for another broker", become(version, mine=False)),
            ("of a new epoch", become(version, leader_epoch=10 + version)),
            ("of the same epoch", become(version, leader_epoch=10 + version)),
            ("of an old epoch", become(version, leader_epoch=9)),
        ]:
            yield f"LeaderAndIsr v{version} {name}", OTHER, request, version


def _stop_replicas() -> Iterator[tuple[str, str, Message, int]]:
    def stop(
        version: int,
        *,
        controller_epoch: int = 1,
        broker_epoch: int = -1,
        leader_epoch: int = 100,
        delete: bool = False,
    ) -> Message:
        request = StopReplicaRequest(controller_id=1, controller_epoch=controller_epoch, broker_epoch=broker_epoch)
        if version < 3:
            request.delete_partitions = delete
        if version == 0:
            request.ungrouped_partitions = [StopReplicaPartitionV0(topic_name="raw", partition_index=0)]
        elif version < 3:
            request.topics = [StopReplicaTopicV1(name="raw", partition_indexes=[0])]
        else:
            state = StopReplicaPartitionState(partition_index=0, leader_epoch=leader_epoch, delete_partition=delete)
            request.topic_states = [StopReplicaTopicState(topic_name="raw", partition_states=[state])]
        return request

    for version in (0, 1, 2, 3, 4):
        for name, request in [
            ("of an old controller", stop(version, controller_epoch=0)),
            ("for an earlier life", stop(version, broker_epoch=0 if version else -1)),
            ("for a later life", stop(version, broker_epoch=FUTURE_EPOCH if version else -1)),
            ("of an old epoch", stop(version, leader_epoch=1)),
            ("in order", stop(version)),
        ]:
            yield f"StopReplica v{version} {name}", OTHER, request, version
    for version in (1, 4):
        for count in ("once", "twice"):
            yield f"StopReplica v{version} deletes {count}", OTHER, stop(version, leader_epoch=-2, delete=True), version


def _update_metadatas() -> Iterator[tuple[str, str, Message, int]]:
    for version in (0, 3, 5, 8):
        for name, controller_epoch, broker_epoch in [
            ("of an old controller", 0, -1),
            ("for an earlier life", 1, 0 if version >= 5 else -1),
            ("for a later life", 1, FUTURE_EPOCH if version >= 5 else -1),
        ]:
            request = UpdateMetadataRequest(
                controller_id=1, controller_epoch=controller_epoch, broker_epoch=broker_epoch, live_brokers=[]
            )
            yield f"UpdateMetadata v{version} {name}", OTHER, request, version


def _alter_partitions() -> Iterator[tuple[str, str, Message, int]]:
    for version in (0, 2, 3):
        data = alter_partition.PartitionData(partition_index=0, leader_epoch=0, partition_epoch=0)
        if version < 3:
            data.new_isr = [1]
        else:
            data.new_isr_with_epochs = [alter_partition.BrokerState(broker_id=1)]
        topic = alter_partition.TopicData(partitions=[data])
        if version < 2:
            topic.topic_name = "a"
        else:
            topic.topic_id = b"\7" * 16
        for name, who, broker_id in [
            ("no controller", OTHER, 1),
            ("of an earlier life", CONTROLLER, 1),
            ("of an unknown broker", CONTROLLER, 99),
        ]:
            request = AlterPartitionRequest(broker_id=broker_id, broker_epoch=0, topics=[topic])
            yield f"AlterPartition v{version} {name}", who, request, version


def _scram_credentials() -> Iterator[tuple[str, str, Message, int]]:
    def put(user: str, mechanism: int = 1, iterations: int = 4096, key: bytes = b"key") -> ScramCredentialUpsertion:
        return ScramCredentialUpsertion(
            name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=key
        )

    def remove(user: str, mechanism: int = 1) -> ScramCredentialDeletion:
        return ScramCredentialDeletion(name=user, mechanism=mechanism)

    def alter(*changes: ScramCredentialUpsertion | ScramCredentialDeletion) -> AlterUserScramCredentialsRequest:
        return AlterUserScramCredentialsRequest(
            deletions=[each for each in changes if isinstance(each, ScramCredentialDeletion)],
            upsertions=[each for each in changes if isinstance(each, ScramCredentialUpsertion)],
        )

    requested = {
        "of two users": [put("ann"), put("bob", 2, 9000)],
        "of a user for two mechanisms": [put("cat"), put("cat", 2)],
        "one deleted and one set": [remove("cat"), put("cat", 2, 5000)],
        "unknown ones deleted": [remove("ann", 2), remove("dan"), put("dan")],
        "invalid": [put(""), remove("", 9), put("eve", 7), remove("fay", 0), put("guy", 1, 1), put("hal", 1, 99999)],
        "an invalid one and a valid one": [put("eve", 7), put("eve")],
        "twice": [put("ida"), put("ida"), remove("ann"), put("ann"), put("kim", 2), put("kim", 2), put("leo")],
        "an empty key beside another user": [put("mia", key=b""), put("ned")],
    }
    yield "AlterUserScramCredentials at no controller", OTHER, alter(put("ann"), put("ann"), remove("bob")), 0
    for name, changes in requested.items():
        yield f"AlterUserScramCredentials {name}", CONTROLLER, alter(*changes), 0
    for name, users in {
        "all": None,
        "of users": ["bob", "ann", "cat"],
        "of unknown users": ["dan", "", "", "ned"],
        "twice": ["cat", "ann", "cat"],
    }.items():
        users_named = None if users is None else [UserName(name=user) for user in users]
        yield f"DescribeUserScramCredentials {name}", OTHER, DescribeUserScramCredentialsRequest(users=users_named), 0
