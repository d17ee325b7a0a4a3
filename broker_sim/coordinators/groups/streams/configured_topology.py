"""A topology with the number of partitions of each internal topic. Mirrors ConfiguredTopology and its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ConfiguredSubtopology", "ConfiguredTopology", "InternalTopic", "StatusCode", "TopicProblem"]


class StatusCode(IntEnum):
    """The conditions that a heartbeat's response reports. Mirrors StreamsGroupHeartbeatResponse.Status."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class TopicProblem(Exception):
    """The topics do not fit the topology yet; the group waits. Mirrors TopicConfigurationException."""

    def __init__(self, status: StatusCode, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """A repartition or changelog topic; a replication factor of 0 is the cluster's default."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ConfiguredSubtopology:
    """One subtopology: a task per partition of its widest source topic."""

    tasks: int
    source_topics: frozenset[str]
    repartition_sources: Mapping[str, InternalTopic]
    repartition_sinks: frozenset[str]
    changelogs: Mapping[str, InternalTopic]

    @property
    def is_stateful(self) -> bool:
        """Return True if the tasks have state, which standby tasks copy."""
        return bool(self.changelogs)


@dataclass(frozen=True, slots=True)
class ConfiguredTopology:
    """Subtopologies by ascending id, or the problem for which there are none, or for which they wait."""

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None
    missing_topics: Mapping[str, InternalTopic] = field(default_factory=dict)
    """The internal topics that the broker creates."""
    problem: TopicProblem | None = None

    @property
    def is_ready(self) -> bool:
        """Return True if tasks can be assigned."""
        return self.problem is None
