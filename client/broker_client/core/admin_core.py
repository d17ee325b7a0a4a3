"""Topics and configurations by request, on Deferreds. Mirrors KafkaAdminClient."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.client_core import ANY_NODE
from broker_client.core.sender_loop import now_ms_of
from broker_client.errors import BrokerError, ConnectionFailed, ProducerTimeout, error_of
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol_specs.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from protocol_specs.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_client.core.client_core import ClientCore
    from broker_client.records import PartitionInfo
    from protocol_specs.message import Message

__all__ = ["AdminCore", "ConfigEntry", "NewTopic"]

RETRY_BACKOFF_MS: Final = 100
TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
_NAMES_OF_TOPICS_BEFORE_VERSION: Final = 6
_RETRIED: Final = (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT)


@dataclass(slots=True, kw_only=True, frozen=True)
class NewTopic:
    """A topic to create; -1 leaves partitions or replication factor to the broker's default."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True, frozen=True)
class ConfigEntry:
    """One configuration of a topic or broker; `source` is Kafka's ConfigSource number."""

    name: str
    value: str | None
    source: int
    read_only: bool
    sensitive: bool


class AdminCore:
    """Call everything on the reactor's thread."""

    def __init__(self, core: ClientCore) -> None:
        self._core = core

    async def create_topics(self, topics: Sequence[NewTopic], *, timeout_ms: int = 30_000) -> None:
        """Create all of `topics`; raises the first one's error as BrokerError."""
        creatable = [
            CreatableTopic(
                name=topic.name,
                num_partitions=-1 if topic.assignments else topic.partitions,
                replication_factor=-1 if topic.assignments else topic.replication_factor,
                assignments=[
                    CreatableReplicaAssignment(partition_index=partition, broker_ids=list(brokers))
                    for partition, brokers in topic.assignments.items()
                ],
                configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
            )
            for topic in topics
        ]
        remaining = creatable
        deadline_ms = now_ms_of(self._core.reactor) + timeout_ms
        while remaining:
            asked = remaining
            response: CreateTopicsResponse = await self._ask_controller(
                CreateTopicsRequest,
                lambda _, asked=asked: CreateTopicsRequest(topics=asked, timeout_ms=timeout_ms),  # type: ignore[misc]
                timeout_ms=timeout_ms,
            )
            failed = {result.name: result for result in response.topics if result.error_code}
            for result in failed.values():
                code = ErrorCode(result.error_code)
                if code not in _RETRIED or now_ms_of(self._core.reactor) >= deadline_ms:
                    raise error_of(code, _named(result.name, result.error_message))
            remaining = [topic for topic in asked if topic.name in failed]
            if remaining:
                await sleep(self._core.reactor, RETRY_BACKOFF_MS)

    async def delete_topics(self, names: Sequence[str], *, timeout_ms: int = 30_000) -> None:
        """Delete topics by name; raises the first one's error as BrokerError."""

        def build(version: int) -> DeleteTopicsRequest:
            if version < _NAMES_OF_TOPICS_BEFORE_VERSION:
                return DeleteTopicsRequest(topic_names=list(names), timeout_ms=timeout_ms)
            return DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names], timeout_ms=timeout_ms)

        response: DeleteTopicsResponse = await self._ask_controller(DeleteTopicsRequest, build, timeout_ms=timeout_ms)
        for result in response.responses:
            if result.error_code:
                raise error_of(ErrorCode(result.error_code), _named(result.name, result.error_message))

    async def describe_topic(self, name: str) -> list[PartitionInfo]:
        """The partitions of a topic as a broker tells them now; raises BrokerError when it does not exist."""
        cluster = await self._core.cluster_with([name], refresh=True)
        known = cluster.topics.get(name)
        if known is None:
            code = self._core.metadata.topic_error(name)
            raise error_of(code if code is not ErrorCode.NONE else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
        return list(known.partitions)

    async def wait_for_topic(self, name: str, *, timeout_ms: int = 30_000) -> list[PartitionInfo]:
        """Ask until every partition of the topic has a leader."""
        deadline_ms = now_ms_of(self._core.reactor) + timeout_ms
        while now_ms_of(self._core.reactor) < deadline_ms:
            try:
                partitions = await self.describe_topic(name)
            except BrokerError as error:
                if not error.retriable:
                    raise
            else:
                if all(partition.leader is not None for partition in partitions):
                    return partitions
            await sleep(self._core.reactor, RETRY_BACKOFF_MS)
        raise ProducerTimeout(f"topic {name!r} has no leaders after {timeout_ms} ms", "wait_for_topic(timeout_ms)")

    async def describe_topic_configs(self, name: str) -> dict[str, ConfigEntry]:
        """The effective configurations of a topic, by name."""
        return await self._describe_configs(TOPIC_RESOURCE, name, ANY_NODE)

    async def describe_broker_configs(self, broker_id: int) -> dict[str, ConfigEntry]:
        """The effective configurations of a broker, by name."""
        await self._core.cluster_with(())
        return await self._describe_configs(BROKER_RESOURCE, str(broker_id), broker_id)

    async def _describe_configs(self, resource_type: int, name: str, node_id: int | None) -> dict[str, ConfigEntry]:
        resource = DescribeConfigsResource(resource_type=resource_type, resource_name=name, configuration_keys=None)
        response: DescribeConfigsResponse = await self._core.request(
            DescribeConfigsRequest, lambda _: DescribeConfigsRequest(resources=[resource]), node_id=node_id
        )
        (result,) = response.results
        if result.error_code:
            raise error_of(ErrorCode(result.error_code), _named(name, result.error_message))
        return {
            config.name: ConfigEntry(
                name=config.name,
                value=config.value,
                source=config.config_source,
                read_only=config.read_only,
                sensitive=config.is_sensitive,
            )
            for config in result.configs
        }

    async def _ask_controller(self, kind: type[Message], build: Callable[[int], Message], *, timeout_ms: int) -> Any:
        """Ask the node that metadata calls the controller; with KRaft that is any broker, which passes it on."""
        deadline_ms = now_ms_of(self._core.reactor) + timeout_ms
        while True:
            cluster = await self._core.cluster_with(())
            controller = cluster.controller_id if cluster.controller_id in cluster.nodes else ANY_NODE
            left_ms = max(deadline_ms - now_ms_of(self._core.reactor), 0)
            try:
                return await self._core.request(kind, build, node_id=controller, timeout_ms=left_ms)
            except ConnectionFailed:
                if now_ms_of(self._core.reactor) >= deadline_ms:
                    raise
            await sleep(self._core.reactor, RETRY_BACKOFF_MS)
            await self._core.cluster_with((), refresh=True)


def _named(name: str | None, message: str | None) -> str:
    return f"{name}: {message}" if message else str(name)
