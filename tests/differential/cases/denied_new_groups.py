"""Consumer, share and streams groups that the client may not use, or whose topics it may not see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from protocol_specs.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from protocol_specs.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from protocol_specs.messages.streams_group_heartbeat import TopicInfo
from tests.differential.acl_requests import AUTHORIZER, DENY, O, T, acl, give, restrict
from tests.differential.case import case
from tests.differential.cases.streams_group_heartbeat import (
    first_fields,
    streams_describe,
    streams_heartbeat,
    subtopology,
    topology,
)
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_requests import group_of
from tests.differential.modern_requests import consumer_describe, consumer_heartbeat
from tests.differential.probe import attempts
from tests.differential.requests import batch, fill
from tests.differential.share_requests import (
    SHARE,
    acknowledge,
    fetch_shared,
    share_describe,
    share_group_of,
    share_heartbeat,
)

if TYPE_CHECKING:
    from tests.differential.probe import Probe

NEW = ("4.3.1",)
SHARING = (*AUTHORIZER, *SHARE)
MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"


@case(releases=NEW, settings=AUTHORIZER)
def consumer_groups(probe: Probe) -> None:
    opened, denied = known_topic(probe, "open"), known_topic(probe, "denied")
    group = group_of(probe)
    closed = f"{group}-closed"
    probe.exchange(consumer_heartbeat(group, MEMBER, 0, topics=[opened, denied], rebalance_ms=9_000, owned={}), 1)
    restrict(probe, T.TOPIC, denied, f"{denied}-none")
    restrict(probe, T.GROUP, closed)
    for group_id, topics, note in (
        (closed, [opened], "a closed group"),
        (group, [denied], "a closed topic"),
        (group, [opened, f"{denied}-none"], "a closed topic that does not exist"),
        (group, [opened], "an open topic"),
    ):
        request = consumer_heartbeat(group_id, "m", 0, topics=topics, rebalance_ms=9_000, owned={})
        for version in (0, 1):
            probe.exchange(request, version, note=note)
    probe.exchange(consumer_heartbeat(closed, "m", 0, rebalance_ms=-5), 1, note="a closed group, and bad fields")
    for version in (0, 1):
        request = consumer_describe(group, closed, include_authorized_operations=True)
        probe.exchange(request, version, note="a group with a closed topic, and a closed group")


@case(releases=NEW, settings=AUTHORIZER)
def subscriptions_by_expression(probe: Probe) -> None:
    opened, denied = known_topic(probe, "open"), known_topic(probe, "denied")
    group = group_of(probe)
    restrict(probe, T.TOPIC, denied)
    request = consumer_heartbeat(group, MEMBER, 0, regex=f"{probe.name}-.*", rebalance_ms=9_000, owned={})
    response: Any = probe.quiet(request, 1)
    for _ in attempts(f"an assignment of {opened}"):
        response = probe.quiet(consumer_heartbeat(group, MEMBER, response.member_epoch), 1)
        if response.assignment is not None and response.assignment.topic_partitions:
            break
    names = {probe.topic_id(opened): "open"}
    found = sorted(names.get(each.topic_id, "other") for each in response.assignment.topic_partitions)
    probe.write(note="assigned topics", response=found)


@case(releases=NEW, settings=AUTHORIZER)
def streams_groups(probe: Probe) -> None:
    opened, denied = known_topic(probe, "open"), known_topic(probe, "denied")
    group = group_of(probe)
    closed = f"{group}-closed"
    seen = first_fields(topology(subtopology("0", opened, denied)))
    probe.exchange(streams_heartbeat(group, "first", 0, **seen), 0, note="an open topic and one to be closed")
    restrict(probe, T.TOPIC, denied, f"{group}-log")
    restrict(probe, T.GROUP, closed)
    log = TopicInfo(name=f"{group}-log", partitions=0, replication_factor=0, topic_configs=[])
    for group_id, shape, note in (
        (closed, topology(subtopology("0", opened)), "a closed group"),
        (group, topology(subtopology("0", opened, denied)), "a closed source"),
        (group, topology(subtopology("0", opened, changelogs=[log])), "a closed changelog"),
        (group, topology(subtopology("0", opened, "not/legal", denied)), "a name that is not legal"),
        (f"{group}-2", topology(subtopology("0", opened)), "an open topic"),
    ):
        probe.exchange(streams_heartbeat(group_id, "m", 0, **first_fields(shape)), 0, note=note)
    probe.exchange(streams_describe(group, closed, include_authorized_operations=True), 0)


@case(releases=NEW, settings=(*AUTHORIZER, ("num.io.threads", "5")))
def internal_topics_of_streams(probe: Probe) -> None:
    opened = known_topic(probe, "open")
    group = group_of(probe)
    restrict(probe, T.TOPIC, f"{group}-no", f"{group}-no-2", allow=(O.DESCRIBE,))
    give(probe, acl(T.CLUSTER, "kafka-cluster", O.ALL), acl(T.CLUSTER, "kafka-cluster", O.CREATE, permission=DENY))
    for names in (("no",), ("no-2", "no")):
        logs = [
            TopicInfo(name=f"{group}-{each}", partitions=0, replication_factor=0, topic_configs=[]) for each in names
        ]
        shape = topology(subtopology("0", opened, changelogs=logs))
        probe.exchange(streams_heartbeat(f"{group}-{len(names)}", "m", 0, **first_fields(shape)), 0)


@case(releases=NEW, settings=SHARING)
def share_groups(probe: Probe) -> None:
    opened, denied = known_topic(probe, "open"), known_topic(probe, "denied")
    group = share_group_of(probe)
    closed = f"{group}-closed"
    probe.exchange(share_heartbeat(group, MEMBER, 0, topics=[opened, denied]), 1)
    restrict(probe, T.TOPIC, denied, f"{denied}-none")
    restrict(probe, T.GROUP, closed)
    for group_id, topics, note in (
        (closed, [opened], "a closed group"),
        (group, [denied], "a closed topic"),
        (group, [opened, f"{denied}-none"], "a closed topic that does not exist"),
        (group, [opened], "an open topic"),
    ):
        probe.exchange(share_heartbeat(group_id, "m", 0, topics=topics), 1, note=note)
    probe.exchange(share_describe(group, closed, include_authorized_operations=True), 1)


@case(releases=NEW, settings=SHARING)
def shared_records(probe: Probe) -> None:
    opened, denied = known_topic(probe, "open"), known_topic(probe, "denied")
    ids = {topic: probe.topic_id(topic) for topic in (opened, denied)}
    for topic in (opened, denied):
        fill(probe, topic, batch(b"a"))
    group = share_group_of(probe)
    closed = f"{group}-closed"
    restrict(probe, T.GROUP, closed, allow=(O.DESCRIBE,))
    connection = probe.connect()
    for each in (closed, group):
        request = fetch_shared(each, MEMBER, -1, {})
        probe.exchange(request, 1, on=connection, note=f"no session of {each}")
        probe.exchange(acknowledge(each, MEMBER, 1, {}), 1, on=connection, note=f"no session of {each}")
    restrict(probe, T.TOPIC, denied, allow=(O.DESCRIBE,))
    request = fetch_shared(group, MEMBER, 0, {ids[denied]: {0: []}}, max_wait_ms=0)
    probe.exchange(request, 1, on=connection, note="a closed topic")
    request = fetch_shared(group, MEMBER, 1, {ids[denied]: {0: [(0, 0, [1])]}}, max_wait_ms=0)
    probe.exchange(request, 1, on=connection, note="acknowledge in a closed topic")
    probe.exchange(acknowledge(group, MEMBER, 2, {ids[denied]: {0: [(0, 0, [1])]}}), 1, on=connection)


@case(releases=NEW, settings=SHARING)
def offsets_of_share_groups(probe: Probe) -> None:
    opened, denied = known_topic(probe, "open"), known_topic(probe, "denied")
    group = share_group_of(probe)
    closed = f"{group}-closed"
    restrict(probe, T.TOPIC, denied)
    restrict(probe, T.GROUP, closed)

    def describes(*groups: str, topics: tuple[str, ...] | None) -> DescribeShareGroupOffsetsRequest:
        wanted = [DescribeShareGroupOffsetsRequestTopic(topic_name=each, partitions=[0]) for each in topics or ()]
        return DescribeShareGroupOffsetsRequest(
            groups=[
                DescribeShareGroupOffsetsRequestGroup(group_id=each, topics=None if topics is None else wanted)
                for each in groups
            ]
        )

    for topics in (None, (opened,), (denied,), (denied, opened), (denied, "none")):
        probe.exchange(describes(closed, group, topics=topics), 0, note=str(topics))

    def alters(group_id: str, *topics: str) -> AlterShareGroupOffsetsRequest:
        partition = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
        wanted = [AlterShareGroupOffsetsRequestTopic(topic_name=each, partitions=[partition]) for each in topics]
        return AlterShareGroupOffsetsRequest(group_id=group_id, topics=wanted)

    def deletes(group_id: str, *topics: str) -> DeleteShareGroupOffsetsRequest:
        wanted = [DeleteShareGroupOffsetsRequestTopic(topic_name=each) for each in topics]
        return DeleteShareGroupOffsetsRequest(group_id=group_id, topics=wanted)

    probe.exchange(alters(closed, opened), 0, note="a closed group")
    probe.exchange(alters(group, denied), 0, note="a closed topic")
    probe.exchange(alters(group, denied, "none", opened), 0, note="a closed topic, none, an open one")
    probe.exchange(deletes(closed, opened), 0, note="a closed group")
    probe.exchange(deletes(group, denied), 0, note="a closed topic")
    probe.exchange(deletes(group, denied, "none", opened), 0, note="a closed topic, none, an open one")
    busy = f"{group}-busy"
    probe.exchange(share_heartbeat(busy, MEMBER, 0, topics=[opened]), 1)
    for group_id in (f"{group}-none", busy):
        for topics in ((denied,), ()):
            probe.exchange(deletes(group_id, *topics), 0, note=f"{len(topics)} closed topics of {group_id}")
