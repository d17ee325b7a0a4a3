"""A cluster on a reactor thread of its own, for callers that block: tests, and drivers of clients with threads.

The verbs are those of `Cluster`; each runs in the cluster's thread and waits for what it answers. A verb that takes
longer than `timeout_s` raises DeadlineExceeded and names itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.journal import Detail
from broker_sim.faults.grammar import parse_rule
from sim_runtime.random_streams import RandomStreams
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_sim.control.events import Event
    from broker_sim.faults.engine import RuleReport
    from broker_sim.faults.rule import Rule
    from broker_sim.log.replica_log import ReplicaLog
    from broker_sim.metrics.metric import MetricsSnapshot
    from sim_runtime.disk import Disk

__all__ = ["ThreadedCluster"]

T = TypeVar("T")

TIMEOUT_S: Final = 30.0


class ThreadedCluster:
    """Started when it is made; `close` it, or use it in a `with`."""

    def __init__(
        self,
        *,
        brokers: int = 3,
        controllers: int = 1,
        topics: Sequence[str | TopicSpec] = (),
        config: Mapping[str, str] | None = None,
        release: str = "4.3.1",
        host: str = "127.0.0.1",
        ports: Sequence[int] | None = None,
        seed: int = 0,
        journal_detail: Detail = Detail.FULL,
        data_dir: str | None = None,
        disk: Disk | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.timeout_s = timeout_s
        self._thread = ReactorThread("broker-sim-cluster")
        specs = [TopicSpec.parse(topic) if isinstance(topic, str) else topic for topic in topics]

        def start() -> Cluster:
            cluster = Cluster(
                reactor=self._thread.reactor,
                brokers=brokers,
                controllers=controllers,
                topics=specs,
                config=config or {},
                streams=RandomStreams(seed),
                release=release,
                host=host,
                ports=ports,
                journal_detail=journal_detail,
                data_dir=data_dir,
                disk=disk,
            )
            cluster.start()
            return cluster

        try:
            self.cluster: Cluster = self.call(start)
        except BaseException:
            self._thread.stop()
            raise

    def call(self, function: Callable[..., Any], *args: object) -> Any:
        """Run a function in the cluster's thread and wait for its answer; a Deferred is waited for too."""
        return self._thread.call(function, *args, timeout_s=self.timeout_s)

    @property
    def bootstrap_servers(self) -> str:
        """`host:port,...` of all brokers, as clients take it."""
        return self.cluster.bootstrap_servers

    @property
    def controller_bootstrap_servers(self) -> str:
        """`host:port,...` of all controllers, as `--bootstrap-controller` takes it."""
        return self.cluster.controller_bootstrap_servers

    def bootstrap_servers_of(self, listener: str) -> str:
        """`host:port,...` of the brokers that advertise a listener."""
        return self.cluster.bootstrap_servers_of(listener)

    def kill(self, broker_id: int) -> None:
        """Kill a broker as SIGKILL does: connections are reset, its log stays."""
        self.call(self.cluster.kill, broker_id)

    def stop(self, broker_id: int) -> None:
        """Shut a broker down in order: it hands its leaderships over first."""
        self.call(self.cluster.stop, broker_id)

    def restart(self, broker_id: int) -> None:
        """Start a broker that was killed or stopped, on its old port and its old log."""
        self.call(self.cluster.restart, broker_id)

    def isolate(self, node_id: int) -> None:
        """Cut a broker or controller off from all other nodes; clients still reach it."""
        self.call(self.cluster.isolate, node_id)

    def rejoin(self, node_id: int) -> None:
        """Restore the links of an isolated node."""
        self.call(self.cluster.rejoin, node_id)

    @property
    def active_controller(self) -> int | None:
        """The node id of the controller that decides, None while none does."""
        active: int | None = self.call(lambda: self.cluster.active_controller)
        return active

    def kill_controller(self, node_id: int | None = None) -> int:
        """Kill a controller, by default the active one; answers which. It needs several of them."""
        killed: int = self.call(self.cluster.kill_controller, node_id)
        return killed

    def restart_controller(self, node_id: int) -> None:
        """Start a controller again, with its log and what it has voted."""
        self.call(self.cluster.restart_controller, node_id)

    def rolling_restart(self) -> None:
        """Stop every broker in order and start it again, one at a time, each when the one before is in sync again."""
        self.call(self.cluster.rolling_restart)

    def leader_of(self, topic: str, partition: int) -> int | None:
        """The leader's broker id, None when the partition has none."""
        leader: int | None = self.call(self.cluster.leader_of, topic, partition)
        return leader

    def create_topic(self, topic: str | TopicSpec) -> None:
        """Create a topic, `name:partitions:replication`, and wait until every broker knows it."""
        self.call(self.cluster.create_topic, TopicSpec.parse(topic) if isinstance(topic, str) else topic)

    def log_of(self, broker_id: int, topic: str, partition: int) -> ReplicaLog:
        """A replica's log, to be read while nothing writes to it."""
        log: ReplicaLog = self.call(self.cluster.log_of, broker_id, topic, partition)
        return log

    def metrics(self) -> MetricsSnapshot:
        """What brokers and controller have counted and measured, under Kafka's names."""
        snapshot: MetricsSnapshot = self.call(self.cluster.metrics)
        return snapshot

    def events(self) -> list[Event]:
        """What the journal holds, in order."""
        events: list[Event] = self.call(lambda: self.cluster.journal.events)
        return events

    def add_rule(self, rule: Rule | Mapping[str, Any]) -> str:
        """Add a fault rule, as an object or in the grammar's form; answers its name."""
        parsed = parse_rule(rule) if isinstance(rule, dict) else rule
        self.call(self.cluster.faults.add, parsed)
        return str(parsed.name)  # type: ignore[union-attr]

    def release_rule(self, name: str) -> int:
        """Let go what a rule holds; answers how many requests that were."""
        released: int = self.call(self.cluster.faults.release, name)
        return released

    def remove_rule(self, name: str) -> RuleReport:
        """Take a rule out; answers what became of it."""
        report: RuleReport = self.call(self.cluster.faults.remove, name)
        return report

    def rule_reports(self) -> list[RuleReport]:
        """What became of each rule that is there."""
        reports: list[RuleReport] = self.call(self.cluster.faults.reports)
        return reports

    def close(self) -> None:
        """Stop every broker and the thread. To close twice does nothing."""
        if self._thread.running:
            try:
                self.call(self.cluster.close)
            finally:
                self._thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
