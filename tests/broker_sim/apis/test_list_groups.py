import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol_specs.messages.list_groups import ListGroupsRequest


@pytest.fixture
def api(bench):
    """A broker with groups that have one member each, which has not got its generation."""

    def start(*names, release="4.3.1"):
        api = bench(config={"offsets.topic.num.partitions": "3"}, release=release)
        while api.exchange(FindCoordinatorRequest(key="g"), 0).error_code:
            api.settle()
        for name in names:
            request = JoinGroupRequest(
                group_id=name,
                session_timeout_ms=10_000,
                protocol_type="consumer",
                protocols=[JoinGroupRequestProtocol(name="range")],
            )
            assert api.exchange(request, 4).error_code == ErrorCode.MEMBER_ID_REQUIRED
        return api

    return start


def listed(api, version=5, **filters):
    response = api.exchange(ListGroupsRequest(**filters), version)
    assert not response.error_code
    return sorted(group.group_id for group in response.groups)


def test_groups_of_all_shards_are_listed(api):
    names = [f"group-{number}" for number in range(9)]
    assert listed(api(*names)) == names


@pytest.mark.parametrize("release", ["3.7", "4.3.1"])
def test_groups_are_in_the_order_of_a_hash_table(api, release):
    names = [f"group-{number}" for number in range(9)]
    groups = api(*names, release=release).exchange(ListGroupsRequest(), 4).groups
    assert [group.group_id for group in groups] != names


def test_a_listed_group_has_its_state_and_its_type(api):
    [group] = api("crew").exchange(ListGroupsRequest(), 5).groups
    assert (group.group_state, group.group_type, group.protocol_type) == ("Empty", "classic", "")


@pytest.mark.parametrize("states", [["empty"], ["STABLE", "Empty"], [" empty "]])
def test_states_are_filtered_in_any_case(api, states):
    assert listed(api("crew"), states_filter=states) == ["crew"]


def test_states_had_one_case_before_3_8(api):
    older = api("crew", release="3.7")
    assert listed(older, 4, states_filter=["empty", " Empty "]) == []
    assert listed(older, 4, states_filter=["Empty"]) == ["crew"]


@pytest.mark.parametrize(("types", "found"), [(["Classic"], ["crew"]), (["consumer"], []), (["other"], [])])
def test_types_are_filtered_in_any_case(api, types, found):
    assert listed(api("crew"), types_filter=types) == found


def test_a_broker_without_shards_lists_nothing(bench):
    assert listed(bench()) == []
