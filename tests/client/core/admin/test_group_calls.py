"""The calls of groups on scripted nodes: routes to coordinators, retries, old versions, and how responses are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from broker_client.admin_errors import ItemsFailed
from broker_client.consumer_errors import GroupAuthorizationFailed
from broker_client.consumer_groups import OffsetAndMetadata
from broker_client.core.admin.groups import GroupState, GroupType
from broker_client.core.admin.share_group_offsets import SharePartitionOffset
from broker_client.core.groups.consumer_protocol import Assignment, encoded_assignment
from broker_client.errors import ConnectionFailed, ProducerError, ProducerTimeout, UnsupportedVersion
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import consumer_group_describe as modern
from protocol_specs.messages import describe_groups as classic
from protocol_specs.messages import streams_group_describe as streams
from protocol_specs.messages.alter_share_group_offsets import AlterShareGroupOffsetsResponse
from protocol_specs.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from protocol_specs.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from protocol_specs.messages.leave_group import LeaveGroupResponse, MemberResponse
from protocol_specs.messages.list_groups import ListedGroup, ListGroupsResponse
from protocol_specs.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from protocol_specs.messages.offset_delete import OffsetDeleteResponse
from protocol_specs.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from tests.client.core.admin.scripted_nodes import NODES, ScriptedNodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from sim_runtime.world import World

KEY: Final = TopicPartition("t", 0)
OTHER: Final = TopicPartition("t", 1)
MOVED: Final = ErrorCode.NOT_COORDINATOR
LOADING: Final = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
ABSENT: Final = ErrorCode.GROUP_ID_NOT_FOUND
REFUSED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED


@pytest.fixture
def nodes(world: World) -> ScriptedNodes:
    return ScriptedNodes(world)


def deleted(codes: dict[str, list[ErrorCode]]) -> Callable[[Any], DeleteGroupsResponse]:
    """A script of DeleteGroups: the codes of each group, one after another."""

    def respond(request: Any) -> DeleteGroupsResponse:
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(group_id=name, error_code=codes[name].pop(0)) for name in request.groups_names
            ]
        )

    return respond


def test_coordinators_are_found_in_one_request_and_get_one_request_each(nodes: ScriptedNodes) -> None:
    ok = ErrorCode.NONE
    nodes.scripts["DeleteGroups"] = deleted({"a1": [ok], "b2": [ok], "c1": [ErrorCode.NON_EMPTY_GROUP]})
    with pytest.raises(ItemsFailed, match="1 of 3 failed: c1: NON_EMPTY_GROUP") as failed:
        nodes.run(lambda admin: admin.delete_groups(["a1", "b2", "c1"]))
    assert list(failed.value.done) == ["a1", "b2"]
    assert nodes.names() == [("FindCoordinator", None), ("DeleteGroups", 1), ("DeleteGroups", 2)]
    assert nodes.requests[0][2].coordinator_keys == ["a1", "b2", "c1"]


def test_old_brokers_find_one_coordinator_per_request(world: World) -> None:
    nodes = ScriptedNodes(world, {"FindCoordinator": 3})
    nodes.scripts["DeleteGroups"] = deleted({"a1": [ErrorCode.NONE], "b2": [ErrorCode.NONE]})
    nodes.run(lambda admin: admin.delete_groups(["a1", "b2"]))
    assert [request.key for name, _, request in nodes.requests if name == "FindCoordinator"] == ["a1", "b2"]


@pytest.mark.parametrize(("code", "look_ups"), [(MOVED, 2), (ErrorCode.COORDINATOR_NOT_AVAILABLE, 2), (LOADING, 1)])
def test_only_a_coordinator_that_loads_is_not_looked_up_again(
    nodes: ScriptedNodes, code: ErrorCode, look_ups: int
) -> None:
    nodes.scripts["DeleteGroups"] = deleted({"a1": [code, ErrorCode.NONE], "b2": [ErrorCode.NONE]})
    nodes.run(lambda admin: admin.delete_groups(["a1", "b2"]))
    found = [request.coordinator_keys for name, _, request in nodes.requests if name == "FindCoordinator"]
    assert found == [["a1", "b2"], ["a1"]][:look_ups]


def test_a_lost_coordinator_is_looked_up_again(nodes: ScriptedNodes) -> None:
    responses = [ConnectionFailed("gone"), None]
    respond = deleted({"a1": [ErrorCode.NONE]})
    nodes.scripts["DeleteGroups"] = lambda request: responses.pop(0) or respond(request)
    nodes.run(lambda admin: admin.delete_groups(["a1"]))
    assert [name for name, _ in nodes.names()] == ["FindCoordinator", "DeleteGroups"] * 2


def test_a_coordinator_that_is_not_available_is_looked_up_until_the_time_is_over(nodes: ScriptedNodes) -> None:
    nodes.scripts["DeleteGroups"] = deleted({"a1": [ErrorCode.NONE]})
    nodes.coordinator_codes = [ErrorCode.COORDINATOR_NOT_AVAILABLE, LOADING]
    nodes.run(lambda admin: admin.delete_groups(["a1"]))
    assert [name for name, _ in nodes.names()] == ["FindCoordinator"] * 3 + ["DeleteGroups"]
    nodes.coordinator_codes = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 99
    with pytest.raises(ProducerTimeout, match=r"DeleteGroups of a1 .*\(the last one: COORDINATOR_NOT_AVAILABLE\)"):
        nodes.run(lambda admin: admin.delete_groups(["a1"]))


def test_a_group_that_may_not_be_described_fails_at_its_look_up(nodes: ScriptedNodes) -> None:
    nodes.coordinator_codes = [REFUSED]
    with pytest.raises(ItemsFailed, match="not authorized to access group 'a1'") as failed:
        nodes.run(lambda admin: admin.delete_groups(["a1"]))
    assert isinstance(failed.value.errors["a1"], GroupAuthorizationFailed)
    assert nodes.names() == [("FindCoordinator", None)]


def test_groups_of_all_brokers_are_listed(world: World) -> None:
    nodes = ScriptedNodes(world)
    pages = [
        ListGroupsResponse(
            error_code=0,
            groups=[ListedGroup(group_id="z", protocol_type="share", group_state="stable", group_type="SHARE")],
        ),
        ListGroupsResponse(error_code=LOADING, groups=[]),
        ListGroupsResponse(
            error_code=0,
            groups=[ListedGroup(group_id="a", protocol_type="", group_state="odd", group_type="Classic")],
        ),
    ]
    nodes.scripts["ListGroups"] = lambda _: pages.pop(0)
    found = nodes.run(lambda admin: admin.list_groups(states=[GroupState.STABLE], types=[GroupType.SHARE]))
    assert [(one.group_id, one.state, one.type, one.is_simple_consumer_group) for one in found.values()] == [
        ("a", GroupState.UNKNOWN, GroupType.CLASSIC, True),
        ("z", GroupState.STABLE, GroupType.SHARE, False),
    ]
    assert nodes.names() == [("Metadata", None), ("ListGroups", 1), ("ListGroups", 2), ("ListGroups", 2)]
    assert (nodes.requests[1][2].states_filter, nodes.requests[1][2].types_filter) == (["Stable"], ["Share"])


def test_old_brokers_list_classic_groups_without_a_filter_of_types(world: World) -> None:
    nodes = ScriptedNodes(world, {"ListGroups": 3})
    listed = ListedGroup(group_id="a", protocol_type="connect", group_state="", group_type="")
    nodes.scripts["ListGroups"] = lambda _: ListGroupsResponse(error_code=0, groups=[listed])
    both = [GroupType.CLASSIC, GroupType.CONSUMER]
    for types in ([], [GroupType.CLASSIC], both):
        (only,) = nodes.run(lambda admin, types=types: admin.list_groups(types=types)).values()
        assert (only.state, only.type, only.protocol) == (None, None, "connect")
    assert nodes.run(lambda admin: admin.list_groups(protocol_types=["consumer"])) == {}
    for types in ([GroupType.CONSUMER], [GroupType.CLASSIC, GroupType.SHARE]):
        with pytest.raises(UnsupportedVersion, match="selected by type from ListGroups v5"):
            nodes.run(lambda admin, types=types: admin.list_groups(types=types))
    with pytest.raises(UnsupportedVersion, match="selected by state from ListGroups v4"):
        nodes.run(lambda admin: admin.list_groups(states=[GroupState.EMPTY]))


def classic_group(name: str, protocol: str, assignment: bytes = b"") -> classic.DescribedGroup:
    member = classic.DescribedGroupMember(
        member_id="m", client_id="c", client_host="/h", member_metadata=b"", member_assignment=assignment
    )
    return classic.DescribedGroup(
        error_code=0,
        group_id=name,
        group_state="Stable",
        protocol_type=protocol,
        protocol_data="range",
        members=[member],
    )


def test_consumer_groups_are_described_by_the_older_request_where_the_newer_finds_none(nodes: ScriptedNodes) -> None:
    partitions = [modern.TopicPartitions(topic_id=bytes(16), topic_name="t", partitions=[1, 0])]
    member = modern.Member(
        member_id="m",
        member_epoch=7,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=["t"],
        assignment=modern.Assignment(topic_partitions=partitions),
        target_assignment=modern.Assignment(topic_partitions=[]),
        member_type=1,
    )
    groups = {
        "new1": modern.DescribedGroup(
            error_code=0,
            group_id="new1",
            group_state="Reconciling",
            group_epoch=8,
            assignment_epoch=7,
            assignor_name="uniform",
            members=[member],
        )
    }

    def described(request: Any) -> modern.ConsumerGroupDescribeResponse:
        refused = [
            modern.DescribedGroup(
                error_code=ABSENT,
                error_message="other",
                group_id=name,
                group_state="",
                group_epoch=0,
                assignment_epoch=0,
                assignor_name="",
                members=[],
            )
            for name in request.group_ids
            if name not in groups
        ]
        return modern.ConsumerGroupDescribeResponse(
            throttle_time_ms=0, groups=[*(groups[name] for name in request.group_ids if name in groups), *refused]
        )

    assigned = encoded_assignment(Assignment(partitions=[OTHER, KEY]))
    older = {
        "old1": classic_group("old1", "consumer", assigned),
        "connect1": classic_group("connect1", "connect", b"x"),
    }
    nodes.scripts["ConsumerGroupDescribe"] = described
    nodes.scripts["DescribeGroups"] = lambda request: classic.DescribeGroupsResponse(
        groups=[older[name] for name in request.groups]
    )
    found = nodes.run(lambda admin: admin.describe_consumer_groups(["old1", "new1"]))
    assert list(found) == ["old1", "new1"]
    assert (found["new1"].type, found["new1"].state) == (GroupType.CONSUMER, GroupState.RECONCILING)
    assert (found["new1"].group_epoch, found["new1"].target_assignment_epoch) == (8, 7)
    (new_member,), (old_member,) = found["new1"].members, found["old1"].members
    assert (new_member.assignment, new_member.target_assignment) == ((KEY, OTHER), ())
    assert (new_member.member_epoch, new_member.upgraded) == (7, True)
    assert (old_member.assignment, old_member.target_assignment, old_member.upgraded) == ((KEY, OTHER), None, None)
    assert (found["old1"].partition_assignor, found["old1"].coordinator) == ("range", NODES[1])
    assert nodes.names() == [("FindCoordinator", None), ("ConsumerGroupDescribe", 1), ("DescribeGroups", 1)]
    with pytest.raises(ItemsFailed, match="'connect1' is not a consumer group: its protocol is connect"):
        nodes.run(lambda admin: admin.describe_consumer_groups(["connect1", "new1"]))
    (described_connect,) = nodes.run(lambda admin: admin.describe_groups(["connect1"])).values()
    assert (described_connect.protocol, described_connect.members[0].assignment) == ("connect", ())
    older["old1"].members[0].member_assignment = b"\x00\x01\x7f"
    with pytest.raises(ProducerError, match="group 'old1': the assignment of member m cannot be read"):
        nodes.run(lambda admin: admin.describe_consumer_groups(["old1"]))


def test_members_are_removed_by_instance_id_or_all_of_them(nodes: ScriptedNodes) -> None:
    unknown = ErrorCode.UNKNOWN_MEMBER_ID

    def left(request: Any) -> LeaveGroupResponse:
        return LeaveGroupResponse(
            error_code=0,
            members=[
                MemberResponse(
                    member_id=one.member_id,
                    group_instance_id=one.group_instance_id,
                    error_code=unknown if one.group_instance_id == "gone" else 0,
                )
                for one in request.members
            ],
        )

    nodes.scripts["LeaveGroup"] = left
    with pytest.raises(ItemsFailed, match="1 of 2 failed: gone: UNKNOWN_MEMBER_ID") as failed:
        nodes.run(lambda admin: admin.remove_group_members("g1", ["i", "gone"], reason="x" * 300))
    assert list(failed.value.done) == ["i"]
    assert {one.reason for one in nodes.requests[-1][2].members} == {"x" * 255}
    group = classic_group("g1", "consumer")
    static = classic.DescribedGroupMember(
        member_id="s",
        group_instance_id="i",
        client_id="c",
        client_host="/h",
        member_metadata=b"",
        member_assignment=b"",
    )
    group.members.append(static)
    nodes.scripts["ConsumerGroupDescribe"] = lambda _: UnsupportedVersion("too old")
    nodes.scripts["DescribeGroups"] = lambda _: classic.DescribeGroupsResponse(groups=[group])
    assert nodes.run(lambda admin: admin.remove_group_members("g1")) == ["m", "i"]
    sent = nodes.requests[-1][2].members
    assert [(one.member_id, one.group_instance_id) for one in sent] == [("m", None), ("", "i")]
    assert {one.reason for one in sent} == {"member was removed by an admin"}


def test_old_brokers_remove_one_member_per_request_and_none_by_instance_id(world: World) -> None:
    nodes = ScriptedNodes(world, {"LeaveGroup": 2})
    group = classic_group("g1", "consumer")
    group.members.append(
        classic.DescribedGroupMember(
            member_id="n", client_id="c", client_host="/h", member_metadata=b"", member_assignment=b""
        )
    )
    nodes.scripts["ConsumerGroupDescribe"] = lambda _: UnsupportedVersion("too old")
    nodes.scripts["DescribeGroups"] = lambda _: classic.DescribeGroupsResponse(groups=[group])
    nodes.scripts["LeaveGroup"] = lambda _: LeaveGroupResponse(error_code=0)
    assert nodes.run(lambda admin: admin.remove_group_members("g1")) == ["m", "n"]
    assert [request.member_id for name, _, request in nodes.requests if name == "LeaveGroup"] == ["m", "n"]
    with pytest.raises(UnsupportedVersion, match=r"removed by group\.instance\.id from LeaveGroup v3"):
        nodes.run(lambda admin: admin.remove_group_members("g1", ["i"]))


def test_offsets_are_listed_by_group_without_partitions_that_have_an_error(nodes: ScriptedNodes) -> None:
    def fetched(request: Any) -> OffsetFetchResponse:
        partitions = [
            OffsetFetchResponsePartitions(partition_index=1, committed_offset=-1, metadata="", error_code=0),
            OffsetFetchResponsePartitions(
                partition_index=0, committed_offset=5, committed_leader_epoch=2, metadata="m", error_code=0
            ),
            OffsetFetchResponsePartitions(
                partition_index=2, committed_offset=-1, metadata="", error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT
            ),
        ]
        return OffsetFetchResponse(
            groups=[
                OffsetFetchResponseGroup(
                    group_id=one.group_id,
                    error_code=0,
                    topics=[OffsetFetchResponseTopics(name="t", partitions=partitions)],
                )
                for one in request.groups
            ]
        )

    nodes.scripts["OffsetFetch"] = fetched
    found = nodes.run(lambda admin: admin.list_group_offsets({"a1": None, "b1": [KEY]}, require_stable=True))
    committed = {KEY: OffsetAndMetadata(offset=5, metadata="m", leader_epoch=2), OTHER: None}
    assert found == {"a1": committed, "b1": committed}
    ((_, _, request),) = [one for one in nodes.requests if one[0] == "OffsetFetch"]
    assert request.require_stable
    assert request.groups[0].topics is None
    assert [(one.name, one.partition_indexes) for one in request.groups[1].topics] == [("t", [0])]


@pytest.mark.parametrize(("version", "stable"), [(6, False), (7, True)])
def test_old_brokers_list_the_offsets_of_one_group_per_request(world: World, version: int, *, stable: bool) -> None:
    nodes = ScriptedNodes(world, {"OffsetFetch": version})
    partition = OffsetFetchResponsePartition(partition_index=0, committed_offset=5, metadata=None, error_code=0)
    nodes.scripts["OffsetFetch"] = lambda _: OffsetFetchResponse(
        topics=[OffsetFetchResponseTopic(name="t", partitions=[partition])], error_code=0
    )
    found = nodes.run(lambda admin: admin.list_group_offsets(["a1", "b1"], require_stable=True))
    assert found == {"a1": {KEY: OffsetAndMetadata(offset=5)}, "b1": {KEY: OffsetAndMetadata(offset=5)}}
    sent = [request for name, _, request in nodes.requests if name == "OffsetFetch"]
    assert [(one.group_id, one.topics, one.require_stable) for one in sent] == [
        ("a1", None, stable),
        ("b1", None, stable),
    ]


def test_the_oldest_brokers_list_only_offsets_of_named_partitions(world: World) -> None:
    nodes = ScriptedNodes(world, {"OffsetFetch": 1})
    with pytest.raises(UnsupportedVersion, match=r"all offsets of a group are listed from OffsetFetch v2 \(Kafka 0\."):
        nodes.run(lambda admin: admin.list_group_offsets(["a1"]))


def test_only_partitions_that_may_succeed_later_are_committed_again(nodes: ScriptedNodes) -> None:
    codes = [{0: ErrorCode.REBALANCE_IN_PROGRESS, 1: ErrorCode.OFFSET_METADATA_TOO_LARGE}, {0: ErrorCode.NONE}]

    def committed(request: Any) -> OffsetCommitResponse:
        del request
        partitions = [
            OffsetCommitResponsePartition(partition_index=number, error_code=code)
            for number, code in codes.pop(0).items()
        ]
        return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=partitions)])

    nodes.scripts["OffsetCommit"] = committed
    offsets = {KEY: OffsetAndMetadata(offset=1), OTHER: OffsetAndMetadata(offset=2, metadata="m", leader_epoch=3)}
    with pytest.raises(ItemsFailed, match="1 of 2 failed: t-1: OFFSET_METADATA_TOO_LARGE") as failed:
        nodes.run(lambda admin: admin.alter_group_offsets("g1", offsets))
    assert list(failed.value.done) == [KEY]
    sent = [request for name, _, request in nodes.requests if name == "OffsetCommit"]
    assert [[one.partition_index for one in request.topics[0].partitions] for request in sent] == [[0, 1], [0]]
    assert (sent[0].generation_id_or_member_epoch, sent[0].member_id, sent[0].group_id) == (-1, "", "g1")


def test_an_error_of_the_group_is_reported_for_each_partition(nodes: ScriptedNodes) -> None:
    nodes.scripts["OffsetDelete"] = lambda _: OffsetDeleteResponse(error_code=ABSENT, topics=[])
    with pytest.raises(ItemsFailed, match="2 of 2 failed: t-0: GROUP_ID_NOT_FOUND; t-1: GROUP_ID_NOT_FOUND"):
        nodes.run(lambda admin: admin.delete_group_offsets("g1", [KEY, OTHER]))
    nodes.scripts["AlterShareGroupOffsets"] = lambda _: AlterShareGroupOffsetsResponse(
        throttle_time_ms=0, error_code=ErrorCode.NON_EMPTY_GROUP, error_message="it has members", responses=[]
    )
    with pytest.raises(ItemsFailed, match="t-0: NON_EMPTY_GROUP: it has members"):
        nodes.run(lambda admin: admin.alter_share_group_offsets("g1", {KEY: 3}))


def test_share_offsets_have_a_lag_where_the_broker_knows_it(nodes: ScriptedNodes) -> None:
    partitions = [
        DescribeShareGroupOffsetsResponsePartition(
            partition_index=0, start_offset=3, leader_epoch=1, lag=4, error_code=0
        ),
        DescribeShareGroupOffsetsResponsePartition(partition_index=1, start_offset=-1, leader_epoch=0, error_code=0),
        DescribeShareGroupOffsetsResponsePartition(partition_index=2, start_offset=6, leader_epoch=-1, error_code=0),
        DescribeShareGroupOffsetsResponsePartition(
            partition_index=3, start_offset=-1, leader_epoch=0, error_code=ErrorCode.UNKNOWN_SERVER_ERROR
        ),
    ]
    topics = [DescribeShareGroupOffsetsResponseTopic(topic_name="t", topic_id=bytes(16), partitions=partitions)]
    nodes.scripts["DescribeShareGroupOffsets"] = lambda request: DescribeShareGroupOffsetsResponse(
        throttle_time_ms=0,
        groups=[
            DescribeShareGroupOffsetsResponseGroup(group_id=one.group_id, topics=topics, error_code=0)
            for one in request.groups
        ],
    )
    found = nodes.run(lambda admin: admin.list_share_group_offsets(["s1"]))
    assert found["s1"] == {
        KEY: SharePartitionOffset(start_offset=3, leader_epoch=1, lag=4),
        OTHER: None,
        TopicPartition("t", 2): SharePartitionOffset(start_offset=6, leader_epoch=None, lag=None),
    }


def test_a_streams_group_is_described_with_its_topology(nodes: ScriptedNodes) -> None:
    changelog = streams.TopicInfo(
        name="store", partitions=2, replication_factor=1, topic_configs=[streams.KeyValue(key="k", value="v")]
    )
    nothing = streams.Assignment(active_tasks=[], standby_tasks=[], warmup_tasks=[])
    member = streams.Member(
        member_id="m",
        member_epoch=3,
        client_id="c",
        client_host="/h",
        topology_epoch=0,
        process_id="p",
        user_endpoint=streams.Endpoint(host="a", port=9),
        client_tags=[streams.KeyValue(key="zone", value="z")],
        task_offsets=[streams.TaskOffset(subtopology_id="0", partition=1, offset=4)],
        task_end_offsets=[],
        assignment=streams.Assignment(
            active_tasks=[streams.TaskIds(subtopology_id="0", partitions=[1, 0])], standby_tasks=[], warmup_tasks=[]
        ),
        target_assignment=nothing,
        is_classic=False,
    )
    subtopology = streams.Subtopology(
        subtopology_id="0",
        source_topics=["in"],
        repartition_sink_topics=["r"],
        state_changelog_topics=[changelog],
        repartition_source_topics=[],
    )
    groups = [
        streams.DescribedGroup(
            error_code=0,
            group_id=name,
            group_state="NotReady",
            group_epoch=1,
            assignment_epoch=2,
            topology=topology,
            members=[member],
        )
        for name, topology in (
            ("s1", streams.Topology(epoch=5, subtopologies=[subtopology])),
            ("n1", None),
        )
    ]
    nodes.scripts["StreamsGroupDescribe"] = lambda _: streams.StreamsGroupDescribeResponse(
        throttle_time_ms=0, groups=groups
    )
    found = nodes.run(lambda admin: admin.describe_streams_groups(["s1", "n1"]))
    described = found["s1"]
    assert (described.topology_epoch, described.state) == (5, GroupState.NOT_READY)
    (only,) = described.subtopologies
    assert (only.source_topics, only.state_changelog_topics["store"].topic_configs) == (("in",), {"k": "v"})
    (one,) = described.members
    assert (one.assignment.active_tasks, one.target_assignment.active_tasks) == ({"0": (0, 1)}, {})
    assert one.user_endpoint is not None
    assert (one.user_endpoint.port, one.client_tags, one.task_offsets[0].offset) == (9, {"zone": "z"}, 4)
    assert (found["n1"].topology_epoch, found["n1"].subtopologies) == (None, ())
