"""The configuration keys of Consumer and Admin. From ConsumerConfig, AdminClientConfig and CommonClientConfigs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.config.config_key import ConfigKey, Importance, KeyStatus, ValueType
from broker_client.config.group_keys import GROUP_KEYS, SHARE_MODE_KEYS
from broker_client.config_keys import KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ADMIN_KEYS", "CONSUMER_KEYS", "FETCH_KEYS", "NOT_OF_SHARE_GROUPS", "SHARE_CONSUMER_KEYS"]

_T = ValueType
_I = Importance

_COMMON: Final = (
    *(
        KEYS[name]
        for name in (
            "bootstrap.servers",
            "client.id",
            "request.timeout.ms",
            "reconnect.backoff.ms",
            "reconnect.backoff.max.ms",
            "connections.max.idle.ms",
            "socket.connection.setup.timeout.ms",
            "socket.connection.setup.timeout.max.ms",
            "client.dns.lookup",
            "metadata.max.age.ms",
            "metadata.recovery.strategy",
            "metadata.recovery.rebootstrap.trigger.ms",
            "security.providers",
            "config.providers",
        )
    ),
    ConfigKey(
        name="default.api.timeout.ms",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=60_000,
        minimum=0,
        doc="Time limit of a call that has no time-out of its own.",
    ),
    ConfigKey(
        name="receive.buffer.bytes",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=-1,
        minimum=-1,
        doc="The socket's receive buffer; -1 leaves it to the operating system, which reads large fetches faster than "
        "with Java's default of 65536.",
    ),
    KEYS["send.buffer.bytes"],
    *(key for name, key in KEYS.items() if name == "security.protocol" or name.startswith(("ssl.", "sasl."))),
)
_FETCHING: Final = (
    ConfigKey(
        name="fetch.min.bytes",
        type=_T.INT,
        importance=_I.HIGH,
        default=1,
        minimum=0,
        doc="Bytes for which a broker delays a Fetch response, at most fetch.max.wait.ms.",
    ),
    ConfigKey(
        name="fetch.max.bytes",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=52_428_800,
        minimum=0,
        doc="Bytes that one Fetch response may have; a first batch that is larger is returned nevertheless.",
    ),
    ConfigKey(
        name="fetch.max.wait.ms",
        type=_T.INT,
        importance=_I.LOW,
        default=500,
        minimum=0,
        doc="Time for which a broker waits for fetch.min.bytes.",
    ),
    ConfigKey(
        name="max.partition.fetch.bytes",
        type=_T.INT,
        importance=_I.HIGH,
        default=1_048_576,
        minimum=0,
        doc="Bytes of one partition in a Fetch response; a first batch that is larger is returned nevertheless.",
    ),
    ConfigKey(
        name="max.poll.records",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=500,
        minimum=1,
        doc="Records that one poll returns; fetches do not depend on it.",
    ),
    ConfigKey(
        name="auto.offset.reset",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="earliest",
        doc="Position of a partition that has none, or whose position is not in the log: earliest, latest, the first "
        "record that is at most so old (by_duration:PT1H, KIP-1106), or none, which raises an error.",
    ),
    ConfigKey(
        name="isolation.level",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="read_uncommitted",
        one_of=("read_committed", "read_uncommitted"),
        doc="Records of open and aborted transactions are returned, or not.",
    ),
    ConfigKey(
        name="client.rack",
        type=_T.STRING,
        importance=_I.LOW,
        default="",
        doc="The rack of the consumer, for assignors and for fetches from the nearest replica.",
    ),
    ConfigKey(
        name="check.crcs",
        type=_T.BOOLEAN,
        importance=_I.LOW,
        default=True,
        doc="Verify the checksum of every batch.",
    ),
)
_DESERIALIZERS: Final = tuple(
    ConfigKey(
        name=f"{part}.deserializer",
        type=_T.CLASS,
        importance=_I.HIGH,
        status=KeyStatus.MAPPED,
        note="a callable that takes bytes, its dotted name, or one of Java's deserializers by name; without one "
        f"{part}s are bytes; poll_batch refuses it",
        doc=f"Deserializes {part}s that are not null.",
    )
    for part in ("key", "value")
)
_OBSERVING: Final = tuple(
    KEYS[name]
    for name in (
        "metrics.sample.window.ms",
        "metrics.num.samples",
        "metrics.recording.level",
        "metric.reporters",
        "enable.metrics.push",
    )
)
_INTERCEPTORS: Final = ConfigKey(
    name="interceptor.classes",
    type=_T.LIST,
    importance=_I.LOW,
    default=(),
    status=KeyStatus.MAPPED,
    note="objects with on_consume(records), on_commit(offsets) and close(), their classes or the dotted names of "
    "those; poll_batch refuses them",
    doc="Receives the records of each poll, may replace them, and is notified of commits.",
)
FETCH_KEYS: Final[Mapping[str, ConfigKey]] = {key.name: key for key in _FETCHING}
"""The keys that FetchOptions has as fields, with underscores."""
ADMIN_KEYS: Final[Mapping[str, ConfigKey]] = {key.name: key for key in _COMMON}
"""The keys of Admin, which Consumer has too."""
CONSUMER_KEYS: Final[Mapping[str, ConfigKey]] = {
    key.name: key for key in (*_COMMON, *_FETCHING, *GROUP_KEYS, *_DESERIALIZERS, *_OBSERVING, _INTERCEPTORS)
}
"""The keys of Consumer."""
NOT_OF_SHARE_GROUPS: Final = (
    "auto.offset.reset",
    "enable.auto.commit",
    "group.instance.id",
    "isolation.level",
    "partition.assignment.strategy",
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "group.protocol",
    "group.remote.assignor",
)
"""The keys that ShareConsumer refuses: the group decides them."""
SHARE_CONSUMER_KEYS: Final[Mapping[str, ConfigKey]] = {
    **{
        name: key
        for name, key in CONSUMER_KEYS.items()
        if name not in {*NOT_OF_SHARE_GROUPS, "auto.commit.interval.ms", "exclude.internal.topics"}
        and key is not _INTERCEPTORS
    },
    **{key.name: key for key in SHARE_MODE_KEYS},
}
"""The keys of ShareConsumer."""
