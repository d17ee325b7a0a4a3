"""A cluster's data directory: each broker's log directories, and the controller's metadata.

Below it, broker 2 has `broker-2`, or `broker-2/<path>` for every path in `log.dirs`; the controller has
`controller/__cluster_metadata-0`. Who starts again on the directory finds topics, ids and records.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.controller.metadata_files import MetadataFiles
from broker_sim.controller.metadata_image import NO_LEADER, MetadataImage
from broker_sim.errors import BrokerSimError
from broker_sim.log.files.errors import CorruptFile, ForeignDirectory
from broker_sim.log.files.file_storage import FileStorage
from broker_sim.log.files.property_files import (
    LOCK_FILE,
    META_PROPERTIES_FILE,
    MetaProperties,
    read_meta_properties,
)
from sim_runtime.random_streams import RenamedStreams
from sim_runtime.real_disk import RealDisk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from broker_sim.broker import Broker
    from broker_sim.cluster import Cluster
    from broker_sim.controller.controller import Controller
    from broker_sim.controller.metadata_image import PartitionRegistration, TopicImage
    from sim_runtime.disk import Disk, DiskLock
    from sim_runtime.random_streams import RandomStreams

CONTROLLER_FOLDER: Final = "controller"
STARTS_FILE: Final = "starts"
CONTROLLER_NODE_ID: Final = 3000
"""The node id in the controller's meta.properties, as Kafka's own samples number controllers."""


class ClusterData:
    """One data directory, in use by one cluster from `open` to `close`."""

    def __init__(self, data_dir: str, *, disk: Disk) -> None:
        self.disk = disk
        self.path = posixpath.normpath(data_dir)
        self.cluster_id = ""
        self.starts = 0
        """How many clusters have been started here before."""
        self._controller = f"{self.path}/{CONTROLLER_FOLDER}"
        self._lock: DiskLock | None = None
        self._metadata: MetadataFiles | None = None

    def lock(self, cluster_id: str) -> str:
        """Take the directory; answers the id of the cluster that it is of, the given one for a new directory.

        Raises BrokerSimError when the directory is in use, or cannot be used at all.
        """
        try:
            self.disk.make_directory(self._controller)
            self._lock = self.disk.lock(f"{self._controller}/{LOCK_FILE}")
            path = f"{self._controller}/{META_PROPERTIES_FILE}"
            known = read_meta_properties(self.disk, path)
            if known is None:
                own = MetaProperties(cluster_id=cluster_id, node_id=CONTROLLER_NODE_ID, directory_id=None)
                self.disk.replace(path, own.to_bytes())
            self.cluster_id = cluster_id if known is None else known.cluster_id
            self._count_start()
        except BlockingIOError:
            raise ForeignDirectory(
                f"{self._controller}/{LOCK_FILE} is locked: another cluster is at work there"
            ) from None
        except OSError as error:
            raise BrokerSimError(f"data directory {self.path!r} cannot be used: {error}") from error
        except BrokerSimError:
            self.close()
            raise
        return self.cluster_id

    def _count_start(self) -> None:
        path = f"{self._controller}/{STARTS_FILE}"
        if self.disk.is_file(path):
            text = self.disk.read(path).decode("utf-8", "replace").strip()
            if not text.isdecimal():
                raise CorruptFile(path, 0, f"{text!r} is not a number")
            self.starts = int(text)
        self.disk.replace(path, f"{self.starts + 1}\n".encode())

    def broker_config(self, config: BrokerConfig, broker_id: int) -> BrokerConfig:
        """The configuration with this broker's own directories in `log.dirs`."""
        if config.behaviour.zookeeper:
            self.close()
            raise BrokerSimError(
                f"data_dir: release {config.release} keeps its metadata in ZooKeeper, which is in memory alone: "
                f"a cluster on disk is one of 3.3 or later"
            )
        root = f"{self.path}/broker-{broker_id}"
        configured = config.overrides.get("log.dirs", config.overrides.get("log.dir"))
        names = [""] if configured is None else [name.strip().strip("/") for name in configured.split(",")]
        paths = [posixpath.normpath(f"{root}/{name}") for name in names]
        return BrokerConfig.parse({**config.overrides, "log.dirs": ",".join(paths)}, release=config.release)

    def storage(self, broker: Broker) -> FileStorage:
        """The logs of one broker."""
        return FileStorage(
            broker.config,
            disk=self.disk,
            reactor=broker.reactor,
            cluster_id=self.cluster_id,
            broker_id=broker.id,
            now_ms=broker.now_ms,
            random=broker.random("log directories"),
        )

    # Metadata --------------------------------------------------------------------------------------------------

    def open(self, controller: Controller, brokers: Iterable[Broker]) -> MetadataImage:
        """Read everything: the logs of every broker, and the metadata that the last cluster here has left."""
        for broker in brokers:
            broker.storage.open(broker.now_ms())
        self._metadata = MetadataFiles(self.disk, self._controller)
        return self._metadata.read(MetadataImage.empty(controller.image.cluster_id))

    def keep_metadata(self, controller: Controller) -> None:
        """Write from now on what the controller commits, in place of what was there."""
        assert self._metadata is not None, "it was read before"
        self._metadata.follow(controller)

    def close(self) -> None:
        """Let others have the directory."""
        if self._metadata is not None:
            self._metadata.close()
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()


def set_up_data(
    data_dir: str, disk: Disk | None, cluster_id: str, streams: RandomStreams
) -> tuple[ClusterData, str, RandomStreams]:
    """Take a data directory; answers it, the id of its cluster, and the streams that this start draws from.

    Ids that an earlier start has drawn must not be drawn again.
    """
    data = ClusterData(data_dir, disk=RealDisk() if disk is None else disk)
    cluster_id = data.lock(cluster_id)
    return data, cluster_id, RenamedStreams(streams, f" of start {data.starts}") if data.starts else streams


def start_on_disk(
    cluster: Cluster, data: ClusterData, new: Sequence[TopicImage], start: Callable[[Sequence[TopicImage]], None]
) -> None:
    """Start a cluster with what its data directory holds, and the topics of `new` that are not there yet.

    Configurations, quotas, features and the ids that producers have had come after the brokers are there.
    """
    controller = cluster.controller
    try:
        known = data.open(controller, cluster.brokers.values())
        start(topics_after_restart(known, new, cluster.brokers))
        if known.version >= 0:
            image = replace(
                controller.image,
                configs=known.configs,
                client_quotas=known.client_quotas,
                finalized_features=known.finalized_features,
                producer_ids=known.producer_ids,
            )
            controller.change("what was there before the start", lambda _: image)
        data.keep_metadata(controller)
    except BaseException:
        cluster.close()
        raise


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
