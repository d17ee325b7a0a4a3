"""Resources with configurations, and one change of a configuration. Mirrors ConfigResource and ConfigRecord.

The configurations of topics are in their topics' images, those of all other resources in the metadata image itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

CLUSTER_DEFAULT: Final = ""
"""The name of the broker resource that holds the defaults of all brokers."""


class ResourceType(IntEnum):
    """The type of a resource with configurations. Mirrors ConfigResource.Type."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigOperation(IntEnum):
    """A change of one configuration. Mirrors AlterConfigOp.OpType."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigResource(NamedTuple):
    """A resource by type and name; an unknown type stays a number."""

    type: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecord:
    """One committed change: the new value, or None when the configuration is taken away."""

    resource: ConfigResource
    name: str
    value: str | None
