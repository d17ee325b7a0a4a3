"""A running cluster, perhaps a real Kafka, behind a proxy that applies the rules of the wire.

Rules on brokers control their processes, where they can be controlled; rules on topics, leaders, configurations and
quotas become requests of an administrator. The scenario's topics are created at the start and deleted at the end.
Consumers read the logs, committed records apart from the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectError

from broker_client.client_options import client_options
from broker_client.consumer_options import consumer_options
from broker_client.core.admin.admin_core import AdminCore
from broker_client.core.admin.configs import ConfigResource
from broker_client.core.consumer.consumer_core import EARLIEST, LATEST
from broker_client.core.network.client_core import ClientCore
from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from broker_scenarios.errors import ClusterGone, ScenarioError
from broker_scenarios.history import LogRecord
from broker_scenarios.targets.attached_checks import config_problem, placed_topics, problem_of, rule_problem
from broker_scenarios.targets.attached_cluster import AttachedCluster
from broker_scenarios.targets.client_listeners import listener_problem
from broker_scenarios.truth import Truth, UncommittedRecord
from broker_scenarios.workloads.values import value_id_of
from broker_sim.errors import BrokerSimError
from broker_sim.wire_proxy.wire_proxy import WireProxy
from sim_runtime.deadlines import sleep
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from broker_scenarios.invariants.watch import InvariantWatch
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.targets.upstream import Upstream
    from broker_sim.control.journal import Journal
    from broker_sim.faults.engine import FaultEngine
    from broker_sim.faults.rule import Rule
    from sim_runtime.random_streams import RandomStreams
    from sim_runtime.real_reactor import RealReactor

__all__ = ["AttachedTarget", "start_attached"]

T = TypeVar("T")

_POLL_MS: Final = 200
_READ_WITHIN_S: Final = 60
_READY_POLL_MS: Final = 100
_FOLLOW_MS: Final = 100
_QUIET_POLLS: Final = 3
"""How often in a row the ends of all logs must be the same: what is on the wire at the end has arrived by then."""


class AttachedTarget:
    """The cluster at `upstream`, seen through a proxy. `start_attached` makes one that is ready."""

    def __init__(
        self,
        scenario: Scenario,
        proxy: WireProxy,
        cluster: AttachedCluster,
        admin: AdminCore,
        upstream: Upstream,
        streams: RandomStreams,
    ) -> None:
        self._scenario = scenario
        self._proxy = proxy
        self._cluster = cluster
        self._admin = admin
        self._upstream = upstream
        self._streams = streams
        self._healed: Deferred[None] | None = None
        self._gone: ClusterGone | None = None
        self._running: Deferred[Any] | None = None
        self._following = Deferred.fromCoroutine(self._follow())

    async def run(self, run: Coroutine[Any, Any, T]) -> T:
        """Wait for a run; cancel it if the cluster is gone meanwhile. Raises ClusterGone."""
        running = Deferred.fromCoroutine(run)
        self._running = running
        try:
            return await running
        except (BrokerSimError, ProducerError, CancelledError):
            if self._gone is not None:
                raise self._gone from None
            raise

    def bootstrap_servers_for(self, security_protocol: str) -> str:  # noqa: ARG002 - it has one
        """The listeners of the proxy."""
        return self._proxy.bootstrap_servers

    @property
    def brokers(self) -> int:
        """How many brokers the cluster has: as many as the scenario, or more."""
        return len(self._cluster.broker_ids)

    @property
    def faults(self) -> FaultEngine:
        """The proxy's engine."""
        return self._proxy.faults

    @property
    def journal(self) -> Journal:
        """The journal of the proxy."""
        return self._proxy.journal

    @property
    def partition_counts(self) -> Mapping[str, int]:
        """The number of partitions of each topic, as of the last Metadata response."""
        return {
            **{topic.name: topic.partitions for topic in self._scenario.topics},
            **self._cluster.partition_counts,
        }

    def metric(self, name: str) -> Sequence[tuple[int | None, float]]:
        """Return nothing: `start_attached` refuses scenarios that need a metric."""
        del name
        return ()

    def add_rule(self, rule: Rule) -> None:
        """Add a rule. Raises RuleError for one that needs what this cluster does not have."""
        self._proxy.add(rule)

    def acknowledged(self, topic: str, partition: int, offset: int) -> None:
        """The proxy has noted the response itself."""

    def watch(self, invariants: Sequence[str]) -> InvariantWatch | None:
        """Return None: the state of foreign brokers cannot be read, and `start_attached` refuses invariants."""
        assert not invariants, "refused before"
        return None

    def heal(self) -> None:
        """Close the rules, continue what is paused and start what is down."""
        self._proxy.faults.end()
        self._healed = Deferred.fromCoroutine(self._cluster.heal())

    async def settle(self, *, within_s: float) -> str | None:
        """Wait until every broker serves, all replicas are in sync, and the ends of the logs move no more."""
        if self._healed is not None:
            await self._healed
        reactor = self._proxy.reactor
        deadline_s = reactor.seconds() + within_s
        before: object = None
        quiet = 0
        while True:
            pending, ends = await self._pending()
            quiet = quiet + 1 if not pending and ends == before else 0
            if quiet >= _QUIET_POLLS:
                return None
            before = ends
            if reactor.seconds() >= deadline_s:
                return (
                    f"the cluster was not at rest {within_s:g} s after the load (deadline_s): {pending or 'it grows'}"
                )
            await sleep(reactor, _FOLLOW_MS)

    async def _pending(self) -> tuple[str, object]:
        """Return what is not at rest, and the ends of the logs."""
        try:
            if not await self._proxy.serve(len(self._cluster.broker_ids)):
                return "a broker is missing", None
            behind = [key for key in self._cluster.out_of_sync() if key.rpartition("-")[0] in self._own_topics()]
            if behind:
                return f"{behind[0]} has a replica that is not in sync", None
            keys = self._keys()
            if not keys:
                return "", ()
            found = await self._admin.list_offsets(dict.fromkeys(keys, int(LATEST)))
        except (BrokerSimError, ProducerError, ConnectError) as error:
            return str(error), None
        return "", tuple((key, each.offset) for key, each in sorted(found.items()))

    async def truth(self) -> Truth:
        """Read every partition of the scenario's topics twice: everything, and what is committed."""
        keys = self._keys()
        starts = await self._admin.list_offsets(dict.fromkeys(keys, int(EARLIEST))) if keys else {}
        everything = await self._read("read_uncommitted")
        committed = await self._read("read_committed")
        places = {(record.topic, record.partition, record.offset) for record in committed}
        return Truth(
            stored=committed,
            truncated=[],
            journal=self.journal.events,
            uncommitted=[
                UncommittedRecord(*record[:4], state="aborted")
                for record in everything
                if (record.topic, record.partition, record.offset) not in places
            ],
            log_starts={(key.topic, key.partition): found.offset for key, found in starts.items()},
        )

    def _own_topics(self) -> set[str]:
        """The topics of the scenario, and those that its rules have created."""
        return {topic.name for topic in self._scenario.topics} | self._cluster.admin.created

    def _keys(self) -> list[TopicPartition]:
        return [
            TopicPartition(topic, partition)
            for topic, partitions in self._cluster.partition_counts.items()
            if topic in self._own_topics()
            for partition in range(partitions)
        ]

    async def _read(self, isolation_level: str) -> list[LogRecord]:
        options = consumer_options({"bootstrap.servers": self._upstream.name, "isolation.level": isolation_level})
        core = ClientCore(
            options.client, self._proxy.reactor, self._streams.stream(f"truth {isolation_level}"), by_subscription=True
        )
        consumer = options.make_core(core)
        keys = self._keys()
        consumer.assign(keys)
        for key in keys:
            consumer.seek_to(key, EARLIEST)
        ends = await consumer.offsets(keys, int(LATEST))
        found: list[LogRecord] = []
        deadline_s = self._proxy.reactor.seconds() + _READ_WITHIN_S
        while any((consumer.position(key) or 0) < end for key, end in ends.items()):
            if self._proxy.reactor.seconds() > deadline_s:
                raise ScenarioError(f"{self._upstream.name}: its logs could not be read in {_READ_WITHIN_S} s")
            found += (
                LogRecord(record.topic, record.partition, record.offset, value_id_of(record.value))
                for record in await consumer.poll(_POLL_MS)
            )
        await consumer.close(1_000)
        core.close()
        return found

    async def _follow(self) -> None:
        """Learn of leaders and ISRs, for the references and gates of rules, and whether the cluster is gone."""
        responded_s = self._proxy.reactor.seconds()
        while self._gone is None:
            try:
                await self._proxy.refresh()
                responded_s = self._proxy.reactor.seconds()
                if self._cluster.controller_ids:
                    leader = (await self._admin.describe_metadata_quorum()).leader_id
                    self._cluster.active = leader if self._cluster.is_running(leader) else None
            except (BrokerSimError, ProducerError) as error:  # no broker responds now
                self._end_if_gone(self._proxy.reactor.seconds() - responded_s, error)
            await sleep(self._proxy.reactor, _FOLLOW_MS)

    def _end_if_gone(self, silent_s: float, error: Exception) -> None:
        """End the run if no rule can have done this: the run controls no processes, or a node has ended by itself."""
        problem = self._cluster.processes_problem()
        if problem is None and self._upstream.processes is None and silent_s >= self._upstream.patience_s:
            problem = f"no broker has responded for {silent_s:.0f} s: {_without_address(error, self._upstream)}"
        if problem is not None:
            self._gone = ClusterGone(f"{self._upstream.name}: the cluster is gone amid the run: {problem}")
            if self._running is not None:
                self._running.cancel()

    async def stop(self) -> None:
        """Delete the topics, take back what rules have changed, and close the proxy."""
        self._following.addErrback(lambda failure: failure.trap(CancelledError) and None)
        self._following.cancel()
        try:
            if self._gone is None:
                await self._cluster.admin.restore()
        except ProducerError as error:
            raise ScenarioError(f"{self._upstream.name}: what the run has changed stays there: {error}") from None
        finally:
            await self._proxy.close()


