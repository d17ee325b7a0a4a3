from __future__ import annotations

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.errors import ConfigError
from protocol_specs.records.batch_peek import TimestampType


def test_topic_overrides_win_over_the_broker() -> None:
    broker = BrokerConfig.parse({"message.max.bytes": "700"})
    assert TopicConfig.resolve({}, broker).max_message_bytes == 700
    assert TopicConfig.resolve({"max.message.bytes": "100"}, broker).max_message_bytes == 100


def test_broker_synonym_is_converted_to_the_topics_unit() -> None:
    assert TopicConfig.resolve({}, BrokerConfig.parse({"log.retention.hours": "2"}))["retention.ms"] == 7_200_000


def test_first_synonym_that_is_set_wins() -> None:
    broker = BrokerConfig.parse({"log.retention.hours": "2", "log.retention.ms": "5"})
    assert TopicConfig.resolve({}, broker)["retention.ms"] == 5


def test_compaction_and_append_time_are_attributes() -> None:
    overrides = {"cleanup.policy": "compact,delete", "message.timestamp.type": "LogAppendTime"}
    config = TopicConfig.resolve(overrides, BrokerConfig.parse({}))
    assert config.compact
    assert config.timestamp_type is TimestampType.LOG_APPEND_TIME


def test_unknown_topic_configuration_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'retention\.ms'"):
        TopicConfig.resolve({"retention.m": "1"}, BrokerConfig.parse({}))


def test_old_bound_of_timestamps_holds_where_a_new_one_is_not_set() -> None:
    overrides = {"message.timestamp.difference.max.ms": "7", "message.timestamp.before.max.ms": "9"}
    config = TopicConfig.resolve(overrides, BrokerConfig.parse({}, release="3.7.2"))
    assert (config.message_timestamp_before_max_ms, config.message_timestamp_after_max_ms) == (9, 7)
    assert config["message.timestamp.after.max.ms"] == 2**63 - 1


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("4.3.1", "Configuration 'cleanup.policy' values must not be empty."),
        ("3.7.2", "Invalid value  for configuration cleanup.policy: String must be one of: compact, delete"),
    ],
)
def test_empty_items_are_refused_in_the_words_of_the_release(release: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        TopicConfig.resolve({"cleanup.policy": "compact,"}, BrokerConfig.parse({}, release=release))


@pytest.mark.parametrize(("release", "after_max_ms"), [("3.7.2", 2**63 - 1), ("4.3.1", 3_600_000)])
def test_allowed_future_of_timestamps_depends_on_the_release(release: str, after_max_ms: int) -> None:
    config = TopicConfig.resolve({}, BrokerConfig.parse({}, release=release))
    assert config.message_timestamp_after_max_ms == after_max_ms


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "preallocate",
            " 7 ",
            "Invalid value  7  for configuration preallocate: Expected value to be either true or false",
        ),
        (
            "min.cleanable.dirty.ratio",
            "2147483647",
            "Invalid value 2.147483647E9 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
        ),
        (
            "cleanup.policy",
            "none,",
            "Invalid value none for configuration cleanup.policy: String must be one of: compact, delete",
        ),
    ],
)
def test_refusals_show_values_as_java_does(name: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TopicConfig.resolve({name: value}, BrokerConfig.parse({}, release="4.3.1"))
    assert str(caught.value) == message


def test_digits_of_any_script_are_digits() -> None:
    config = TopicConfig.resolve({"retention.ms": "\N{ARABIC-INDIC DIGIT THREE}"}, BrokerConfig.parse({}))
    assert config["retention.ms"] == 3
