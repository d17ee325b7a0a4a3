"""Topics that the client may not use, as raw probes see them: each API that names topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol_specs.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol_specs.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from protocol_specs.messages.describe_topic_partitions import TopicRequest as NamedTopic
from protocol_specs.messages.fetch import FetchRequest, FetchTopic
from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.differential.acl_requests import (
    ALLOW,
    ANONYMOUS,
    AUTHORIZER,
    DENY,
    OTHER,
    O,
    P,
    T,
    acl,
    give,
    restrict,
)
from tests.differential.case import case
from tests.differential.requests import all_versions, batch, fetch, fill, list_offsets, metadata, produce, wanted
from tests.differential.requests import produce_all as produce_each

if TYPE_CHECKING:
    from tests.differential.probe import Probe

NEWEST = {"3.7.2": 16, "4.3.1": 18}
PRODUCE = {"3.7.2": 10, "4.3.1": 12}


def three_topics(probe: Probe, *, allow: tuple[int, ...] = ()) -> tuple[str, str, str]:
    """An open topic, a restricted one, and the name of a restricted one that does not exist."""
    opened, denied = probe.topic("open"), probe.topic("denied")
    missing = f"{probe.name}-missing"
    restrict(probe, T.TOPIC, denied, missing, allow=allow)
    return opened, denied, missing


@case(settings=AUTHORIZER)
def produces(probe: Probe) -> None:
    opened, denied, missing = three_topics(probe)
    for version in (3, 8, PRODUCE[probe.release]):
        for topic in (opened, denied, missing):
            probe.exchange(produce(topic, batch(b"v")), version, note=topic)
        entries = [(opened, 0, batch(b"v")), (denied, 0, batch(b"v"))]
        probe.exchange(produce_each(*entries), version, note="both")
        probe.exchange(produce_each(*entries, (denied, 7, batch(b"v")), (missing, 0, batch(b"v"))), version, note="all")
    probe.exchange(produce(denied, None), 8, note="null records")
    probe.exchange(produce(denied, b"junk"), 8, note="junk")


@case(settings=AUTHORIZER)
def produces_without_acks(probe: Probe) -> None:
    opened, denied, _ = three_topics(probe)
    entries = [(opened, 0, batch(b"v")), (denied, 0, batch(b"v"))]
    connection = probe.connect()
    probe.expect_silence(produce_each(*entries, acks=0), 8, on=connection, note="both")
    probe.exchange(fetch(opened, wanted()), 12, note="the open topic")


@case(releases=("4.3.1",), settings=AUTHORIZER)
def produces_by_topic_id(probe: Probe) -> None:
    opened, denied, _ = three_topics(probe, allow=(O.DESCRIBE,))
    for topic in (opened, denied):
        topic_id = probe.topic_id(topic)
        probe.exchange(produce(topic, batch(b"v"), topic_id=topic_id), 13, note=topic)


@case(settings=AUTHORIZER)
def fetches(probe: Probe) -> None:
    opened, denied, missing = three_topics(probe)
    fill(probe, opened, batch(b"a"))
    for version in (4, 7, 12):
        for topic in (opened, denied, missing):
            probe.exchange(fetch(topic, wanted()), version, note=topic)
        topics = [FetchTopic(topic=topic, partitions=[wanted(), wanted(partition=3)]) for topic in (denied, opened)]
        probe.exchange(FetchRequest(max_wait_ms=0, topics=topics), version, note="both")
    follower = fetch(opened, wanted(), replica_id=7)
    probe.exchange(follower, 11, note="as a follower")


@case(settings=AUTHORIZER)
def fetches_by_topic_id(probe: Probe) -> None:
    opened, denied, _ = three_topics(probe, allow=(O.DESCRIBE,))
    fill(probe, opened, batch(b"a"))
    for topic in (opened, denied):
        topic_id = probe.topic_id(topic)
        probe.exchange(fetch(topic, wanted(), topic_id=topic_id), NEWEST[probe.release], note=topic)


@case(settings=AUTHORIZER)
def a_fetch_session_after_a_revocation(probe: Probe) -> None:
    opened, revoked = probe.topic("open"), probe.topic("revoked")
    fill(probe, revoked, batch(b"a"))
    topics = [FetchTopic(topic=topic, partitions=[wanted()]) for topic in (opened, revoked)]
    connection = probe.connect()
    session: Any = probe.quiet(FetchRequest(max_wait_ms=0, topics=topics, session_epoch=0), 12, on=connection)

    def on(epoch: int, note: str) -> None:
        request = FetchRequest(max_wait_ms=0, topics=[], session_id=session.session_id, session_epoch=epoch)
        probe.exchange(request, 12, on=connection, note=note, only=lambda response: response["responses"])

    on(1, "allowed")
    give(probe, acl(T.TOPIC, revoked, O.READ, permission=DENY))
    on(2, "revoked")
    on(3, "still revoked")


@case(settings=AUTHORIZER)
def lists_of_offsets(probe: Probe) -> None:
    opened, denied, missing = three_topics(probe)
    for version in all_versions(ListOffsetsRequest):
        topics = [
            ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
            for topic in (denied, opened, missing)
        ]
        probe.exchange(ListOffsetsRequest(replica_id=-1, topics=topics), version)
    probe.exchange(list_offsets(denied, -1, -2), 7, note="the denied alone")


@case(settings=AUTHORIZER)
def ends_of_epochs(probe: Probe) -> None:
    opened, denied, missing = three_topics(probe)
    topics = [
        OffsetForLeaderTopic(
            topic=topic, partitions=[OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=0)]
        )
        for topic in (denied, opened, missing)
    ]
    for version in all_versions(OffsetForLeaderEpochRequest):
        probe.exchange(OffsetForLeaderEpochRequest(replica_id=-1, topics=topics), version, note="with CLUSTER_ACTION")


@case(settings=AUTHORIZER)
def metadata_by_name(probe: Probe) -> None:
    opened, denied, missing = three_topics(probe)
    for version in all_versions(MetadataRequest):
        probe.exchange(metadata(denied), version, note="denied")
        probe.exchange(metadata(denied, missing), version, note="all denied")
        probe.exchange(metadata(opened, denied, missing), version, note="all")
    request = metadata(opened, denied, missing, include_topic_authorized_operations=True)
    probe.exchange(request, 12, note="with operations")
    request = metadata(opened, denied, include_topic_authorized_operations=True)
    request.include_cluster_authorized_operations = True
    probe.exchange(request, 9, note="with operations")


@case(settings=AUTHORIZER)
def operations_on_topics(probe: Probe) -> None:
    topic = probe.topic("t")
    restrict(probe, T.TOPIC, topic)
    names = [topic]
    for operation in (O.DESCRIBE, O.READ, O.ALTER_CONFIGS, O.DELETE):
        give(probe, acl(T.TOPIC, topic, operation))
        request = metadata(*names, include_topic_authorized_operations=True)
        probe.exchange(request, 12, note=f"and {operation.name}")
    give(probe, acl(T.TOPIC, topic, O.READ, permission=DENY))
    probe.exchange(metadata(*names, include_topic_authorized_operations=True), 12, note="READ denied")


@case(settings=AUTHORIZER)
def metadata_by_id(probe: Probe) -> None:
    opened, denied = probe.topic("open"), probe.topic("denied")
    ids = [probe.topic_id(topic) for topic in (opened, denied)]
    restrict(probe, T.TOPIC, denied)
    for topic_id, note in zip(ids, ("open", "denied"), strict=True):
        probe.exchange(metadata(ids=[topic_id], include_topic_authorized_operations=True), 12, note=note)
    probe.exchange(metadata(ids=[*ids, b"\7" * 16]), 12, note="both and an unknown one")


@case(settings=AUTHORIZER)
def metadata_of_all_topics(probe: Probe) -> None:
    opened, denied, _ = three_topics(probe)

    def mine(response: dict[str, Any]) -> Any:
        return sorted(topic["name"] for topic in response["topics"] if topic["name"] in {opened, denied})

    for version in (0, 1, 12):
        probe.exchange(MetadataRequest(topics=None if version else []), version, only=mine)


@case(settings=AUTHORIZER)
def topics_that_may_not_be_created(probe: Probe) -> None:
    may, may_not = f"{probe.name}-may", f"{probe.name}-may-not"
    restrict(probe, T.TOPIC, may_not, allow=(O.DESCRIBE,))
    give(probe, acl(T.CLUSTER, "kafka-cluster", O.ALL), acl(T.CLUSTER, "kafka-cluster", O.CREATE, permission=DENY))
    probe.exchange(metadata(may_not, create=False), 12, note="not requested")
    probe.exchange(metadata(may_not, create=True), 12, note="requested")
    probe.exchange(metadata(may, may_not, create=True), 12, note="beside another")
    probe.await_topic(may)
    probe.exchange(metadata(may_not), 12, note="after all")


@case(releases=("4.3.1",), settings=AUTHORIZER)
def partitions_of_topics(probe: Probe) -> None:
    opened, denied, missing = three_topics(probe)
    for names in ((opened,), (denied,), (missing,), (denied, opened, missing)):
        topics = [NamedTopic(name=name) for name in names]
        probe.exchange(DescribeTopicPartitionsRequest(topics=topics), 0, note=f"{len(names)} from {names[0]}")


@case(settings=AUTHORIZER)
def deletions_of_records(probe: Probe) -> None:
    opened, denied, missing = three_topics(probe)
    topics = [
        DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=0)])
        for topic in (denied, opened, missing)
    ]
    for version in all_versions(DeleteRecordsRequest):
        probe.exchange(DeleteRecordsRequest(topics=topics, timeout_ms=5_000), version)
        probe.exchange(DeleteRecordsRequest(topics=topics[:1], timeout_ms=5_000), version)


@case(settings=AUTHORIZER)
def descriptions_of_producers(probe: Probe) -> None:
    opened, denied, missing = three_topics(probe)
    topics = [TopicRequest(name=name, partition_indexes=[0, 5]) for name in (denied, opened, missing, "not/legal")]
    probe.exchange(DescribeProducersRequest(topics=topics), 0)


def _can_write(probe: Probe, topic: str, note: str) -> None:
    probe.exchange(produce(topic, batch(b"v")), 8, note=note)


@case(settings=AUTHORIZER)
def patterns(probe: Probe) -> None:
    topic, other = probe.topic("ab"), probe.topic("b")
    prefix = f"{probe.name}-a"
    give(probe, acl(T.TOPIC, prefix, O.WRITE, pattern=P.PREFIXED, principal=OTHER))
    for name in (topic, other):
        _can_write(probe, name, f"{name}: a prefix for another principal")
    give(probe, acl(T.TOPIC, prefix, O.WRITE, pattern=P.PREFIXED))
    _can_write(probe, topic, "a prefix")
    give(probe, acl(T.TOPIC, topic, O.READ, permission=DENY))
    _can_write(probe, topic, "another operation denied")
    give(probe, acl(T.TOPIC, f"{probe.name}-", O.ALL, pattern=P.PREFIXED, permission=DENY, host="10.0.0.1"))
    _can_write(probe, topic, "another host denied")
    give(probe, acl(T.TOPIC, f"{probe.name}-ab", O.WRITE, pattern=P.PREFIXED, permission=DENY, host="127.0.0.1"))
    _can_write(probe, topic, "this host denied")


@case(settings=AUTHORIZER)
def principals(probe: Probe) -> None:
    for number, (principal, permission) in enumerate(
        (
            ("User:*", ALLOW),
            ("User:*", DENY),
            (ANONYMOUS, ALLOW),
            ("Group:ANONYMOUS", ALLOW),
            ("user:ANONYMOUS", ALLOW),
            ("User:anonymous", ALLOW),
        )
    ):
        topic = probe.topic(f"t{number}")
        give(probe, acl(T.TOPIC, topic, O.WRITE, principal=principal, permission=permission))
        _can_write(probe, topic, f"{permission.name} {principal}")


@case(settings=AUTHORIZER)
def implied_operations(probe: Probe) -> None:
    for operation in (O.READ, O.WRITE, O.DELETE, O.ALTER, O.DESCRIBE_CONFIGS, O.ALTER_CONFIGS, O.CREATE, O.ALL):
        topic = probe.topic(operation.name.lower())
        give(probe, acl(T.TOPIC, topic, operation))
        request = metadata(topic, include_topic_authorized_operations=True)
        probe.exchange(request, 12, note=operation.name)
        give(probe, acl(T.TOPIC, topic, operation, permission=DENY))
        probe.exchange(request, 12, note=f"{operation.name} denied")
