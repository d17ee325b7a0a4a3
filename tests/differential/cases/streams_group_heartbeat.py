"""StreamsGroupHeartbeat and StreamsGroupDescribe (KIP-1071), as raw probes see them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.streams_group_describe import StreamsGroupDescribeRequest
from protocol_specs.messages.streams_group_heartbeat import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TaskOffset,
    TopicInfo,
    Topology,
)
from tests.differential.case import case
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_records import write_records
from tests.differential.group_requests import (
    NO_DELAY,
    OFFSETS_TOPIC,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    join,
    list_own_groups,
    stable_one,
)
from tests.differential.modern_requests import consumer_describe, consumer_heartbeat
from tests.differential.probe import attempts
from tests.differential.share_requests import share_describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.differential.probe import Probe

ONLY_NEW: Final = ("4.3.1",)
STREAMS: Final = (
    *NO_DELAY,
    ("group.streams.assignment.interval.ms", "0"),
    ("group.streams.initial.rebalance.delay.ms", "0"),
)
Tasks = dict[str, list[int]]


def internal(name: str, partitions: int = 0, factor: int = 0, **configs: str) -> TopicInfo:
    """An internal topic of a topology."""
    pairs = [KeyValue(key=key.replace("_", "."), value=value) for key, value in configs.items()]
    return TopicInfo(name=name, partitions=partitions, replication_factor=factor, topic_configs=pairs)


def subtopology(
    name: str,
    *sources: str,
    regexes: Sequence[str] = (),
    changelogs: Sequence[TopicInfo] = (),
    sinks: Sequence[str] = (),
    repartitions: Sequence[TopicInfo] = (),
    together: Sequence[CopartitionGroup] = (),
) -> Subtopology:
    """One subtopology."""
    return Subtopology(
        subtopology_id=name,
        source_topics=list(sources),
        source_topic_regex=list(regexes),
        state_changelog_topics=list(changelogs),
        repartition_sink_topics=list(sinks),
        repartition_source_topics=list(repartitions),
        copartition_groups=list(together),
    )


def topology(*subtopologies: Subtopology, epoch: int = 0) -> Topology:
    """A topology."""
    return Topology(epoch=epoch, subtopologies=list(subtopologies))


def tasks(owned: Mapping[str, Sequence[int]] | None) -> list[TaskIds] | None:
    """Task ids of subtopologies with their partitions."""
    if owned is None:
        return None
    return [TaskIds(subtopology_id=name, partitions=list(indexes)) for name, indexes in owned.items()]


def streams_heartbeat(group: str, member_id: str, epoch: int, **fields: Any) -> StreamsGroupHeartbeatRequest:
    """A StreamsGroupHeartbeat; what is not given is unchanged."""
    usual: dict[str, Any] = {"endpoint_information_epoch": -1}
    return StreamsGroupHeartbeatRequest(group_id=group, member_id=member_id, member_epoch=epoch, **(usual | fields))


def first_fields(shape: Topology | None, *, process: str = "p1", **fields: Any) -> dict[str, Any]:
    """The fields of a first heartbeat."""
    usual: dict[str, Any] = {
        "topology": shape,
        "rebalance_timeout_ms": 10_000,
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": process,
        "client_tags": [],
    }
    return usual | fields


def streams_describe(*groups: str, include_authorized_operations: bool = False) -> StreamsGroupDescribeRequest:
    """A StreamsGroupDescribe."""
    return StreamsGroupDescribeRequest(
        group_ids=list(groups), include_authorized_operations=include_authorized_operations
    )


@dataclass(slots=True)
class StreamsMember:
    """A member of a streams group: every heartbeat is recorded; its epoch and its tasks are learned."""

    probe: Probe
    group: str
    id: str
    shape: Topology
    process: str = "p1"
    epoch: int = 0
    active: Tasks = field(default_factory=dict)
    standby: Tasks = field(default_factory=dict)

    def join(self, *, note: str = "", **fields: Any) -> Any:
        """Join with every field."""
        request = streams_heartbeat(self.group, self.id, 0, **first_fields(self.shape, process=self.process, **fields))
        return self._learn(self.probe.exchange(request, 0, note=note or f"{self.id} joins"))

    def beat(self, *, note: str = "", **fields: Any) -> Any:
        """Send a heartbeat in which nothing has changed besides the fields."""
        request = streams_heartbeat(self.group, self.id, self.epoch, **fields)
        return self._learn(self.probe.exchange(request, 0, note=note or self.id))

    def await_internal(self, topic: str, partitions: int) -> None:
        """Wait until the broker has made an internal topic; then heartbeats are not recorded until it is used."""
        self.probe.await_topic(topic, partitions)
        for _ in attempts(f"{self.group} to use {topic}"):
            response: Any = self._learn(self.probe.quiet(streams_heartbeat(self.group, self.id, self.epoch), 0))
            if not response.status:
                return

    def report(self, *, note: str = "") -> Any:
        """Send a heartbeat that lists the assigned tasks as owned."""
        owned = {"active_tasks": tasks(self.active), "standby_tasks": tasks(self.standby), "warmup_tasks": []}
        return self.beat(note=note or f"{self.id} owns what it was assigned", **owned)

    def leave(self, *, note: str = "") -> Any:
        """Leave the group."""
        return self.probe.exchange(streams_heartbeat(self.group, self.id, -1), 0, note=note or f"{self.id} leaves")

    def _learn(self, response: Any) -> Any:
        if not isinstance(response, str) and response.error_code == 0:
            self.epoch = response.member_epoch
            if response.active_tasks is not None:
                self.active = {each.subtopology_id: each.partitions for each in response.active_tasks}
            if response.standby_tasks is not None:
                self.standby = {each.subtopology_id: each.partitions for each in response.standby_tasks}
        return response


@case(settings=STREAMS, releases=ONLY_NEW)
def requests_that_are_invalid(probe: Probe) -> None:
    topic = known_topic(probe)
    group = group_of(probe)
    shape = topology(subtopology("0", topic))
    tasked = [TaskIds(subtopology_id="0", partitions=[0])]
    for name, member, epoch, changes in (
        ("", "m", 0, {}),
        (group, "", 0, {}),
        (group, "m", 0, {"topology": None}),
        (group, "m", 0, {"rebalance_timeout_ms": -1}),
        (group, "m", 0, {"rebalance_timeout_ms": 0}),
        (group, "m", 0, {"active_tasks": None}),
        (group, "m", 0, {"standby_tasks": None}),
        (group, "m", 0, {"warmup_tasks": None}),
        (group, "m", 0, {"active_tasks": tasked}),
        (group, "m", 0, {"process_id": None}),
        (group, "m", 0, {"process_id": ""}),
        (group, "m", 0, {"client_tags": None}),
        (group, "m", 0, {"instance_id": ""}),
        (group, "m", 0, {"instance_id": "i"}),
        (group, "m", 0, {"rack_id": ""}),
        (group, "m", 0, {"rack_id": "r"}),
        (group, "m", 0, {"task_offsets": [TaskOffset(subtopology_id="0", partition=0, offset=1)]}),
        (group, "m", 0, {"task_end_offsets": [TaskOffset(subtopology_id="0", partition=0, offset=1)]}),
        (group, "m", 0, {"warmup_tasks": tasked}),
        (group, "m", -2, {}),
        (group, "m", -3, {}),
        (group, "m", -1, {}),
        (group, "m", 1, {}),
        (group, "m", 1, {"topology": None}),
    ):
        request = streams_heartbeat(name, member, epoch, **first_fields(shape, **changes))
        probe.exchange(request, 0, note=f"{name[-1:]} {member} {epoch} {list(changes)}")
    list_own_groups(probe, 5)


@case(settings=STREAMS, releases=ONLY_NEW)
def topologies_that_are_invalid(probe: Probe) -> None:
    topic = known_topic(probe)
    for number, shape in enumerate(
        (
            topology(),
            topology(subtopology("0")),
            topology(subtopology("0", topic, regexes=["a.*"])),
            topology(subtopology("0", topic, changelogs=[internal(f"{probe.name}-log", 3)])),
            topology(subtopology("0", topic, changelogs=[internal("bad/name")])),
            topology(subtopology("0", "__consumer_offsets")),
            topology(subtopology("0", "bad/name")),
            topology(subtopology("0", topic), subtopology("0", topic)),
            topology(subtopology("0", topic), epoch=-1),
            topology(subtopology("0", topic, repartitions=[internal(f"{probe.name}-none", 1)])),
            topology(subtopology("", topic)),
            topology(
                subtopology(
                    "0",
                    topic,
                    together=[CopartitionGroup(source_topics=[5], source_topic_regex=[], repartition_source_topics=[])],
                )
            ),
            topology(subtopology("0", topic, sinks=[f"{probe.name}-sink"])),
        )
    ):
        group = group_of(probe, f"g{number}")
        StreamsMember(probe, group, "m1", shape).join(note=f"topology {number}")
        probe.exchange(streams_describe(group), 0)


@case(settings=STREAMS, releases=ONLY_NEW)
def one_member(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    group = group_of(probe)
    changelog = f"{group}-store-changelog"
    shape = topology(subtopology("0", topic, changelogs=[internal(changelog, cleanup_policy="compact")]))
    member = StreamsMember(probe, group, "m1", shape)
    member.join(user_endpoint=Endpoint(host="localhost", port=9), client_tags=[KeyValue(key="zone", value="a")])
    member.await_internal(changelog, 2)
    member.report()
    member.beat(note="nothing has changed")
    member.beat(topology=shape, note="the topology again")
    member.beat(endpoint_information_epoch=0, note="an older endpoint epoch")
    member.beat(endpoint_information_epoch=9, note="a newer endpoint epoch")
    for include in (False, True):
        probe.exchange(streams_describe(group, include_authorized_operations=include), 0)
    member.beat(topology=topology(subtopology("0", topic)), note="another topology")
    member.join(note="it joins again")
    for epoch in (member.epoch + 1, member.epoch - 1):
        probe.exchange(streams_heartbeat(group, "m1", epoch), 0, note=f"{epoch - member.epoch:+}")
    probe.exchange(streams_heartbeat(group, "stranger", member.epoch), 0)
    member.beat(shutdown_application=True, note="shuts down")
    member.beat()
    member.leave()
    member.leave(note="again")
    probe.exchange(streams_describe(group), 0)
    for version in (4, 5):
        list_own_groups(probe, version)
    write_records(probe, OFFSETS_TOPIC, group)
    probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
    list_own_groups(probe, 5)


@case(settings=STREAMS, releases=ONLY_NEW)
def two_members(probe: Probe) -> None:
    topic = known_topic(probe, partitions=4)
    group = group_of(probe)
    shape = topology(subtopology("0", topic))
    first, second = (StreamsMember(probe, group, f"m{number}", shape, process=f"p{number}") for number in (1, 2))
    first.join()
    first.report()
    second.join()
    first.beat(note="it has to revoke")
    second.beat(note="tasks are not free")
    probe.exchange(streams_describe(group), 0)
    first.report()
    second.beat(note="tasks are free")
    second.report()
    probe.exchange(streams_describe(group), 0)
    first.leave()
    second.beat(note="all are free")
    second.report()
    probe.exchange(streams_describe(group), 0)
    second.leave()
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=STREAMS, releases=ONLY_NEW)
def subtopologies_that_are_listed_twice(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    group = group_of(probe)
    shape = topology(subtopology("0", topic))
    first, second = (StreamsMember(probe, group, f"m{number}", shape, process=f"p{number}") for number in (1, 2))
    first.join()
    twice = [TaskIds(subtopology_id="0", partitions=[index]) for index in (0, 1)]
    first.beat(active_tasks=twice, standby_tasks=[], warmup_tasks=[], note="it has its tasks, and lists them twice")
    second.join()
    first.beat(note="it has to revoke")
    first.beat(active_tasks=twice, note="active tasks alone, twice")
    none: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    for kind in none:
        first.beat(**(none | {kind: twice}), note=f"{kind} twice")
    first.report()


@case(settings=STREAMS, releases=ONLY_NEW)
def responses_that_are_lost(probe: Probe) -> None:
    topic = known_topic(probe, partitions=4)
    group = group_of(probe)
    shape = topology(subtopology("0", topic))
    first, second = (StreamsMember(probe, group, f"m{number}", shape, process=f"p{number}") for number in (1, 2))
    first.join()
    first.report()
    second.join()
    first.beat(note="it has to revoke")
    first.report()
    nothing: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    second.beat(note="tasks are free: suppose that this response is lost", **nothing)
    second.beat(note="the next response does not repeat them", **nothing)
    second.beat(note="not to a member that lists every field", rebalance_timeout_ms=10_000, process_id="p2", **nothing)
    probe.exchange(streams_describe(group), 0, note="no member runs the tasks")
    second.join(note="it joins again, and learns of them")


@case(settings=(*STREAMS, ("group.streams.num.standby.replicas", "1")), releases=ONLY_NEW)
def standby_tasks(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    group = group_of(probe)
    changelog = f"{group}-store-changelog"
    shape = topology(subtopology("0", topic, changelogs=[internal(changelog)]))
    first, second = (StreamsMember(probe, group, f"m{number}", shape, process=f"p{number}") for number in (1, 2))
    first.join()
    first.await_internal(changelog, 2)
    first.report()
    second.join()
    for _ in range(2):
        first.report()
        second.report()
    probe.exchange(streams_describe(group), 0)


@case(settings=STREAMS, releases=ONLY_NEW)
def topics_that_are_missing(probe: Probe) -> None:
    group = group_of(probe)
    name, other = f"{probe.name}-late", known_topic(probe, "other", partitions=3)
    pair = CopartitionGroup(source_topics=[0, 1], source_topic_regex=[], repartition_source_topics=[])
    shape = topology(subtopology("0", name, other, together=[pair]))
    member = StreamsMember(probe, group, "m1", shape)
    member.join(note="a source topic is missing")
    probe.exchange(streams_describe(group), 0)
    known_topic(probe, "late", partitions=2)
    member.beat(note="it is there, with another number of partitions")
    probe.exchange(streams_describe(group), 0)


@case(settings=STREAMS, releases=ONLY_NEW)
def topics_for_repartition(probe: Probe) -> None:
    topic = known_topic(probe, partitions=3)
    group = group_of(probe)
    between = f"{group}-by-key-repartition"
    shape = topology(
        subtopology("0", topic, sinks=[between]),
        subtopology("1", repartitions=[internal(between)], changelogs=[internal(f"{group}-count-changelog")]),
    )
    member = StreamsMember(probe, group, "m1", shape)
    member.join()
    probe.await_topic(between, 3)
    member.await_internal(f"{group}-count-changelog", 3)
    member.report()
    probe.exchange(streams_describe(group), 0)
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=STREAMS, releases=ONLY_NEW)
def groups_of_another_type(probe: Probe) -> None:
    topic = known_topic(probe)
    ids = {topic: probe.topic_id(topic)}
    classic, streams, consumer = (group_of(probe, suffix) for suffix in ("classic", "streams", "consumer"))
    shape = topology(subtopology("0", topic))
    stable_one(probe, classic)
    member = StreamsMember(probe, streams, "m1", shape)
    member.join()
    probe.exchange(consumer_heartbeat(consumer, "m1", 0, topics=[topic], owned={}, rebalance_ms=10_000), 1)
    for group in (classic, consumer):
        StreamsMember(probe, group, "m1", shape).join(note=group[-7:])
        probe.exchange(streams_heartbeat(group, "m1", 1), 0, note=group[-7:])
    probe.exchange(consumer_heartbeat(streams, "m1", 0, topics=[topic], owned={}, rebalance_ms=10_000), 1)
    probe.exchange(join(streams), 9)
    for version in (8, 9, 10):
        for member_id, generation in (("m1", member.epoch), ("m1", 9), ("", -1), ("stranger", 1)):
            request = commit(streams, (topic, {0: 1}), member_id=member_id, generation=generation, ids=ids)
            probe.exchange(request, version, note=f"{member_id} {generation}")
            request = fetch_offsets(streams, (topic, [0]), member_id=member_id, member_epoch=generation, ids=ids)
            probe.exchange(request, version, note=f"{member_id} {generation}")
    probe.exchange(offset_delete(streams, (topic, [0])), 0)
    probe.exchange(DeleteGroupsRequest(groups_names=[streams]), 2)
    probe.exchange(describe_groups(streams), 6)
    probe.exchange(consumer_describe(streams), 1)
    probe.exchange(share_describe(streams), 1)
    probe.exchange(streams_describe(classic, consumer, streams, "", "unknown"), 0)
    for types in (["streams"], ["Streams"]):
        list_own_groups(probe, 5, types=types)
    for states in (["Stable"], ["NotReady"], ["notready"]):
        list_own_groups(probe, 5, states=states)


@case(settings=STREAMS, releases=ONLY_NEW)
def subtopologies_that_share_buckets(probe: Probe) -> None:
    topic = known_topic(probe)
    for count in (12, 13, 25, 38):
        group = group_of(probe, f"g{count}")
        shape = topology(*(subtopology(str(number), topic) for number in range(count)))
        first, second = (StreamsMember(probe, group, f"m{number}", shape, process=f"p{number}") for number in (1, 2))
        first.join(note=f"{count} subtopologies")
        second.join()
        first.beat(note="it has to revoke")
        first.report()
        second.beat(note="tasks are free")
        second.leave()
        first.beat(note="all are free")
        first.join(note="it joins again")
