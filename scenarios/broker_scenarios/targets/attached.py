"""A running cluster, perhaps a real Kafka, behind a proxy that applies the rules of the wire.

The scenario's topics are created at the start and deleted at the end. Consumers read the logs, committed records apart
from the others. The configurations of the cluster are those of its owner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.client_options import client_options
from broker_client.consumer_options import consumer_options
from broker_client.core.admin.admin_core import AdminCore
from broker_client.core.admin.topics import NewTopic
from broker_client.core.consumer.consumer_core import EARLIEST, LATEST
from broker_client.core.network.client_core import ClientCore
from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from broker_scenarios.checks.wire_check import NEEDS_BROKERS
from broker_scenarios.errors import ScenarioError
from broker_scenarios.history import LogRecord
from broker_scenarios.truth import Truth, UncommittedRecord
from broker_scenarios.workloads.values import value_id_of
from broker_sim.control.events import ProduceCompleted
from broker_sim.wire_proxy.wire_proxy import WireProxy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_scenarios.invariants.watch import InvariantWatch
    from broker_scenarios.language.scenario import Scenario
    from broker_sim.control.journal import Journal
    from broker_sim.faults.engine import FaultEngine
    from broker_sim.faults.rule import Rule
    from sim_runtime.interfaces import IReactor
    from sim_runtime.random_streams import RandomStreams

__all__ = ["AttachedTarget", "start_attached"]

_POLL_MS: Final = 200
_READ_WITHIN_S: Final = 60
_APPENDED: Final = ("appended_records", "appended_batches")


class AttachedTarget:
    """The cluster at `upstream`, seen through a proxy. `start_attached` makes one that is ready."""

    def __init__(
        self, scenario: Scenario, proxy: WireProxy, admin: AdminCore, upstream: str, streams: RandomStreams
    ) -> None:
        self._scenario = scenario
        self._proxy = proxy
        self._admin = admin
        self._upstream = upstream
        self._streams = streams

    @property
    def bootstrap_servers(self) -> str:
        """The listeners of the proxy."""
        return self._proxy.bootstrap_servers

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
            **self._proxy.cluster.partition_counts,
        }

    def metric(self, name: str) -> Sequence[tuple[int | None, float]]:
        """Return nothing: `start_attached` refuses scenarios that need a metric."""
        del name
        return ()

    def add_rule(self, rule: Rule) -> None:
        """Add a rule of the wire. Raises RuleError for any other."""
        self._proxy.add(rule)

    def acknowledged(self, topic: str, partition: int, offset: int) -> None:
        """Note the acknowledgement for the gates of rules: the brokers behind the proxy keep no journal."""
        self.journal.append(
            ProduceCompleted(
                time_us=self.journal.now_us(), broker_id=-1, topic=topic, partition=partition, error_code=0,
                base_offset=offset, required_offset=offset + 1, high_watermark=-1, leader_epoch=-1, isr=(), acks=-1,
            )
        )  # fmt: skip

    def watch(self, invariants: Sequence[str]) -> InvariantWatch | None:
        """Return None: the state of foreign brokers cannot be read, and `start_attached` refuses invariants."""
        assert not invariants, "refused before"
        return None

    def heal(self) -> None:
        """Close the rules."""
        self._proxy.faults.end()

    async def settle(self, *, within_s: float) -> str | None:  # noqa: ARG002 - the form of targets
        """Nothing can be seen of the rest of a foreign cluster."""
        return None

    async def truth(self) -> Truth:
        """Read every partition of the scenario's topics twice: everything, and what is committed."""
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
            log_starts={
                (topic.name, partition): 0 for topic in self._scenario.topics for partition in range(topic.partitions)
            },
        )

    async def _read(self, isolation_level: str) -> list[LogRecord]:
        options = consumer_options({"bootstrap.servers": self._upstream, "isolation.level": isolation_level})
        core = ClientCore(
            options.client, self._proxy.reactor, self._streams.stream(f"truth {isolation_level}"), by_subscription=True
        )
        consumer = options.make_core(core)
        keys = [
            TopicPartition(topic, partition)
            for topic, partitions in self.partition_counts.items()
            if topic in {each.name for each in self._scenario.topics}
            for partition in range(partitions)
        ]
        consumer.assign(keys)
        for key in keys:
            consumer.seek_to(key, EARLIEST)
        ends = await consumer.offsets(keys, int(LATEST))
        found: list[LogRecord] = []
        deadline_s = self._proxy.reactor.seconds() + _READ_WITHIN_S
        while any((consumer.position(key) or 0) < end for key, end in ends.items()):
            if self._proxy.reactor.seconds() > deadline_s:
                raise ScenarioError(f"{self._upstream}: its logs could not be read to their end in {_READ_WITHIN_S} s")
            found += (
                LogRecord(record.topic, record.partition, record.offset, value_id_of(record.value))
                for record in await consumer.poll(_POLL_MS)
            )
        await consumer.close(1_000)
        core.close()
        return found

    async def stop(self) -> None:
        """Delete the topics and close the proxy."""
        try:
            await self._admin.delete_topics([topic.name for topic in self._scenario.topics])
        finally:
            await self._proxy.close()


async def start_attached(
    scenario: Scenario, reactor: IReactor, streams: RandomStreams, upstream: tuple[str, int]
) -> AttachedTarget:
    """Put a proxy before the cluster and create the topics of the scenario.

    Raises:
        ScenarioError: the scenario needs what only a simulated cluster has, or a topic exists already.
    """
    if scenario.broker_defects:
        raise ScenarioError(
            f"{scenario.name}: a running cluster cannot be given defects ({scenario.broker_defects[0]})"
        )
    if scenario.always:
        raise ScenarioError(f"{scenario.name}: always: a proxy does not see the state that {scenario.always[0]} reads")
    for measure in scenario.expectation.measures:
        if "metric" in measure.select:
            raise ScenarioError(f"{scenario.name}: {measure.name}: a running cluster is not asked for its metrics")
    for name in scenario.wire_checks:
        if name in NEEDS_BROKERS:
            raise ScenarioError(f"{scenario.name}: expect.{name}: a proxy does not see the results that it compares")
    for rule in scenario.rules:
        for gate in (rule.when, rule.until):
            for name in _APPENDED:
                if gate is not None and getattr(gate, name, None) is not None:
                    raise ScenarioError(f"{scenario.name}: rule {rule.name!r}: a proxy does not see {name}")
    address = f"{upstream[0]}:{upstream[1]}"
    proxy = WireProxy(reactor=reactor, streams=streams, upstream=upstream)
    await proxy.start()
    given: dict[str, Any] = {"bootstrap.servers": address}
    core = ClientCore(client_options(given, client_id="broker-sim"), reactor, streams.stream("admin"))
    admin = AdminCore(core)
    topics = [
        NewTopic(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            configs=topic.configs,
        )
        for topic in scenario.topics
    ]
    try:
        await admin.create_topics(topics)
        for topic in topics:
            await admin.wait_for_topic(topic.name)
    except ProducerError as error:
        await proxy.close()
        raise ScenarioError(f"{address}: the topics of {scenario.name} cannot be created: {error}") from None
    return AttachedTarget(scenario, proxy, admin, address, streams)
