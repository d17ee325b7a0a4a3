from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest


def deleted(api, *names, version=2):
    response = api.exchange(DeleteGroupsRequest(groups_names=list(names)), version)
    return {result.group_id: result.error_code for result in response.results}


def test_without_the_topic_no_broker_coordinates(bench):
    assert deleted(bench(), "a", "b") == {"a": ErrorCode.NOT_COORDINATOR, "b": ErrorCode.NOT_COORDINATOR}


def test_the_groups_of_a_partition_come_as_from_a_hash_set(bench):
    def order(release):
        api = bench(config={"offsets.topic.num.partitions": "1"}, release=release)
        while api.exchange(FindCoordinatorRequest(key="g"), 0).error_code:
            api.settle()
        return list(deleted(api, "stable", "empty", "pending"))

    assert order("4.0") == ["stable", "empty", "pending"]
    assert order("4.3.1") == ["stable", "pending", "empty"]


def test_each_group_has_one_result(bench):
    api = bench(config={"offsets.topic.num.partitions": "3"})
    while api.exchange(FindCoordinatorRequest(key="g"), 0).error_code:
        api.settle()
    names = ["a", "b", "c", "a", ""]
    assert deleted(api, *names) == dict.fromkeys(names, ErrorCode.GROUP_ID_NOT_FOUND)
    assert deleted(api) == {}
