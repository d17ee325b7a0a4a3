"""A cluster on a reactor thread of its own, for callers that block: tests, and drivers of clients with threads.

The verbs are those of `Cluster`; each runs in the cluster's thread and waits for its result. A verb that takes longer
than `timeout_s` raises DeadlineExceeded, which names the verb. A program on asyncio calls `await cluster.aio.kill(1)`:
its loop runs on while the verb waits.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict, TypeVar

from broker_sim.argument_checks import checks_arguments
from broker_sim.cluster import Cluster
from broker_sim.cluster_input import check_seed, check_timeout, topic_spec
from broker_sim.cluster_renewal import renew
from broker_sim.cluster_verbs import ClusterVerbs
from broker_sim.config.release_behaviour import DEFAULT_RELEASE
from broker_sim.control.client_requests import client_requests
from broker_sim.control.journal import Detail
from broker_sim.errors import BrokerSimError
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.rule import Rule, RuleError
from broker_sim.faults.rule_checks import check_load
from broker_sim.log_bridge import forward_logs, stop_forwarding_logs
from broker_sim.quick_settings import with_quick_settings
from sim_runtime.deadlines import DeadlineExceeded
from sim_runtime.random_streams import RandomStreams
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from twisted.internet.defer import Deferred

    from broker_sim.aio_verbs import AioVerbs
    from broker_sim.cluster_input import ConfigInput, TopicsInput
    from broker_sim.cluster_state import (
        BrokerStatus,
        ConnectionStatus,
        GroupStatus,
        TopicStatus,
        TransactionStatus,
    )
    from broker_sim.control.events import Event, RequestReceived
    from broker_sim.faults.by_function import RequestFunction
    from broker_sim.faults.engine import RuleReport
    from broker_sim.log.replica_log import ReplicaLog
    from broker_sim.metrics.metric import MetricsSnapshot
    from broker_sim.stored_records import StoredRecord
    from broker_sim.topic_spec import TopicSpec
    from sim_runtime.disk import Disk

__all__ = ["ClusterShape", "ThreadedCluster"]

T = TypeVar("T")

__tracebackhide__ = True  # pytest shows the line of the test that called a verb, and no frame of this module

TIMEOUT_S: Final = 30.0
WAIT_S: Final = 20.0
QUIET_MS: Final = 100.0


class ClusterShape(TypedDict, total=False):
    """The arguments of a ThreadedCluster, for callers that pass them on."""

    brokers: int
    first_broker_id: int
    controllers: int
    topics: TopicsInput
    config: ConfigInput | None
    release: str
    host: str
    ports: Sequence[int] | None
    seed: int
    journal_detail: Detail
    data_dir: str | None
    disk: Disk | None
    timeout_s: float
    quick_failover: bool
    quick_groups: bool


@checks_arguments
class ThreadedCluster(ClusterVerbs):
    """A running cluster from its construction on; `close` it, or use it in a `with`, whose end checks the rules.

    Its defaults are Kafka's. With `quick_failover` a killed broker is noticed after a second, and with `quick_groups`
    a group has its first records within 250 ms, as in the pytest fixtures: the offsets topic exists from the start, and
    a rebalance does not wait. The configurations in `config` go before those of `quick_settings`.
    """

    def __init__(
        self,
        *,
        brokers: int = 3,
        first_broker_id: int = 1,
        controllers: int = 1,
        topics: TopicsInput = (),
        config: ConfigInput | None = None,
        release: str = DEFAULT_RELEASE,
        host: str = "127.0.0.1",
        ports: Sequence[int] | None = None,
        seed: int = 0,
        journal_detail: Detail = Detail.FULL,
        data_dir: str | None = None,
        disk: Disk | None = None,
        timeout_s: float = TIMEOUT_S,
        quick_failover: bool = False,
        quick_groups: bool = False,
        defects: Sequence[str] = (),
        features: Mapping[str, int] | None = None,
    ) -> None:
        check_timeout(timeout_s)
        check_seed(seed)
        self.timeout_s = timeout_s
        config = with_quick_settings(config, release, failover=quick_failover, groups=quick_groups)
        self._thread = ReactorThread("broker-sim-cluster")
        forward_logs()

        def make(ports: Sequence[int] | None, controller_ports: Sequence[int] | None) -> Cluster:
            cluster = Cluster(
                reactor=self._thread.reactor,
                brokers=brokers,
                first_broker_id=first_broker_id,
                controllers=controllers,
                topics=topics,
                config=config,
                defects=defects,
                features=features,
                streams=RandomStreams(seed),
                release=release,
                host=host,
                ports=ports,
                controller_ports=controller_ports,
                journal_detail=journal_detail,
                data_dir=data_dir,
                disk=disk,
            )
            if quick_groups:
                cluster.set_up_early()
            return cluster

        def start() -> Cluster:
            cluster = make(ports, None)
            cluster.start()
            return cluster

        self._make = make
        self._keeps_data = data_dir is not None
        try:
            self.cluster: Cluster = self.call(start)
        except BaseException:
            self._thread.stop()
            stop_forwarding_logs()
            raise

    def call(self, function: Callable[..., Any], *args: object) -> Any:
        """Run a function in the cluster's thread and return its result; a Deferred is awaited too.

        Raises:
            DeadlineExceeded: the function takes longer than `timeout_s`.
            ReactorThreadError: the cluster is closed, or the caller is its own thread.
        """
        return self._call(function, *args, timeout_s=self.timeout_s)

    def _call(self, function: Callable[..., Any], *args: object, timeout_s: float) -> Any:
        try:
            return self._thread.call(function, *args, timeout_s=timeout_s)
        except (BrokerSimError, DeadlineExceeded) as error:
            # A mistake of the caller, or a late result: the frames of the cluster's thread explain nothing.
            raise error.with_traceback(None) from None

    def _wait(self, function: Callable[..., Deferred[T]], *args: object, timeout_s: float, **options: object) -> T:
        check_timeout(timeout_s)
        wait = partial(function, self.cluster, *args, timeout_ms=timeout_s * 1000, **options)
        result: T = self._call(wait, timeout_s=timeout_s + self.timeout_s)
        return result

    def reset(self) -> None:
        """Replace the cluster by a new one of the same shape on the same ports; clients reconnect.

        No record, topic, group, rule or fault of the old one is left; the topics that it had from the start exist.

        Raises:
            BrokerSimError: the cluster has a `data_dir`.
        """
        if self._keeps_data:
            raise BrokerSimError("a cluster with a data_dir cannot be reset: its data would remain")
        self.cluster = self.call(renew, self.cluster, self._make)

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return not self._thread.running

    async def awaited(self, verb: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Await a verb of this cluster, which waits in a thread."""
        return await asyncio.to_thread(verb, self, *arguments, **options)

    @property
    def aio(self) -> AioVerbs:
        """The verbs as coroutines."""
        from broker_sim.aio_verbs import AioVerbs

        return AioVerbs(self)

    # Addresses.

    @property
    def bootstrap_servers(self) -> str:
        """`host:port,...` of all brokers, as clients take it."""
        return self.cluster.bootstrap_servers

    @property
    def controller_bootstrap_servers(self) -> str:
        """`host:port,...` of all controllers, as `--bootstrap-controller` takes it."""
        return self.cluster.controller_bootstrap_servers

    def bootstrap_servers_of(self, listener: str) -> str:
        """Return `host:port,...` of the brokers that advertise a listener. Raises ConfigError for an unknown one."""
        return self.cluster.bootstrap_servers_of(listener)

    # Brokers and controllers. Each verb raises BrokerSimError for a node that the cluster does not have.

    def kill(self, broker_id: int) -> None:
        """Kill a broker as SIGKILL does: connections are reset, its log stays. A dead broker stays dead."""
        self.call(self.cluster.kill, broker_id)

    def pause(self, broker_id: int) -> None:
        """Let a broker stand still, as SIGSTOP does: its sockets accept bytes, and nothing responds until `resume`.

        Raises:
            BrokerSimError: there is no such broker, or it is down.
        """
        self.call(self.cluster.admin.pause, broker_id)

    def resume(self, broker_id: int) -> None:
        """Let a paused broker go on: what has arrived meanwhile is served now."""
        self.call(self.cluster.admin.resume, broker_id)

    def stop(self, broker_id: int) -> None:
        """Shut a broker down in order: its leaderships move first. A dead broker stays dead."""
        self.call(self.cluster.stop, broker_id)

    def restart(self, broker_id: int) -> None:
        """Start a broker on its old port and its old log, after a kill if it runs; waits until it is unfenced."""
        self.call(self.cluster.restart, broker_id)

    def lose_power(self, broker_id: int) -> None:
        """Kill a broker with its machine: a part of what it has not flushed is lost. It needs a `data_dir`."""
        self.call(self.cluster.lose_power, broker_id)

    def rolling_restart(self) -> None:
        """Stop and start every broker, one at a time, each when the one before is in sync again."""
        self.call(self.cluster.rolling_restart)

    def upgrade(self, release: str, broker_ids: Sequence[int] | None = None) -> None:
        """Restart brokers, by default all, as another release of their line, each when the one before is in sync."""
        self.call(self.cluster.admin.upgrade, release, broker_ids)

    def finalize(self, release: str) -> None:
        """Set every feature to the level of a new cluster of a release. Raises BrokerSimError for a refused level."""
        self.call(self.cluster.admin.finalize, release)

    @property
    def active_controller(self) -> int | None:
        """The node id of the active controller, None while there is none."""
        active: int | None = self.call(lambda: self.cluster.active_controller)
        return active

    def kill_controller(self, node_id: int | None = None) -> int:
        """Kill a controller, by default the active one; returns its id. It needs several controllers."""
        killed: int = self.call(self.cluster.kill_controller, node_id)
        return killed

    def restart_controller(self, node_id: int) -> None:
        """Start a controller again, with its log and its votes."""
        self.call(self.cluster.restart_controller, node_id)

    # Links between nodes. Clients are not affected.

    def isolate(self, node_id: int) -> None:
        """Cut a broker or controller off from all other nodes; clients still reach it."""
        self.call(self.cluster.isolate, node_id)

    def rejoin(self, node_id: int) -> None:
        """Restore the links of an isolated node."""
        self.call(self.cluster.rejoin, node_id)

    def hold_link(self, source: int, target: int) -> None:
        """Keep every message from one node to another until `release_link`."""
        self.call(lambda: self.cluster.link(source, target).hold())

    def release_link(self, source: int, target: int) -> None:
        """Deliver the messages that a link holds, in order, and later ones at once."""
        self.call(lambda: self.cluster.link(source, target).release())

    def cut_link(self, source: int, target: int) -> None:
        """Lose every message from one node to another until `restore_link`."""
        self.call(lambda: self.cluster.link(source, target).cut())

    def restore_link(self, source: int, target: int) -> None:
        """Deliver messages again after `cut_link`."""
        self.call(lambda: self.cluster.link(source, target).restore())

    def slow_link(self, source: int, target: int, delay_ms: float) -> None:
        """Delay each message from one node to another by `delay_ms` from now on; 0 ends it."""
        self.call(lambda: self.cluster.link(source, target).set_delay(delay_ms))

    # Topics and records.

    def create_topic(self, topic: str | TopicSpec, configs: ConfigInput | None = None) -> None:
        """Create a topic, `name:partitions:replication`, and wait until every broker has applied it.

        `configs` are its configurations by Kafka's names, such as `{"min.insync.replicas": 2}`.

        Raises:
            ConfigError: the name or a configuration is invalid.
            BrokerSimError: the topic exists, or there are fewer brokers than replicas.
        """
        self.call(self.cluster.create_topic, topic_spec(topic, configs))

    def leader_of(self, topic: str, partition: int = 0) -> int | None:
        """Return the leader's broker id, None while there is none. Raises BrokerSimError for an unknown partition."""
        leader: int | None = self.call(self.cluster.leader_of, topic, partition)
        return leader

    def records(self, topic: str, partition: int | None = None) -> list[StoredRecord]:
        """Return the records that the leaders of a topic have stored, by partition and offset.

        Raises BrokerSimError for an unknown topic or partition, and for one without a leader.
        """
        from broker_sim.stored_records import stored_records

        records: list[StoredRecord] = self.call(stored_records, self.cluster, topic, partition)
        return records

    def log_of(self, broker_id: int, topic: str, partition: int) -> ReplicaLog:
        """Return a replica's log, to be read while no producer writes to it.

        Raises BrokerSimError for an unknown broker or partition, and for a broker without a replica of it.
        """

        def find() -> ReplicaLog:
            log = self.cluster.log_of(broker_id, topic, partition)
            if log is None:
                replicas = list(self.cluster.registration_of(topic, partition).replicas)
                msg = f"broker {broker_id} has no log of {topic}-{partition}: its replicas are {replicas}"
                raise BrokerSimError(msg)
            return log

        found: ReplicaLog = self.call(find)
        return found

    # Waits. Each raises DeadlineExceeded after `timeout_s`, which names the state that it found.

    def wait_for_leader(
        self, topic: str, partition: int = 0, *, other_than: int | None = None, timeout_s: float = WAIT_S
    ) -> int:
        """Wait until a partition has a leader whose broker runs and is not `other_than`; returns its broker id."""
        from broker_sim.cluster_waits import wait_for_leader

        return self._wait(wait_for_leader, topic, partition, other_than=other_than, timeout_s=timeout_s)

    def wait_for_controller(self, *, other_than: int | None = None, timeout_s: float = WAIT_S) -> int:
        """Wait until there is an active controller that is not `other_than`; returns its node id."""
        from broker_sim.cluster_waits import wait_for_controller

        return self._wait(wait_for_controller, other_than=other_than, timeout_s=timeout_s)

    def wait_for_isr(
        self, topic: str, partition: int = 0, brokers: Collection[int] | None = None, *, timeout_s: float = WAIT_S
    ) -> tuple[int, ...]:
        """Wait until the ISR of a partition is `brokers`, by default all of its replicas; returns the ISR."""
        from broker_sim.cluster_waits import wait_for_isr

        return self._wait(wait_for_isr, topic, partition, brokers, timeout_s=timeout_s)

    def wait_for_rule(self, name: str, fired: int = 1, *, timeout_s: float = WAIT_S) -> int:
        """Wait until a rule has fired at least `fired` times; returns how often it has."""
        from broker_sim.cluster_waits import wait_for_rule

        return self._wait(wait_for_rule, name, fired, timeout_s=timeout_s)

    def wait_for_records(self, topic: str, count: int = 1, *, timeout_s: float = WAIT_S) -> list[StoredRecord]:
        """Wait until the leaders of a topic have stored at least `count` records; returns them, as `records`."""
        from broker_sim.cluster_waits import wait_for_records

        return self._wait(wait_for_records, topic, count, timeout_s=timeout_s)

    def wait_for_group(
        self, group_id: str, state: str = "Stable", *, members: int | None = None, timeout_s: float = WAIT_S
    ) -> GroupStatus:
        """Wait until a group has a state, and so many members if given; returns the group.

        A new member may have no partitions yet in the first of the two stable generations of a cooperative rebalance.
        """
        from broker_sim.cluster_waits import wait_for_group

        return self._wait(wait_for_group, group_id, state, members, timeout_s=timeout_s)

    def wait_for_transaction(
        self, transactional_id: str, state: str = "CompleteCommit", *, timeout_s: float = WAIT_S
    ) -> TransactionStatus:
        """Wait until a transactional id has a state; returns its status."""
        from broker_sim.cluster_waits import wait_for_transaction

        return self._wait(wait_for_transaction, transactional_id, state, timeout_s=timeout_s)

    def wait_until_quiet(self, quiet_ms: float = QUIET_MS, *, timeout_s: float = WAIT_S) -> None:
        """Wait until all nodes run, all replicas are equal, and no log or group has changed for `quiet_ms`."""
        from broker_sim.cluster_waits import wait_until_quiet

        self._wait(wait_until_quiet, quiet_ms, timeout_s=timeout_s)

    # State.

    def brokers(self) -> list[BrokerStatus]:
        """Return the brokers, in the order of their ids; those that are down too."""
        from broker_sim.cluster_state import broker_status

        return self._state(broker_status)

    def topics(self) -> list[TopicStatus]:
        """Return all topics with their partitions and offsets, internal topics too."""
        from broker_sim.cluster_state import topic_status

        return self._state(topic_status)

    def connections(self) -> list[ConnectionStatus]:
        """Return the open connections of clients."""
        from broker_sim.cluster_state import connections

        return self._state(connections)

    def groups(self) -> list[GroupStatus]:
        """Return the groups of all types, with members, assignments, committed offsets and lag."""
        from broker_sim.cluster_state import groups

        return self._state(groups)

    def transactions(self) -> list[TransactionStatus]:
        """Return the transactional ids with their states and the partitions of open transactions."""
        from broker_sim.cluster_state import transactions

        return self._state(transactions)

    def _state(self, function: Callable[[Cluster], list[T]]) -> list[T]:
        found: list[T] = self.call(function, self.cluster)
        return found

    # Observation.

    def metrics(self) -> MetricsSnapshot:
        """Return the metrics of brokers and controller, under Kafka's names."""
        snapshot: MetricsSnapshot = self.call(self.cluster.metrics)
        return snapshot

    def events(self) -> list[Event]:
        """Return the events that the journal holds, in order."""
        events: list[Event] = self.call(lambda: self.cluster.journal.events)
        return events

    def requests(self, api: str | None = None, *, client: str | None = None) -> list[RequestReceived]:
        """Return the requests of clients that the journal holds, in order, of one API and of one client id or of all.

        Raises RuleError for an unknown API, with the nearest name.
        """
        from broker_sim.faults.rule_checks import check_api

        if api is not None:
            check_api(api)
        found: list[RequestReceived] = self.call(
            lambda: [event for _, event in client_requests(self.cluster.journal, api, client)]
        )
        return found

    def report(self, journal: Path | None = None) -> str:
        """Return the state of the cluster as text: rules, kills and elections, refused requests, groups, last requests.

        `journal` is the file that the journal is written to: the commands that read it are part of the text.
        """
        from broker_sim.cluster_report import cluster_report

        text: str = self.call(cluster_report, self.cluster, journal)
        return text

    def write_journal(self, path: Path) -> None:
        """Write the events that the journal holds to a file, for `broker-sim trace`. Raises JournalFileError."""
        from broker_sim.control.journal_file import write_journal

        self.call(write_journal, path, self.cluster.journal)

    # Fault rules.

    def add_rule(self, rule: Rule | Mapping[str, Any]) -> str:
        """Add a fault rule, as an object or in its written form; returns its name, `rule-1` and so on without one.

        Raises:
            RuleError: the rule is invalid or its name is taken; the message has the key, the value and what was
                expected. The rule is not added.
        """

        def add() -> str:
            faults = self.cluster.faults
            parsed = rule if isinstance(rule, Rule) else parse_rule(rule, default_name=faults.free_name())
            check_load(parsed, faults.progress)
            faults.add(parsed)
            return parsed.name

        name: str = self.call(add)
        return name

    def respond(
        self, api: str, function: RequestFunction, *, client: str | None = None, times: int | None = None
    ) -> str:
        """Let a function respond to the requests of an API, of one client id or of all; returns the name of its rule.

        It gets each decoded request in the cluster's thread and returns the response, an ErrorCode for the whole
        request, or None to have the broker serve it. A rule whose function has failed, or that never responded, has a
        problem. `times` bounds how often it responds.

        Raises:
            RuleError: the API is unknown, or `function` cannot be called.
        """
        from broker_sim.faults.by_function import ByFunction
        from broker_sim.faults.interception import Phase
        from broker_sim.faults.selection import Select

        if not callable(function):
            raise RuleError(("respond",), f"{function!r} is no function; expected one that takes a request")

        def add() -> str:
            name = self.cluster.faults.free_name()
            select = Select(api=api, client=client)
            rule = Rule(name=name, act=ByFunction(function), phase=Phase.BEFORE_PARSE, select=select, times=times)
            self.cluster.faults.add(rule)
            return name

        added: str = self.call(add)
        return added

    def release_rule(self, name: str) -> int:
        """Release the requests that a rule holds; returns their number. Raises RuleError for an unknown name."""
        released: int = self.call(self.cluster.faults.release, name)
        return released

    def remove_rule(self, name: str) -> RuleReport:
        """Remove a rule; returns its report. Raises RuleError for an unknown name."""
        report: RuleReport = self.call(self.cluster.faults.remove, name)
        return report

    def rule_reports(self) -> list[RuleReport]:
        """Return the report of each rule, in the order in which they were added."""
        reports: list[RuleReport] = self.call(self.cluster.faults.reports)
        return reports

    def rule_problems(self) -> list[str]:
        """Return the problem of each rule that has one, with its name."""
        return [f"rule {report.name!r}: {report.problem}" for report in self.rule_reports() if report.problem]

    def check_rules(self) -> None:
        """Raise RuleError if a rule has a problem: it has never fired, or could not do its work."""
        problems = self.rule_problems()
        if problems:
            raise RuleError(("rules",), "; ".join(problems))

    # The end.

    def close(self) -> None:
        """Stop every broker and the thread. A second call does nothing."""
        if self._thread.running:
            try:
                self.call(self.cluster.close)
            finally:
                self._thread.stop()
                stop_forwarding_logs()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        try:
            if error is None and not self.closed:
                self.check_rules()
        finally:
            self.close()
