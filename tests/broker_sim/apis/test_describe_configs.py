from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.broker_sim.apis.conftest import ApiBench

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
OVERRIDES = {"retention.ms": " 777", "cleanup.policy": "compact, delete"}


def describing(kind: int, name: str, keys: Sequence[str] | None = None, **fields: Any) -> DescribeConfigsRequest:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None if keys is None else list(keys)
    )
    return DescribeConfigsRequest(resources=[resource], **fields)


def described(api: ApiBench, kind: int, name: str, *keys: str) -> dict[str, Any]:
    (result,) = api.exchange(describing(kind, name, keys or None, include_synonyms=True), 4).results
    assert (result.error_code, result.error_message) == (0, "")
    return {entry.name: entry for entry in result.configs}


def synonyms(entry: Any) -> list[tuple[str, str | None, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]


@pytest.fixture
def api(bench: Callable[..., ApiBench]) -> ApiBench:
    config = {"log.retention.hours": "2", "log.segment.bytes": "2000000"}
    return bench(topics=[TopicSpec(name="orders", configs=OVERRIDES)], config=config)


def test_topic_shows_its_own_values_parsed(api: ApiBench) -> None:
    entries = described(api, TOPIC, "orders")
    assert len(entries) == 33
    assert (entries["retention.ms"].value, entries["retention.ms"].config_source) == ("777", 1)
    assert entries["cleanup.policy"].value == "compact,delete"
    assert synonyms(entries["cleanup.policy"]) == [
        ("cleanup.policy", "compact,delete", 1),
        ("log.cleanup.policy", "delete", 5),
    ]


def test_topic_inherits_from_the_brokers_file(api: ApiBench) -> None:
    entry = described(api, TOPIC, "orders", "segment.bytes")["segment.bytes"]
    assert (entry.value, entry.config_source) == ("2000000", 4)
    assert synonyms(entry) == [("log.segment.bytes", "2000000", 4), ("log.segment.bytes", "1073741824", 5)]


def test_minimum_in_sync_is_the_clusters_dynamic_default(api: ApiBench) -> None:
    entry = described(api, TOPIC, "orders", "min.insync.replicas")["min.insync.replicas"]
    assert synonyms(entry) == [("min.insync.replicas", "1", 3), ("min.insync.replicas", "1", 5)]
    assert list(described(api, BROKER, "")) == ["min.insync.replicas"]


def test_broker_shows_its_file_its_identity_and_defaults(api: ApiBench) -> None:
    entries = described(api, BROKER, "1")
    assert len(entries) == 340
    assert synonyms(entries["node.id"]) == [("node.id", "1", 4)]
    assert synonyms(entries["log.retention.hours"]) == [
        ("log.retention.hours", "2", 4),
        ("log.retention.hours", "168", 5),
    ]
    assert (entries["num.io.threads"].value, entries["num.io.threads"].read_only) == ("8", False)
    assert entries["process.roles"].read_only
    assert (entries["ssl.key.password"].value, entries["ssl.key.password"].is_sensitive) == (None, True)


def test_keys_select_and_unknown_ones_are_left_out(api: ApiBench) -> None:
    assert list(described(api, TOPIC, "orders", "nope", "retention.ms", "retention.ms")) == ["retention.ms"]


def test_empty_list_of_keys_means_all(api: ApiBench) -> None:
    assert len(api.exchange(describing(TOPIC, "orders", []), 4).results[0].configs) == 33


def test_synonyms_and_documentation_come_on_request(api: ApiBench) -> None:
    (entry,) = api.exchange(describing(TOPIC, "orders", ["segment.ms"]), 4).results[0].configs
    assert (entry.synonyms, entry.documentation, entry.config_type) == ([], None, 5)
    request = describing(TOPIC, "orders", ["segment.ms"], include_documentation=True)
    (entry,) = api.exchange(request, 4).results[0].configs
    assert entry.documentation == "segment.ms: long; at least 1; default '604800000'"


@pytest.mark.parametrize(
    ("kind", "name", "error_code", "message"),
    [
        (TOPIC, "nope", 3, ""),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (BROKER, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (BROKER, " 1", 42, "Broker id must be an integer, but it is:  1"),
        (LOGGER, "2", 42, "Unexpected broker id, expected 1 but received 2"),
        (LOGGER, "", 42, "Broker id must not be empty"),
        (CLIENT_METRICS, "", 42, "Client metrics subscription name must not be empty"),
        (GROUP, "", 42, "Group name must not be empty"),
    ],
)
def test_bad_resource_is_refused_in_kafkas_words(
    api: ApiBench, kind: int, name: str, error_code: int, message: str
) -> None:
    (result,) = api.exchange(describing(kind, name), 4).results
    assert (result.error_code, result.error_message, result.configs) == (error_code, message, [])


@pytest.mark.parametrize("kind", [0, 1, 3, 64, -1, 99])
def test_unknown_kind_of_resource_is_42(api: ApiBench, kind: int) -> None:
    assert api.exchange(describing(kind, "x"), 4).results[0].error_code == 42


def test_broker_id_is_read_as_a_number(api: ApiBench) -> None:
    assert described(api, BROKER, "01", "num.io.threads")["num.io.threads"].value == "8"


def test_groups_and_client_metrics_show_defaults(api: ApiBench) -> None:
    group = described(api, GROUP, "g")
    assert len(group) == 17
    assert synonyms(group["consumer.session.timeout.ms"]) == [("group.consumer.session.timeout.ms", "45000", 5)]
    assert list(described(api, CLIENT_METRICS, "m")) == ["interval.ms", "match", "metrics"]


def test_3_7_knows_no_groups_and_no_dynamic_default(bench: Callable[..., ApiBench]) -> None:
    api = bench(release="3.7.2", topics=[TopicSpec(name="orders")])
    assert api.exchange(describing(GROUP, "g"), 4).results[0].error_code == 42
    assert described(api, CLIENT_METRICS, "m") == {}
    assert described(api, BROKER, "") == {}
    assert len(described(api, TOPIC, "orders")) == 31


@pytest.mark.parametrize(("release", "no_words"), [("2.6", None), ("2.7", "")])
def test_what_has_no_words_was_null_before_2_7(
    bench: Callable[..., ApiBench], release: str, no_words: str | None
) -> None:
    api = bench(release=release, topics=[TopicSpec(name="orders")])
    responses = [api.exchange(describing(TOPIC, name), 2).results[0] for name in ("orders", "missing", "")]
    assert [(each.error_code, each.error_message) for each in responses] == [
        (0, no_words),
        (3, no_words),
        (17, "Topic name is illegal, it can't be empty"),
    ]


@pytest.mark.parametrize(
    ("release", "types"), [("2.3", [0, 0, 4]), ("2.4", [0, 8, 4]), ("2.6", [0, 8, 4]), ("2.7", [16, 8, 4])]
)
def test_unknown_types_had_an_own_error_text_before_2_7(
    bench: Callable[..., ApiBench], release: str, types: list[int]
) -> None:
    request = describing(CLIENT_METRICS, "m")
    request.resources += describing(LOGGER, "1").resources + describing(BROKER, "1").resources
    results = bench(release=release).exchange(request, 2).results
    text = "Unexpected resource type UNKNOWN for resource m"
    assert [each.resource_type for each in results] == types
    assert {each.error_code for each in results} == {42}
    assert [each.error_message == text for each in results] == [release != "2.7"] * 3


def test_configs_come_in_the_order_of_kafkas_hash_table(api: ApiBench) -> None:
    names = list(described(api, TOPIC, "orders"))
    assert names[:4] == [
        "compression.type",
        "remote.log.delete.on.disable",
        "leader.replication.throttled.replicas",
        "remote.storage.enable",
    ]
