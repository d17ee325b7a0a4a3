"""A cluster's data directory: each broker's log directories, and the controller's metadata.

Below it, broker 2 has `broker-2`, or `broker-2/<path>` for every path in `log.dirs`; the controller has
`controller/__cluster_metadata-0`, each of several `controller-3000/__cluster_metadata-0` with its quorum-state, and
ZooKeeper `zookeeper`. Who starts again on the directory finds topics, ids and records.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from twisted.logger import Logger

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.errors import BrokerSimError
from broker_sim.log.files.errors import CorruptFile, ForeignDirectory
from broker_sim.log.files.file_storage import FileStorage
from broker_sim.log.files.property_files import (
    LOCK_FILE,
    META_PROPERTIES_FILE,
    MetaProperties,
    read_meta_properties,
)
from broker_sim.metadata.metadata_files import METADATA_FOLDER, MetadataFiles
from broker_sim.metadata.metadata_image import NO_LEADER, MetadataImage
from sim_runtime.random_streams import RenamedStreams
from sim_runtime.real_disk import RealDisk
from sim_runtime.spelling import plural, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from broker_sim.broker import Broker
    from broker_sim.cluster import Cluster
    from broker_sim.controller.controller import Controller
    from broker_sim.controller.group.controller_directories import ControllerDirectories
    from broker_sim.metadata.metadata_image import PartitionRegistration, TopicImage
    from broker_sim.quorum.raft_log import RaftStorage
    from broker_sim.zookeeper.ensemble import ZooKeeper
    from broker_sim.zookeeper.znode_files import ZnodeFiles
    from sim_runtime.disk import Disk, DiskLock

_log = Logger()

CONTROLLER_FOLDER: Final = "controller"
ZOOKEEPER_FOLDER: Final = "zookeeper"
STARTS_FILE: Final = "starts"
CONTROLLER_NODE_ID: Final = 3000
"""The node id in the controller's meta.properties, as Kafka's own samples number controllers."""


class MetadataKeeper(Protocol):
    """Stores the metadata of a cluster between its starts: of one controller, of a quorum, or of ZooKeeper."""

    def read(self, empty: MetadataImage) -> MetadataImage:
        """Return the metadata that the last cluster has left; `empty` for a new directory."""

    def follow(self, controller: Any) -> None:
        """Write every change that is committed from now on."""

    def close(self) -> None:
        """Write nothing more."""


class ClusterData:
    """One data directory, in use by one cluster from `lock` to `close`."""

    def __init__(self, data_dir: str, *, disk: Disk, config: BrokerConfig, controllers: int) -> None:
        self.disk = disk
        self.path = posixpath.normpath(data_dir)
        self.cluster_id = ""
        self.starts = 0
        """The number of clusters that have been started here before."""
        self._config = config
        self._with_zookeeper = config.behaviour.zookeeper
        self._controllers = 0 if self._with_zookeeper else controllers
        self._controller = f"{self.path}/{ZOOKEEPER_FOLDER if self._with_zookeeper else CONTROLLER_FOLDER}"
        self._lock: DiskLock | None = None
        self._keeper: MetadataKeeper | None = None
        self._image: Callable[[], MetadataImage]
        self._zookeeper_files: ZnodeFiles
        self._controller_directories: ControllerDirectories

    def lock(self, cluster_id: str) -> str:
        """Lock the directory. Returns the id of its cluster, for a new directory the given one.

        Raises:
            BrokerSimError: the directory is in use, belongs to another kind of cluster, or cannot be used.
        """
        try:
            self._refuse_another_kind()
            self.disk.make_directory(self._controller)
            self._lock = self.disk.lock(f"{self._controller}/{LOCK_FILE}")
            path = f"{self._controller}/{META_PROPERTIES_FILE}"
            known = read_meta_properties(self.disk, path)
            if known is None:
                own = MetaProperties(cluster_id=cluster_id, node_id=CONTROLLER_NODE_ID, directory_id=None)
                self.disk.replace(path, own.to_bytes())
            self.cluster_id = cluster_id if known is None or known.cluster_id is None else known.cluster_id
            self._count_start()
        except BlockingIOError:
            raise ForeignDirectory(
                f"{self._controller}/{LOCK_FILE} is locked: another cluster is at work there"
            ) from None
        except OSError as error:
            raise BrokerSimError(f"data directory {self.path!r} cannot be used: {reason_of(error)}") from error
        except BrokerSimError:
            self.close()
            raise
        return self.cluster_id

    def _refuse_another_kind(self) -> None:
        if self.disk.is_file(f"{self.path}/{META_PROPERTIES_FILE}"):
            raise ForeignDirectory(
                f"{self.path}: the directory is that of one broker, for it has {META_PROPERTIES_FILE}: expected a "
                "directory of its own, which has one per broker"
            )
        other = f"{self.path}/{CONTROLLER_FOLDER if self._with_zookeeper else ZOOKEEPER_FOLDER}"
        if self.disk.is_directory(other):
            has, wants = ("controllers", "ZooKeeper") if self._with_zookeeper else ("ZooKeeper", "controllers")
            raise ForeignDirectory(f"{other}: the directory is of a cluster with {has}, this one has {wants}")
        if self._with_zookeeper or not self.disk.is_directory(self.path):
            return
        prefix = f"{CONTROLLER_FOLDER}-"
        there = len([name for name in self.disk.list_directory(self.path) if name.startswith(prefix)])
        if self.disk.is_directory(f"{self._controller}/{METADATA_FOLDER}"):
            there = 1
        if there and there != self._controllers:
            has = plural(there, "controller")
            raise ForeignDirectory(f"{self.path}: the directory is of {has}, not of {self._controllers}")

    def _count_start(self) -> None:
        path = f"{self._controller}/{STARTS_FILE}"
        if self.disk.is_file(path):
            text = self.disk.read(path).decode("utf-8", "replace").strip()
            if not text.isdecimal():
                raise CorruptFile(path, 0, f"{text!r} is not a number")
            self.starts = int(text)
        self.disk.replace(path, f"{self.starts + 1}\n".encode())

    def broker_config(self, config: BrokerConfig, broker_id: int) -> BrokerConfig:
        """Return the configuration with this broker's own directories in `log.dirs`."""
        root = f"{self.path}/broker-{broker_id}"
        configured = config.overrides.get("log.dirs", config.overrides.get("log.dir"))
        names = [""] if configured is None else [name.strip().strip("/") for name in configured.split(",")]
        paths = [posixpath.normpath(f"{root}/{name}") for name in names]
        overrides = {**config.overrides, "log.dirs": ",".join(paths)}
        return replace(BrokerConfig.parse(overrides, release=config.release), part_types=config.part_types)

    def storage(self, broker: Broker) -> FileStorage:
        """Return the storage of one broker's logs."""
        return FileStorage(
            broker.config,
            disk=self.disk,
            reactor=broker.reactor,
            cluster_id=self.cluster_id,
            broker_id=broker.id,
            now_ms=broker.now_ms,
            random=broker.random("log directories"),
            topic_id_of=self._topic_id_of,
            configs_of=self._configs_of,
        )

    def _topic_id_of(self, topic: str) -> bytes | None:
        return self._zookeeper_files.topic_id_of(topic) if self._with_zookeeper else None

    def _configs_of(self, topic: str) -> Mapping[str, str]:
        known = self._image().topics.get(topic)
        return {} if known is None else known.configs

    # Metadata.

    def keep(self, cluster: Cluster) -> None:
        """Read the metadata before the controllers are made. Raises BrokerSimError."""
        if self._with_zookeeper:
            from broker_sim.zookeeper.znode_files import ZnodeFiles

            self._keeper = self._zookeeper_files = ZnodeFiles(
                self.disk,
                self._controller,
                release=self._config.release_table,
                cluster_id=self.cluster_id,
                random=cluster.streams.stream("topic ids"),
            )
        elif self._controllers > 1:
            from broker_sim.controller.group.controller_directories import ControllerDirectories

            self._keeper = self._controller_directories = ControllerDirectories(
                self.disk,
                f"{self.path}/{CONTROLLER_FOLDER}",
                cluster_id=self.cluster_id,
            )
        else:
            self._keeper = MetadataFiles(self.disk, self._controller)

    def voter_storage(self, node_id: int, voters: Sequence[int], new_directory_id: bytes) -> RaftStorage:
        """Return the storage of one controller of several. Raises BrokerSimError."""
        return self._controller_directories.open(node_id, voters, new_directory_id)

    def open(self, cluster: Cluster) -> MetadataImage:
        """Read everything: the metadata that the last cluster here has left, and the logs of every broker."""
        assert self._keeper is not None, "it was made with the cluster"
        known = self._keeper.read(MetadataImage.empty(self.cluster_id))
        self._image = lambda: known
        if self._with_zookeeper:
            self._zookeeper_files.restore(cast("ZooKeeper", cluster.controller), known)
        for broker in cluster.brokers.values():
            broker.storage.open(broker.now_ms())
        return known

    def keep_metadata(self, controller: Controller) -> None:
        """Write every change that the controller commits from now on."""
        assert self._keeper is not None, "it was read before"
        self._keeper.follow(controller)
        self._image = lambda: controller.image

    @property
    def carries_on(self) -> bool:
        """True if the controllers restore the previous metadata themselves, except for the leaders."""
        return self._with_zookeeper or self._controllers > 1

    def close(self) -> None:
        """Unlock the directory."""
        if self._keeper is not None:
            self._keeper.close()
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()


