import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.workloads.load_source import TopicSource, load_source


def test_a_source_is_a_path_that_exists_or_a_topic(tmp_path):
    assert load_source(str(tmp_path)) == tmp_path
    assert load_source("kafka://host:9092/orders.v1") == TopicSource("host:9092", "orders.v1")
    assert load_source("kafka://a:1,b:2/orders").bootstrap_servers == "a:1,b:2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("absent.parquet", "--load absent.parquet does not exist: expected a Parquet file"),
        ("kafka://host/orders", "--load kafka://host/orders: expected kafka://HOST:PORT/TOPIC"),
        ("kafka://host:9092/", "expected kafka://HOST:PORT/TOPIC"),
    ],
)
def test_another_text_is_refused(text, message):
    with pytest.raises(ScenarioError, match=message):
        load_source(text)
