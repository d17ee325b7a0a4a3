"""The topics of a scenario on any Kafka: created for a run, awaited at its end, and deleted."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, Any, Final

from twisted.python.runtime import seconds

from broker_client import Admin, ConfigResource
from broker_client.errors import ProducerError, ProducerTimeout
from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.connector.topic_offsets import client_configs
from broker_scenarios.targets.attached_checks import config_problem, placed_topics, problem_of
from broker_scenarios.targets.client_listeners import listener_problem
from broker_scenarios.text_forms import partition_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_client.core.admin.topics import TopicPartitionInfo
    from broker_scenarios.language.scenario import Scenario

    _Problem = Callable[[str, TopicPartitionInfo], str | None]

__all__ = ["BootstrapTopics"]

_RESPONDS_WITHIN_MS: Final = 10_000
_POLL_S: Final = 0.1


class BootstrapTopics:
    """The topics of a scenario on the cluster of `client`, which exist from here on. Delete them after use.

    Raises:
        ScenarioError: the cluster does not respond or lacks what the scenario needs, or a topic exists already.
    """

    def __init__(self, scenario: Scenario, client: Mapping[str, str]) -> None:
        self._name = client["bootstrap.servers"]
        problem = problem_of(scenario, None) or listener_problem(scenario, started=False)
        if problem is not None:
            raise ScenarioError(f"{scenario.name}: {problem}")
        shared: dict[str, Any] = client_configs(client)
        try:
            with Admin(**{"default.api.timeout.ms": _RESPONDS_WITHIN_MS, **shared}) as first:
                broker_ids = sorted(node.id for node in first.describe_cluster().nodes)
        except ProducerError as error:
            raise ScenarioError(f"{self._name}: {_text_of(error)}") from None
        if len(broker_ids) < scenario.brokers:
            raise ScenarioError(
                f"{self._name}: it has {len(broker_ids)} brokers, {scenario.name} needs {scenario.brokers}"
            )
        self._admin = Admin(**shared)
        self._created: list[str] = []
        try:
            self._create(scenario, broker_ids)
        except BaseException:
            self._admin.close()
            raise

    def _create(self, scenario: Scenario, broker_ids: list[int]) -> None:
        topics = placed_topics(scenario, broker_ids)
        try:
            found = self._admin.describe_configs([ConfigResource.broker(broker_id) for broker_id in broker_ids])
            problem = config_problem(scenario, {int(broker.name): each for broker, each in found.items()})
            if problem is not None:
                raise ScenarioError(f"{scenario.name}: {problem}")
            self._admin.create_topics(topics)
        except ProducerError as error:
            raise ScenarioError(f"{self._name}: the topics of {scenario.name} cannot be created: {error}") from None
        self._created = [topic.name for topic in topics]
        problem = self._wait(_without_leader, _RESPONDS_WITHIN_MS / 1000)
        if problem is not None:
            self.delete()
            raise ScenarioError(f"{self._name}: {problem} {_RESPONDS_WITHIN_MS / 1000:g} s after its creation")

    def settle(self, *, within_s: float) -> str | None:
        """Wait until all replicas are in sync; returns what is not so after `within_s` seconds."""
        problem = self._wait(_out_of_sync, within_s)
        if problem is None:
            return None
        return f"the cluster was not at rest {within_s:g} s after the load (deadline_s): {problem}"

    def _wait(self, problem_of: _Problem, within_s: float) -> str | None:
        """Wait until no partition has a problem; returns the problem that is left."""
        pause, deadline_s = Event(), seconds() + within_s
        while (problem := self._first_problem(problem_of)) is not None and seconds() < deadline_s:
            pause.wait(_POLL_S)
        return problem

    def _first_problem(self, problem_of: _Problem) -> str | None:
        try:
            found = self._admin.describe_topics(self._created)
        except ProducerError as error:
            return str(error)
        return next(
            filter(None, (problem_of(name, each) for name, topic in found.items() for each in topic.partitions)), None
        )

    def delete(self) -> None:
        """Delete the topics, and close the connections. Raises ScenarioError if they cannot be deleted."""
        try:
            self._admin.delete_topics(self._created)
        except ProducerError as error:
            raise ScenarioError(f"{self._name}: what the run has created stays there: {error}") from None
        finally:
            self._admin.close()


def _without_leader(topic: str, partition: TopicPartitionInfo) -> str | None:
    has_leader = partition.leader is not None
    return None if has_leader else f"{partition_name(topic, partition.partition)} has no leader"


def _out_of_sync(topic: str, partition: TopicPartitionInfo) -> str | None:
    if len(partition.isr) == len(partition.replicas):
        return None
    return f"{partition_name(topic, partition.partition)} has a replica that is not in sync"


def _text_of(error: ProducerError) -> str:
    """Return the text of an error; the configuration that allows more has its place in the file of `-F`."""
    if isinstance(error, ProducerTimeout):
        return f"{error.text}; {error.option} in the file of -F allows more"
    return str(error)
