"""Where group coordinators are and move to: no topic yet, the wrong broker, a broker that dies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.describe_groups import DescribeGroupsRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.list_groups import ListGroupsRequest
from protocol_specs.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.differential.case import case
from tests.differential.cases.dead_brokers import SOON
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.cases.share_state import alter_offsets, delete_offsets, describe_offsets
from tests.differential.cases.streams_group_heartbeat import streams_describe, streams_heartbeat
from tests.differential.group_requests import (
    GROUP_COORDINATOR,
    NO_DELAY,
    OFFSETS_TOPIC,
    Member,
    commit,
    describe_groups,
    fetch_offsets,
    heartbeat,
    join,
    leave,
    sync,
)
from tests.differential.modern_requests import NEW_COORDINATOR, consumer_describe, consumer_heartbeat
from tests.differential.probe import attempts
from tests.differential.requests import all_versions, metadata
from tests.differential.share_requests import share_describe, share_heartbeat

if TYPE_CHECKING:
    from protocol_specs.message import Message
    from tests.differential.probe import Probe

FAR_SECONDS = 60.0
NO_TOPIC = "no topic"


def txn_commit(group: str, topic: str, **fields: Any) -> TxnOffsetCommitRequest:
    """A TxnOffsetCommit of one partition."""
    usual: dict[str, Any] = {"transactional_id": "t", "producer_id": 4_000, "producer_epoch": 0}
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")
    topics = [TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])]
    return TxnOffsetCommitRequest(group_id=group, topics=topics, **(usual | fields))


def requests_of(probe: Probe, group: str, topic: str) -> list[Message]:
    """One request of each API that needs the coordinator of a group."""
    ids = {topic: probe.topic_id(topic)}
    requests: list[Message] = [
        join(group),
        sync(group, 1, "m"),
        heartbeat(group, 1, "m"),
        leave(group, ("m", None)),
        commit(group, (topic, {0: 1}), ids=ids),
        fetch_offsets(group, (topic, [0]), ids=ids),
        offset_delete(group, (topic, [0])),
        describe_groups(group),
        DeleteGroupsRequest(groups_names=[group]),
        txn_commit(group, topic),
        consumer_heartbeat(group, "m", 0, topics=[topic], owned={}, rebalance_ms=10_000),
    ]
    if probe.release == "4.3.1":
        requests += [
            consumer_describe(group),
            share_heartbeat(group, "m", 0, topics=[topic]),
            share_describe(group),
            streams_heartbeat(group, "m", 1),
            streams_describe(group),
            describe_offsets((group, {topic: [0]})),
            alter_offsets(group, {topic: {0: 1}}),
            delete_offsets(group, topic),
        ]
    return requests


def send_all(probe: Probe, group: str, topic: str, note: str, broker: int = 1) -> None:
    """Exchange each of these requests in every version."""
    for request in requests_of(probe, group, topic):
        if note == NO_TOPIC and request.NAME == "DescribeShareGroupOffsets":
            continue  # a real broker retries for half a minute
        for version in all_versions(type(request)):
            probe.exchange(request, version, on=probe.connect(broker), note=note)
    for version in all_versions(ListGroupsRequest):
        probe.exchange(ListGroupsRequest(), version, on=probe.connect(broker), note=note)


def find(probe: Probe, group: str, broker: int) -> int:
    """Return the coordinator of a group as a broker knows it, once it knows one."""
    connection = probe.connect(broker)
    for _ in attempts(f"a coordinator of {group}", seconds=FAR_SECONDS):
        request = FindCoordinatorRequest(key=group, key_type=GROUP_COORDINATOR)
        response: Any = probe.quiet(request, 3, on=connection)
        if response.error_code == 0:
            connection.close()
            return int(response.node_id)
    return -1


def await_loaded(probe: Probe, group: str, broker: int) -> None:
    """Wait until a broker has loaded the partition of a group."""
    connection = probe.connect(broker)
    for _ in attempts(f"{group} to be loaded by broker {broker}", seconds=FAR_SECONDS):
        response: Any = probe.quiet(fetch_offsets(group), 7, on=connection)
        if response.error_code == 0:
            connection.close()
            return


@case(settings=(*NO_DELAY, *NEW_COORDINATOR, ("offsets.topic.num.partitions", "2")))
def before_the_offsets_topic_exists(probe: Probe) -> None:
    topic = probe.topic()
    group = f"{probe.name}-g"
    send_all(probe, group, topic, NO_TOPIC)
    probe.exchange(metadata(OFFSETS_TOPIC), 12, note="nothing has made it")
    probe.exchange(FindCoordinatorRequest(coordinator_keys=[group, ""]), 4, note="makes it")
    await_loaded(probe, group, find(probe, group, 1))
    probe.exchange(fetch_offsets(group, (topic, [0])), 7)


@case(settings=(*NO_DELAY, ("offsets.topic.num.partitions", "4")))
def before_the_offsets_topic_exists_for_the_former_coordinator(probe: Probe) -> None:
    topic = probe.topic()
    group = f"{probe.name}-g"
    send_all(probe, group, topic, NO_TOPIC)
    probe.exchange(FindCoordinatorRequest(key=group), 1, note="makes it")
    find(probe, group, 1)


@case(brokers=3, settings=(*NO_DELAY, *NEW_COORDINATOR))
def at_the_wrong_broker(probe: Probe) -> None:
    topic = probe.topic()
    group = f"{probe.name}-g"
    coordinator = find(probe, group, 1)
    await_loaded(probe, group, coordinator)
    send_all(probe, group, topic, "wrong", coordinator % 3 + 1)


@case(brokers=3, settings=NO_DELAY)
def at_the_wrong_broker_for_the_former_coordinator(probe: Probe) -> None:
    topic = probe.topic()
    group = f"{probe.name}-g"
    coordinator = find(probe, group, 1)
    await_loaded(probe, group, coordinator)
    send_all(probe, group, topic, "wrong", coordinator % 3 + 1)


@case(brokers=3, settings=(*NO_DELAY, *SOON))
def a_coordinator_that_dies(probe: Probe) -> None:
    topic = probe.topic()
    group = f"{probe.name}-g"
    dead = find(probe, group, 1)
    await_loaded(probe, group, dead)
    member = Member(probe, group, broker=dead, session_ms=60_000)
    member.join()
    member.sync({member.id: b"assignment"})
    member.commit((topic, {0: 7}), metadata_text="kept")
    waiting = Member(probe, group, broker=dead)
    waiting.learn_id()
    parked = waiting.start_join(note="of the broker that dies")
    alive = dead % 3 + 1
    probe.nodes.kill(dead)
    probe.finish(parked)
    coordinator = dead
    for _ in attempts("another coordinator", seconds=FAR_SECONDS):
        coordinator = find(probe, group, alive)
        if coordinator != dead:
            break
    await_loaded(probe, group, coordinator)
    _go_on(probe, member, topic, coordinator)


def _go_on(probe: Probe, member: Member, topic: str, coordinator: int) -> None:
    """Send a member's requests to its new coordinator."""
    connection = probe.connect(coordinator)
    for version in all_versions(DescribeGroupsRequest):
        probe.exchange(describe_groups(member.group), version, on=probe.connect(coordinator), note="moved")
    member.connection = connection
    member.commit((topic, {0: 8}), note="moved")
    probe.exchange(fetch_offsets(member.group, everything=True), 7, on=connection, note="moved")
    member.heartbeat(note="moved")
    member.sync(note="moved")
    member.join(note="moved")
    member.sync({member.id: b"another assignment"}, note="moved")
    member.leave(note="moved")
    probe.exchange(ListGroupsRequest(), 4, on=connection, note="moved")
