"""A cluster of brokers and controllers with topics, and the verbs that inject faults.

All parts run on the caller's reactor, on real or virtual time. `start` is synchronous: when it returns, the listeners
are bound, the topics exist, and every broker leads and follows its partitions.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred, succeed

from broker_sim.apis.auto_topic_creation import offsets_topic
from broker_sim.broker import Broker
from broker_sim.broker_configs import BrokerConfigs
from broker_sim.clock import microseconds_of
from broker_sim.cluster_input import broker_ids_of, check_options, check_shape, config_texts, topic_spec, topic_specs
from broker_sim.config.release_behaviour import DEFAULT_RELEASE
from broker_sim.config.topic_config import TopicConfig
from broker_sim.control.journal import Detail, Journal
from broker_sim.controller.controller import Controller
from broker_sim.controller.controls import ControllerControls
from broker_sim.controller.quorum_description import QuorumDescription
from broker_sim.controller_listeners import ControllerListeners
from broker_sim.errors import BrokerSimError, NotThere, nearest
from broker_sim.faults.engine import FaultEngine
from broker_sim.links.node_links import CONTROLLER_ID, NodeLinks
from broker_sim.lone_node import LoneNode
from broker_sim.metadata.bootstrap_metadata import StorageFormat
from broker_sim.metadata.metadata_image import BrokerRegistration, PartitionRegistration, TopicImage
from broker_sim.network.listener_plan import ListenerPlan
from broker_sim.rolling_restart import CATCH_UP_MS_MAX, rolling_restart
from broker_sim.topic_partition import TopicPartition
from broker_sim.topic_spec import TopicSpec
from protocol_specs import uuids

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_sim.cluster_admin import ClusterAdmin
    from broker_sim.cluster_data import ClusterData
    from broker_sim.cluster_input import ConfigInput, TopicsInput
    from broker_sim.cluster_wire import ClusterWire
    from broker_sim.controller.group.controller_group import ControllerGroup
    from broker_sim.controller_server import ControllerServer
    from broker_sim.defects.defect import Defect
    from broker_sim.links.link import Link
    from broker_sim.log.replica_log import ReplicaLog
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.metrics.metric import MetricsSnapshot
    from broker_sim.zookeeper.ensemble import ZooKeeper
    from sim_runtime.digest import EventDigest
    from sim_runtime.disk import Disk
    from sim_runtime.interfaces import IReactor
    from sim_runtime.random_streams import RandomStreams
    from sim_runtime.virtual_network import VirtualNetwork

__all__ = ["Cluster", "TopicSpec"]

UUID_BYTES: Final = 16


class Cluster:
    """Brokers with the ids from `first_broker_id` on. `broker_reactor` gives each its own host (`host` then names it);
    `config` applies to all brokers, except for names that begin with a broker's id (`2:broker.rack`).

    Without `listen` there are no sockets: the cluster is driven through its brokers' ReplicaManagers. With `data_dir`
    logs and metadata are on `disk`, by default the machine's own; without it they are in memory.

    `defects` are documented bugs that the brokers have, by their names in `broker_sim.defects.DEFECTS`; `2:NAME` is one
    of broker 2 alone. They are for scenarios and tests. `features` are the levels of features that differ from those of
    a new cluster of the release, such as `{"transaction.version": 1}`.

    The one controller never fails. Of several `controllers`, nodes 3000, 3001, ..., one is active as long as a majority
    of them can reach it.
    """

    def __init__(
        self,
        *,
        reactor: IReactor,
        streams: RandomStreams,
        brokers: int = 3,
        first_broker_id: int = 1,
        controllers: int = 1,
        topics: TopicsInput = (),
        config: ConfigInput | None = None,
        release: str = DEFAULT_RELEASE,
        host: str | Callable[[int], str] = "127.0.0.1",
        ports: Sequence[int] | None = None,
        controller_ports: Sequence[int] | None = None,
        broker_reactor: Callable[[int], IReactor] | None = None,
        journal_detail: Detail = Detail.FULL,
        journal_limit_events: int | None = None,
        digest: EventDigest | None = None,
        link_delay_ms: float = 0.0,
        listen: bool = True,
        data_dir: str | None = None,
        disk: Disk | None = None,
        defects: Sequence[str | Defect] = (),
        features: Mapping[str, int] | None = None,
    ) -> None:
        ids = broker_ids_of(brokers=brokers, first_broker_id=first_broker_id)
        check_shape(brokers=brokers, ports=ports, controller_ports=controller_ports, release=release, host=host)
        check_options(controllers=controllers, data_dir=data_dir, journal_detail=journal_detail)
        specs = topic_specs(topics)
        given = config_texts({} if config is None else config)
        self.reactor, self.streams = reactor, streams
        configs = BrokerConfigs(given, broker_ids=ids, release=release, defects=defects)
        self.config = configs.common
        self.storage_format = StorageFormat(features or {}, self.config)
        plan = ListenerPlan(given, broker_ids=ids, host=host, ports=ports, one_machine=broker_reactor is None)
        limits = {} if journal_limit_events is None else {"limit_events": journal_limit_events}
        self.journal = Journal(microseconds_of(reactor), detail=journal_detail, digest=digest, **limits)
        self.cluster_id = uuids.to_text(streams.stream("cluster id").randbytes(UUID_BYTES))
        self.data: ClusterData | None = None if data_dir is None else self._set_up_data(data_dir, disk, controllers)
        self.faults = FaultEngine(cluster=self, reactor=reactor, streams=self.streams)
        self.links = NodeLinks(reactor=reactor, journal=self.journal, delay_ms=link_delay_ms)
        make_broker = self._set_up_controller(ids, controllers, link_delay_ms)
        self.brokers: dict[int, Broker] = {}
        self._controller_servers: dict[int, ControllerServer] = {}
        for broker_id in ids:
            broker_config = plan.file_of(broker_id, configs.of(broker_id))
            if self.data is not None:
                broker_config = self.data.broker_config(broker_config, broker_id)
            self.brokers[broker_id] = make_broker(
                broker_id=broker_id,
                config=broker_config,
                reactor=reactor if broker_reactor is None else broker_reactor(broker_id),
                links=self.links,
                journal=self.journal,
                faults=self.faults,
                streams=self.streams,
                cluster_id=self.cluster_id,
                listeners=plan.of(broker_id, broker_config),
                listen=listen,
                make_storage=None if self.data is None else self.data.storage,
                image_applied=self._image_applied,
            )
        if self._quorum is None and self._zookeeper is None:
            # The first broker is the active controller too, for good.
            self.links.attach(CONTROLLER_ID, self.controller_server(min(self.brokers)).link_transport)
        self._topics = [self._topic_image(spec) for spec in specs]
        self._controller_listeners = self._set_up_listeners(controller_ports, host, broker_reactor, listen=listen)
        self._waiters: list[tuple[int, Deferred[None]]] = []
        self._closed = False
        self.started_us = self.journal.now_us()

    def _set_up_data(self, data_dir: str, disk: Disk | None, controllers: int) -> ClusterData:
        from broker_sim.cluster_data import set_up_data

        return set_up_data(self, data_dir, disk, controllers=controllers)

    def _set_up_controller(self, ids: Sequence[int], controllers: int, link_delay_ms: float) -> Callable[..., Broker]:
        """Make the controller, of KRaft or ZooKeeper. Returns the factory of the brokers that belong to it."""
        self.controller: Controller
        self._quorum: ControllerGroup | None = None
        self._zookeeper: ZooKeeper | None = None
        if self.config.behaviour.zookeeper and controllers != 1:
            msg = f"controllers: release {self.config.release} has ZooKeeper, and one of its brokers is the controller"
            raise BrokerSimError(msg)
        if controllers != 1:
            from broker_sim.controller.group.wiring import set_up_controller_group

            self._quorum = set_up_controller_group(
                self,
                controllers=controllers,
                link_delay_ms=link_delay_ms,
                link_node_of=lambda node: self.controller_server(node.id).link_transport,
                make_storage=None if self.data is None else self.data.voter_storage,
            )
            self.links = self._quorum.links
            return Broker
        if self.config.behaviour.zookeeper:
            from broker_sim.zookeeper.wiring import set_up_zookeeper

            self.controller = self._zookeeper = zookeeper = set_up_zookeeper(
                reactor=self.reactor,
                links=self.links,
                journal=self.journal,
                config=self.config,
                cluster_id=self.cluster_id,
                faults=self.faults,
                random=self.streams.stream("delegation tokens"),
            )
            return zookeeper.make_broker
        self.controller = self.config.part_types.of(Controller)(
            reactor=self.reactor, journal=self.journal, config=self.config, cluster_id=self.cluster_id
        )
        random = self.streams.stream("log directories")
        quorum = QuorumDescription(self.controller, voters=ids, random=random)
        self.controller.controls = ControllerControls.of(
            self.controller, config=self.config, streams=self.streams, quorum=quorum
        )
        return Broker

    def _set_up_listeners(
        self,
        ports: Sequence[int] | None,
        host: str | Callable[[int], str],
        broker_reactor: Callable[[int], IReactor] | None,
        *,
        listen: bool,
    ) -> ControllerListeners | None:
        if self._zookeeper is not None and ports is not None:
            msg = f"controller_ports: release {self.config.release} has ZooKeeper, and its controllers do not listen"
            raise BrokerSimError(msg)
        if not listen or self._zookeeper is not None:
            return None
        node_ids = list(self.brokers) if self._quorum is None else self._quorum.node_ids
        return ControllerListeners(self, node_ids=node_ids, host=host, ports=ports, broker_reactor=broker_reactor)

    def controller_server(self, node_id: int) -> ControllerServer:
        """Return the server of a controller's links and listener, which is made when it is first used."""
        server = self._controller_servers.get(node_id)
        if server is None:
            from broker_sim.controller.controller_nodes import CombinedNode, QuorumNode
            from broker_sim.controller_server import ControllerServer

            node = CombinedNode(self, node_id) if self._quorum is None else QuorumNode(self._quorum.nodes[node_id])
            link_id = CONTROLLER_ID if self._quorum is None else node_id
            server = self._controller_servers[node_id] = ControllerServer(self, node, link_id=link_id)
        return server

    # Start and end.

    def set_up_early(self) -> None:
        """Have producer ids and, if release and number of brokers allow it, `__consumer_offsets` from the start."""
        spec = offsets_topic(self.config, len(self.brokers))
        if spec is not None and all(topic.name != spec.name for topic in self._topics):
            self._topics.append(self._topic_image(spec))
        for broker in self.brokers.values():
            self.reactor.callLater(0, broker.producer_ids.fetch)

    def start(self) -> None:
        """Bind the listeners and run with registered and unfenced brokers, all topics, and a leader per partition.

        A data directory that was used before brings its topics and records. Raises BrokerSimError for one that cannot
        be read.
        """
        if self.data is None:
            self._start(self._topics)
        else:
            from broker_sim.cluster_data import start_on_disk

            start_on_disk(self, self.data, self._topics, self._start)

    def _start(self, topics: Sequence[TopicImage]) -> None:
        registrations = []
        for broker in self.brokers.values():
            broker.listen()
            registrations.append(
                BrokerRegistration(
                    id=broker.id,
                    host=broker.host,
                    port=broker.port,
                    listeners=broker.registered_listeners,
                    rack=broker.rack,
                    fenced=False,
                    epoch=0,
                    incarnation_id=broker.lifecycle.incarnation,
                    features=broker.features,
                    log_dirs=broker.online_log_dirs,
                )
            )
        if self._controller_listeners is not None:
            self._controller_listeners.listen()
            self.controller.controllers_here = self._controller_listeners.registrations()
        self.controller.bootstrap(registrations, topics, self.storage_format)
        for broker in self.brokers.values():
            broker.adopt(self.controller.image)
        if len(self.brokers) == 1 and self._quorum is None and self._zookeeper is None:
            LoneNode(self.controller, self._controller_listeners).follow(self.brokers[min(self.brokers)])

    def close(self) -> Deferred[None]:
        """End all nodes at once, without a controlled shutdown; fires when the reactor has closed all sockets."""
        if not self._closed:
            self._closed = True
            self.faults.close()
            if self._controller_listeners is not None:
                self._controller_listeners.stop()
            for broker in self.brokers.values():
                broker.close()
            self.controller.stop()
            if self._quorum is not None:
                self._quorum.stop()
            self.links.stop()
            if self.data is not None:
                self.data.close()
        done: Deferred[None] = Deferred()
        # Aborted connections and closed listeners are gone with the reactor's next loop iteration.
        self.reactor.callLater(0, done.callback, None)
        return done

    # State.

    @property
    def admin(self) -> ClusterAdmin:
        """The verbs of an administrator."""
        from broker_sim.cluster_admin import ClusterAdmin

        return ClusterAdmin(self)

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` of every broker, for clients: of the inter-broker listener."""
        return ",".join(f"{broker.host}:{broker.port}" for broker in self.brokers.values())

    @property
    def controller_bootstrap_servers(self) -> str:
        """`host:port` of every controller, for `--bootstrap-controller`; empty if none listens."""
        return "" if self._controller_listeners is None else self._controller_listeners.bootstrap_servers

    @property
    def controller_endpoints(self) -> dict[int, tuple[str, int]]:
        """The endpoint of each controller by node id."""
        listeners = self._controller_listeners
        return {} if listeners is None else {each.node_id: (each.host, each.port) for each in listeners.nodes.values()}

    def bootstrap_servers_of(self, listener: str) -> str:
        """Return `host:port` of every broker that advertises a listener. Raises ConfigError for an unknown listener."""
        found = [each for broker in self.brokers.values() if (each := broker.listeners.find(listener)) is not None]
        endpoints = [each.endpoint for each in found or [next(iter(self.brokers.values())).listeners.named(listener)]]
        return ",".join(f"{each[0]}:{each[1]}" for each in endpoints if each is not None)

    def broker(self, broker_id: int) -> Broker:
        """Return one broker. Raises BrokerSimError for an unknown id."""
        try:
            return self.brokers[broker_id]
        except KeyError:
            raise BrokerSimError(f"there is no broker {broker_id!r}: they are {list(self.brokers)}") from None

    def leader_of(self, topic: str, partition: int) -> int | None:
        """Return the leader as the controller has it, None while there is none. Raises BrokerSimError."""
        registration = self.registration_of(topic, partition)
        return registration.leader if registration.has_leader else None

    def registration_of(self, topic: str, partition: int) -> PartitionRegistration:
        """Return replicas, ISR, leader and epochs as the controller has them. Raises BrokerSimError."""
        registration = self.controller.committed_image.partition(topic, partition)
        if registration is None:
            counts = self.partition_counts
            if topic not in counts:
                raise BrokerSimError(f"there is no topic {topic!r}{nearest(topic, counts)}")
            raise BrokerSimError(f"there is no partition {topic}-{partition}; topic {topic!r} has {counts[topic]}")
        return registration

    def log_of(self, broker_id: int, topic: str, partition: int) -> ReplicaLog | None:
        """Return a replica's log, also of a dead broker; None when the broker has no replica of the partition.

        Raises:
            BrokerSimError: there is no such broker.
        """
        return self.broker(broker_id).storage.get(TopicPartition(topic, partition))

    @property
    def broker_ids(self) -> list[int]:
        """The ids of all brokers, of those that are down too."""
        return list(self.brokers)

    @property
    def controller_ids(self) -> list[int]:
        """The node ids of the controllers that can fail: of several controllers, or (ZooKeeper) of the brokers."""
        if self._zookeeper is not None:
            return self.broker_ids
        return [] if self._quorum is None else self._quorum.node_ids

    @property
    def partition_counts(self) -> dict[str, int]:
        """The number of partitions of each topic."""
        return {name: len(topic.partitions) for name, topic in self.controller.committed_image.topics.items()}

    def is_running(self, node_id: int) -> bool:
        """Return True if the process of a broker or controller runs. Raises BrokerSimError for an unknown id."""
        if self._quorum is not None and node_id in self._quorum.nodes:
            return self._quorum.nodes[node_id].alive
        return self.broker(node_id).alive

    @property
    def active_controller(self) -> int | None:
        """The node id of the active controller, None while there is none; with ZooKeeper it is a broker."""
        if self._zookeeper is not None:
            return self._zookeeper.active_controller
        return CONTROLLER_ID if self._quorum is None else self._quorum.active

    def metrics(self) -> MetricsSnapshot:
        """Return the metrics of every running broker and of the controller, under Kafka's names."""
        from broker_sim.cluster_metrics import cluster_metrics

        return cluster_metrics(self)

    def pending(self) -> list[str]:
        """Return the reasons why the cluster is not at rest; empty when all nodes run and all replicas are equal."""
        from broker_sim.at_rest import reasons_not_at_rest

        reasons = [] if self._quorum is None else self._quorum.pending()
        return reasons + reasons_not_at_rest(self)

    # Verbs.

    def kill(self, node_id: int) -> None:
        """Kill a broker or controller, as SIGKILL does; a broker's session ends by missed heartbeats."""
        if self._quorum is not None and node_id in self._quorum.nodes:
            self.kill_controller(node_id)
        else:
            self.broker(node_id).kill()

    def lose_power(self, broker_id: int) -> None:
        """Kill a broker with its machine: a part of its unflushed data is lost. Requires a `data_dir`."""
        self.broker(broker_id).lose_power()

    def slow_log_dir(
        self,
        broker_id: int,
        log_dir: str | None = None,
        *,
        append_ms: float = 0,
        sync_ms: float = 0,
        bytes_per_second: float | None = None,
    ) -> None:
        """Make a log directory, by default every one, slow from now on. Requires a `data_dir`."""
        from broker_sim.faults.slow_disks import DiskSpeed, slow_log_dirs

        every = self.broker(broker_id).storage.directories.names
        names = every if log_dir is None else (self._log_dir(broker_id, log_dir),)
        speed = DiskSpeed(append_ms=append_ms, sync_ms=sync_ms, bytes_per_second=bytes_per_second)
        slow_log_dirs(self, broker_id, names, speed)

    def fail_log_dir(self, broker_id: int, log_dir: str | None = None) -> None:
        """Fail a log directory, by default the broker's last. Raises BrokerSimError for an unknown one."""
        self.broker(broker_id).storage.fail_directory(self._log_dir(broker_id, log_dir))

    def fill_log_dir(self, broker_id: int, log_dir: str | None = None, *, left_bytes: int = 0) -> None:
        """Leave room for `left_bytes` in a log directory; what does not fit fails it. Requires a VirtualDisk."""
        self.broker(broker_id).storage.fill_directory(self._log_dir(broker_id, log_dir), left_bytes)

    def mend_log_dir(self, broker_id: int, log_dir: str | None = None) -> None:
        """Repair a directory that has failed or is full, for the broker's next start.

        A slow one is fast at once; without a name, all directories of the broker are.
        """
        self.admin.restore_disk_speed(broker_id, None if log_dir is None else self._log_dir(broker_id, log_dir))
        self.broker(broker_id).storage.mend_directory(self._log_dir(broker_id, log_dir))

    def _log_dir(self, broker_id: int, log_dir: str | None) -> str:
        names = self.broker(broker_id).storage.directories.names
        if log_dir is not None and log_dir not in names:
            log_dir = next((name for name in names if name.endswith(f"/{log_dir}")), log_dir)
        if log_dir is not None and log_dir not in names:
            raise BrokerSimError(f"broker {broker_id} has no log directory {log_dir!r}: they are {list(names)}")
        return log_dir or names[-1]

    def stop(self, broker_id: int) -> Deferred[None]:
        """Shut a broker down in order; fires when it is down."""
        return Deferred.fromCoroutine(self.broker(broker_id).stop())

    def restart(self, node_id: int) -> Deferred[None]:
        """Start a broker, after a kill if it runs; fires when it is unfenced. A controller starts at once."""
        if self._quorum is not None and node_id in self._quorum.nodes:
            self.restart_controller(node_id)
            return succeed(None)
        self.kill(node_id)
        return self.broker(node_id).start()

    def rolling_restart(
        self, broker_ids: Sequence[int] | None = None, *, catch_up_ms_max: float = CATCH_UP_MS_MAX
    ) -> Deferred[None]:
        """Restart brokers one at a time, each when the one before is in sync again; fires at the end."""
        return Deferred.fromCoroutine(rolling_restart(self, broker_ids, catch_up_ms_max=catch_up_ms_max))

    def attach_to_network(self, network: VirtualNetwork, link_type: type[Link] | None = None) -> None:
        """Route the messages between nodes over a simulated network, between the brokers' hosts; before `start`.

        The latency, loss, bandwidth and cuts of the network's links then apply to them. A separate controller is on
        the host `controller-<its id>`.

        Raises:
            BrokerSimError: a broker is on no host of a simulated network.
        """
        from broker_sim.cluster_wire import hosts_of

        host = hosts_of(self.brokers.values())
        self.links.attach_to_network(lambda source, target: network.link(host(source), host(target)), link_type)

    @cached_property
    def wire(self) -> ClusterWire:
        """The network around the nodes, for faults."""
        from broker_sim.cluster_wire import wire_of

        return wire_of(self)

    def link(self, source: int, target: int) -> Link:
        """Return the link from one node to another, to hold, cut or slow it. Raises BrokerSimError for no such node."""
        return self.links.link(self._node(source), self._node(target))

    def isolate(self, node_id: int) -> None:
        """Cut all links of a broker or controller to all other nodes. Clients still reach it."""
        self.links.isolate(self._node(node_id))

    def rejoin(self, node_id: int) -> None:
        """Restore the links of an isolated node."""
        self.links.rejoin(self._node(node_id))

    def kill_controller(self, node_id: int | None = None) -> int:
        """Kill a controller, by default the active one. Returns its id.

        Raises:
            BrokerSimError: the cluster has one controller, no active one, or none with this id.
        """
        node_id = self.active_controller if node_id is None else node_id
        if node_id is None:
            raise NotThere("there is no active controller to kill")
        if self._zookeeper is not None:
            self.kill(node_id)
            return node_id
        self._several_controllers().kill(node_id)
        if self._controller_listeners is not None:
            self._controller_listeners.nodes[node_id].stop()
        return node_id

    def restart_controller(self, node_id: int) -> None:
        """Start a controller, after a kill if it runs, with its log and its votes. Raises BrokerSimError."""
        if self._zookeeper is not None:
            self.restart(node_id)
        else:
            self.kill_controller(node_id)
            self._several_controllers().restart(node_id)
            if self._controller_listeners is not None:
                self._controller_listeners.nodes[node_id].listen()

    def _several_controllers(self) -> ControllerGroup:
        if self._quorum is None:
            raise BrokerSimError("the cluster has one controller, which never fails; controllers=3 makes it have three")
        return self._quorum

    def _node(self, node_id: int) -> int:
        return node_id if node_id in self.wire.controllers else self.broker(node_id).id

    def create_topic(self, topic: str | TopicSpec) -> Deferred[TopicImage]:
        """Create a topic; fires when every running broker has applied it. Raises BrokerSimError and ConfigError."""
        spec = topic_spec(topic)
        if spec.name in self.controller.committed_image.topics:
            raise BrokerSimError(f"topic {spec.name!r} exists already")
        made = self._topic_image(spec)
        created: Deferred[TopicImage] = Deferred()

        def wait(image: MetadataImage) -> None:
            self.when_applied(image.version).addCallback(lambda _: created.callback(made))

        change = self.controller.change(f"create topic {spec.name}", lambda image: image.with_topic(made))
        change.addCallbacks(wait, created.errback)
        return created

    def delete_topic(self, name: str) -> Deferred[None]:
        """Delete a topic; fires when every running broker has applied it. Raises BrokerSimError for an unknown one."""
        if name not in self.controller.committed_image.topics:
            raise BrokerSimError(f"there is no topic {name!r}{nearest(name, self.partition_counts)}")
        change = self.controller.change(f"delete topic {name}", lambda image: image.without_topics([name]))
        return change.addCallback(lambda image: self.when_applied(image.version))

    def _topic_image(self, spec: TopicSpec) -> TopicImage:
        if spec.replication_factor > len(self.brokers):
            msg = f"topic {spec.name!r}: replication factor {spec.replication_factor} with {len(self.brokers)} brokers"
            raise BrokerSimError(msg)
        configs = config_texts(spec.configs, f"configs of topic {spec.name!r}")
        TopicConfig.resolve(configs, self.config)
        partitions = (
            PartitionRegistration(replicas=each, isr=each, leader=each[0], leader_epoch=0, partition_epoch=0)
            for each in spec.placed_on(list(self.brokers))
        )
        return TopicImage(
            name=spec.name,
            topic_id=self.streams.stream("topic ids").randbytes(UUID_BYTES),
            partitions=tuple(partitions),
            configs=configs,
        )

    def when_applied(self, version: int) -> Deferred[None]:
        """Fire when every running broker has applied a version of the metadata."""
        done: Deferred[None] = Deferred()
        self._waiters.append((version, done))
        self._image_applied()
        return done

    def _image_applied(self) -> None:
        if not self._waiters:
            return
        applied = min((broker.metadata_version for broker in self.brokers.values() if broker.alive), default=1 << 62)
        ready = [done for version, done in self._waiters if version <= applied]
        self._waiters = [(version, done) for version, done in self._waiters if version > applied]
        for done in ready:
            done.callback(None)
