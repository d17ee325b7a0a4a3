"""Reading metrics by plain name, by group and by tags, and missing metrics."""

from __future__ import annotations

import pytest

from broker_client.errors import ProducerError
from broker_client.metrics import Metric, MetricName, MetricsSnapshot


def metric(group: str, name: str, value: float | str, **tags: str) -> Metric:
    return Metric(metric_name=MetricName(group=group, name=name, tags=tuple(tags.items())), value=value)


SNAPSHOT = MetricsSnapshot(
    [
        metric("producer-topic-metrics", "record-send-total", 3.0, topic="orders"),
        metric("producer-metrics", "record-send-total", 5.0),
        metric("producer-topic-metrics", "record-send-total", 2.0, topic="carts"),
        metric("app-info", "version", "1.2"),
    ]
)


def test_a_plain_name_means_the_whole_producer() -> None:
    assert SNAPSHOT["record-send-total"] == SNAPSHOT.value("record-send-total") == 5
    with pytest.raises(KeyError):
        SNAPSHOT["record-send-rate"]


def test_tags_name_the_topic() -> None:
    assert SNAPSHOT.value("record-send-total", topic="carts") == 2
    assert len(SNAPSHOT.find("record-send-total", group="producer-topic-metrics")) == 2


def test_values_have_group_name_and_tags() -> None:
    name = MetricName(group="producer-topic-metrics", name="record-send-total", tags=(("topic", "orders"),))
    assert SNAPSHOT.by_name()[name] == 3
    assert len(SNAPSHOT) == len(SNAPSHOT.by_name()) == 4


def test_no_metric_and_several_metrics_are_errors() -> None:
    with pytest.raises(ProducerError, match="no metric 'record-sent-total'; did you mean 'record-send-total'"):
        SNAPSHOT.value("record-sent-total")
    with pytest.raises(ProducerError, match="2 metrics 'record-send-total' of producer-topic-metrics"):
        SNAPSHOT.value("record-send-total", group="producer-topic-metrics")
    with pytest.raises(ProducerError, match="'version' is text"):
        SNAPSHOT.value("version")
