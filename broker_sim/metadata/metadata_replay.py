"""Applies records to an image. Mirrors MetadataDelta with TopicsDelta, ClusterDelta and their siblings.

A broker that has no image by reference replays the records that it fetches, and tests prove that both ways lead to the
same image.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from broker_sim.config.broker_listeners import DEFAULT_LISTENER
from broker_sim.config.config_resource import ConfigRecord as ConfigChange
from broker_sim.config.config_resource import ConfigResource, ResourceType
from broker_sim.errors import BrokerSimError
from broker_sim.metadata.metadata_image import (
    BrokerRegistration,
    ControllerRegistration,
    Endpoint,
    FeatureRange,
    PartitionRegistration,
    ProducerIds,
    TopicImage,
)
from broker_sim.metadata.metadata_records import LOST_DIRECTORY
from broker_sim.quotas.client_quotas_image import ClientQuotaEntity, QuotaChange
from broker_sim.security.acl import Acl, AclOperation, AclPermissionType, PatternType
from broker_sim.security.acl import ResourceType as AclResourceType
from broker_sim.security.delegation_token import DelegationToken
from broker_sim.security.scram_image import ScramChange
from protocol_specs.sasl.scram import ScramCredential, ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from broker_sim.metadata.metadata_image import MetadataImage
    from protocol_specs.message import Message

__all__ = ["listeners_of", "replay"]

NO_LEADER_CHANGE: Final = -2
NO_RECOVERY_STATE_CHANGE: Final = -1


def replay(image: MetadataImage, messages: Iterable[Message], *, version: int) -> MetadataImage:
    """Return the image after the records, at `version`.

    Raises:
        BrokerSimError: A record of an unknown type.
    """
    delta = _Delta(image)
    for message in messages:
        response = _REPLAYS.get(type(message).__name__)
        if response is None:
            raise BrokerSimError(f"the metadata log has a {type(message).__name__}, which is not replayed")
        response(delta, message)
    return delta.image(version)


class _Delta:
    """The changes so far. Unchanged parts stay the same objects."""

    __slots__ = (
        "acls",
        "base",
        "brokers",
        "configs",
        "controllers",
        "features",
        "names",
        "producer_ids",
        "quotas",
        "scram",
        "tokens",
        "topics",
    )

    def __init__(self, base: MetadataImage) -> None:
        self.base = base
        self.acls: dict[bytes, Acl] | None = None
        self.brokers: dict[int, BrokerRegistration] | None = None
        self.controllers: dict[int, ControllerRegistration] | None = None
        self.features: dict[str, int] | None = None
        self.producer_ids: ProducerIds | None = None
        self.configs: list[ConfigChange] = []
        self.quotas: list[QuotaChange] = []
        self.scram: list[ScramChange] = []
        self.tokens: dict[str, DelegationToken] | None = None
        self.topics: dict[str, _TopicDelta | None] = {}
        self.names: dict[bytes, str] = {}

    def image(self, version: int) -> MetadataImage:
        image = self.base
        if self.topics:
            gone = [name for name, topic in self.topics.items() if topic is None]
            if gone:
                image = image.without_topics(gone)
            image = image.with_topics([topic.image() for topic in self.topics.values() if topic is not None])
        if self.configs:
            image = image.with_configs(self.configs)
        if self.quotas:
            image = replace(image, client_quotas=image.client_quotas.with_changes(self.quotas))
        if self.scram:
            image = replace(image, scram=image.scram.with_changes(self.scram))
        changes: dict[str, Any] = {}
        if self.brokers is not None:
            changes["brokers"] = self.brokers
        if self.controllers is not None:
            changes["controllers"] = self.controllers
        if self.features is not None:
            changes["finalized_features"] = self.features
        if self.producer_ids is not None:
            changes["producer_ids"] = self.producer_ids
        if self.acls is not None:
            changes["acls"] = self.acls
        if self.tokens is not None:
            changes["tokens"] = self.tokens
        return replace(image, version=version, **changes)

    # Brokers and controllers.

    def register_broker(self, record: Any) -> None:
        endpoints = tuple(
            Endpoint(each.name, each.host, each.port, each.security_protocol) for each in record.end_points
        )
        host, port, listeners = listeners_of(endpoints)
        cordoned = record.cordoned_log_dirs
        self._put(
            BrokerRegistration(
                id=record.broker_id,
                host=host,
                port=port,
                rack=record.rack,
                fenced=record.fenced,
                epoch=record.broker_epoch,
                incarnation_id=bytes(record.incarnation_id),
                in_controlled_shutdown=record.in_controlled_shutdown,
                listeners=listeners,
                features=_ranges(record.features),
                log_dirs=tuple(map(bytes, record.log_dirs)),
                cordoned_log_dirs=None if cordoned is None else tuple(map(bytes, cordoned)),
            )
        )

    def change_registration(self, record: Any) -> None:
        broker = self._broker(record.broker_id, record.broker_epoch)
        changes: dict[str, Any] = {}
        if record.fenced:
            changes["fenced"] = record.fenced > 0
        if record.in_controlled_shutdown:
            changes["in_controlled_shutdown"] = record.in_controlled_shutdown > 0
        if record.log_dirs:
            changes["log_dirs"] = tuple(map(bytes, record.log_dirs))
        if record.cordoned_log_dirs is not None:
            changes["cordoned_log_dirs"] = tuple(map(bytes, record.cordoned_log_dirs))
        self._put(replace(broker, **changes))

    def fence(self, record: Any) -> None:
        self._put(replace(self._broker(record.id, record.epoch), fenced=True))

    def unfence(self, record: Any) -> None:
        self._put(replace(self._broker(record.id, record.epoch), fenced=False))

    def unregister(self, record: Any) -> None:
        self._broker(record.broker_id, record.broker_epoch)
        assert self.brokers is not None
        del self.brokers[record.broker_id]

    def _broker(self, broker_id: int, epoch: int) -> BrokerRegistration:
        if self.brokers is None:
            self.brokers = dict(self.base.brokers)
        broker = self.brokers.get(broker_id)
        if broker is None or broker.epoch != epoch:
            raise BrokerSimError(f"the metadata log changes broker {broker_id} of epoch {epoch}, which is not there")
        return broker

    def _put(self, broker: BrokerRegistration) -> None:
        if self.brokers is None:
            self.brokers = dict(self.base.brokers)
        self.brokers[broker.id] = broker

    def register_controller(self, record: Any) -> None:
        if self.controllers is None:
            self.controllers = dict(self.base.controllers)
        self.controllers[record.controller_id] = ControllerRegistration(
            id=record.controller_id,
            incarnation_id=bytes(record.incarnation_id),
            listeners=tuple(
                Endpoint(each.name, each.host, each.port, each.security_protocol) for each in record.end_points
            ),
            features=_ranges(record.features),
            zk_migration_ready=record.zk_migration_ready,
        )

    # Topics.

    def add_topic(self, record: Any) -> None:
        topic_id = bytes(record.topic_id)
        self.topics[record.name] = _TopicDelta(
            TopicImage(name=record.name, topic_id=topic_id, partitions=(), configs={})
        )
        self.names[topic_id] = record.name

    def remove_topic(self, record: Any) -> None:
        name = self._name_of(record.topic_id)
        self.topics[name] = None
        self.configs = [change for change in self.configs if change.resource != (ResourceType.TOPIC, name)]

    def add_partition(self, record: Any) -> None:
        partitions = self._topic(record.topic_id).partitions
        assert record.partition_id == len(partitions), "partitions are added in order"
        partitions.append(
            PartitionRegistration(
                replicas=tuple(record.replicas),
                isr=tuple(record.isr),
                leader=record.leader,
                leader_epoch=record.leader_epoch,
                partition_epoch=record.partition_epoch,
                elr=tuple(record.eligible_leader_replicas or ()),
                last_known_elr=tuple(record.last_known_elr or ()),
                adding_replicas=tuple(record.adding_replicas),
                removing_replicas=tuple(record.removing_replicas),
                leader_recovery_state=record.leader_recovery_state,
                lost_replicas=_lost(record.replicas, record.directories),
            )
        )

    def change_partition(self, record: Any) -> None:
        partitions = self._topic(record.topic_id).partitions
        old = partitions[record.partition_id]
        changes: dict[str, Any] = {"partition_epoch": old.partition_epoch + 1}
        if record.leader != NO_LEADER_CHANGE:
            changes["leader"] = record.leader
            changes["leader_epoch"] = old.leader_epoch + 1
        if record.leader_recovery_state != NO_RECOVERY_STATE_CHANGE:
            changes["leader_recovery_state"] = record.leader_recovery_state
        for name, value in (
            ("isr", record.isr),
            ("replicas", record.replicas),
            ("removing_replicas", record.removing_replicas),
            ("adding_replicas", record.adding_replicas),
            ("elr", record.eligible_leader_replicas),
            ("last_known_elr", record.last_known_elr),
        ):
            if value is not None:
                changes[name] = tuple(value)
        if record.directories is not None:
            changes["lost_replicas"] = _lost(changes.get("replicas", old.replicas), record.directories)
        partitions[record.partition_id] = replace(old, **changes)

    def clear_elr(self, record: Any) -> None:
        for name in [record.topic_name] if record.topic_name else list(self.base.topics):
            if name in self.topics or name in self.base.topics:
                topic = self._named(name)
                if topic is not None:
                    topic.clear_elr()

    def _named(self, name: str) -> _TopicDelta | None:
        if name not in self.topics:
            self.topics[name] = _TopicDelta(self.base.topics[name])
        return self.topics[name]

    def _topic(self, topic_id: bytes) -> _TopicDelta:
        topic = self._named(self._name_of(topic_id))
        assert topic is not None, "a removed topic changes no more"
        return topic

    def _name_of(self, topic_id: bytes) -> str:
        topic_id = bytes(topic_id)
        name = self.names.get(topic_id)
        return self.base.topics_by_id[topic_id].name if name is None else name

    # Other methods.

    def set_config(self, record: Any) -> None:
        resource = ConfigResource(record.resource_type, record.resource_name)
        self.configs.append(ConfigChange(resource=resource, name=record.name, value=record.value))

    def set_quota(self, record: Any) -> None:
        entity = ClientQuotaEntity.of({each.entity_type: each.entity_name for each in record.entity})
        self.quotas.append(QuotaChange(entity=entity, key=record.key, value=None if record.remove else record.value))

    def set_feature(self, record: Any) -> None:
        if self.features is None:
            self.features = dict(self.base.finalized_features)
        if record.feature_level:
            self.features[record.name] = record.feature_level
        else:
            self.features.pop(record.name, None)

    def set_producer_ids(self, record: Any) -> None:
        self.producer_ids = ProducerIds(record.next_producer_id, record.broker_id, record.broker_epoch)

    def set_credential(self, record: Any) -> None:
        credential = ScramCredential(
            salt=bytes(record.salt),
            stored_key=bytes(record.stored_key),
            server_key=bytes(record.server_key),
            iterations=record.iterations,
        )
        self.scram.append(ScramChange(record.name, ScramMechanism(record.mechanism), credential))

    def remove_credential(self, record: Any) -> None:
        self.scram.append(ScramChange(record.name, ScramMechanism(record.mechanism), None))

    def set_token(self, record: Any) -> None:
        self._tokens()[record.token_id] = DelegationToken(
            token_id=record.token_id,
            owner=record.owner,
            requester=record.requester,
            renewers=tuple(record.renewers),
            issued_ms=record.issue_timestamp,
            max_ms=record.max_timestamp,
            expires_ms=record.expiration_timestamp,
        )

    def remove_token(self, record: Any) -> None:
        self._tokens().pop(record.token_id, None)

    def _tokens(self) -> dict[str, DelegationToken]:
        if self.tokens is None:
            self.tokens = dict(self.base.tokens)
        return self.tokens

    def add_acl(self, record: Any) -> None:
        if self.acls is None:
            self.acls = dict(self.base.acls)
        self.acls[bytes(record.id)] = Acl(
            AclResourceType(record.resource_type),
            record.resource_name,
            PatternType(record.pattern_type),
            record.principal,
            record.host,
            AclOperation(record.operation),
            AclPermissionType(record.permission_type),
        )

    def remove_acl(self, record: Any) -> None:
        if self.acls is None:
            self.acls = dict(self.base.acls)
        del self.acls[bytes(record.id)]

    def ignore(self, record: Any) -> None:
        """Ignore a record that only the controller's own log needs."""


