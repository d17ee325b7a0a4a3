"""CreateTopics, as raw probes see it: the requested configurations and the returned ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.create_topics import CreatableTopicConfig
from tests.differential.case import case
from tests.differential.cases.create_topics import create, new, send_create

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def refused(probe: Probe, version: int = 7, **configs: str | None) -> None:
    """Request a topic with configurations, with validate_only."""
    note = ", ".join(f"{key.replace('_', '.')}={value}" for key, value in configs.items())
    send_create(probe, version, new(f"{probe.name}-x", **configs), validate_only=True, note=note)


def without_id(response: Any) -> Any:
    """Return the response without the new topics' ids."""
    return response | {
        "topics": [{key: v for key, v in each.items() if key != "topicId"} for each in response["topics"]]
    }


@case()
def the_configurations_of_a_new_topic(probe: Probe) -> None:
    for version in (5, 6, 7):
        probe.exchange(create(new(f"{probe.name}-v{version}")), version, only=without_id)


@case()
def the_configurations_of_a_validated_topic(probe: Probe) -> None:
    probe.exchange(create(new(f"{probe.name}-x"), validate_only=True), 7, only=without_id)
    probe.exchange(create(new(f"{probe.name}-x"), validate_only=True), 5)


@case()
def overrides_in_the_response(probe: Probe) -> None:
    topic = new(
        f"{probe.name}-x",
        retention_ms="1000",
        cleanup_policy="compact,delete",
        compression_type="gzip",
        min_insync_replicas="2",
        message_timestamp_type="LogAppendTime",
        max_message_bytes="2000000",
        unclean_leader_election_enable="true",
        min_cleanable_dirty_ratio="0.25",
    )
    probe.exchange(create(topic), 7, only=without_id)


@case()
def values_are_trimmed_and_kept_as_written(probe: Probe) -> None:
    topic = new(f"{probe.name}-x", retention_ms=" 1000 ", cleanup_policy="delete, compact", preallocate="TRUE")
    probe.exchange(create(topic, validate_only=True), 7, only=without_id)
    topic = new(f"{probe.name}-x", compression_type=" gzip", min_cleanable_dirty_ratio="1")
    probe.exchange(create(topic, validate_only=True), 7, only=without_id)


@case()
def unknown_names(probe: Probe) -> None:
    for version in (2, 5, 7):
        refused(probe, version, no_such_config="1")
    refused(probe, Retention_ms="1")
    refused(probe, log_retention_ms="1")
    send_create(
        probe,
        7,
        new(f"{probe.name}-x", no_such_config="1", another_one="2"),
        note="two",
    )
    topic = new(f"{probe.name}-x")
    topic.configs = [CreatableTopicConfig(name="", value="1")]
    send_create(probe, 7, topic, note="empty name")


@case()
def null_values(probe: Probe) -> None:
    for version in (2, 7):
        refused(probe, version, retention_ms=None)
    refused(probe, no_such_config=None)
    refused(probe, retention_ms=None, cleanup_policy=None)


@case()
def empty_values(probe: Probe) -> None:
    for name in ("retention_ms", "cleanup_policy", "compression_type", "preallocate", "min_cleanable_dirty_ratio"):
        refused(probe, **{name: ""})


@case()
def numbers_that_are_none(probe: Probe) -> None:
    for value in ("x", "1.5", "1e3", "0x10", "9223372036854775808", "-9223372036854775809", "1 000", "1_000", "+5"):
        refused(probe, retention_ms=value)
    for value in ("x", "2147483648", "-1", "1.0"):
        refused(probe, max_message_bytes=value)
    for value in ("x", "NaN", "1.1", "-0.1", "1,5", "1f", "0x1p-1", ".5", "1e-3"):
        refused(probe, min_cleanable_dirty_ratio=value)


@case()
def values_as_java_reads_and_shows_them(probe: Probe) -> None:
    for value in ("\N{ARABIC-INDIC DIGIT THREE}", "\N{NO-BREAK SPACE}5", "\t5\n", "\x005"):
        refused(probe, retention_ms=value)
    for value in ("2147483647", "1e300", "Infinity", "12345678.9", "2", "1.00001"):
        refused(probe, min_cleanable_dirty_ratio=value)
    for value in (" 7 ", "\t5", " TRUE\n"):
        refused(probe, preallocate=value)
    for value in ("none,", ",none", "delete,", "delete,,compact"):
        refused(probe, cleanup_policy=value)


