"""The options of Consumer and Admin, and compressed records without the package that decompresses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client import Admin, Consumer, Producer, TopicPartition
from broker_client.consumer import FetchOptions
from broker_client.consumer_errors import InvalidGroupId
from broker_client.errors import ConfigError, ProducerError
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

SERVERS = "localhost:1"


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"]) as running:
        yield running


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"enable_auto_commit": True}, r"enable\.auto\.commit=True: automatic commits need a group\.id"),
        ({"group_id": " "}, r"group\.id='': expected a name that is not empty"),
        ({"group_id": "g", "heartbeat_interval_ms": 45_000}, r"heartbeat\.interval\.ms=45000: must be below session"),
        (
            {"group_id": "g", "group_protocol": "CONSUMER", "session_timeout_ms": 6_000},
            r"session\.timeout\.ms cannot be set when group\.protocol=CONSUMER",
        ),
        (
            {"group_id": "g", "group_remote_assignor": "uniform"},
            r"group\.remote\.assignor cannot be set when group\.protocol=CLASSIC",
        ),
        (
            {"group_id": "g", "partition_assignment_strategy": "stickiest"},
            r"partition\.assignment\.strategy='stickiest': expected range, roundrobin, sticky, cooperative-sticky or",
        ),
    ],
)
def test_options_of_groups_that_contradict_each_other_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Consumer(bootstrap_servers=SERVERS, **options)


def test_a_consumer_without_a_group_neither_subscribes_nor_commits() -> None:
    with Consumer(bootstrap_servers=SERVERS, enable_auto_commit=False) as consumer:
        for call in (consumer.commit, consumer.commit_async, consumer.group_metadata, lambda: consumer.committed([])):
            with pytest.raises(InvalidGroupId, match=r"needs a consumer group: set group\.id"):
                call()  # type: ignore[operator]
        with pytest.raises(InvalidGroupId, match=r"subscribe needs a consumer group: set group\.id"):
            consumer.subscribe(["t"])


@pytest.mark.parametrize(
    ("client", "options", "message"),
    [
        (
            Admin,
            {"request_timeout": 3},
            r"unknown configuration 'request_timeout'; did you mean 'request\.timeout\.ms'\?",
        ),
        (Consumer, {"auto.offset.rest": "latest"}, r"'auto\.offset\.rest'; did you mean 'auto\.offset\.reset'\?"),
        (
            Consumer,
            {"fetch_min_byte": 1},
            r"unknown configuration 'fetch_min_byte'; did you mean 'fetch\.min\.bytes'\?",
        ),
        (Admin, {"fetch_min_bytes": 1}, r"unknown configuration 'fetch_min_bytes'"),
        (Consumer, {"auto_offset_reset": "newest"}, r"auto\.offset\.reset='newest': expected earliest, latest, none"),
        (Consumer, {"fetch_max_wait_ms": 0.5}, r"fetch\.max\.wait\.ms=0\.5: expected a whole number of 32 bits"),
        (Consumer, {"check_crcs": 1}, r"check\.crcs=1: expected true or false"),
        (Admin, {"request_timeout_ms": True}, r"request\.timeout\.ms=True: expected a whole number"),
        (Admin, {"request_timeout_ms": -1}, r"request\.timeout\.ms=-1: expected at least 0"),
        (
            Admin,
            {"security_protocol": "SASL_SSL"},
            r"sasl\.mechanism='GSSAPI' is refused: use one of PLAIN, SCRAM-SHA-256",
        ),
        (Admin, {"ssl_provider": "BC"}, r"ssl\.provider='BC' is refused: it names a part of a JVM"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(
    client: Callable[..., Any], options: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        client(bootstrap_servers=SERVERS, **options)


def test_bootstrap_servers_are_required() -> None:
    with pytest.raises(ConfigError, match=r"missing required configuration bootstrap\.servers"):
        Consumer()


def test_fetch_options_check_themselves() -> None:
    with pytest.raises(
        ConfigError, match=r"auto\.offset\.reset='newest': expected earliest, latest, none, or by_duration"
    ):
        FetchOptions(auto_offset_reset="newest")
    with pytest.raises(ConfigError, match=r"fetch\.min\.bytes=-1: expected a number from 0 on"):
        FetchOptions(fetch_min_bytes=-1)


def test_options_are_taken_as_numbers_booleans_or_text(cluster: ThreadedCluster) -> None:
    options: dict[str, Any] = {"request.timeout.ms": "20000", "fetch_max_wait_ms": " 50 ", "check.crcs": "False"}
    with Consumer(bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="latest", **options) as consumer:
        core = consumer._consumer
        assert core._core.options.network.request_timeout_ms == 20_000
        assert (core._options.fetch_max_wait_ms, core._options.check_crcs) == (50, False)
        assert core._options.auto_offset_reset == "latest"


def test_topic_configurations_are_taken_as_numbers_booleans_or_text(cluster: ThreadedCluster) -> None:
    configs = {"min.insync.replicas": 1, "unclean.leader.election.enable": True, "min.cleanable.dirty.ratio": 0.25}
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.create_topic("configured", partitions=1, replication_factor=1, configs=configs)
        described = admin.describe_topic_configs("configured")
        assert {name: described[name].value for name in configs} == {
            "min.insync.replicas": "1",
            "unclean.leader.election.enable": "true",
            "min.cleanable.dirty.ratio": "0.25",
        }
        with pytest.raises(ConfigError, match=r"min\.insync\.replicas=\[1\]: expected a text, a number or a boolean"):
            admin.create_topic("other", configs={"min.insync.replicas": [1]})  # type: ignore[dict-item]


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
def test_records_of_a_codec_without_its_package_stay_unread(
    codec: str, cluster: ThreadedCluster, without_cramjam: Callable[[], AbstractContextManager[None]]
) -> None:
    servers = cluster.bootstrap_servers
    for compression in ("gzip", codec):
        with Producer(bootstrap_servers=servers, compression_type=compression) as producer:
            written = producer.send("orders", b"a" * 100).result(10)
    with Consumer(bootstrap_servers=servers) as consumer:
        consumer.assign([TopicPartition("orders", 0)])
        consumer.seek(TopicPartition("orders", 0), written.offset - 1)
        with without_cramjam():
            assert [record.offset for record in consumer.poll(10.0)] == [written.offset - 1]
            for read in (consumer.poll, consumer.poll_batch):
                with pytest.raises(
                    ProducerError, match=f"cannot be read: {codec} needs the package cramjam: pip install"
                ):
                    read(10.0)
        assert [record.offset for record in consumer.poll(10.0)] == [written.offset]
