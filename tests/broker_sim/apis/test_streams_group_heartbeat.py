from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from tests.broker_sim.coordinators.groups.streams.streams_bench import topology


def join(**fields):
    usual = {
        "group_id": "g",
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout_ms": 1,
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "topology": topology(),
    }
    return StreamsGroupHeartbeatRequest(**(usual | fields))


def test_a_broker_without_the_protocol_refuses(bench):
    classic = bench(config={"group.coordinator.rebalance.protocols": "classic,consumer"})
    assert classic.exchange(join(), 0).error_code == 35


def test_names_of_topics_are_checked_before_fields(bench):
    response = bench().exchange(join(member_id="", topology=topology(source="__consumer_offsets")), 0)
    assert response.error_code == 130
    response = bench().exchange(join(member_id=""), 0)
    assert (response.error_code, response.error_message) == (42, "MemberId can't be empty.")


def test_a_broker_that_coordinates_no_group_refuses(bench):
    assert bench().exchange(join(), 0).error_code == 16