@case()
def numbers_out_of_range(probe: Probe) -> None:
    for name, values in {
        "segment_bytes": ("13", "14", "1000", "1048575", "1048576", "2147483647"),
        "segment_ms": ("0", "1"),
        "segment_jitter_ms": ("-1", "0"),
        "segment_index_bytes": ("3", "4"),
        "flush_messages": ("0", "1"),
        "flush_ms": ("-1", "0"),
        "retention_bytes": ("-2", "-1", "0"),
        "retention_ms": ("-2", "-1", "0"),
        "index_interval_bytes": ("-1", "0"),
        "file_delete_delay_ms": ("-1", "0"),
        "delete_retention_ms": ("-1", "0"),
        "min_compaction_lag_ms": ("-1", "0"),
        "max_compaction_lag_ms": ("0", "1"),
        "min_insync_replicas": ("0", "1", "-1", "100"),
        "max_message_bytes": ("0", "1"),
        "message_timestamp_before_max_ms": ("-1", "0"),
        "message_timestamp_after_max_ms": ("-1", "0"),
        "message_timestamp_difference_max_ms": ("-1", "0"),
        "local_retention_ms": ("-3", "-2", "-1", "0"),
        "local_retention_bytes": ("-3", "-2", "-1", "0"),
        "compression_gzip_level": ("0", "-1", "9", "10"),
        "compression_lz4_level": ("0", "17", "18"),
        "compression_zstd_level": ("-131073", "22", "23"),
    }.items():
        for value in values:
            refused(probe, **{name: value})


@case()
def words(probe: Probe) -> None:
    for name, values in {
        "cleanup_policy": ("none", "compact", "delete,compact", "delete,delete", "delete,x", "Delete", ","),
        "compression_type": ("GZIP", "none", "producer", "uncompressed", "zstd", "brotli"),
        "message_timestamp_type": ("CreateTime", "createtime", "logappendtime", "x"),
        "preallocate": ("true", "False", "yes", "1", "t"),
        "unclean_leader_election_enable": ("true", "x"),
        "message_downconversion_enable": ("true", "false"),
        "message_format_version": ("3.0-IV1", "2.8", "x"),
        "remote_storage_enable": ("true", "false", "x"),
        "leader_replication_throttled_replicas": ("*", "0:1", "0:1,1:1", "x", "0:x", "none"),
        "follower_replication_throttled_replicas": ("*", "x"),
    }.items():
        for value in values:
            refused(probe, **{name: value})


@case()
def configurations_that_do_not_go_together(probe: Probe) -> None:
    refused(probe, retention_ms="1000", local_retention_ms="2000")
    refused(probe, retention_bytes="1000", local_retention_bytes="2000")
    refused(probe, min_compaction_lag_ms="100", max_compaction_lag_ms="50")
    refused(probe, remote_storage_enable="true", cleanup_policy="compact")
    refused(probe, remote_log_copy_disable="true")
    refused(probe, remote_log_delete_on_disable="true")


@case()
def the_same_name_twice(probe: Probe) -> None:
    for values in (("1", "2"), ("1", "1"), ("1", "x"), ("x", "1")):
        topic = new(f"{probe.name}-x")
        topic.configs = [CreatableTopicConfig(name="retention.ms", value=value) for value in values]
        probe.exchange(create(topic, validate_only=True), 7, note=str(values), only=without_id)


@case()
def a_good_and_a_bad_one(probe: Probe) -> None:
    refused(probe, retention_ms="1000", segment_ms="x")
    refused(probe, segment_ms="x", flush_ms="y")
    refused(probe, segment_ms="0", flush_ms="y")
    refused(probe, segment_ms="1", no_such_config="y")
    refused(probe, no_such_config="y", segment_ms="x")


@case()
def a_bad_configuration_and_bad_counts(probe: Probe) -> None:
    send_create(probe, 7, new(f"{probe.name}-x", 0, retention_ms="x"))
    send_create(probe, 7, new(f"{probe.name}-x", 1, 7, retention_ms="x"))
    send_create(probe, 7, new("a b", retention_ms="x"))
    send_create(probe, 7, new(f"{probe.name}-x", -1, -1, assigned={1: [1]}, retention_ms="x"))
