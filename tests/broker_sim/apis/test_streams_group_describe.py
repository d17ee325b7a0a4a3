from protocol_specs.messages.streams_group_describe import StreamsGroupDescribeRequest


def test_an_empty_id_comes_first(bench):
    response = bench().exchange(StreamsGroupDescribeRequest(group_ids=["g", ""]), 0)
    assert [(group.group_id, group.error_code) for group in response.groups] == [("", 24), ("g", 16)]


def test_a_broker_without_the_protocol_refuses_each_group(bench):
    classic = bench(config={"group.coordinator.rebalance.protocols": "classic"})
    response = classic.exchange(StreamsGroupDescribeRequest(group_ids=["g", ""]), 0)
    assert [(group.group_id, group.error_code) for group in response.groups] == [("g", 35), ("", 35)]
