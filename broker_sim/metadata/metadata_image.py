"""The cluster's metadata at one version, immutable. Mirrors org.apache.kafka.image.MetadataImage.

The controller makes a new image for each committed change; each broker holds the image that it has applied
last, which may be older than the controller's. Unchanged topics are the same objects in the next image:
compare them by identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.config.broker_listeners import DEFAULT_LISTENER
from broker_sim.config.config_resource import ConfigResource, ResourceType
from broker_sim.quotas.client_quotas_image import NO_CLIENT_QUOTAS
from broker_sim.security.scram_image import NO_SCRAM_CREDENTIALS
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from broker_sim.config.config_resource import ConfigRecord
    from broker_sim.quotas.client_quotas_image import ClientQuotasImage
    from broker_sim.security.acl import Acl
    from broker_sim.security.delegation_token import DelegationToken
    from broker_sim.security.scram_image import ScramImage
    from broker_sim.topic_partition import TopicPartition

NO_LEADER: Final = -1
RECOVERED: Final = 0
RECOVERING: Final = 1
NO_CONTROLLER: Final = -1
ELIGIBLE_LEADER_REPLICAS: Final = "eligible.leader.replicas.version"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRegistration:
    """One partition as committed. Mirrors org.apache.kafka.metadata.PartitionRegistration; ELR is KIP-966."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    lost_replicas: tuple[int, ...] = ()
    """The replicas in failed log directories, whose content is unknown (KIP-858)."""
    leader_recovery_state: int = RECOVERED
    """RECOVERING from an unclean election on, until its leader requests another ISR (KIP-704)."""

    @property
    def has_leader(self) -> bool:
        """True if a broker leads the partition."""
        return self.leader != NO_LEADER

    @property
    def preferred_leader(self) -> int:
        """The first replica of the assignment."""
        return self.replicas[0]

    @property
    def is_reassigning(self) -> bool:
        """True while the partition is being reassigned."""
        return bool(self.adding_replicas or self.removing_replicas)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicImage:
    """One topic: its 16-byte id, its partitions by index, and the configs set on it (not the defaults)."""

    name: str
    topic_id: bytes
    partitions: tuple[PartitionRegistration, ...]
    configs: Mapping[str, str]