def set_up_data(cluster: Cluster, data_dir: str, disk: Disk | None, *, controllers: int) -> ClusterData:
    """Lock a data directory, and set the cluster's id and random streams from it.

    This start must not draw the ids that an earlier start has drawn.
    """
    used = RealDisk() if disk is None else disk
    data = ClusterData(data_dir, disk=used, config=cluster.config, controllers=controllers)
    cluster.cluster_id = data.lock(cluster.cluster_id)
    if data.starts:
        cluster.streams = RenamedStreams(cluster.streams, f" of start {data.starts}")
    data.keep(cluster)
    return data


def start_on_disk(
    cluster: Cluster, data: ClusterData, new: Sequence[TopicImage], start: Callable[[Sequence[TopicImage]], None]
) -> None:
    """Start a cluster with what its data directory holds, and the topics of `new` that are not there yet.

    Configurations, quotas, features, credentials, delegation tokens, access control entries and the ids that producers
    have had come after the brokers are there.
    """
    controller = cluster.controller
    try:
        known = data.open(cluster)
        _report_other_shapes(known, new)
        start(topics_after_restart(known, new, cluster.brokers))
        if known.version >= 0 and not data.carries_on:
            image = replace(
                controller.image,
                configs=known.configs,
                client_quotas=known.client_quotas,
                finalized_features=known.finalized_features,
                producer_ids=known.producer_ids,
                scram=known.scram,
                tokens=known.tokens,
                acls=known.acls,
            )
            controller.change("what was there before the start", lambda _: image)
        data.keep_metadata(controller)
    except BaseException:
        cluster.close()
        raise


