import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.connector.record_columns import check_columns, record_table, tables_by_topic

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def schema(text):
    return StructType.fromDDL(text)


def test_every_column_of_a_record_is_taken_with_its_types():
    check_columns(
        schema(
            "key string, value binary, topic string, partition int, timestamp timestamp, "
            "headers array<struct<key:string,value:binary>>"
        ),
        "the DataFrame",
        topic=None,
    )
    check_columns(schema("value string, timestamp bigint"), "the DataFrame", topic="orders")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("value string, offset bigint", "load: column 'offset' is no part of a record: expected key, value, topic"),
        ("value int", "load: column 'value' has the type int: expected string or binary"),
        ("value string, partition bigint", "load: column 'partition' has the type bigint: expected int"),
        (
            "value string, headers map<string,binary>",
            "column 'headers' has the type map<string,binary>: expected array",
        ),
        ("value string, timestamp string", "column 'timestamp' has the type string: expected timestamp, or long"),
        ("key string", r"load: there is no column 'value' \(string or binary\) among \['key'\]"),
        ("value string", "load: there is no topic: expected a column 'topic'"),
    ],
)
def test_a_wrong_column_is_refused_with_its_type_and_the_expected_one(columns, message):
    with pytest.raises(ScenarioError, match=message):
        check_columns(schema(columns), "load", topic=None)


def test_rows_go_to_their_topics_in_their_order_with_timestamps_in_milliseconds():
    batch = pa.record_batch(
        {
            "value": ["1", "2", "3"],
            "topic": ["b", "a", "b"],
            "timestamp": pa.array([1_500, 2_999, None], pa.timestamp("us", "UTC")),
        }
    )
    tables = dict(tables_by_topic(batch, None))
    assert {topic: table.to_pydict() for topic, table in tables.items()} == {
        "b": {"value": ["1", "3"], "timestamp": [1, None]},
        "a": {"value": ["2"], "timestamp": [2]},
    }
    [(topic, table)] = tables_by_topic(batch, "all")
    assert (topic, table["value"].to_pylist()) == ("all", ["1", "2", "3"])


def test_nulls_where_a_record_has_none_are_refused():
    with pytest.raises(ScenarioError, match="column 'topic' has a null"):
        list(tables_by_topic(pa.record_batch({"value": ["1"], "topic": pa.array([None], pa.string())}), None))
    headers = pa.array([[{"key": None, "value": b""}]], HEADERS)
    with pytest.raises(ScenarioError, match="column 'headers' has a null header or key"):
        record_table(pa.record_batch({"value": ["1"], "headers": headers}))
    record_table(pa.record_batch({"value": ["1"], "headers": pa.array([None], HEADERS)}))
