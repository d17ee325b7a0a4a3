"""Connections and what is plugged in, in the place that ProducerConfig gives them."""

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
        doc="How long a connection may take to be made; doubles with each failure in a row.",
    ),
    ConfigKey(
        name="socket.connection.setup.timeout.max.ms",
        type=_T.LONG,
        importance=_I.MEDIUM,
        default=30000,
        doc="Longest time that a connection may take to be made.",
    ),
    ConfigKey(
        name="connections.max.idle.ms",
        type=_T.LONG,
        importance=_I.MEDIUM,
        default=540000,
        doc="Connections without traffic for so long are closed; a negative number keeps them.",
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
        doc=("Chooses the partition of a record that names none; without one the built-in sticky partitioner does."),
    ),
    ConfigKey(
        name="interceptor.classes",
        type=_T.LIST,
        importance=_I.LOW,
        default=(),
        status=_S.MAPPED,
        note=(
            "objects with on_send(record), on_acknowledgement(metadata, error) and close(), their classes or the "
            "dotted names of those; records of send_batch do not pass them"
        ),
        doc="Sees, and may change, every record before it is serialized, and hears how it ended.",
    ),
)
