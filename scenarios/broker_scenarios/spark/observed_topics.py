"""The topics of a load on any Kafka: their partitions and configurations, and where their logs end."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, Any, Final

from twisted.python.runtime import seconds

from broker_client import Admin, OffsetSpec, TopicPartition
from broker_client.errors import ProducerError
from broker_scenarios.errors import ScenarioError
from broker_scenarios.histories.circumstances import CONFIGS
from broker_scenarios.spark.connector.ranges import OffsetRange
from broker_scenarios.spark.connector.topic_offsets import client_configs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["ObservedTopics"]

_POLL_S: Final = 0.1
_QUIET_POLLS: Final = 3
"""How often in a row the ends of all logs must be the same: what is on the wire at the end has arrived by then."""
_TOPIC_CONFIGS: Final = ("min.insync.replicas", "unclean.leader.election.enable", "cleanup.policy")


class ObservedTopics:
    """Some topics of a cluster, from the end of their logs on. Close it after use.

    Raises:
        ScenarioError: the cluster does not respond, or a topic does not exist.
    """

    def __init__(self, client: Mapping[str, str], topics: Iterable[str]) -> None:
        self.client = client_configs(client)
        self._servers = client["bootstrap.servers"]
        self._topics = list(topics)
        self._admin = Admin(**self.client)
        try:
            self._partitions = {
                name: found.partitions for name, found in self._admin.describe_topics(self._topics).items()
            }
            self._starts = self._ends()
        except ProducerError as error:
            self.close()
            raise ScenarioError(f"{self._servers}: the topics of the load: {error}") from None

    def close(self) -> None:
        """Close the connections."""
        self._admin.close()

    def promises(self, producer_config: Mapping[str, str]) -> dict[str, Any]:
        """Return what producers of these configurations are promised, as `broker-sim check --promises` reads it."""
        found: dict[str, list[str]] = {}
        for topic in self._topics:
            configs = self._admin.describe_topic_configs(topic)
            for name in _TOPIC_CONFIGS:
                found.setdefault(name, []).append(configs[name].value or "")
        replicas = min(len(each.replicas) for partitions in self._partitions.values() for each in partitions)
        return {
            "topics": {topic: len(partitions) for topic, partitions in self._partitions.items()},
            "replication.factor": replicas,
            "min.insync.replicas": min(map(int, found["min.insync.replicas"])),
            "unclean.leader.election.enable": max(found["unclean.leader.election.enable"]),
            "cleanup.policy": ",".join(sorted({word for text in found["cleanup.policy"] for word in text.split(",")})),
            **{name: value for name, value in producer_config.items() if name in CONFIGS},
        }

    def log_starts(self) -> dict[tuple[str, int], int]:
        """Return the first offset that retention has left, of each partition that has lost some."""
        return {key: first for key, first in zip(self._keys(), self._firsts(), strict=True) if first}

    def settled_ranges(self, *, within_s: float) -> list[OffsetRange]:
        """Wait until the logs grow no more, and return the offsets that were added.

        Raises:
            ScenarioError: they still grow after `within_s` seconds.
        """
        deadline_s = seconds() + within_s
        pause, before, quiet = Event(), self._ends(), 1
        while quiet < _QUIET_POLLS:
            if seconds() > deadline_s:
                raise ScenarioError(f"{self._servers}: the logs still grow {within_s:g} s after the load")
            pause.wait(_POLL_S)
            ends = self._ends()
            quiet = quiet + 1 if ends == before else 1
            before = ends
        starts = {
            key: max(start, first) for (key, start), first in zip(self._starts.items(), self._firsts(), strict=True)
        }
        return [OffsetRange(*key, starts[key], end) for key, end in before.items()]

    def _keys(self) -> list[TopicPartition]:
        return [TopicPartition(topic, each.partition) for topic, found in self._partitions.items() for each in found]

    def _ends(self) -> dict[TopicPartition, int]:
        found = self._admin.list_offsets(dict.fromkeys(self._keys(), OffsetSpec.LATEST))
        return {key: found[key].offset for key in self._keys()}

    def _firsts(self) -> list[int]:
        found = self._admin.list_offsets(dict.fromkeys(self._keys(), OffsetSpec.EARLIEST))
        return [found[key].offset for key in self._keys()]
