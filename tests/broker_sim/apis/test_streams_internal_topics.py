from broker_sim.apis.streams_internal_topics import create_internal_topics
from broker_sim.coordinators.groups.streams.configured_topology import InternalTopic
from broker_sim.coordinators.groups.streams.heartbeat_result import HeartbeatResult
from protocol_specs.messages.streams_group_heartbeat import Status, StreamsGroupHeartbeatResponse


def test_the_error_of_a_creation_is_in_the_next_status(bench):
    one = bench()
    missing = {"log": InternalTopic("log", 2, 3, {})}

    def detail():
        status = Status(status_code=3, status_detail="missing: log")
        result = HeartbeatResult(StreamsGroupHeartbeatResponse(status=[status]), missing)
        create_internal_topics(result, "g", one.context(StreamsGroupHeartbeatResponse(), 0))
        one.settle()
        return status.status_detail

    assert detail() == "missing: log"
    assert detail().startswith("missing: log; Creation failed: log (Unable to replicate the partition 3 time(s)")


def test_topics_are_created_as_the_topology_states(bench):
    one = bench()
    missing = {"log": InternalTopic("log", 2, 0, {"cleanup.policy": "compact"})}
    result = HeartbeatResult(StreamsGroupHeartbeatResponse(status=[]), missing)
    create_internal_topics(result, "g", one.context(StreamsGroupHeartbeatResponse(), 0))
    one.settle()
    image = one.cluster.controller.image
    assert len(image.topics["log"].partitions) == 2
    assert image.topics["log"].configs["cleanup.policy"] == "compact"
