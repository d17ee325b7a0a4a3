"""Connections and plug-in classes, in their place in ProducerConfig."""

from __future__ import annotations

from typing import Final

from broker_client.config.config_key import ConfigKey, Importance, KeyStatus, ValueType

__all__ = ["CONNECTION_KEYS"]

_T = ValueType
_I = Importance
_S = KeyStatus

CONNECTION_KEYS: Final = (
    ConfigKey(
        name="socket.connection.setup.timeout.ms",
        type=_T.LONG,
        importance=_I.MEDIUM,
        default=10000,
        doc="Time limit for a connection attempt; doubles with each consecutive failure.",
    ),
    ConfigKey(
        name="socket.connection.setup.timeout.max.ms",
        type=_T.LONG,
        importance=_I.MEDIUM,
        default=30000,
        doc="Upper bound of the time limit for a connection attempt.",
    ),
    ConfigKey(
        name="connections.max.idle.ms",
        type=_T.LONG,
        importance=_I.MEDIUM,
        default=540000,
        doc="Idle connections are closed after this time; a negative number keeps them.",
    ),
    ConfigKey(
        name="partitioner.class",
        type=_T.CLASS,
        importance=_I.MEDIUM,
        status=_S.MAPPED,
        note=(
            "an object with partition(topic, key, value, cluster), its class or the dotted name of that, or "
            "RoundRobinPartitioner"
        ),
        doc="Chooses the partition of records that name none; by default the built-in sticky partitioner.",
    ),
    ConfigKey(
        name="interceptor.classes",
        type=_T.LIST,
        importance=_I.LOW,
        default=(),
        status=_S.MAPPED,
        note=(
            "objects with on_send(record), on_acknowledgement(metadata, error) and close(), their classes or the "
            "dotted names of those; send_batch refuses them"
        ),
        doc="Receives every record before it is serialized, may replace it, and is notified of its end.",
    ),
)
