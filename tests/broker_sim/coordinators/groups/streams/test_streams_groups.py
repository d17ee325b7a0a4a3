from broker_sim.control.events import GroupMemberAssigned, GroupMemberJoined, GroupMemberRemoved, GroupStateChanged
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol_specs.messages.streams_group_heartbeat import Endpoint, TaskIds
from tests.broker_sim.coordinators.groups.streams.streams_bench import GROUP, topology


def statuses(response):
    return [(status.status_code, status.status_detail) for status in response.status]


def test_the_first_member_gets_all_tasks(streams_bench):
    bench = streams_bench()
    ann = bench.member("ann")
    response = ann.join()
    assert (response.error_code, response.member_epoch, statuses(response)) == (0, 2, [])
    assert ann.active == {"0": [0, 1, 2, 3]}
    assert bench.describe().group_state == "Stable"


def test_a_task_moves_when_its_owner_has_given_it_up(streams_bench):
    bench = streams_bench()
    ann, bob = bench.member("ann"), bench.member("bob")
    ann.join()
    assert bob.join().active_tasks == []
    assert bench.describe().group_state == "Reconciling"
    ann.beat()
    assert (ann.active, ann.epoch) == ({"0": [0, 1]}, 2)
    bob.beat()
    assert bob.active == {}
    ann.report()
    assert ann.epoch == 3
    bob.beat()
    assert (bob.active, bob.epoch) == ({"0": [2, 3]}, 3)
    assert bench.describe().group_state == "Stable"


def test_two_members_of_one_process_share_its_tasks(streams_bench):
    bench = streams_bench()
    ann, amy = bench.member("ann", "p"), bench.member("amy", "p")
    ann.join()
    amy.join()
    ann.beat()
    ann.report()
    amy.beat()
    assert sorted([*ann.active["0"], *amy.active["0"]]) == [0, 1, 2, 3]


def test_an_empty_group_waits_for_more_members(streams_bench):
    bench = streams_bench(group_streams_initial_rebalance_delay_ms="3000")
    ann, bob = bench.member("ann"), bench.member("bob")
    response = ann.join()
    assert statuses(response) == [(5, "Assignment delayed due to the configured initial rebalance delay.")]
    assert (response.member_epoch, response.active_tasks) == (1, [])
    bob.join()
    bench.run(3100)
    ann.beat()
    bob.beat()
    assert sorted([ann.active["0"], bob.active["0"]]) == [[0, 2], [1, 3]]


def test_assignments_keep_their_interval(streams_bench):
    bench = streams_bench(group_streams_assignment_interval_ms="1000")
    bench.member("ann").join()
    bob = bench.member("bob")
    delayed = bob.join()
    assert statuses(delayed) == [(5, "Assignment delayed due to the configured assignment interval.")]
    bench.run(1100)
    assert statuses(bob.beat()) == []


def test_the_broker_creates_a_changelog_topic(streams_bench):
    bench = streams_bench()
    ann = bench.member("ann", shape=topology(changelog="counts-store-changelog"))
    assert statuses(ann.join()) == [(3, "Internal topics are missing: counts-store-changelog")]
    assert bench.describe().group_state == "NotReady"
    bench.run(500)
    ann.beat()
    assert ann.active == {"0": [0, 1, 2, 3]}
    assert len(bench.cluster.controller.image.topics["counts-store-changelog"].partitions) == 4


def test_a_standby_copy_is_on_the_other_process(streams_bench):
    bench = streams_bench(group_streams_num_standby_replicas="1")
    shape = topology(changelog="counts-store-changelog")
    ann, bob = bench.member("ann", shape=shape), bench.member("bob", shape=shape)
    ann.join()
    bench.run(500)
    ann.beat()
    bob.join()
    for _ in range(3):
        ann.report()
        bob.report()
    assert sorted([*ann.active["0"], *bob.active["0"]]) == [0, 1, 2, 3]
    assert (sorted(ann.standby["0"]), sorted(bob.standby["0"])) == (sorted(bob.active["0"]), sorted(ann.active["0"]))


def test_a_missing_source_topic_is_a_status(streams_bench):
    bench = streams_bench()
    ann = bench.member("ann", shape=topology(source="later"))
    assert statuses(ann.join()) == [(1, "Source topics later are missing.")]
    assert (ann.epoch, bench.describe().group_state) == (2, "NotReady")


def test_another_topology_is_refused_and_an_older_one_is_stale(streams_bench):
    bench = streams_bench()
    bench.member("ann", shape=topology(epoch=3)).join()
    newer = bench.member("bob", shape=topology(epoch=4)).join()
    assert (newer.error_code, newer.error_message) == (42, "Topology updates are not supported yet.")
    older = bench.member("bob", shape=topology(epoch=2)).join()
    assert statuses(older) == [(0, "The member's topology epoch 2 is behind the group's topology epoch 3.")]


def test_members_with_wrong_epochs_are_fenced(streams_bench):
    bench = streams_bench()
    ann = bench.member("ann")
    ann.join()
    newer = ann.send(ann.epoch + 1)
    older = ann.send(ann.epoch - 1)
    assert (newer.error_code, older.error_code) == (110, 110)
    assert "greater member epoch (3)" in newer.error_message
    assert "smaller member epoch (1)" in older.error_message
    assert bench.member("stranger").send(2).error_code == 25


def test_a_lost_response_is_repeated_to_the_previous_epoch(streams_bench):
    bench = streams_bench()
    ann, bob = bench.member("ann"), bench.member("bob")
    ann.join()
    bob.join()
    ann.beat()
    owned = {"active_tasks": [TaskIds(subtopology_id="0", partitions=[0, 1])], "standby_tasks": [], "warmup_tasks": []}
    before = ann.epoch
    ann.beat(**owned)
    assert ann.send(before, **owned).member_epoch == before + 1