def _report_other_shapes(known: MetadataImage, new: Iterable[TopicImage]) -> None:
    """Log the topics that the start names with another number of partitions than they have: they stay as they are."""
    for topic in new:
        there = known.topics.get(topic.name)
        if there is not None and len(there.partitions) != len(topic.partitions):
            _log.warn(
                "data directory: topic={topic} exists with partitions={has}, and is not changed to {wanted}",
                topic=topic.name,
                has=len(there.partitions),
                wanted=len(topic.partitions),
            )


def topics_after_restart(
    image: MetadataImage, new: Iterable[TopicImage], broker_ids: Iterable[int]
) -> list[TopicImage]:
    """The topics that were there, every partition with a new leader epoch, and those of `new` that were not."""
    alive = dict.fromkeys(broker_ids)
    topics = [
        replace(topic, partitions=tuple(_led_anew(partition, alive) for partition in topic.partitions))
        for topic in image.topics.values()
    ]
    return topics + [topic for topic in new if topic.name not in image.topics]


def _led_anew(partition: PartitionRegistration, alive: dict[int, None]) -> PartitionRegistration:
    in_sync = [replica for replica in partition.isr if replica in alive]
    candidates = in_sync or [replica for replica in partition.elr if replica in alive]
    leader = partition.leader if partition.leader in candidates else (candidates or [NO_LEADER])[0]
    return replace(
        partition,
        leader=leader,
        isr=partition.isr if in_sync or leader == NO_LEADER else (leader,),
        elr=tuple(replica for replica in partition.elr if replica != leader or in_sync),
        lost_replicas=(),
        leader_epoch=partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
    )
