"""A simulated cluster that receives metrics, and clients that push them, on virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_client.consumer_options import consumer_options
from broker_client.core.admin.admin_core import AdminCore
from broker_client.core.admin.configs import AlterConfigOp, ConfigResource, ConfigResourceType
from broker_client.core.network.client_core import ClientCore, ClientOptions
from broker_client.core.network.network_client import NetworkClientConfig
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.producer_config import ProducerConfig
from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.events import RequestReceived, TelemetryReceived
from protocol_specs.records.compression import CompressionCodec, decompress
from tests.client.core.telemetry.read_metrics_data import read_metrics_data

if TYPE_CHECKING:
    from broker_client.core.consumer.consumer_core import ConsumerCore
    from broker_client.core.telemetry.otlp import Point
    from sim_runtime.world import World

INTERVAL_MS = 10_000
TELEMETRY = ("GetTelemetrySubscriptions", "PushTelemetry")


class Room:
    """A broker that wants metrics, or not, with producers and consumers on hosts of their own."""

    def __init__(self, world: World, **config: str) -> None:
        self.world = world
        self.cluster = Cluster(
            reactor=world.reactor,
            streams=world.streams,
            brokers=1,
            topics=[TopicSpec.parse("orders:1:1")],
            config={name.replace("_", "."): value for name, value in config.items()},
            host=lambda broker: f"b{broker}",
            broker_reactor=lambda broker: world.network.host(f"b{broker}"),
        )
        self.cluster.start()
        self.producers: list[ProducerCore] = []
        self.consumers: list[tuple[ClientCore, ConsumerCore]] = []

    def subscribe(self, metrics: str) -> None:
        """Want these metrics every INTERVAL_MS."""
        host, port = self.cluster.bootstrap_servers.split(":")
        options = ClientOptions(bootstrap_servers=((host, int(port)),), network=NetworkClientConfig(client_id="admin"))
        client = ClientCore(options, self.world.network.host("admin"), self.world.streams.stream("admin"))
        wanted = {"metrics": metrics, "interval.ms": str(INTERVAL_MS)}
        changes = [AlterConfigOp(name=name, value=value) for name, value in wanted.items()]
        resource = ConfigResource(type=ConfigResourceType.CLIENT_METRICS, name="all")
        self.world.run_until(AdminCore(client).incremental_alter_configs({resource: changes}))
        client.close()

    def producer(self, **config: Any) -> ProducerCore:
        made = ProducerCore(
            ProducerConfig(bootstrap_servers=self.cluster.bootstrap_servers, **config),
            self.world.network.host("producer"),
            self.world.streams.stream(f"producer {len(self.producers)}"),
        )
        self.producers.append(made)
        return made

    def consumer(self, **config: Any) -> ConsumerCore:
        parsed = consumer_options({"bootstrap_servers": self.cluster.bootstrap_servers, **config})
        reactor = self.world.network.host("consumer")
        stream = self.world.streams.stream(f"consumer {len(self.consumers)}")
        client = ClientCore(parsed.client, reactor, stream, by_subscription=True)
        self.consumers.append((client, parsed.make_core(client)))
        return self.consumers[-1][1]

    def requested(self) -> list[str]:
        """The telemetry requests that were received."""
        events = self.cluster.journal.events
        return [one.api for one in events if isinstance(one, RequestReceived) and one.api in TELEMETRY]

    def pushed(self) -> list[tuple[TelemetryReceived, dict[str, Point]]]:
        """The pushed metrics, and their points by name and topic."""
        found = []
        for event in self.cluster.journal.events:
            if isinstance(event, TelemetryReceived):
                codec = CompressionCodec(event.compression_type)
                points, _ = read_metrics_data(bytes(decompress(codec, event.metrics, limit_bytes=1_000_000)))
                found.append((event, {point.name: point for point in points}))
        return found

    def close(self) -> None:
        for producer in self.producers:
            assert producer.loop_errors == 0
            self.world.run_until(producer.close(0))
        for client, consumer in self.consumers:
            self.world.run_until(consumer.close(0))
            client.close()
        self.world.run_until(self.cluster.close())
