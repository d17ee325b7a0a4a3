from __future__ import annotations

from dataclasses import fields

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.definitions import broker_definitions, describe_order, topic_definitions
from broker_sim.config.release_behaviour import ReleaseBehaviour, behaviour_of
from broker_sim.config.topic_config import TopicConfig
from broker_sim.errors import ConfigError
from protocol_specs import releases

ALL_RELEASES = releases.names()


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("0.8", "0.8.2.2"),
        ("0.10.2", "0.10.2.2"),
        ("1.1", "1.1.1"),
        ("2.8", "2.8.2"),
        ("3.7", "3.7.2"),
        ("4.3", "4.3.1"),
    ],
)
def test_a_short_name_is_the_newest_patch(short: str, full: str) -> None:
    assert behaviour_of(short) == behaviour_of(full)
    assert behaviour_of(short).release == full


@pytest.mark.parametrize("name", [field.name for field in fields(ReleaseBehaviour) if field.name != "release"])
def test_every_switch_has_a_value_in_every_release_and_differs_between_two(name: str) -> None:
    values = [getattr(behaviour_of(release), name) for release in ALL_RELEASES]
    assert all(type(value) is type(values[0]) for value in values)
    assert len(set(values)) > 1


@pytest.mark.parametrize(
    ("release", "magic", "codec", "zookeeper"),
    [
        ("0.8.0", 0, 2, True),
        ("0.9.0.1", 0, 3, True),
        ("0.10.0.1", 1, 3, True),
        ("0.11.0.3", 2, 3, True),
        ("2.0.1", 2, 3, True),
        ("2.1.1", 2, 4, True),
        ("3.2.3", 2, 4, True),
        ("3.3.2", 2, 4, False),
        ("4.3.1", 2, 4, False),
    ],
)
def test_formats_codecs_and_zookeeper_come_and_go(release: str, magic: int, codec: int, *, zookeeper: bool) -> None:
    behaviour = behaviour_of(release)
    assert (behaviour.newest_magic, behaviour.newest_codec, behaviour.zookeeper) == (magic, codec, zookeeper)


@pytest.mark.parametrize("release", ALL_RELEASES)
def test_each_release_has_whole_configurations(release: str) -> None:
    broker = BrokerConfig.parse({}, release=release)
    topic = TopicConfig.resolve({}, broker)
    assert broker["num.io.threads"] == 8
    assert (topic.segment_bytes, topic.retention_ms, topic.delete) == (2**30, 7 * 24 * 3_600_000, True)
    assert "message.max.bytes" in broker_definitions(release)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("unclean.leader.election.enable", {"0.8.2.2": True, "0.10.2.2": True, "0.11.0.3": False, "4.3.1": False}),
        ("delete.topic.enable", {"0.8.2.2": False, "0.11.0.3": False, "1.0.2": True, "4.3.1": True}),
        ("offsets.retention.minutes", {"0.8.2.2": 1440, "1.1.1": 1440, "2.0.1": 10_080}),
        ("replica.lag.time.max.ms", {"0.8.0": 10_000, "2.4.1": 10_000, "2.5.1": 30_000}),
        ("message.max.bytes", {"0.8.0": 1_000_012, "2.4.1": 1_000_012, "2.5.1": 1_048_588}),
        ("zookeeper.session.timeout.ms", {"0.8.0": 6_000, "2.4.1": 6_000, "2.5.1": 18_000}),
        ("group.initial.rebalance.delay.ms", {"0.11.0.3": 3_000}),
        ("log.cleaner.enable", {"0.8.2.2": False, "0.9.0.1": True}),
        ("num.recovery.threads.per.data.dir", {"3.9.2": 1, "4.0.0": 2}),
    ],
)
def test_defaults_are_those_of_the_time(name: str, values: dict[str, object]) -> None:
    for release, default in values.items():
        assert broker_definitions(release)[name].default == default, release


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("replica.lag.max.messages", "0.8.0", "0.8.2.2"),
        ("port", "0.8.0", "2.8.2"),
        ("log.message.format.version", "0.10.0.1", "3.9.2"),
        ("inter.broker.protocol.version", "0.9.0.1", "3.9.2"),
        ("log.message.timestamp.difference.max.ms", "0.10.0.1", "3.9.2"),
        ("log.message.timestamp.before.max.ms", "3.6.2", "4.3.1"),
        ("log.message.downconversion.enable", "2.0.1", "3.9.2"),
        ("transaction.state.log.min.isr", "0.11.0.3", "4.3.1"),
        ("max.incremental.fetch.session.cache.slots", "1.1.1", "4.3.1"),
        ("replica.selector.class", "2.4.1", "4.3.1"),
    ],
)
def test_configurations_are_known_while_they_existed(name: str, first: str, last: str) -> None:
    known = [release for release in ALL_RELEASES if name in broker_definitions(release)]
    assert (known[0], known[-1]) == (first, last)
    assert len(known) == ALL_RELEASES.index(last) - ALL_RELEASES.index(first) + 1


