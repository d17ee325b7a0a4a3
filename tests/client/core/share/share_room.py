"""Brokers on virtual time with a topic, and share consumers on hosts of their own."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_client.client_options import client_options
from broker_client.core.admin.admin_core import AdminCore
from broker_client.core.admin.configs import AlterConfigOp, ConfigResource
from broker_client.core.network.client_core import ClientCore
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.producer_config import ProducerConfig
from broker_client.share_consumer_options import share_consumer_options
from broker_sim.cluster import Cluster, TopicSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from broker_client.core.consumer.fetched_batches import ConsumerRecord
    from broker_client.share_groups import AcknowledgeType
    from sim_runtime.world import World

SETTLE_MS: Final = 60_000


class Member:
    """A share consumer; `sent` has each request that it sends, as (node id, message).

    `canned` has functions by API that make the responses of its next requests; None stands for no response.
    `highest_versions` has those that brokers of an older release would serve.
    """

    def __init__(self, room: ShareRoom, name: str, **options: Any) -> None:
        parsed = share_consumer_options(
            {
                "bootstrap.servers": room.cluster.bootstrap_servers,
                "group.id": "g",
                "request.timeout.ms": 5_000,
                "fetch.max.wait.ms": 200,
                **options,
            }
        )
        self.name = name
        self.room = room
        self.client = ClientCore(parsed.client, room.world.network.host(name), Random(name), by_subscription=True)
        self.sent: list[tuple[int | None, Any]] = []
        self.canned: dict[str, list[Callable[[Any], Any]]] = {}
        self.highest_versions: dict[str, int] = {}
        request = self.client.request

        def recorded(kind: Any, build: Callable[[int], Any], **given: Any) -> Deferred[Any]:
            def build_and_record(version: int) -> Any:
                made = build(version)
                self.sent.append((given.get("node_id"), made))
                return made

            canned = self.canned.get(kind.NAME)
            if kind.NAME in self.highest_versions:
                given["highest_version"] = self.highest_versions[kind.NAME]
            if not canned:
                return request(kind, build_and_record, **given)
            response: Deferred[Any] = Deferred()
            made = canned.pop(0)(build_and_record(kind.VERSIONS.highest))
            if made is not None:
                room.world.reactor.callLater(0.01, response.callback, made)
            return response

        self.client.request = recorded  # type: ignore[method-assign, assignment]
        self.core = parsed.make_core(self.client)

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.room.run(coroutine)

    def subscribe(self, *topics: str) -> Member:
        self.run(self.core.subscribe(topics or ("t",)))
        return self

    def poll(self, timeout_ms: int = 2_000) -> list[ConsumerRecord]:
        return list(self.run(self.core.poll(timeout_ms)))

    def read(self, count: int, kind: AcknowledgeType | None = None) -> list[ConsumerRecord]:
        """Poll until `count` records came; `kind` acknowledges each."""
        found: list[ConsumerRecord] = []
        for _ in range(50):
            records = self.poll(1_000)
            found += records
            for record in records if kind is not None else ():
                self.core.acknowledge(record, kind)
            if len(found) >= count:
                return found
        raise AssertionError(f"{self.name}: {len(found)} records of {count}")

    def requests(self, kind: str) -> list[Any]:
        """The messages of one API, in their order."""
        return [message for _, message in self.sent if kind == type(message).NAME]


class ShareRoom:
    """Three brokers and a topic `t`; the group `g` reads it from its first record."""

    def __init__(self, world: World, *, partitions: int = 3, topics: tuple[str, ...] = ()) -> None:
        self.world = world
        self.partitions = partitions
        self.cluster = Cluster(
            reactor=world.reactor,
            streams=world.streams,
            topics=[TopicSpec.parse(topic) for topic in (f"t:{partitions}:3", *topics)],
            config={
                "broker.session.timeout.ms": "2000",
                "broker.heartbeat.interval.ms": "500",
                "offsets.topic.num.partitions": "1",
                "share.coordinator.state.topic.num.partitions": "2",
                "group.share.heartbeat.interval.ms": "1000",
                "group.share.min.heartbeat.interval.ms": "1000",
                "group.share.session.timeout.ms": "6000",
                "group.share.min.session.timeout.ms": "6000",
                "group.share.record.lock.duration.ms": "5000",
                "group.share.min.record.lock.duration.ms": "1000",
            },
            host=lambda broker: f"b{broker}",
            broker_reactor=lambda broker: world.network.host(f"b{broker}"),
        )
        self.cluster.start()
        self.producer = ProducerCore(
            ProducerConfig(bootstrap_servers=self.cluster.bootstrap_servers),
            world.network.host("producer"),
            world.streams.stream("producer"),
        )
        self.members: list[Member] = []
        self._read_from_the_start()

    def member(self, **options: Any) -> Member:
        made = Member(self, f"member-{len(self.members)}", **options)
        self.members.append(made)
        return made

    def joined(self, **options: Any) -> Member:
        """A member that has partitions."""
        made = self.member(**options).subscribe()
        self.settle(lambda: not made.poll(0) and bool(made.core.assignment))
        return made

    def produce(self, count: int, first: int = 0) -> None:
        futures = [
            self.producer.send("t", b"%d" % number, partition=number % self.partitions)
            for number in range(first, first + count)
        ]
        for future in futures:
            self.world.run_until(future.as_deferred())

    def settle(self, done: Callable[[], bool], *, limit_ms: int = SETTLE_MS) -> None:
        for _ in range(limit_ms // 100):
            if done():
                return
            self.world.run_for(ms=100)
        raise AssertionError("not settled")

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.world.run_until(Deferred.fromCoroutine(coroutine))

    def close(self) -> None:
        for one in self.members:
            one.client.close()
        self.world.run_until(self.producer.close(0))
        self.world.run_until(self.cluster.close())

    def _read_from_the_start(self) -> None:
        options = client_options({"bootstrap.servers": self.cluster.bootstrap_servers.split(",")}, client_id="admin")
        client = ClientCore(options, self.world.network.host("admin"), Random(0))
        change = AlterConfigOp(name="share.auto.offset.reset", value="earliest")
        self.run(AdminCore(client).incremental_alter_configs({ConfigResource.group("g"): [change]}))
        client.close()