class _TopicDelta:
    __slots__ = ("_base", "partitions")

    def __init__(self, base: TopicImage) -> None:
        self._base = base
        self.partitions = list(base.partitions)

    def clear_elr(self) -> None:
        self.partitions = [
            replace(each, elr=(), last_known_elr=()) if each.elr or each.last_known_elr else each
            for each in self.partitions
        ]

    def image(self) -> TopicImage:
        return replace(self._base, partitions=tuple(self.partitions))


def listeners_of(endpoints: Sequence[Endpoint]) -> tuple[str, int, dict[str, tuple[str, int]]]:
    """Host and port of the first endpoint, and all of them by listener; none when PLAINTEXT is alone."""
    first = endpoints[0]
    alone = len(endpoints) == 1 and first.name == DEFAULT_LISTENER
    return first.host, first.port, {} if alone else {each.name: (each.host, each.port) for each in endpoints}


def _lost(replicas: Sequence[int], directories: Sequence[bytes]) -> tuple[int, ...]:
    return tuple(
        replica for replica, directory in zip(replicas, directories, strict=False) if directory == LOST_DIRECTORY
    )


def _ranges(features: Any) -> tuple[FeatureRange, ...]:
    return tuple(FeatureRange(each.name, each.min_supported_version, each.max_supported_version) for each in features)


