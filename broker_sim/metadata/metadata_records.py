"""The records of a commit: those that lead from one image to the next.

Mirrors the records that ReplicationControlManager, ClusterControlManager, ConfigurationControlManager,
FeatureControlManager, ClientQuotaControlManager, ProducerIdControlManager, ScramControlManager,
DelegationTokenControlManager and AclControlManager generate, in their order: a broker that becomes inactive is recorded
after the partitions that it leaves; one that becomes active or stops in order, before.
`image_records` are those of a snapshot, in the order of MetadataImage.write. `metadata_replay` is the inverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.config.config_resource import CLUSTER_DEFAULT, ResourceType
from broker_sim.metadata.metadata_record_versions import RecordVersions, record_versions
from protocol_specs.java_hash import hash_order, hash_order_by, string_hash
from protocol_specs.schemas.metadata.access_control_entry_record import AccessControlEntryRecord
from protocol_specs.schemas.metadata.broker_registration_change_record import BrokerRegistrationChangeRecord
from protocol_specs.schemas.metadata.clear_elr_record import ClearElrRecord
from protocol_specs.schemas.metadata.client_quota_record import ClientQuotaRecord, EntityData
from protocol_specs.schemas.metadata.config_record import ConfigRecord
from protocol_specs.schemas.metadata.delegation_token_record import DelegationTokenRecord
from protocol_specs.schemas.metadata.feature_level_record import FeatureLevelRecord
from protocol_specs.schemas.metadata.fence_broker_record import FenceBrokerRecord
from protocol_specs.schemas.metadata.partition_change_record import PartitionChangeRecord
from protocol_specs.schemas.metadata.partition_record import PartitionRecord
from protocol_specs.schemas.metadata.producer_ids_record import ProducerIdsRecord
from protocol_specs.schemas.metadata.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from protocol_specs.schemas.metadata.register_controller_record import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)
from protocol_specs.schemas.metadata.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from protocol_specs.schemas.metadata.remove_delegation_token_record import RemoveDelegationTokenRecord
from protocol_specs.schemas.metadata.remove_topic_record import RemoveTopicRecord
from protocol_specs.schemas.metadata.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from protocol_specs.schemas.metadata.topic_record import TopicRecord
from protocol_specs.schemas.metadata.unfence_broker_record import UnfenceBrokerRecord
from protocol_specs.schemas.metadata.unregister_broker_record import UnregisterBrokerRecord
from protocol_specs.schemas.metadata.user_scram_credential_record import UserScramCredentialRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from broker_sim.config.config_resource import ConfigResource
    from broker_sim.metadata.metadata_image import (
        BrokerRegistration,
        ControllerRegistration,
        MetadataImage,
        PartitionRegistration,
        TopicImage,
    )
    from broker_sim.security.acl import Acl
    from broker_sim.security.delegation_token import DelegationToken
    from broker_sim.security.scram_image import ScramChange, ScramImage
    from protocol_specs.message import Message

__all__ = [
    "METADATA_VERSION",
    "MetadataRecord",
    "credential_record",
    "image_records",
    "records_of_change",
    "token_record",
]

METADATA_VERSION: Final = "metadata.version"
MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
UNASSIGNED_DIRECTORY: Final = bytes(15) + b"\x01"
"""DirectoryId.UNASSIGNED: its broker has several directories, or is not registered."""
LOST_DIRECTORY: Final = bytes(15) + b"\x02"
"""DirectoryId.LOST: the directory of the replica has failed."""


class MetadataRecord(NamedTuple):
    """A record and the version that it is written in. Mirrors ApiMessageAndVersion."""

    message: Message
    version: int


def records_of_change(old: MetadataImage, new: MetadataImage) -> list[MetadataRecord]:
    """The records that make `new` of `old`, in the order in which a controller writes them."""
    change = _Change(old, new)
    records: list[MetadataRecord] = []
    if new.finalized_features is not old.finalized_features:
        records += _features(old.finalized_features, new.finalized_features)
    joining: list[MetadataRecord] = []
    leaving: list[MetadataRecord] = []
    if new.brokers is not old.brokers:
        for broker in new.brokers.values():
            before = old.brokers.get(broker.id)
            if before is not broker:
                late, made = change.broker(before, broker)
                (leaving if late else joining).extend(made)
        leaving += [
            MetadataRecord(UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch), 0)
            for broker in old.brokers.values()
            if broker.id not in new.brokers
        ]
    records += joining
    if new.controllers is not old.controllers:
        for controller in new.controllers.values():
            if old.controllers.get(controller.id) != controller:
                records.append(_register_controller(controller))
    if new.topics is not old.topics:
        records += change.topics()
    if new.configs is not old.configs:
        records += change.configs()
    if new.client_quotas is not old.client_quotas:
        records += _quotas(old, new)
    if new.producer_ids is not old.producer_ids:
        records.append(_producer_ids(new))
    if new.scram is not old.scram:
        records += _credentials(old.scram, new.scram)
    if new.tokens is not old.tokens:
        records += _tokens(old.tokens, new.tokens)
    if new.acls is not old.acls:
        records += [_acl(each, acl) for each, acl in new.acls.items() if each not in old.acls]
        removed = [each for each in old.acls if each not in new.acls]
        records += [MetadataRecord(RemoveAccessControlEntryRecord(id=each), 0) for each in removed]
    return records + leaving


def image_records(image: MetadataImage) -> list[MetadataRecord]:
    """The records of a snapshot: all that is in the image."""
    versions = record_versions(image.finalized_features.get(METADATA_VERSION, 0))
    change = _Change(image, image)
    records = list(_features({}, image.finalized_features))
    records += [change.register(broker) for broker in image.brokers.values()]
    records += [_register_controller(controller) for controller in image.controllers.values()]
    for topic in image.topics.values():
        records.append(_topic(topic))
        records += [change.partition(topic, index) for index in range(len(topic.partitions))]
    for topic in image.topics.values():
        records += [_config(ResourceType.TOPIC, topic.name, name, value) for name, value in topic.configs.items()]
    for (kind, resource), configs in image.configs.items():
        records += [_config(kind, resource, name, value) for name, value in configs.items()]
    for entity, quotas in image.client_quotas.items():
        records += [_quota(entity.entries, key, value) for key, value in quotas.items()]
    if image.producer_ids.next_producer_id:
        records.append(_producer_ids(image))
    records += [_acl(each, acl) for each, acl in image.acls.items()]
    if versions.has_scram:
        records += [credential_record(each) for each in image.scram.entries()]
    if versions.has_tokens:
        records += [token_record(token) for token in image.tokens.values()]
    assert versions is change.versions
    return records


class _Change:
    """Two images, and the versions that the new one is written in."""

    __slots__ = ("_directories", "_elr", "_new", "_old", "versions")

    def __init__(self, old: MetadataImage, new: MetadataImage) -> None:
        self._old = old
        self._new = new
        self.versions: RecordVersions = record_versions(new.finalized_features.get(METADATA_VERSION, 0))
        self._elr = new.elr_enabled
        self._directories: dict[int, bytes] | None = None

    # Brokers.

    def broker(self, old: BrokerRegistration | None, new: BrokerRegistration) -> tuple[bool, list[MetadataRecord]]:
        """Return the changes of a registration, and whether they follow those of its partitions."""
        if old is None or old.epoch != new.epoch or not _same_process(old, new):
            # Partitions lose an unclean replica before its new registration; in a new log there are none.
            return True, [self.register(new)]
        records = []
        late = new.fenced and not old.fenced
        controlled = new.in_controlled_shutdown and not old.in_controlled_shutdown
        if new.fenced != old.fenced:
            records.append(self._fencing(new, controlled=controlled))
        elif controlled:
            change = self._registration_change(new, in_controlled_shutdown=1)
            records.append(MetadataRecord(change, 1))
        if new.log_dirs != old.log_dirs:
            records.append(MetadataRecord(self._registration_change(new, log_dirs=list(new.log_dirs)), 2))
        if new.cordoned_log_dirs != old.cordoned_log_dirs:
            cordoned = self._registration_change(new, cordoned_log_dirs=list(new.cordoned_log_dirs or ()))
            records.append(MetadataRecord(cordoned, 3))
        return late, records

    def _fencing(self, broker: BrokerRegistration, *, controlled: bool) -> MetadataRecord:
        if not self.versions.has_registration_changes:
            kind = FenceBrokerRecord if broker.fenced else UnfenceBrokerRecord
            return MetadataRecord(kind(id=broker.id, epoch=broker.epoch), 0)
        fenced = 1 if broker.fenced else -1
        change = self._registration_change(broker, fenced=fenced, in_controlled_shutdown=int(controlled))
        return MetadataRecord(change, 1 if controlled else 0)

    @staticmethod
    def _registration_change(
        broker: BrokerRegistration,
        *,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: list[bytes] | None = None,
        cordoned_log_dirs: list[bytes] | None = None,
    ) -> BrokerRegistrationChangeRecord:
        return BrokerRegistrationChangeRecord(
            broker_id=broker.id,
            broker_epoch=broker.epoch,
            fenced=fenced,
            in_controlled_shutdown=in_controlled_shutdown,
            log_dirs=log_dirs or [],
            cordoned_log_dirs=cordoned_log_dirs,
        )

    def register(self, broker: BrokerRegistration) -> MetadataRecord:
        """The whole registration."""
        versions = self.versions
        record = RegisterBrokerRecord(
            broker_id=broker.id,
            incarnation_id=broker.incarnation_id,
            broker_epoch=broker.epoch,
            end_points=[
                BrokerEndpoint(name=name, host=host, port=port, security_protocol=protocol)
                for name, host, port, protocol in broker.endpoints
            ],
            features=[
                BrokerFeature(name=name, min_supported_version=lowest, max_supported_version=highest)
                for name, lowest, highest in broker.features
            ],
            rack=broker.rack,
            fenced=broker.fenced,
            in_controlled_shutdown=broker.in_controlled_shutdown and versions.has_controlled_shutdown,
            log_dirs=list(broker.log_dirs) if versions.has_directories else [],
        )
        if versions.has_cordoned_directories and broker.cordoned_log_dirs is not None:
            record.cordoned_log_dirs = list(broker.cordoned_log_dirs)
        return MetadataRecord(record, versions.register_broker)

    # Topics.

    def topics(self) -> Iterator[MetadataRecord]:
        """Topics that are gone, changed and new."""
        old, new = self._old.topics, self._new.topics
        for name, topic in old.items():
            after = new.get(name)
            if after is None or after.topic_id != topic.topic_id:
                yield MetadataRecord(RemoveTopicRecord(topic_id=topic.topic_id), 0)
        for name, topic in new.items():
            before = old.get(name)
            if before is topic:
                continue
            if before is None or before.topic_id != topic.topic_id:
                yield _topic(topic)
                yield from self._topic_configs(name, {}, topic.configs)
                for index in range(len(topic.partitions)):
                    yield self.partition(topic, index)
                continue
            yield from self._topic_configs(name, before.configs, topic.configs)
            yield from self._partitions(before, topic)

    def _topic_configs(self, name: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[MetadataRecord]:
        if old is new:
            return
        for key in hash_order({**old, **new}):
            if old.get(key) != new.get(key):
                yield _config(ResourceType.TOPIC, name, key, new.get(key))
                if self._elr and key == MIN_INSYNC_REPLICAS:
                    yield MetadataRecord(ClearElrRecord(topic_name=name), 0)

    def _partitions(self, old: TopicImage, new: TopicImage) -> Iterator[MetadataRecord]:
        known = len(old.partitions)
        for index, partition in enumerate(new.partitions):
            if index >= known:
                yield self.partition(new, index)
            elif old.partitions[index] is not partition:
                change = self._partition_change(new.topic_id, index, old.partitions[index], partition)
                if change is not None:
                    yield change

    def partition(self, topic: TopicImage, index: int) -> MetadataRecord:
        """A whole partition."""
        partition = topic.partitions[index]
        version = self.versions.partition
        record = PartitionRecord(
            partition_id=index,
            topic_id=topic.topic_id,
            replicas=list(partition.replicas),
            isr=list(partition.isr),
            removing_replicas=list(partition.removing_replicas),
            adding_replicas=list(partition.adding_replicas),
            leader=partition.leader,
            leader_recovery_state=partition.leader_recovery_state,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            directories=self._directories_of(partition) if version else [],
        )
        if partition.elr:
            record.eligible_leader_replicas = list(partition.elr)
        if partition.last_known_elr:
            record.last_known_elr = list(partition.last_known_elr)
        return MetadataRecord(record, version)

    def _partition_change(
        self, topic_id: bytes, index: int, old: PartitionRegistration, new: PartitionRegistration
    ) -> MetadataRecord | None:
        if new.partition_epoch == old.partition_epoch:
            return None  # no change, or one by ClearElrRecord
        record = PartitionChangeRecord(partition_id=index, topic_id=topic_id)
        if new.isr != old.isr:
            record.isr = list(new.isr)
        if new.leader_epoch != old.leader_epoch:
            record.leader = new.leader
        if new.replicas != old.replicas:
            record.replicas = list(new.replicas)
        if (new.replicas != old.replicas or new.lost_replicas != old.lost_replicas) and self.versions.has_directories:
            record.directories = self._directories_of(new)
        if new.removing_replicas != old.removing_replicas:
            record.removing_replicas = list(new.removing_replicas)
        if new.adding_replicas != old.adding_replicas:
            record.adding_replicas = list(new.adding_replicas)
        if new.leader_recovery_state != old.leader_recovery_state:
            record.leader_recovery_state = new.leader_recovery_state
        if new.elr != old.elr:
            record.eligible_leader_replicas = list(new.elr)
        if new.last_known_elr != old.last_known_elr:
            record.last_known_elr = list(new.last_known_elr)
        return MetadataRecord(record, self.versions.partition)

    def _directories_of(self, partition: PartitionRegistration) -> list[bytes]:
        """A replica is in the one directory of its broker; of several the broker chooses later."""
        known = self._directories
        if known is None:
            known = self._directories = {
                broker.id: broker.log_dirs[0] for broker in self._new.brokers.values() if len(broker.log_dirs) == 1
            }
        lost = partition.lost_replicas
        return [
            LOST_DIRECTORY if replica in lost else known.get(replica, UNASSIGNED_DIRECTORY)
            for replica in partition.replicas
        ]

    # Other configurations.

    def configs(self) -> Iterator[MetadataRecord]:
        """Yield the changed and removed configurations of brokers, groups and client metrics."""
        old, new = self._old.configs, self._new.configs
        resources: dict[ConfigResource, None] = dict.fromkeys((*old, *new))
        for resource in resources:
            before, after = old.get(resource, {}), new.get(resource, {})
            for key in hash_order({**before, **after}):
                if before.get(key) != after.get(key):
                    yield _config(resource.type, resource.name, key, after.get(key))
                    if self._elr and key == MIN_INSYNC_REPLICAS and resource == (ResourceType.BROKER, CLUSTER_DEFAULT):
                        yield MetadataRecord(ClearElrRecord(topic_name=""), 0)


def _same_process(old: BrokerRegistration, new: BrokerRegistration) -> bool:
    return (old.incarnation_id, old.endpoints, old.rack, old.features) == (
        new.incarnation_id,
        new.endpoints,
        new.rack,
        new.features,
    )


def _features(old: Mapping[str, int], new: Mapping[str, int]) -> Iterator[MetadataRecord]:
    names = [METADATA_VERSION] if METADATA_VERSION in new else []
    names += [name for name in new if name != METADATA_VERSION]
    for name in names:
        if old.get(name) != new[name]:
            yield MetadataRecord(FeatureLevelRecord(name=name, feature_level=new[name]), 0)
    for name in old:
        if name not in new:
            yield MetadataRecord(FeatureLevelRecord(name=name, feature_level=0), 0)


def _register_controller(controller: ControllerRegistration) -> MetadataRecord:
    record = RegisterControllerRecord(
        controller_id=controller.id,
        incarnation_id=controller.incarnation_id,
        zk_migration_ready=controller.zk_migration_ready,
        end_points=[
            ControllerEndpoint(name=name, host=host, port=port, security_protocol=protocol)
            for name, host, port, protocol in controller.listeners
        ],
        features=[
            ControllerFeature(name=name, min_supported_version=lowest, max_supported_version=highest)
            for name, lowest, highest in controller.features
        ],
    )
    return MetadataRecord(record, 0)


def _topic(topic: TopicImage) -> MetadataRecord:
    return MetadataRecord(TopicRecord(name=topic.name, topic_id=topic.topic_id), 0)


def _config(resource_type: int, resource_name: str, name: str, value: str | None) -> MetadataRecord:
    record = ConfigRecord(resource_type=int(resource_type), resource_name=resource_name, name=name, value=value)
    return MetadataRecord(record, 0)


def _quotas(old: MetadataImage, new: MetadataImage) -> Iterator[MetadataRecord]:
    for entity, quotas in new.client_quotas.items():
        before = old.client_quotas.quotas_of(entity)
        for key, value in quotas.items():
            if before.get(key) != value:
                yield _quota(entity.entries, key, value)
    for entity, quotas in old.client_quotas.items():
        after = new.client_quotas.quotas_of(entity)
        for key in quotas:
            if key not in after:
                yield _quota(entity.entries, key, None)


def _quota(entries: tuple[tuple[str, str | None], ...], key: str, value: float | None) -> MetadataRecord:
    record = ClientQuotaRecord(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entries],
        key=key,
        value=0.0 if value is None else value,
        remove=value is None,
    )
    return MetadataRecord(record, 0)


def _producer_ids(image: MetadataImage) -> MetadataRecord:
    next_producer_id, broker_id, broker_epoch = image.producer_ids
    record = ProducerIdsRecord(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=next_producer_id)
    return MetadataRecord(record, 0)


def _credentials(old: ScramImage, new: ScramImage) -> Iterator[MetadataRecord]:
    """Yield removals, then upsertions, by user in the order of the controller's tables."""
    removed = [each for each in old.entries() if new.credential(each.user, each.mechanism) is None]
    for user, mechanism, _ in hash_order_by(removed, _user_hash):
        yield MetadataRecord(RemoveUserScramCredentialRecord(name=user, mechanism=mechanism), 0)
    put = [each for each in new.entries() if old.credential(each.user, each.mechanism) is not each.credential]
    for each in hash_order_by(put, _user_hash):
        yield credential_record(each)


