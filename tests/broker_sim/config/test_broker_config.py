from __future__ import annotations

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.definitions import broker_definitions, topic_definitions
from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.config.values import parse_value, render_value
from broker_sim.errors import ConfigError


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_defaults_are_typed_and_reachable_by_attribute(release: str) -> None:
    config = BrokerConfig.parse({}, release=release)
    assert config.num_io_threads == config["num.io.threads"] == 8
    assert config.auto_create_topics_enable is True
    assert config.replica_lag_time_max_ms == 30_000


def test_overrides_are_typed() -> None:
    config = BrokerConfig.parse({"num.io.threads": " 3 ", "auto.create.topics.enable": "FALSE"})
    assert config.num_io_threads == 3
    assert config.auto_create_topics_enable is False


def test_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"'num.io.thread' for release 4.3.1; did you mean 'num.io.threads'"):
        BrokerConfig.parse({"num.io.thread": "3"})


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("num.io.threads", "0", "Value must be at least 1"),
        ("num.io.threads", "many", "Not a number of type INT"),
        ("num.io.threads", "2147483648", "Not a number of type INT"),
        ("auto.create.topics.enable", "yes", "Expected value to be either true or false"),
        (
            "compression.type",
            "brotli",
            "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
        ),
        ("group.consumer.migration.policy", "x", r"String must be one of \(case insensitive\): DISABLED, DOWNGRADE"),
    ],
)
def test_bad_value_is_refused_in_kafkas_words(name: str, text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"Invalid value {text} for configuration {name}: {reason}"):
        BrokerConfig.parse({name: text})


def test_each_mistake_has_a_line_of_its_own() -> None:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig.parse({"num.partitons": "2", "min.insync.replicas": "x", "log.dirs": "a"})
    unknown, invalid = str(refused.value).splitlines()
    assert "did you mean 'num.partitions'" in unknown
    assert "min.insync.replicas" in invalid


def test_sessions_without_time_for_a_heartbeat_are_a_warning() -> None:
    assert BrokerConfig.parse({}).warnings == []
    [warning] = BrokerConfig.parse({"broker.session.timeout.ms": "1000"}).warnings
    assert warning.startswith("broker.heartbeat.interval.ms=2000 is not below broker.session.timeout.ms=1000")


def test_option_of_another_release_is_unknown() -> None:
    assert BrokerConfig.parse({"log.message.downconversion.enable": "true"}, release="3.7").release == "3.7.2"
    with pytest.raises(ConfigError, match="unknown broker configuration"):
        BrokerConfig.parse({"log.message.downconversion.enable": "true"}, release="4.3")


def test_options_that_nothing_acts_on_are_named() -> None:
    config = BrokerConfig.parse({"log.cleaner.threads": "2", "num.io.threads": "2", "log.segment.bytes": "2000000"})
    assert config.without_effect == ["log.cleaner.threads"]


def test_unknown_release_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"release '2.9' is not emulated: known are 0.8.0, .*4.3.1"):
        behaviour_of("2.9")


@pytest.mark.parametrize(("written", "meant"), [("1.0.0", "1.0.2"), ("2.4.0", "2.4.1"), ("3.7.9", "3.7.2")])
def test_the_hint_for_an_unknown_patch_is_of_the_same_minor(written: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean '{meant}'"):
        behaviour_of(written)


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_rendered_defaults_parse_back_to_themselves(release: str) -> None:
    for definitions in (broker_definitions(release), topic_definitions(release)):
        for definition in definitions.values():
            text = render_value(definition, definition.default)
            if text:
                assert parse_value(definition, text) == definition.default


def test_doubles_print_as_java_prints_them() -> None:
    definition = broker_definitions("4.3.1")["log.cleaner.io.max.bytes.per.second"]
    assert render_value(definition, 1.7976931348623157e308) == "1.7976931348623157E308"
    assert render_value(definition, 0.5) == "0.5"
    assert render_value(definition, 10_000_000.0) == "1.0E7"
    assert [render_value(definition, parse_value(definition, text)) for text in ("NaN", "-Infinity")] == [
        "NaN",
        "-Infinity",
    ]


@pytest.mark.parametrize(
    ("text", "value"), [("1f", 1.0), (" .5", 0.5), ("0x1p-1", 0.5), ("1e-3", 0.001), ("+2.d", 2.0)]
)
def test_doubles_are_read_as_java_reads_them(text: str, value: float) -> None:
    assert parse_value(broker_definitions("4.3.1")["log.cleaner.io.max.bytes.per.second"], text) == value


@pytest.mark.parametrize("text", ["nan", "inf", "1_0", "0x1", "", "1,5", "e5"])
def test_doubles_of_python_are_not_javas(text: str) -> None:
    with pytest.raises(ConfigError, match="Not a number of type DOUBLE"):
        parse_value(broker_definitions("4.3.1")["log.cleaner.io.max.bytes.per.second"], text)