def test_tasks_that_do_not_exist_are_refused(streams_bench):
    bench = streams_bench()
    ann = bench.member("ann")
    ann.join()
    empty = {"standby_tasks": [], "warmup_tasks": []}
    unknown = ann.beat(active_tasks=[TaskIds(subtopology_id="9", partitions=[0])], **empty)
    beyond = ann.beat(active_tasks=[TaskIds(subtopology_id="0", partitions=[4])], **empty)
    assert unknown.error_message == "Subtopology 9 does not exist in the topology."
    assert beyond.error_message == "Task 4 for subtopology 0 is invalid. Number of tasks for this subtopology: 4"


def test_a_silent_member_expires(streams_bench):
    bench = streams_bench()
    ann, bob = bench.member("ann"), bench.member("bob")
    ann.join()
    bench.run(30_000)
    bob.join()
    bench.run(20_000)
    assert list(bench.group.members) == ["bob"]
    bob.beat()
    assert bob.active == {"0": [0, 1, 2, 3]}
    assert ann.beat().error_code == 25


def test_a_member_that_keeps_revoked_tasks_is_removed(streams_bench):
    bench = streams_bench()
    ann, bob = bench.member("ann"), bench.member("bob")
    ann.join()
    bob.join()
    ann.beat()
    for _ in range(3):
        bench.run(4000)
        ann.beat()
        bob.beat()
    assert list(bench.group.members) == ["bob"]


def test_shutdown_reaches_all_members_until_the_group_is_empty(streams_bench):
    bench = streams_bench()
    ann, bob = bench.member("ann"), bench.member("bob")
    ann.join()
    bob.join()
    ann.beat(shutdown_application=True)
    [(code, detail)] = statuses(bob.beat())
    assert code == 4
    assert detail.startswith("Streams group member ann encountered a fatal error")
    ann.leave()
    bob.leave()
    assert statuses(bench.member("cid").join()) == []


def test_endpoints_are_sent_when_their_epoch_differs(streams_bench):
    bench = streams_bench()
    ann = bench.member("ann")
    ann.join(user_endpoint=Endpoint(host="a.example", port=80))
    response = ann.join()
    assert response.endpoint_information_epoch == 1
    [endpoint] = response.partitions_by_user_endpoint
    assert (endpoint.user_endpoint.host, endpoint.user_endpoint.port) == ("a.example", 80)
    assert [(each.topic, each.partitions) for each in endpoint.active_partitions] == [("orders", [0, 1, 2, 3])]
    assert ann.beat(endpoint_information_epoch=1).partitions_by_user_endpoint is None


def test_a_full_group_refuses_members(streams_bench):
    bench = streams_bench(group_streams_max_size="1")
    bench.member("ann").join()
    refused = bench.member("bob").join()
    assert (refused.error_code, refused.error_message) == (
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        "The streams group has reached its maximum capacity of 1 members.",
    )


def test_a_restarted_coordinator_has_the_same_group(streams_bench):
    bench = streams_bench()
    ann, bob = bench.member("ann"), bench.member("bob")
    ann.join()
    bob.join()
    ann.beat()
    before = bench.describe()
    bench.restart()
    assert bench.describe() == before
    ann.report()
    bob.beat()
    assert (ann.active, bob.active) == ({"0": [0, 1]}, {"0": [2, 3]})


def test_the_life_of_a_group_is_in_the_journal(streams_bench):
    bench = streams_bench()
    ann = bench.member("ann")
    ann.join()
    ann.leave()
    joined, assigned, removed = (
        bench.cluster.journal.events_of(kind) for kind in (GroupMemberJoined, GroupMemberAssigned, GroupMemberRemoved)
    )
    assert [event.member_id for event in joined] == ["ann"]
    assert [event.assignment for event in assigned] == ["active 0_0, 0_1, 0_2, 0_3"]
    assert [event.reason for event in removed] == ["the member left the group."]
    changes = bench.cluster.journal.events_of(GroupStateChanged)
    assert [(event.previous, event.state, event.generation) for event in changes] == [
        ("new", "Stable", 2),
        ("Stable", "Empty", 3),
    ]


def test_an_earlier_epoch_commits_the_tasks_of_that_time(streams_bench):
    bench = streams_bench()
    ann, bob = bench.member("ann"), bench.member("bob")
    ann.join()
    bob.join()
    ann.beat()
    ann.report()
    bob.beat()
    assert (ann.active, ann.epoch) == ({"0": [0, 1]}, 3)

    def commit(epoch, *partitions, topic="orders"):
        listed = [
            OffsetCommitRequestPartition(partition_index=each, committed_offset=1, committed_metadata="")
            for each in partitions
        ]
        topics = [OffsetCommitRequestTopic(name=topic, partitions=listed)]
        request = OffsetCommitRequest(
            group_id=GROUP, member_id="ann", generation_id_or_member_epoch=epoch, topics=topics
        )
        [committed] = bench.call(request, 9).topics
        return [each.error_code for each in committed.partitions]

    assert commit(3, 0, 3) == [0, 0]
    assert commit(2, 0, 1) == [0, 0]
    assert commit(2, 0, 3) == [113, 113]
    assert commit(1, 0) == [113]
    assert commit(4, 0) == [113]


def test_only_an_empty_group_can_be_deleted(streams_bench):
    bench = streams_bench()
    ann = bench.member("ann")
    ann.join()
    delete = DeleteGroupsRequest(groups_names=[GROUP])
    assert bench.call(delete, 2).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    ann.leave()
    assert bench.describe().group_state == "Empty"
    assert bench.call(delete, 2).results[0].error_code == 0
    assert bench.describe().error_message == f"Group {GROUP} not found."