async def start_attached(
    scenario: Scenario, reactor: RealReactor, streams: RandomStreams, upstream: Upstream
) -> AttachedTarget:
    """Put a proxy before the cluster and create the topics of the scenario.

    Raises:
        ScenarioError: the scenario needs what the cluster does not have, or a topic or a group exists already.
    """
    problem = problem_of(scenario, upstream.release) or listener_problem(scenario, started=upstream.has_config)
    if problem is not None:
        raise ScenarioError(f"{scenario.name}: {problem}")
    given: dict[str, Any] = {"bootstrap.servers": upstream.name}
    core = ClientCore(client_options(given, client_id="broker-sim"), reactor, streams.stream("admin"))
    admin = AdminCore(core)
    processes = None if upstream.processes is None else upstream.processes(reactor)
    clusters: list[AttachedCluster] = []

    def cluster_of(journal: Journal) -> AttachedCluster:
        clusters.append(AttachedCluster(journal, reactor, admin, processes))
        return clusters[0]

    proxy = WireProxy(
        reactor=reactor,
        streams=streams,
        upstream=upstream.address,
        client_ports=upstream.client_ports,
        cluster_of=cluster_of,
    )
    [cluster] = clusters
    try:
        await _prepare(scenario, proxy, cluster, admin, upstream)
    except BaseException:
        await proxy.close()
        raise
    return AttachedTarget(scenario, proxy, cluster, admin, upstream, streams)