def test_topics_had_no_configurations_in_the_beginning() -> None:
    assert not topic_definitions("0.8.0")
    assert "min.insync.replicas" not in topic_definitions("0.8.1")
    assert "min.insync.replicas" in topic_definitions("0.8.2.2")


def test_a_topic_inherits_from_its_broker_what_it_had_no_name_for() -> None:
    broker = BrokerConfig.parse({"log.segment.bytes": "5000000", "log.retention.hours": "2"}, release="0.8.0")
    topic = TopicConfig.resolve({}, broker)
    assert (topic.segment_bytes, topic.retention_ms) == (5_000_000, 7_200_000)


def test_a_configuration_of_another_release_is_refused_but_what_was_done_instead_is_known() -> None:
    broker = BrokerConfig.parse({}, release="0.10.2")
    with pytest.raises(ConfigError, match="unknown broker configuration"):
        BrokerConfig.parse({"max.connections": "3"}, release="0.10.2")
    assert broker["max.connections"] == 2**31 - 1
    assert "max.connections" not in broker.values


@pytest.mark.parametrize(
    ("release", "version", "magic"),
    [
        ("0.9.0.1", None, 0),
        ("0.10.2.2", None, 1),
        ("0.10.2.2", "0.9.0.1", 0),
        ("0.11.0.3", None, 2),
        ("0.11.0.3", "0.10.2", 1),
        ("2.8.2", "0.9.0", 0),
        ("2.8.2", "0.10.1-IV2", 1),
        ("2.8.2", "1.0", 2),
        ("3.0.2", "0.9.0", 2),
        ("3.7.2", "0.10.2", 2),
    ],
)
def test_message_format_version_counts_until_3_0(release: str, version: str | None, magic: int) -> None:
    overrides = {} if version is None else {"message.format.version": version}
    assert TopicConfig.resolve(overrides, BrokerConfig.parse({}, release=release)).magic == magic


def test_the_time_bounds_of_records_are_one_before_3_6_and_none_before_0_10() -> None:
    bound = {"message.timestamp.difference.max.ms": "1000"}
    topic = TopicConfig.resolve(bound, BrokerConfig.parse({}, release="2.8"))
    assert (topic.message_timestamp_before_max_ms, topic.message_timestamp_after_max_ms) == (1_000, 1_000)
    oldest = TopicConfig.resolve({}, BrokerConfig.parse({}, release="0.9"))
    assert oldest.message_timestamp_after_max_ms == 2**63 - 1


@pytest.mark.parametrize("release", ALL_RELEASES)
def test_configurations_are_described_in_an_order_from_0_11_on(release: str) -> None:
    shown = [name for name, row in broker_definitions(release).items() if row.shown]
    assert sorted(describe_order("broker", release)) == (shown if 32 in releases.get(release).api_versions else [])