class Endpoint(NamedTuple):
    """The advertised address of a node's listener; the security protocol by its number, 0 for PLAINTEXT."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


class FeatureRange(NamedTuple):
    """The levels of a feature that a node supports."""

    name: str
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """One broker: its advertised endpoints, and whether the controller lets it serve."""

    id: int
    host: str
    port: int
    rack: str | None
    fenced: bool
    epoch: int
    incarnation_id: bytes = ZERO_UUID
    in_controlled_shutdown: bool = False
    features: tuple[FeatureRange, ...] = ()
    log_dirs: tuple[bytes, ...] = ()
    """The ids of its log directories that are online."""
    cordoned_log_dirs: tuple[bytes, ...] | None = None
    listeners: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Host and port by listener; empty for a broker that has PLAINTEXT alone, on `host` and `port`."""

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """All listeners, that of `host` and `port` first."""
        if not self.listeners:
            return (Endpoint(DEFAULT_LISTENER, self.host, self.port),)
        found = [Endpoint(name, host, port) for name, (host, port) in self.listeners.items()]
        return tuple(sorted(found, key=lambda each: (each.host, each.port) != (self.host, self.port)))

    @property
    def active(self) -> bool:
        """True if the broker may lead and join an ISR: neither fenced nor shutting down."""
        return not self.fenced and not self.in_controlled_shutdown

    def node(self, listener: str) -> BrokerRegistration | None:
        """The broker as clients of a listener see it; None when it has no such listener. Mirrors Broker.node."""
        if not self.listeners:
            return self if listener == DEFAULT_LISTENER else None
        endpoint = self.listeners.get(listener)
        return None if endpoint is None else replace(self, host=endpoint[0], port=endpoint[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRegistration:
    """One controller of the quorum: its listeners and features (KIP-919)."""

    id: int
    incarnation_id: bytes
    listeners: tuple[Endpoint, ...]
    features: tuple[FeatureRange, ...] = ()
    zk_migration_ready: bool = False


class ProducerIds(NamedTuple):
    """The first producer id after all blocks, and the broker of the last block."""

    next_producer_id: int = 0
    broker_id: int = -1
    broker_epoch: int = -1


NO_PRODUCER_IDS: Final = ProducerIds()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataImage:
    """Brokers and topics at one version; versions only grow. `topics_by_id` has the 16-byte id as key.

    The version is the offset of the last record of the metadata log that is in the image.
    """

    version: int
    cluster_id: str
    brokers: Mapping[int, BrokerRegistration]
    topics: Mapping[str, TopicImage]
    topics_by_id: Mapping[bytes, TopicImage]
    configs: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=dict)
    """The configurations of brokers, groups and client metrics, without empty resources."""
    finalized_features: Mapping[str, int] = field(default_factory=dict)
    client_quotas: ClientQuotasImage = NO_CLIENT_QUOTAS
    producer_ids: ProducerIds = NO_PRODUCER_IDS
    scram: ScramImage = NO_SCRAM_CREDENTIALS
    tokens: Mapping[str, DelegationToken] = field(default_factory=dict)
    """The delegation tokens by their ids."""
    controllers: Mapping[int, ControllerRegistration] = field(default_factory=dict)
    acls: Mapping[bytes, Acl] = field(default_factory=dict)
    """The access control entries by their 16-byte ids."""

    @classmethod
    def empty(cls, cluster_id: str) -> MetadataImage:
        """The image before anything is in the log: version -1."""
        return cls(version=-1, cluster_id=cluster_id, brokers={}, topics={}, topics_by_id={})

    def topic(self, name: str) -> TopicImage | None:
        """The topic, or None when it does not exist here."""
        return self.topics.get(name)

    def partition(self, topic: str, partition: int) -> PartitionRegistration | None:
        """The partition, or None when the topic or the index does not exist here."""
        image = self.topics.get(topic)
        if image is None or not 0 <= partition < len(image.partitions):
            return None
        return image.partitions[partition]

    def config_of(self, resource_type: int, name: str) -> Mapping[str, str]:
        """Return the configurations of a resource, also of a topic; empty without any."""
        if resource_type == ResourceType.TOPIC:
            topic = self.topics.get(name)
            return {} if topic is None else topic.configs
        return self.configs.get(ConfigResource(resource_type, name), {})

    def with_configs(self, records: Iterable[ConfigRecord]) -> MetadataImage:
        """Set and remove configurations. Mirrors ConfigurationsDelta; a topic must exist."""
        configs = dict(self.configs)
        topics: dict[str, TopicImage] = {}
        for record in records:
            resource = record.resource
            topic = None
            if resource.type == ResourceType.TOPIC:
                topic = topics.get(resource.name) or self.topics[resource.name]
                changed = dict(topic.configs)
            else:
                changed = dict(configs.get(resource, {}))
            if record.value is None:
                changed.pop(record.name, None)
            else:
                changed[record.name] = record.value
            if topic is not None:
                topics[resource.name] = replace(topic, configs=changed)
            elif changed:
                configs[resource] = changed
            else:
                configs.pop(resource, None)
        image = self.with_topics(list(topics.values())) if topics else self
        return replace(image, configs=configs)

    def alive_brokers(self) -> list[BrokerRegistration]:
        """Every broker that is not fenced, in the order of registration, as in Metadata responses."""
        return [broker for broker in self.brokers.values() if not broker.fenced]

    def nodes(self, listener: str) -> Mapping[int, BrokerRegistration]:
        """Every broker that has the listener, fenced ones too, with that listener's host and port."""
        if listener == DEFAULT_LISTENER and not any(broker.listeners for broker in self.brokers.values()):
            return self.brokers
        return {
            broker_id: node for broker_id, broker in self.brokers.items() if (node := broker.node(listener)) is not None
        }

    def is_active(self, broker_id: int) -> bool:
        """Return True if the broker is registered, not fenced and not shutting down."""
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.active

    def with_version(self, version: int) -> MetadataImage:
        """The same content at another version."""
        return replace(self, version=version)

    @property
    def elr_enabled(self) -> bool:
        """True if partitions keep eligible leaders, and an ISR can become empty (KIP-966)."""
        return self.finalized_features.get(ELIGIBLE_LEADER_REPLICAS, 0) > 0

    def with_finalized_features(self, levels: Mapping[str, int]) -> MetadataImage:
        """Put these levels in place of all those before; a feature at level 0 is not named."""
        return replace(self, finalized_features=dict(levels))

    def with_broker(self, broker: BrokerRegistration) -> MetadataImage:
        """Register the broker, or put its new registration in place of the old one."""
        return replace(self, brokers={**self.brokers, broker.id: broker})

    def without_broker(self, broker_id: int) -> MetadataImage:
        """Remove the broker's registration."""
        return replace(self, brokers={key: value for key, value in self.brokers.items() if key != broker_id})

    def with_controller(self, controller: ControllerRegistration) -> MetadataImage:
        """Register a controller of the quorum, or put its new registration in place of the old one."""
        return replace(self, controllers={**self.controllers, controller.id: controller})

    def with_topics(self, topics: Sequence[TopicImage]) -> MetadataImage:
        """Add the topics, or put them in place of those with the same names."""
        by_name = dict(self.topics)
        by_id = dict(self.topics_by_id)
        for topic in topics:
            old = by_name.get(topic.name)
            if old is not None and old.topic_id != topic.topic_id:
                del by_id[old.topic_id]
            by_name[topic.name] = topic
            by_id[topic.topic_id] = topic
        return replace(self, topics=by_name, topics_by_id=by_id)

    def with_topic(self, topic: TopicImage) -> MetadataImage:
        """Add one topic, or put it in place of the one with the same name."""
        return self.with_topics([topic])

    def without_topics(self, names: Sequence[str]) -> MetadataImage:
        """Remove topics by name; a name that does not exist is a mistake of the caller."""
        by_name = dict(self.topics)
        by_id = dict(self.topics_by_id)
        for name in names:
            del by_id[by_name.pop(name).topic_id]
        return replace(self, topics=by_name, topics_by_id=by_id)

    def without_elrs(self, names: Sequence[str]) -> MetadataImage:
        """Clear the eligible leader replicas of topics (KIP-966). Mirrors ClearElrRecord."""
        cleared = []
        for name in names:
            topic = self.topics[name]
            if any(each.elr or each.last_known_elr for each in topic.partitions):
                partitions = tuple(replace(each, elr=(), last_known_elr=()) for each in topic.partitions)
                cleared.append(replace(topic, partitions=partitions))
        return self.with_topics(cleared) if cleared else self

    def with_partitions(self, changes: Mapping[TopicPartition, PartitionRegistration]) -> MetadataImage:
        """Put partitions in place of those with the same topic and index, all in one step."""
        by_topic: dict[str, list[PartitionRegistration]] = {}
        for (topic, index), registration in changes.items():
            partitions = by_topic.get(topic)
            if partitions is None:
                partitions = by_topic[topic] = list(self.topics[topic].partitions)
            partitions[index] = registration
        return self.with_topics(
            [replace(self.topics[name], partitions=tuple(partitions)) for name, partitions in by_topic.items()]
        )
