import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.streams.heartbeat_checks import check_heartbeat, check_topic_names
from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, TaskIds
from tests.broker_sim.coordinators.groups.streams.streams_bench import internal, topology

JOIN = {
    "group_id": "g",
    "member_id": "m",
    "member_epoch": 0,
    "rebalance_timeout_ms": 1,
    "active_tasks": [],
    "standby_tasks": [],
    "warmup_tasks": [],
    "topology": topology(),
}
TASKS = [TaskIds(subtopology_id="0", partitions=[0])]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"member_id": " "}, "MemberId can't be empty."),
        ({"group_id": ""}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"instance_id": "i"}, "Static membership is not yet supported."),
        ({"task_offsets": []}, "TaskOffsets are not supported yet."),
        ({"task_end_offsets": []}, "TaskEndOffsets are not supported yet."),
        ({"warmup_tasks": TASKS}, "WarmupTasks are not supported yet."),
        ({"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({"active_tasks": None}, "ActiveTasks must be empty when (re-)joining."),
        ({"standby_tasks": TASKS}, "StandbyTasks must be empty when (re-)joining."),
        ({"topology": None}, "Topology must be non-null when (re-)joining."),
        ({"member_epoch": 1}, "Topology can only be provided when (re-)joining."),
        ({"member_epoch": -3}, "MemberEpoch is -3, but must be greater than or equal to -2."),
        ({"member_epoch": -2}, "InstanceId can't be null."),
        (
            {"member_epoch": 1, "topology": None, "active_tasks": None},
            "If one task-type is non-null, all must be non-null.",
        ),
    ],
)
def test_fields_that_do_not_go_together(fields, message):
    with pytest.raises(CoordinatorError) as refused:
        check_heartbeat(StreamsGroupHeartbeatRequest(**(JOIN | fields)))
    assert refused.value.message == message


def test_a_changelog_topic_has_no_number_of_partitions():
    shape = topology(changelog="log")
    shape.subtopologies[0].state_changelog_topics = [internal("log", 3)]
    with pytest.raises(CoordinatorError, match="Changelog topic log must have an undefined partition count"):
        check_heartbeat(StreamsGroupHeartbeatRequest(**(JOIN | {"topology": shape})))


def test_a_plain_join_passes():
    check_heartbeat(StreamsGroupHeartbeatRequest(**JOIN))


def test_internal_topics_and_illegal_names_are_refused():
    with pytest.raises(CoordinatorError, match="Use of Kafka internal topics __consumer_offsets in"):
        check_topic_names(topology(source="__consumer_offsets"))
    with pytest.raises(CoordinatorError, match="Topic names a/b are not valid topic names"):
        check_topic_names(topology(changelog="a/b"))
    check_topic_names(None)