_REPLAYS: Final[dict[str, Callable[[_Delta, Any], None]]] = {
    "RegisterBrokerRecord": _Delta.register_broker,
    "BrokerRegistrationChangeRecord": _Delta.change_registration,
    "FenceBrokerRecord": _Delta.fence,
    "UnfenceBrokerRecord": _Delta.unfence,
    "UnregisterBrokerRecord": _Delta.unregister,
    "RegisterControllerRecord": _Delta.register_controller,
    "TopicRecord": _Delta.add_topic,
    "RemoveTopicRecord": _Delta.remove_topic,
    "PartitionRecord": _Delta.add_partition,
    "PartitionChangeRecord": _Delta.change_partition,
    "ClearElrRecord": _Delta.clear_elr,
    "ConfigRecord": _Delta.set_config,
    "ClientQuotaRecord": _Delta.set_quota,
    "FeatureLevelRecord": _Delta.set_feature,
    "ProducerIdsRecord": _Delta.set_producer_ids,
    "UserScramCredentialRecord": _Delta.set_credential,
    "RemoveUserScramCredentialRecord": _Delta.remove_credential,
    "DelegationTokenRecord": _Delta.set_token,
    "RemoveDelegationTokenRecord": _Delta.remove_token,
    "AccessControlEntryRecord": _Delta.add_acl,
    "RemoveAccessControlEntryRecord": _Delta.remove_acl,
    "NoOpRecord": _Delta.ignore,
    "BeginTransactionRecord": _Delta.ignore,
    "EndTransactionRecord": _Delta.ignore,
    "ZkMigrationStateRecord": _Delta.ignore,
}
