"""Automatic creation of topics that clients request. Mirrors AutoTopicCreationManager.

The request does not wait: its response has an error for the topic, and the client's retry finds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.logger import Logger

from broker_sim.config.definitions import topic_definitions
from broker_sim.links.node_links import LinkFailure
from broker_sim.metadata.topic_names import (
    GROUP_METADATA_TOPIC_NAME,
    SHARE_GROUP_STATE_TOPIC_NAME,
    TRANSACTION_STATE_TOPIC_NAME,
)
from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.apis.broker_view import BrokerView
    from broker_sim.config.broker_config import BrokerConfig

_log = Logger()
_SHARE_PREFIX: Final = "share.coordinator.state.topic"


def is_internal(name: str, config: BrokerConfig) -> bool:
    """Return True if Kafka keeps its own state in the topic."""
    if name == SHARE_GROUP_STATE_TOPIC_NAME:
        return config.behaviour.share_coordinator
    return name in {GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME}


def create_in_background(broker: BrokerView, names: Iterable[str]) -> None:
    """Request topics with legal names from the controller; the outcome is only logged."""
    brokers = len(broker.metadata_cache.image.brokers)
    topics = [_creatable(name, broker.config, brokers) for name in names]
    if not topics:
        return
    timeout_ms = broker.config.request_timeout_ms
    request = CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms)
    forwarded = broker.forward_to_controller(request, timeout_ms=timeout_ms)
    forwarded.addCallbacks(_created, lambda failure: failure.trap(LinkFailure))
    forwarded.addErrback(lambda failure: _log.failure("Automatic topic creation failed", failure=failure))


def _created(response: Any) -> None:
    for topic in response.topics:
        if topic.error_code:
            _log.debug("Topic {topic} was not created: {reason}", topic=topic.name, reason=topic.error_message)


def _creatable(name: str, config: BrokerConfig, brokers: int) -> CreatableTopic:
    if name == GROUP_METADATA_TOPIC_NAME:
        return _topic(
            name,
            config.offsets_topic_num_partitions,
            _replication_factor("offsets.topic.replication.factor", config, brokers),
            _known(
                {
                    "cleanup.policy": "compact",
                    "segment.bytes": config.offsets_topic_segment_bytes,
                    "compression.type": "producer",
                },
                config,
            ),
        )
    if name == TRANSACTION_STATE_TOPIC_NAME:
        return _topic(
            name,
            config.transaction_state_log_num_partitions,
            _replication_factor("transaction.state.log.replication.factor", config, brokers),
            {
                "unclean.leader.election.enable": "false",
                "compression.type": "uncompressed",
                "cleanup.policy": "compact",
                "min.insync.replicas": _min_isr("transaction.state.log.min.isr", config, brokers),
                "segment.bytes": config.transaction_state_log_segment_bytes,
            },
        )
    if name == SHARE_GROUP_STATE_TOPIC_NAME and config.behaviour.share_coordinator:
        return _topic(
            name,
            config[f"{_SHARE_PREFIX}.num.partitions"],
            _replication_factor(f"{_SHARE_PREFIX}.replication.factor", config, brokers),
            {
                "cleanup.policy": "delete",
                "compression.type": "producer",
                "segment.bytes": config[f"{_SHARE_PREFIX}.segment.bytes"],
                "retention.ms": "-1",
                "min.insync.replicas": config[f"{_SHARE_PREFIX}.min.isr"],
            },
        )
    return _topic(name, config.num_partitions, config.default_replication_factor, {})


def offsets_topic(config: BrokerConfig, brokers: int) -> TopicSpec | None:
    """Return the offsets topic of a cluster that has it from the start, None if the cluster cannot have it."""
    made = _creatable(GROUP_METADATA_TOPIC_NAME, config, brokers)
    if "offsets.topic.num.partitions" not in config.values or made.replication_factor > brokers:
        return None
    return TopicSpec(
        name=made.name,
        partitions=made.num_partitions,
        replication_factor=made.replication_factor,
        configs={each.name: each.value or "" for each in made.configs},
    )


def _known(configs: dict[str, object], config: BrokerConfig) -> dict[str, object]:
    """Return the configurations that topics of the release have: 0.8.2 has no compression.type."""
    definitions = topic_definitions(config.release)
    return {name: value for name, value in configs.items() if name in definitions}


def _replication_factor(name: str, config: BrokerConfig, brokers: int) -> int:
    """Return the configured value; the default of 3 is limited to the number of brokers, for small clusters."""
    value = config[name]
    assert isinstance(value, int)
    return value if name in config.overrides else min(value, brokers)


def _min_isr(name: str, config: BrokerConfig, brokers: int) -> int:
    """Return the configured value; the default of 2 is limited likewise where brokers do not do it (KIP-966)."""
    value = config[name]
    assert isinstance(value, int)
    return value if name in config.overrides or config.behaviour.min_isr_within_replicas else min(value, brokers)


def _topic(name: str, partitions: object, replication_factor: object, configs: dict[str, object]) -> CreatableTopic:
    assert isinstance(partitions, int)
    assert isinstance(replication_factor, int)
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[CreatableTopicConfig(name=key, value=str(value)) for key, value in configs.items()],
    )