async def _prepare(
    scenario: Scenario, proxy: WireProxy, cluster: AttachedCluster, admin: AdminCore, upstream: Upstream
) -> None:
    await _until_served(scenario, proxy, cluster, upstream)
    problem = None
    if not upstream.has_config and scenario.broker_config:
        found = await admin.describe_configs([ConfigResource.broker(broker_id) for broker_id in cluster.broker_ids])
        problem = config_problem(scenario, {int(broker.name): configs for broker, configs in found.items()})
    if problem is None:
        await _take_groups(scenario, admin, cluster, upstream)
        await _create_topics(scenario, admin, cluster, upstream)
        await proxy.refresh()
        problem = rule_problem(scenario, cluster)
    if problem is not None:
        await cluster.admin.restore()
        raise ScenarioError(f"{scenario.name}: {problem}")


async def _until_served(scenario: Scenario, proxy: WireProxy, cluster: AttachedCluster, upstream: Upstream) -> None:
    """Wait until as many brokers serve as the scenario has."""
    deadline_s = proxy.reactor.seconds() + upstream.patience_s
    while True:
        problem: ScenarioError
        try:
            if await proxy.serve(scenario.brokers):
                return
            has = plural(len(cluster.broker_ids), "broker")
            problem = ScenarioError(f"{upstream.name}: it has {has}, {scenario.name} needs {scenario.brokers}")
        except BrokerSimError as error:
            problem = ClusterGone(f"{upstream.name}: {_without_address(error, upstream)}")
        ended = cluster.processes_problem()
        if ended is not None:
            raise ClusterGone(f"{upstream.name}: {ended}")
        if proxy.reactor.seconds() > deadline_s:
            raise problem
        await sleep(proxy.reactor, _READY_POLL_MS)


def _without_address(error: Exception, upstream: Upstream) -> str:
    """Return the text of an error, without the address if it begins with that: each error names it once."""
    return str(error).removeprefix(f"upstream {upstream.name}: ")


async def _take_groups(scenario: Scenario, admin: AdminCore, cluster: AttachedCluster, upstream: Upstream) -> None:
    """Note the groups of the consumers, to delete them at the end; one that is used already would lose its offsets."""
    ids = (client.consumer.get("group.id") for client in scenario.clients if client.consumer is not None)
    groups = tuple(dict.fromkeys(group for group in ids if group is not None))
    if groups:
        existing = await admin.list_groups()
        for group in groups:
            if group in existing:
                raise ScenarioError(f"{upstream.name}: the group {group!r} of {scenario.name} exists already")
    cluster.admin.groups = groups


async def _create_topics(scenario: Scenario, admin: AdminCore, cluster: AttachedCluster, upstream: Upstream) -> None:
    topics = placed_topics(scenario, cluster.broker_ids)
    try:
        await admin.create_topics(topics)
        cluster.admin.created.update(topic.name for topic in topics)
        for topic in topics:
            await admin.wait_for_topic(topic.name)
    except ProducerError as error:
        raise ScenarioError(f"{upstream.name}: the topics of {scenario.name} cannot be created: {error}") from None
