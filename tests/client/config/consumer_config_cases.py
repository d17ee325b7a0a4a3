"""Settings for ConsumerConfig and KafkaConsumer: values by key, then rules between keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

Settings: TypeAlias = Mapping[str, str]

RECORDED: Final = Path(__file__).parent / "recorded" / "consumer-config-4.3.1.json"
GROUND: Final[Settings] = {"bootstrap.servers": "127.0.0.1:51999"}
_JAVA: Final = "org.apache.kafka.clients.consumer."
_NUMBER: Final = ("0", "1", "-1", "-2", "x", "")
_FLAG: Final = ("true", "FALSE", "maybe", "")
_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "allow.auto.create.topics": _FLAG,
    "auto.commit.interval.ms": _NUMBER,
    "auto.offset.reset": (
        *("earliest", "latest", "none", "Latest", "", "x"),
        *("by_duration:P1D", "by_duration:PT0S", "by_duration:PT1.5S", "by_duration:-PT1H", "by_duration:PT-1H"),
        *("by_duration", "by_duration:", "by_duration:x", "BY_DURATION:PT1H", "by_duration:P1Y"),
    ),
    "check.crcs": _FLAG,
    "client.dns.lookup": ("use_all_dns_ips", "default", ""),
    "client.id": ("c", ""),
    "client.rack": ("r", ""),
    "connections.max.idle.ms": _NUMBER,
    "default.api.timeout.ms": _NUMBER,
    "enable.metrics.push": _FLAG,
    "exclude.internal.topics": _FLAG,
    "fetch.max.bytes": _NUMBER,
    "fetch.min.bytes": _NUMBER,
    "group.id": ("g", "", "  "),
    "group.instance.id": ("i", ""),
    "group.protocol": ("classic", "CLASSIC", "x", ""),
    "interceptor.classes": ("", "nope.X"),
    "isolation.level": ("read_committed", "read_uncommitted", "READ_COMMITTED", "x"),
    "max.partition.fetch.bytes": _NUMBER,
    "max.poll.interval.ms": _NUMBER,
    "max.poll.records": _NUMBER,
    "metadata.max.age.ms": _NUMBER,
    "metadata.recovery.rebootstrap.trigger.ms": _NUMBER,
    "metadata.recovery.strategy": ("none", "Rebootstrap", "x"),
    "metrics.num.samples": _NUMBER,
    "metrics.recording.level": ("INFO", "DEBUG", "info", ""),
    "metrics.sample.window.ms": _NUMBER,
    "receive.buffer.bytes": _NUMBER,
    "reconnect.backoff.max.ms": _NUMBER,
    "reconnect.backoff.ms": _NUMBER,
    "request.timeout.ms": ("30000", "-1", "x"),
    "retry.backoff.max.ms": _NUMBER,
    "retry.backoff.ms": _NUMBER,
    "send.buffer.bytes": _NUMBER,
    "socket.connection.setup.timeout.ms": ("1", "x"),
}
_GROUP: Final = {"group.id": "g"}
_CONSUMER: Final = {"group.id": "g", "group.protocol": "consumer"}
_RULES: Final[tuple[Settings, ...]] = (
    {},
    {"bootstrap.servers": ""},
    {"bootstrap.servers": "x"},
    {"enable.auto.commit": "true"},
    {"enable.auto.commit": "false"},
    {"group.protocol": "consumer"},
    {"heartbeat.interval.ms": "50000"},
    {"group.instance.id": "i"},
    {**_GROUP, "enable.auto.commit": "true"},
    {**_GROUP, "group.instance.id": ""},
    {**_GROUP, "group.remote.assignor": "uniform"},
    *({**_GROUP, "heartbeat.interval.ms": one} for one in ("0", "-1", "44999", "45000", "x")),
    *({**_GROUP, "session.timeout.ms": one} for one in ("3001", "3000", "0", "-1", "x")),
    {**_GROUP, "partition.assignment.strategy": ""},
    {**_GROUP, "partition.assignment.strategy": "nope"},
    {**_GROUP, "partition.assignment.strategy": f"{_JAVA}StickyAssignor,{_JAVA}RoundRobinAssignor"},
    _CONSUMER,
    {**_CONSUMER, "group.protocol": "CONSUMER"},
    {**_CONSUMER, "group.remote.assignor": "uniform"},
    {**_CONSUMER, "session.timeout.ms": "45000"},
    {**_CONSUMER, "heartbeat.interval.ms": "3000"},
    {**_CONSUMER, "partition.assignment.strategy": f"{_JAVA}RangeAssignor"},
    {**_CONSUMER, "client.rack": "r", "group.instance.id": "i"},
)


def all_settings() -> list[Settings]:
    """Return all cases."""
    return [{key: value} for key, values in _VALUES.items() for value in values] + list(_RULES)
