"""The verbs of an administrator on a running cluster, by Kafka's own requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_client.core.admin.acls import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from broker_client.core.admin.configs import (
    AlterConfigOp,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
)
from broker_client.core.admin.quotas import QuotaEntity
from broker_client.core.admin.replicas import ElectionType
from broker_client.core.admin.topics import NewPartitions, NewTopic
from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from broker_sim.coordinators.internal_partitions import state_partition
from broker_sim.errors import BrokerSimError, nearest
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from broker_client.core.admin.admin_core import AdminCore
    from broker_scenarios.targets.attached_cluster import AttachedCluster
    from broker_sim.faults.action import Need
    from broker_sim.topic_spec import TopicSpec
    from protocol_specs.messages.create_acls import AclCreation
    from sim_runtime.interfaces import IReactor

__all__ = ["AttachedAdmin"]

POLL_MS: Final = 50
HIGH_WATERMARK: Final = -1
KINDS: Final = {
    "topic": ConfigResourceType.TOPIC,
    "broker": ConfigResourceType.BROKER,
    "group": ConfigResourceType.GROUP,
}
SET_ON_ITSELF: Final = frozenset({
    ConfigSource.DYNAMIC_TOPIC_CONFIG,
    ConfigSource.DYNAMIC_BROKER_CONFIG,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfigSource.DYNAMIC_GROUP_CONFIG,
})  # fmt: skip


class AttachedAdmin:
    """It remembers what it has changed beside the topics of the scenario: `restore` takes that back."""

    def __init__(self, admin: AdminCore, cluster: AttachedCluster, reactor: IReactor) -> None:
        self._admin = admin
        self._cluster = cluster
        self._reactor = reactor
        self.created: set[str] = set()
        self.groups: tuple[str, ...] = ()
        """The groups of the scenario's consumers, none of which was there before."""
        """The topics that the run has created."""
        self._quotas: dict[QuotaEntity, set[str]] = {}
        self._acls: dict[AclBinding, None] = {}
        self._configs: dict[ConfigResource, dict[str, str | None]] = {}

    # What rules can name.

    @property
    def capabilities(self) -> frozenset[Need]:
        """The parts that actions can need."""
        return self._cluster.capabilities

    @property
    def broker_ids(self) -> Sequence[int]:
        """The ids of all brokers."""
        return self._cluster.broker_ids

    @property
    def controller_ids(self) -> Sequence[int]:
        """The controllers that are processes of their own."""
        return self._cluster.controller_ids

    @property
    def partition_counts(self) -> dict[str, int]:
        """The number of partitions of each topic."""
        return self._cluster.partition_counts

    def replicas_of(self, topic: str, partition: int) -> Sequence[int]:
        """Return the replicas of a partition, the preferred one first. Raises BrokerSimError for an unknown one."""
        return self._cluster.partition_of(topic, partition).replicas

    def serves(self, broker_id: int) -> bool:
        """Return True if a broker was not killed or stopped."""
        return self._cluster.is_running(broker_id)

    def isr_of(self, topic: str, partition: int) -> Sequence[int]:
        """Return the in-sync replicas of a partition. Raises BrokerSimError for an unknown one."""
        return self._cluster.partition_of(topic, partition).isr

    def state_partition(self, kind: str, key: str) -> tuple[str, int]:
        """Return the partition that has the state of a group or of a transaction (`kind`), -1 while there is none."""
        return state_partition(kind, key, self.partition_counts)

    def pause(self, broker_id: int) -> Deferred[None]:
        """Pause a broker."""
        return self._cluster.pause(broker_id)

    def resume(self, broker_id: int) -> Deferred[None]:
        """Continue a paused broker."""
        return self._cluster.resume(broker_id)

    # Requests of an administrator.

    def elect_leader(
        self, topic: str, partition: int, *, broker_id: int | None = None, unclean: bool = False
    ) -> Deferred[None]:
        """Elect the preferred replica, or a named one: a reassignment of the same replicas makes it the preferred."""
        key = TopicPartition(topic, partition)

        async def elect() -> None:
            if broker_id is not None:
                known = self._cluster.partition_of(topic, partition)
                if broker_id not in known.isr:
                    raise BrokerSimError(f"broker {broker_id} is not in the ISR {list(known.isr)} of {key}")
                others = [each for each in known.replicas if each != broker_id]
                await self._admin.alter_partition_reassignments({key: [broker_id, *others]})
                while await self._admin.list_partition_reassignments([key]):
                    await sleep(self._reactor, POLL_MS)
            await self._admin.elect_leaders(ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED, [key])

        return _begun(elect)

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> Deferred[None]:
        """Begin to move a partition to other replicas, the preferred one first."""
        wanted = {TopicPartition(topic, partition): list(replicas)}
        return _begun(lambda: self._admin.alter_partition_reassignments(wanted))

    def add_partitions(self, topic: str, count: int) -> Deferred[None]:
        """Add partitions to a topic."""
        total = self.partition_counts.get(topic, 0) + count
        return _begun(lambda: self._admin.create_partitions({topic: NewPartitions(total_count=total)}))

    def create_topic(self, spec: TopicSpec) -> Deferred[None]:
        """Create a topic; fires when its partitions have leaders."""
        self.created.add(spec.name)
        return _begun(lambda: self._create(spec.name, spec.partitions, spec.replication_factor, spec.configs))

    async def _create(self, name: str, partitions: int, factor: int, configs: Mapping[str, str]) -> None:
        topic = NewTopic(name=name, partitions=partitions, replication_factor=factor, configs=configs)
        await self._admin.create_topics([topic])
        await self._admin.wait_for_topic(name)

    def delete_topic(self, name: str) -> Deferred[None]:
        """Delete a topic."""
        return _begun(lambda: self._admin.delete_topics([name]))

    def recreate_topic(self, name: str) -> Deferred[None]:
        """Delete a topic, and create it with another id and the same partitions and configurations."""
        count = self.partition_counts.get(name)
        if count is None:
            raise BrokerSimError(f"there is no topic {name!r}{nearest(name, self.partition_counts)}")
        factor = len(self.replicas_of(name, 0))

        async def again() -> None:
            configs = await self.config_of("topic", name)
            await self._admin.delete_topics([name])
            await self._create(name, count, factor, configs)

        return _begun(again)

    def delete_records(self, topic: str, partition: int, before_offset: int | None = None) -> Deferred[None]:
        """Delete the records below an offset, None for the high watermark."""
        before = {TopicPartition(topic, partition): HIGH_WATERMARK if before_offset is None else before_offset}
        return _begun(lambda: self._admin.delete_records(before))

    def config_of(self, kind: str, name: str) -> Deferred[dict[str, str]]:
        """Fire with the configurations that are set on a `topic`, `broker` or `group` itself."""
        resource = ConfigResource(KINDS[kind], name)

        async def described() -> dict[str, str]:
            found = (await self._admin.describe_configs([resource]))[resource]
            return {
                key: entry.value
                for key, entry in found.items()
                if entry.source in SET_ON_ITSELF and entry.value is not None
            }

        return Deferred.fromCoroutine(described())

    def alter_config(self, kind: str, name: str, configs: Mapping[str, str | None]) -> Deferred[None]:
        """Set configurations of a `topic`, `broker` (an empty name: all brokers) or `group`; None deletes one."""
        resource = ConfigResource(KINDS[kind], name)

        async def alter() -> None:
            if kind != "topic":
                before = await self.config_of(kind, name)
                known = self._configs.setdefault(resource, {})
                for key in configs:
                    known.setdefault(key, before.get(key))
            await self._set(resource, configs)

        return _begun(alter)

    async def _set(self, resource: ConfigResource, configs: Mapping[str, str | None]) -> None:
        changes = [
            AlterConfigOp(
                name=key, value=value, operation=ConfigOperation.DELETE if value is None else ConfigOperation.SET
            )
            for key, value in configs.items()
        ]
        await self._admin.incremental_alter_configs({resource: changes})

    def alter_quota(self, entity: Mapping[str, str | None], quotas: Mapping[str, float | None]) -> Deferred[None]:
        """Set quotas of a `user`, `client-id` or `ip` (a name of None: the default); None removes one."""
        whose = QuotaEntity.of(dict(entity))
        self._quotas.setdefault(whose, set()).update(quotas)
        return _begun(lambda: self._admin.alter_client_quotas({whose: quotas}))

    def alter_acl(self, entry: AclCreation, *, delete: bool) -> Deferred[None]:
        """Create an access control entry, or delete it; what the run has created is deleted in the end."""
        acl = AclBinding(
            resource_type=ResourceType(entry.resource_type),
            resource_name=entry.resource_name,
            pattern_type=PatternType(entry.resource_pattern_type),
            principal=entry.principal,
            host=entry.host,
            operation=AclOperation(entry.operation),
            permission_type=AclPermissionType(entry.permission_type),
        )
        if delete:
            return _begun(lambda: self._admin.delete_acls([_exactly(acl)]))
        self._acls[acl] = None
        return _begun(lambda: self._admin.create_acls([acl]))

    async def restore(self) -> None:
        """Delete the topics and the groups, and take back the quotas and configurations that the run has changed."""
        groups = await self._admin.list_groups() if self.groups else {}
        for group in self.groups:
            if group in groups:
                # A member that never left would keep its partitions from the next run of the same group.
                await self._admin.remove_group_members(group)
                await self._admin.delete_groups([group])
        existing = await self._admin.list_topics()
        left = [name for name in self.created if name in existing]
        if left:
            await self._admin.delete_topics(left)
        if self._quotas:
            await self._admin.alter_client_quotas({whose: dict.fromkeys(keys) for whose, keys in self._quotas.items()})
        for resource, configs in self._configs.items():
            await self._set(resource, configs)
        if self._acls:
            await self._admin.delete_acls([_exactly(acl) for acl in self._acls])


def _exactly(acl: AclBinding) -> AclBindingFilter:
    """Return the filter that selects one entry."""
    return AclBindingFilter(
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def _begun(call: Callable[[], Coroutine[Any, Any, object]]) -> Deferred[None]:
    """Begin a call; errors of the cluster become the problem of the rule."""

    async def run() -> None:
        try:
            await call()
        except ProducerError as error:
            raise BrokerSimError(str(error)) from None

    return Deferred.fromCoroutine(run())
