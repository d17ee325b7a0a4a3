"""The verbs of an administrator of a cluster, and what fault rules find in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from broker_sim.apis.handler_result import RESULTS, LateResponse
from broker_sim.broker_state import BrokerState
from broker_sim.config.config_resource import ConfigOperation, ResourceType
from broker_sim.control.events import BrokerKilled, BrokerStopped
from broker_sim.coordinators.internal_partitions import state_partition
from broker_sim.errors import BrokerSimError, NotThere, nearest
from broker_sim.faults.action import Need
from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.topic_partition import TopicPartition
from broker_sim.topic_spec import TopicSpec, check_partitions, check_replicas
from protocol_specs.entities import named_values
from protocol_specs.error_codes import ErrorCode
from protocol_specs.message import Message
from protocol_specs.messages import alter_client_quotas as client_quotas
from protocol_specs.messages import alter_partition_reassignments as reassignments
from protocol_specs.messages import alter_user_scram_credentials as scram_credentials
from protocol_specs.messages import (
    create_acls,
    create_partitions,
    delete_acls,
    delete_groups,
    delete_records,
    elect_leaders,
)
from protocol_specs.messages import incremental_alter_configs as incremental
from protocol_specs.sasl.scram import ITERATIONS_MIN, ScramMechanism, new_nonce
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.virtual_host import HostReactor
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_sim.cluster import Cluster
    from broker_sim.control.events import Event
    from broker_sim.faults.log_files import LogFiles
    from broker_sim.metadata.metadata_image import MetadataImage

__all__ = ["ClusterAdmin"]

CLIENT_ID: Final = "broker-sim-admin"
TIMEOUT_MS: Final = 30_000
HIGH_WATERMARK: Final = -1
"""The offset of a DeleteRecords that stands for the high watermark."""
RESOURCE_TYPES: Final = {"topic": ResourceType.TOPIC, "broker": ResourceType.BROKER, "group": ResourceType.GROUP}
_STORED_IN_ZOOKEEPER: Final = (client_quotas.AlterClientQuotasRequest, incremental.IncrementalAlterConfigsRequest)
SCRAM_SHA_256: Final = "SCRAM-SHA-256"
_ERROR_CODE: Final = frozenset({"error_code"})
_ERROR_MESSAGE: Final = frozenset({"error_message"})


class ClusterAdmin:
    """The administrator of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @property
    def capabilities(self) -> frozenset[Need]:
        """The parts that actions of fault rules can need."""
        cluster = self._cluster
        found = {Need.CLUSTER, Need.PROCESS, Need.PAUSE, Need.ADMIN, Need.WIRE}
        if cluster.data is not None:
            found.add(Need.DISK)
            if isinstance(cluster.data.disk, VirtualDisk):
                found.add(Need.VIRTUAL_DISK)
        if isinstance(cluster.reactor, VirtualReactor | HostReactor):
            found.add(Need.VIRTUAL_TIME)
        if cluster.faults.clients is not None:
            found.add(Need.CLIENTS)
        return frozenset(found)

    @property
    def broker_ids(self) -> Sequence[int]:
        """The ids of all brokers, of those that are down too."""
        return self._cluster.broker_ids

    @property
    def controller_ids(self) -> Sequence[int]:
        """The node ids of the controllers that can fail."""
        return self._cluster.controller_ids

    @property
    def partition_counts(self) -> dict[str, int]:
        """The number of partitions of each topic."""
        return self._cluster.partition_counts

    def replicas_of(self, topic: str, partition: int) -> Sequence[int]:
        """Return the replicas of a partition, the preferred one first. Raises BrokerSimError for an unknown one."""
        return self._cluster.registration_of(topic, partition).replicas

    def serves(self, broker_id: int) -> bool:
        """Return True if a broker runs, is not paused, and the controller has unfenced it."""
        broker = self._cluster.broker(broker_id)
        return broker.alive and not broker.paused and broker.lifecycle.state is BrokerState.RUNNING

    def isr_of(self, topic: str, partition: int) -> Sequence[int]:
        """Return the in-sync replicas of a partition. Raises BrokerSimError for an unknown one."""
        return self._cluster.registration_of(topic, partition).isr

    def state_partition(self, kind: str, key: str) -> tuple[str, int]:
        """Return the partition that has the state of a group or of a transaction (`kind`), -1 while there is none."""
        return state_partition(kind, key, self.partition_counts)

    def pause(self, broker_id: int) -> None:
        """Stop the process of a broker, as SIGSTOP does."""
        self._cluster.broker(broker_id).pause()

    def resume(self, broker_id: int) -> None:
        """Continue the process of a paused broker."""
        self._cluster.broker(broker_id).resume()

    def jump_clock(self, broker_id: int, ms: float) -> None:
        """Move the wall clock of a broker ahead, back when negative."""
        self._cluster.broker(broker_id).clock.jump(ms)

    def drift_clock(self, broker_id: int, ppm: float) -> None:
        """Let the wall clock of a broker gain microseconds per second from now on."""
        self._cluster.broker(broker_id).clock.set_drift(ppm)

    def lag_metadata(self, broker_id: int, ms: float) -> None:
        """Let a broker learn of changes of the metadata so much later, from the next one on."""
        self._cluster.broker(broker_id).metadata_lag_ms = ms

    def log_files(self, broker_id: int) -> LogFiles:
        """Return the files of a broker's logs. Raises BrokerSimError where they are not on a VirtualDisk."""
        from broker_sim.faults.log_files import LogFiles

        data = self._cluster.data
        if data is None or not isinstance(data.disk, VirtualDisk):
            raise BrokerSimError("the logs are not on a VirtualDisk")
        storage = self._cluster.broker(broker_id).storage
        return LogFiles(data.disk, storage.directories.names, storage)

    def slow_fsync(self, broker_id: int, ms: float, *, topic: str | None, partition: int | None) -> None:
        """Let flushes of a broker's logs take so long, those of a topic or of a partition alone if one is named."""
        from broker_sim.faults.slow_disks import DiskSpeed, slow_log_dirs

        names = self._cluster.broker(broker_id).storage.directories.names
        slow_log_dirs(self._cluster, broker_id, names, DiskSpeed(sync_ms=ms, topic=topic, partition=partition))

    def restore_disk_speed(self, broker_id: int, log_dir: str | None = None) -> None:
        """End the slowness of a directory of a broker, by default of all."""
        faults = self._cluster.faults
        if faults.slow_disks:
            faults.slow_disks.mend_broker(self._cluster.broker(broker_id), log_dir)
            faults.changed()

    def force_rebalance(self, group_id: str) -> Deferred[None]:
        """Begin a rebalance of a group, which its members have not caused; fires when the coordinator has begun.

        Raises:
            NotThere: the group has no coordinator. The Deferred fails with a BrokerSimError if it cannot rebalance.
        """
        from broker_sim.coordinators.groups.forced_rebalance import force_rebalance

        topic, partition = self.state_partition("group", group_id)
        leader = self._cluster.leader_of(topic, partition) if partition >= 0 else None
        if leader is None:
            raise NotThere(f"group {group_id} has no coordinator")
        groups = self._cluster.broker(leader).coordinators.groups
        begun = groups.write(group_id, "force-rebalance", lambda shard: force_rebalance(shard, group_id)).deferred
        return begun.addCallback(lambda _: None)

    def delete_group(self, group_id: str) -> Deferred[None]:
        """Delete a group without members, and its offsets (KIP-229); raises NotThere if it has no coordinator."""
        topic, partition = self.state_partition("group", group_id)
        leader = self._cluster.leader_of(topic, partition) if partition >= 0 else None
        if leader is None:
            raise NotThere(f"group {group_id} has no coordinator")
        request = delete_groups.DeleteGroupsRequest(groups_names=[group_id])
        return self._request(request, leader, about=f" of {group_id}")

    # Verbs of an administrator. Their requests are served at a running broker and pass no fault rule.

    def elect_leader(
        self, topic: str, partition: int, *, broker_id: int | None = None, unclean: bool = False
    ) -> Deferred[None]:
        """Elect the preferred replica of a partition, or a named one; fires when the controller has decided.

        Kafka has a request for the first alone: for a named replica the controller commits the leader itself, as after
        a reassignment of the order. One that is not in the ISR needs `unclean`, and loses what the others have more.

        Raises:
            BrokerSimError: The election is not possible, or not needed; the message has Kafka's error.
        """
        if broker_id is not None:
            return self._elect(topic, partition, broker_id, unclean=unclean)
        wanted = elect_leaders.TopicPartitions(topic=topic, partitions=[partition])
        request = elect_leaders.ElectLeadersRequest(election_type=int(unclean), topic_partitions=[wanted])
        return self._request(request)

    def _elect(self, topic: str, partition: int, broker_id: int, *, unclean: bool) -> Deferred[None]:
        cluster = self._cluster
        place = TopicPartition(topic, partition)
        name = f"elect broker {broker_id} the leader of {place}"
        if cluster.config.behaviour.zookeeper:
            raise BrokerSimError(f"{name}: release {cluster.config.release} has ZooKeeper, which elects by itself")
        known = cluster.registration_of(topic, partition)
        if broker_id == known.leader:
            raise BrokerSimError(f"{name}: it is the leader")
        if broker_id not in known.replicas or not cluster.is_running(broker_id):
            raise BrokerSimError(f"{name}: expected a running replica of {list(known.replicas)}")
        if broker_id not in known.isr and not unclean:
            raise BrokerSimError(f"{name}: it is not in the ISR {list(known.isr)}, which needs an unclean election")

        def elected(image: MetadataImage) -> MetadataImage:
            before = image.topics[topic].partitions[partition]
            after = replace(
                before,
                leader=broker_id,
                isr=before.isr if broker_id in before.isr else (broker_id,),
                leader_epoch=before.leader_epoch + 1,
                partition_epoch=before.partition_epoch + 1,
            )
            return image.with_partitions({place: after})

        return cluster.controller.change(name, elected).addCallback(lambda _: None)

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> Deferred[None]:
        """Begin to move a partition to other replicas, the preferred one first (KIP-455)."""
        wanted = reassignments.ReassignablePartition(partition_index=partition, replicas=list(replicas))
        moved = reassignments.ReassignableTopic(name=topic, partitions=[wanted])
        return self._request(reassignments.AlterPartitionReassignmentsRequest(topics=[moved]))

    def add_partitions(self, topic: str, count: int) -> Deferred[None]:
        """Add partitions to a topic. Raises ConfigError beyond PARTITIONS_MAX."""
        total = self._cluster.partition_counts.get(topic, 0) + count
        check_partitions(topic, total)
        check_replicas(self._replicas + count * self._replication_factor(topic))
        wanted = create_partitions.CreatePartitionsTopic(name=topic, count=total, assignments=None)
        return self._request(create_partitions.CreatePartitionsRequest(topics=[wanted], timeout_ms=TIMEOUT_MS))

    def create_topic(self, spec: TopicSpec) -> Deferred[None]:
        """Create a topic; fires when every running broker knows it. Raises ConfigError beyond REPLICAS_MAX."""
        check_replicas(self._replicas + spec.partitions * spec.replication_factor)
        return self._cluster.create_topic(spec).addCallback(lambda _: None)

    @property
    def _replicas(self) -> int:
        topics = self._cluster.controller.committed_image.topics.values()
        return sum(len(partition.replicas) for topic in topics for partition in topic.partitions)

    def _replication_factor(self, name: str) -> int:
        topic = self._cluster.controller.committed_image.topics.get(name)
        return 0 if topic is None else len(topic.partitions[0].replicas)

    def delete_topic(self, name: str) -> Deferred[None]:
        """Delete a topic; fires when every running broker knows it."""
        return self._cluster.delete_topic(name)

    def recreate_topic(self, name: str) -> Deferred[None]:
        """Delete a topic, and create it with another id and the same partitions and configurations."""
        topic = self._cluster.controller.committed_image.topics.get(name)
        if topic is None:
            raise BrokerSimError(f"there is no topic {name!r}{nearest(name, self.partition_counts)}")
        spec = TopicSpec(
            name=name,
            partitions=len(topic.partitions),
            replication_factor=len(topic.partitions[0].replicas),
            configs=dict(topic.configs),
        )
        return self.delete_topic(name).addCallback(lambda _: self.create_topic(spec))

    def delete_records(self, topic: str, partition: int, before_offset: int | None = None) -> Deferred[None]:
        """Delete the records below an offset, None for the high watermark, at the leader (KIP-107)."""
        leader = self._cluster.leader_of(topic, partition)
        if leader is None or not self._cluster.is_running(leader):
            raise BrokerSimError(f"{topic}-{partition} has no running leader")
        wanted = delete_records.DeleteRecordsPartition(
            partition_index=partition, offset=HIGH_WATERMARK if before_offset is None else before_offset
        )
        topics = [delete_records.DeleteRecordsTopic(name=topic, partitions=[wanted])]
        request = delete_records.DeleteRecordsRequest(topics=topics, timeout_ms=TIMEOUT_MS)
        return self._request(request, leader, about=f" of {topic}-{partition} before offset {wanted.offset}")

    def config_of(self, kind: str, name: str) -> Deferred[dict[str, str]]:
        """Fire with the configurations that are set on a `topic`, `broker` or `group` itself."""
        return succeed(dict(self._cluster.controller.committed_image.config_of(RESOURCE_TYPES[kind], name)))

    def alter_config(self, kind: str, name: str, configs: Mapping[str, str | None]) -> Deferred[None]:
        """Set configurations of a `topic`, `broker` (an empty name: all brokers) or `group`; None deletes one."""
        changes = [
            incremental.AlterableConfig(
                name=key, config_operation=ConfigOperation.DELETE if value is None else ConfigOperation.SET, value=value
            )
            for key, value in configs.items()
        ]
        resource = incremental.AlterConfigsResource(
            resource_type=RESOURCE_TYPES[kind], resource_name=name, configs=changes
        )
        at = int(name) if kind == "broker" and name else None
        return self._request(incremental.IncrementalAlterConfigsRequest(resources=[resource]), at)

    def alter_quota(self, entity: Mapping[str, str | None], quotas: Mapping[str, float | None]) -> Deferred[None]:
        """Set quotas of a `user`, `client-id` or `ip` (a name of None: the default), None removes one (KIP-546)."""
        named = [client_quotas.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
        changes = [
            client_quotas.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in quotas.items()
        ]
        entry = client_quotas.EntryData(entity=named, ops=changes)
        return self._request(client_quotas.AlterClientQuotasRequest(entries=[entry]))

    def alter_acl(self, entry: create_acls.AclCreation, *, delete: bool) -> Deferred[None]:
        """Create an access control entry, or delete it (KIP-140)."""
        if not delete:
            return self._request(create_acls.CreateAclsRequest(creations=[entry]))
        only = delete_acls.DeleteAclsFilter(
            resource_type_filter=entry.resource_type,
            resource_name_filter=entry.resource_name,
            pattern_type_filter=entry.resource_pattern_type,
            principal_filter=entry.principal,
            host_filter=entry.host,
            operation=entry.operation,
            permission_type=entry.permission_type,
        )
        return self._request(delete_acls.DeleteAclsRequest(filters=[only]))

    def create_scram_user(
        self, user: str, password: str, *, mechanism: str = SCRAM_SHA_256, iterations: int = ITERATIONS_MIN
    ) -> Deferred[None]:
        """Set the password of a user for `SCRAM-SHA-256` or `SCRAM-SHA-512`; fires when every running broker has it.

        Raises:
            BrokerSimError: the mechanism is unknown, or there are fewer than 1 iteration.
        """
        known = _scram_mechanism(mechanism)
        if iterations < 1:
            raise BrokerSimError(f"iterations: {iterations} is not positive; expected at least 1")
        salt = new_nonce(self._cluster.streams.stream("scram salts")).encode()
        upsertion = scram_credentials.ScramCredentialUpsertion(
            name=user,
            mechanism=known,
            iterations=iterations,
            salt=salt,
            salted_password=known.salted_password(password, salt, iterations),
        )
        return self._alter_credentials(deletions=[], upsertions=[upsertion])

    def delete_scram_user(self, user: str, *, mechanism: str = SCRAM_SHA_256) -> Deferred[None]:
        """Delete the credential of a user for a mechanism; fires when no running broker has it."""
        deletion = scram_credentials.ScramCredentialDeletion(name=user, mechanism=_scram_mechanism(mechanism))
        return self._alter_credentials(deletions=[deletion], upsertions=[])

    def _alter_credentials(self, **changes: Any) -> Deferred[None]:
        altered = self._request(scram_credentials.AlterUserScramCredentialsRequest(**changes))
        cluster = self._cluster
        return altered.addCallback(lambda _: cluster.when_applied(cluster.controller.committed_image.version))

    def update_features(self, request: Message) -> Deferred[None]:
        """Serve an UpdateFeatures, which finalizes the levels of features (KIP-584)."""
        return self._request(request)

    def upgrade(self, to: str, broker_ids: Sequence[int] | None = None) -> Deferred[None]:
        """Restart brokers, by default all, as a release, each when the one before is in sync again."""
        from broker_sim.release_upgrade import rolling_upgrade

        return rolling_upgrade(self._cluster, to, broker_ids)

    def finalize(self, to: str) -> Deferred[None]:
        """Set every feature to the level of a new cluster of a release."""
        from broker_sim.release_upgrade import finalize

        return finalize(self._cluster, to)

    def _request(self, request: Any, broker_id: int | None = None, *, about: str = "") -> Deferred[None]:
        """Serve a request at a broker, by default the first that runs; fires without an error in the response.

        Errors name the API and what the request is `about`.
        """
        cluster = self._cluster
        name = f"{request.API_KEY.api_name}{about}"
        if broker_id is None:
            broker_id = next(filter(cluster.is_running, cluster.broker_ids), None)
        if broker_id is None or not cluster.is_running(broker_id):
            raise BrokerSimError(f"{name}: no broker is running that could serve it")
        broker = cluster.broker(broker_id)
        version = broker.release.api_versions.get(request.API_KEY)
        if version is None and cluster.config.behaviour.zookeeper and isinstance(request, _STORED_IN_ZOOKEEPER):
            # As `kafka-configs --zookeeper` does: the release has no request for it.
            written = broker.forward_to_controller(request, timeout_ms=TIMEOUT_MS)
            return written.addCallback(_without_error, name)
        if version is None:
            raise BrokerSimError(f"{name}: release {cluster.config.release} does not have it")
        context = PlainCalls(broker).context(request, version.highest, client_id=CLIENT_ID)
        context.connection.principal = None  # the cluster's own Python API needs no rights
        served: Deferred[Any] = Deferred()
        result: Any = broker.apis.serve(context)
        if isinstance(result, LateResponse):
            result.send_with(lambda response, _: _fire(served, response), None)
        elif not isinstance(result, RESULTS) and isinstance(result, Deferred):
            result.addBoth(lambda outcome: _fire(served, outcome))
        else:
            served.callback(result)
        if not served.called:
            self._fail_with_its_broker(served, broker.id, name)
        return served.addCallback(_without_error, name)

    def _fail_with_its_broker(self, served: Deferred[Any], broker_id: int, name: str) -> None:
        """Fail a request that is not served yet when the process of its broker ends."""

        def look(event: Event) -> None:
            if type(event) in {BrokerKilled, BrokerStopped} and event.broker_id == broker_id and not served.called:
                served.errback(NotThere(f"{name}: broker {broker_id} has ended before its response"))

        unsubscribe = self._cluster.journal.subscribe(look)

        def done(outcome: Any) -> Any:
            unsubscribe()
            return outcome

        served.addBoth(done)


def _scram_mechanism(name: str) -> ScramMechanism:
    mechanism = ScramMechanism.of_name(name)
    if mechanism is ScramMechanism.UNKNOWN:
        known = ", ".join(each.sasl_name for each in ScramMechanism if each is not ScramMechanism.UNKNOWN)
        raise BrokerSimError(f"there is no SCRAM mechanism {name!r}; there are {known}")
    return mechanism


def _fire(served: Deferred[Any], outcome: Any) -> None:
    if served.called:
        return  # the process of its broker has ended meanwhile
    if isinstance(outcome, Failure):
        served.errback(outcome)
    else:
        served.callback(outcome)


def _without_error(response: Any, name: str) -> None:
    if not isinstance(response, Message):
        raise BrokerSimError(f"{name}: no response ({response})")
    codes = [ErrorCode(code).name for code in named_values(response, _ERROR_CODE) if code]
    if codes:
        messages = [str(text) for text in named_values(response, _ERROR_MESSAGE) if text]
        raise BrokerSimError(f"{name}: {', '.join(dict.fromkeys([*codes, *messages]))}")
