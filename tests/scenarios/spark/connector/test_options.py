import pytest

from broker_client import TopicPartition
from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.connector.options import (
    DeliveryGuarantee,
    includes_headers,
    sink_options,
    source_options,
)

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}


def test_the_options_of_the_connector_are_read_without_regard_to_case():
    given = {
        **SERVERS,
        "kafka.isolation.level": "read_committed",
        "assign": '{"orders": [0, 2]}',
        "startingoffsets": '{"orders": {"0": 23, "2": -2}}',
        "ENDINGOFFSETS": "latest",
        "includeHeaders": "TRUE",
        "minPartitions": "6",
        "failOnDataLoss": "false",
        "kafkaConsumer.pollTimeoutMs": "500",
    }
    options = source_options(given, is_stream=False)
    assert options.consumer == {"bootstrap.servers": "localhost:9092", "isolation.level": "read_committed"}
    assert options.assigned == (TopicPartition("orders", 0), TopicPartition("orders", 2))
    assert [options.starting.of(key) for key in options.assigned] == [23, -2]
    assert options.ending.of(TopicPartition("orders", 0)) == -1
    assert (options.include_headers, options.min_partitions, options.fail_on_data_loss) == (True, 6, False)
    assert options.poll_timeout_s == 0.5
    assert includes_headers(given)


def test_batches_start_at_the_beginning_and_streams_at_the_end():
    given = {**SERVERS, "subscribe": "orders, bills"}
    assert source_options(given, is_stream=False).topics == ("orders", "bills")
    starts = [source_options(given, is_stream=is_stream).starting.common for is_stream in (False, True)]
    assert starts == [-2, -1]


WRONG_SOURCES = [
    ({"subscribe": "orders", "groupIdPrefix": "x"}, "'groupIdPrefix' is no option of the source"),
    ({"subscribe": "orders", "startingOffset": "x"}, "did you mean 'startingoffsets'"),
    ({}, "expected one of the options assign, subscribe, subscribePattern: there is none"),
    ({"subscribe": "a", "assign": "{}"}, "not assign and subscribe"),
    ({"subscribe": "a", "kafka.group.id": "g"}, r"kafka\.group\.id cannot be set: the source sets it"),
    ({"subscribe": " , "}, "subscribe=' , ': expected names"),
    ({"subscribePattern": "("}, r"subscribePattern='\(': expected a regular expression"),
    ({"assign": "orders"}, "assign='orders': expected"),
    ({"assign": '{"orders": [-1]}'}, r"assign: 'orders': expected a list of partitions, not \[-1\]"),
    ({"subscribe": "a", "startingOffsets": "newest"}, "startingOffsets='newest': expected earliest, latest or"),
    ({"subscribe": "a", "startingOffsets": '{"a": {"0": -3}}'}, "startingOffsets: a-0: expected an offset from -2"),
    ({"subscribe": "a", "minPartitions": "0"}, "minPartitions='0': expected a whole number from 1"),
    ({"subscribe": "a", "failOnDataLoss": "yes"}, "failOnDataLoss='yes': expected true or false"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), WRONG_SOURCES)
def test_a_wrong_option_of_the_source_is_refused_by_name(given, message):
    with pytest.raises(ScenarioError, match=message):
        source_options({**SERVERS, **given}, is_stream=False)


def test_options_of_the_other_kind_of_query_and_missing_servers_are_refused():
    with pytest.raises(ScenarioError, match="endingOffsets is for batches"):
        source_options({**SERVERS, "subscribe": "a", "endingOffsets": "latest"}, is_stream=True)
    with pytest.raises(ScenarioError, match="maxOffsetsPerTrigger is for streams"):
        source_options({**SERVERS, "subscribe": "a", "maxOffsetsPerTrigger": "1"}, is_stream=False)
    with pytest.raises(ScenarioError, match=r"the option kafka\.bootstrap\.servers is missing"):
        source_options({"subscribe": "a"}, is_stream=False)


def test_the_options_of_the_sink():
    given = {**SERVERS, "topic": "orders", "kafka.acks": "1", "checkpointLocation": "/c", "includeHeaders": "true"}
    options = sink_options({**given, "deliveryGuarantee": "exactly-once"}, is_stream=True)
    assert options.producer == {"bootstrap.servers": "localhost:9092", "acks": "1"}
    assert (options.topic, options.guarantee) == ("orders", DeliveryGuarantee.EXACTLY_ONCE)
    for wrong, is_stream, message in [
        ({"deliveryGuarantee": "once"}, True, "deliveryGuarantee='once': expected at-least-once or exactly-once"),
        ({"topic": "a", "deliveryGuarantee": "exactly-once"}, False, "exactly-once is for streams"),
        ({"deliveryGuarantee": "exactly-once"}, True, "exactly-once needs the option topic"),
        ({"kafka.transactional.id": "x"}, True, r"kafka\.transactional\.id cannot be set: the sink sets it"),
        ({"subscribe": "a"}, True, "'subscribe' is no option of the sink"),
    ]:
        with pytest.raises(ScenarioError, match=message):
            sink_options({**SERVERS, **wrong}, is_stream=is_stream)