def _user_hash(change: ScramChange) -> int:
    return string_hash(change.user)


def credential_record(entry: ScramChange) -> MetadataRecord:
    """A credential of a user."""
    user, mechanism, credential = entry
    assert credential is not None, "images hold no removals"
    record = UserScramCredentialRecord(
        name=user,
        mechanism=mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )
    return MetadataRecord(record, 0)


def _tokens(old: Mapping[str, DelegationToken], new: Mapping[str, DelegationToken]) -> Iterator[MetadataRecord]:
    for token_id in old:
        if token_id not in new:
            yield MetadataRecord(RemoveDelegationTokenRecord(token_id=token_id), 0)
    for token_id, token in new.items():
        if old.get(token_id) is not token:
            yield token_record(token)


def token_record(token: DelegationToken) -> MetadataRecord:
    """A delegation token."""
    record = DelegationTokenRecord(
        owner=token.owner,
        requester=token.requester,
        renewers=list(token.renewers),
        issue_timestamp=token.issued_ms,
        max_timestamp=token.max_ms,
        expiration_timestamp=token.expires_ms,
        token_id=token.token_id,
    )
    return MetadataRecord(record, 0)


def _acl(acl_id: bytes, acl: Acl) -> MetadataRecord:
    record = AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )
    return MetadataRecord(record, 0)
