"""Configurations that are in no table of Kafka's brokers: the simulator's models, AutoMQ's thread model, and those of
Kafka's authorizer.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from broker_sim.config.definitions import ConfigDefinition, ConfigType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.config.definitions import ConfigValue

__all__ = [
    "ALLOW_EVERYONE",
    "AUTHORIZER_DEFINITIONS",
    "CLASSIC",
    "PERSIST_TIME_MS",
    "PIPELINED",
    "QUEUED_BYTES",
    "SIMULATOR_DEFINITIONS",
    "SUPER_USERS",
    "TELEMETRY_RECEIVER",
    "THREAD_MODEL",
]

THREAD_MODEL: Final = "thread.model"
QUEUED_BYTES: Final = "queued.max.requests.size.bytes"
PERSIST_TIME_MS: Final = "persist.time.ms"
TELEMETRY_RECEIVER: Final = "client.telemetry.receiver"
SUPER_USERS: Final = "super.users"
ALLOW_EVERYONE: Final = "allow.everyone.if.no.acl.found"
CLASSIC: Final = "classic"
PIPELINED: Final = "pipelined"
QUEUED_BYTES_DEFAULT: Final = 100 * 1024 * 1024
QUEUED_BYTES_MIN: Final = 1024 * 1024
PERSIST_TIME_MS_MAX: Final = 60_000.0


def _own(
    name: str,
    kind: ConfigType,
    default: ConfigValue,
    *,
    one_of: tuple[str, ...] = (),
    minimum: float | None = None,
    maximum: float | None = None,
) -> ConfigDefinition:
    return ConfigDefinition(
        name=name,
        type=kind,
        default=default,
        required=False,
        minimum=minimum,
        maximum=maximum,
        also=(),
        one_of=one_of,
        ignore_case=False,
        list_of=(),
        empty_items_refused=False,
        rule="",
        internal=False,
        sensitive=False,
        shown=False,
        update_mode="read-only",
        synonyms=(),
    )


AUTHORIZER_DEFINITIONS: Final[Mapping[str, ConfigDefinition]] = MappingProxyType(
    {
        each.name: each
        for each in (
            _own(SUPER_USERS, ConfigType.STRING, None),
            _own(ALLOW_EVERYONE, ConfigType.STRING, "false"),
        )
    }
)
"""The configurations of Kafka's authorizer, by name. Kafka's brokers do not define them: they pass them on to it."""

SIMULATOR_DEFINITIONS: Final[Mapping[str, ConfigDefinition]] = MappingProxyType(
    {
        each.name: each
        for each in (
            _own(PERSIST_TIME_MS, ConfigType.DOUBLE, 0.0, minimum=0, maximum=PERSIST_TIME_MS_MAX),
            _own(QUEUED_BYTES, ConfigType.INT, QUEUED_BYTES_DEFAULT, minimum=QUEUED_BYTES_MIN),
            _own(TELEMETRY_RECEIVER, ConfigType.BOOLEAN, False),
            _own(THREAD_MODEL, ConfigType.STRING, CLASSIC, one_of=(CLASSIC, PIPELINED)),
        )
    }
)
"""By name. They are read when a broker starts. DescribeConfigs hides them: no client of Kafka knows them."""
