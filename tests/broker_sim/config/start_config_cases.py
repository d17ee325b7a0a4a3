"""Settings of a broker at its start: the result of KafkaConfig itself is recorded beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.definitions import broker_definitions
from broker_sim.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

Settings: TypeAlias = dict[str, str]

RELEASES: Final = ("3.7.2", "4.3.1")
RECORDED: Final = Path(__file__).parent / "recorded" / "start-configs.json"
GIVEN_BY_EVERYBODY: Final = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "control.plane.listener.name",
        "controller.listener.names",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
        "early.start.listeners",
        "inter.broker.listener.name",
        "inter.broker.protocol.version",
        "listener.security.protocol.map",
        "listeners",
        "log.dir",
        "log.dirs",
        "node.id",
        "process.roles",
        "security.inter.broker.protocol",
        "zookeeper.connect",
    }
)
"""The settings of addresses and quorums: tested with the listeners."""
VALUES: Final = (
    *("", "0", "1", "2", "7", "-1", "-2", "99", "100", "101", "999", " 5 ", "0.5", "-0.1", "1.1", "nan", "x", "a,b"),
    *("15000", "15001", "60000", "524287", "524288", "1048576", "1048577", "104857599"),
    *("2147483647", "-2147483648", "2147483648", "9223372036854775807", "9223372036854775808"),
    *("true", "TRUE", "none", "all", "CLASSIC", "uniform", "simple", "gzip", "PLAINTEXT", "127.0.0.1:5", "a:b"),
)


def alone(release: str) -> Iterator[Settings]:
    """Each configuration of a release with each of the values."""
    for name in broker_definitions(release):
        if name not in GIVEN_BY_EVERYBODY:
            for value in VALUES:
                yield {name: value}


def known(settings: Settings, release: str) -> bool:
    """Return True if a release has all these names: Kafka ignores others."""
    return settings.keys() <= broker_definitions(release).keys()


def ours(settings: Settings, release: str) -> str:
    """Why our broker would not start with them; empty if it would."""
    try:
        BrokerConfig.parse(settings, release=release)
    except ConfigError as error:
        return str(error)
    return ""


def read_recorded() -> dict[str, list[str]]:
    """The results of the real releases for `TOGETHER`, in its order."""
    results: dict[str, list[str]] = json.loads(RECORDED.read_text())
    return results


def _group(kind: str, **values: int) -> Settings:
    return {f"group.{kind}.{name.replace('_', '.')}": str(value) for name, value in values.items()}


TOGETHER: Final[tuple[Settings, ...]] = (
    _group("consumer", heartbeat_interval_ms=50_000),
    _group("consumer", heartbeat_interval_ms=1, session_timeout_ms=1),
    _group("consumer", session_timeout_ms=1, assignment_interval_ms=60_000),
    _group("consumer", assignment_interval_ms=60_000) | _group("share", session_timeout_ms=1),
    _group("share", session_timeout_ms=1) | _group("streams", session_timeout_ms=1),
    *(
        _group(
            kind,
            heartbeat_interval_ms=15_000,
            max_heartbeat_interval_ms=50_000,
            session_timeout_ms=15_000,
            min_session_timeout_ms=100,
        )
        for kind in ("consumer", "share", "streams")
    ),
    _group("share", record_lock_duration_ms=40_000, max_record_lock_duration_ms=30_000),
    _group("share", record_lock_duration_ms=1_000, delivery_count_limit=9, max_delivery_count_limit=7),
    _group("share", record_lock_duration_ms=1_000, max_size=1_000, max_share_sessions=10),
    _group("share", delivery_count_limit=3, min_delivery_count_limit=4),
    _group("share", partition_max_record_locks=9_000, max_partition_max_record_locks=5_000, max_share_sessions=1),
    _group("share", max_size=1_000, max_share_sessions=10) | {"log.roll.ms": "0"},
    _group("share", record_lock_duration_ms=1_000) | _group("streams", session_timeout_ms=1),
    _group("streams", num_standby_replicas=3, assignment_interval_ms=60_000),
    {"group.consumer.assignors": "x", "group.consumer.session.timeout.ms": "1"},
    {"group.consumer.assignors": "org.apache.kafka.coordinator.group.assignor.RangeAssignor"},
    {"group.consumer.assignors": "uniform,uniform"},
    {"group.share.assignors": "simple,x"},
    {"group.coordinator.rebalance.protocols": "consumer"},
    {"group.coordinator.rebalance.protocols": "classic"},
    {"offsets.topic.compression.codec": "9", "group.consumer.session.timeout.ms": "1"},
    {"offsets.topic.compression.codec": "9", "group.consumer.assignors": "x"},
    {"share.coordinator.state.topic.compression.codec": "8", "group.share.record.lock.duration.ms": "1000"},
    {"share.coordinator.state.topic.compression.codec": "8", "log.roll.ms": "0"},
    {"offsets.commit.required.acks": "0", "offsets.topic.replication.factor": "1"},
    {"offsets.commit.required.acks": "3", "offsets.topic.replication.factor": "1"},
    {"log.cleaner.threads": "0", "log.roll.ms": "0"},
    {"log.cleaner.threads": "200"},
    {"log.retention.hours": "0"},
    {"log.retention.hours": "0", "log.retention.minutes": "5"},
    {"log.retention.minutes": "0", "log.retention.hours": "1"},
    {"log.retention.ms": "0", "log.retention.hours": "1"},
    {"log.retention.ms": "-5"},
    {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5"},
    {"max.connections.per.ip": "0", "queued.max.request.bytes": "100"},
    {"max.connections.per.ip.overrides": "a b:1"},
    *(
        {"max.connections.per.ip.overrides": text}
        for text in ("a:x", "10.0.0.1", ":3", "a:1,b", "a:2147483648", "::1:3,")
    ),
    {"replica.fetch.wait.max.ms": "40000"},
    {"replica.fetch.wait.max.ms": "40000", "replica.socket.timeout.ms": "50000"},
    {"queued.max.request.bytes": "100", "socket.request.max.bytes": "100"},
    {"connections.max.idle.ms": "-1"},
    {"connections.max.idle.ms": "50"},
    {"connections.max.idle.ms": "50", "connection.failed.authentication.delay.ms": "49"},
    {"connections.max.idle.ms": "1", "max.connections.per.ip": "0"},
    {"cordoned.log.dirs": "*,/data/one", "log.dirs": "/data/one"},
    {"cordoned.log.dirs": "*", "log.dirs": "/data/one"},
    {"cordoned.log.dirs": "/data/two", "log.dirs": "/data/one, /data/two/"},
    {"cordoned.log.dirs": "/data/two", "log.dirs": "/data/one, /data/two"},
    {"cordoned.log.dirs": "/data/two", "max.connections.per.ip": "0"},
    {"principal.builder.class": "java.lang.String"},
    {"principal.builder.class": "java.lang.String", "max.connections.per.ip": "0"},
    {"zookeeper.metadata.migration.enable": "true"},
    {"zookeeper.metadata.migration.enable": "true", "log.roll.ms": "0"},
)
"""Settings that are validated together."""
