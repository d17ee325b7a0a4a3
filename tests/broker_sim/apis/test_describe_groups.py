import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_groups import DescribeGroupsRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest


@pytest.fixture
def api(bench):
    def start(release="4.3.1"):
        api = bench(config={"offsets.topic.num.partitions": "7"}, release=release)
        while api.exchange(FindCoordinatorRequest(key="g"), 0).error_code:
            api.settle()
        return api

    return start


def described(api, *names, version=5, operations=False):
    request = DescribeGroupsRequest(groups=list(names), include_authorized_operations=operations)
    return api.exchange(request, version).groups


def test_without_the_topic_no_broker_coordinates(bench):
    [group] = described(bench(), "crew", operations=True)
    assert (group.error_code, group.group_state) == (ErrorCode.NOT_COORDINATOR, "")
    assert group.authorized_operations == -(2**31)


@pytest.mark.parametrize(("release", "operations"), [("3.7", 328), ("4.3.1", 3400)])
def test_authorized_operations_are_those_of_the_release(api, release, operations):
    [group] = described(api(release), "crew", operations=True)
    assert group.authorized_operations == operations


def test_the_old_coordinator_keeps_the_order_of_the_request(api):
    names = [f"group-{number}" for number in (*range(9), 3, 0)]
    assert [group.group_id for group in described(api("3.7"), *names)] == names
    assert [group.group_id for group in described(api(), *names)] != names
