"""Many connections, many topics, long idle time: the time and the memory that they take.

    python benchmarks/scale.py [--connections N] [--topics N]

`broker-sim serve` runs in a process of its own, with topics of 10 partitions from the start. Every connection requests
the API versions and the metadata of one topic, and stays open. Then one of them requests all topics. CPU and memory are
the server's.
"""

from __future__ import annotations

import argparse
import resource
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.process_usage import cpu_seconds, peak_memory_mb
from benchmarks.result import Result, table
from protocol_specs.framing import FrameReader, decode_response, encode_request
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.interop.served_cluster import environment, served_cluster

CONNECTIONS = 1_000
TOPICS = 1_000
PARTITIONS = 10
METADATA_MS_MAX = 50.0
MEMORY_MB_MAX = 250.0
SERVE_SECONDS_MAX = 1.0
IDLE_SECONDS_MAX = 1.0
METADATA_REQUESTS = 21
RESPONSE_SECONDS_MAX = 30.0
RUN_SECONDS_MAX = 120
METADATA_VERSION = 12
FRAME_BYTES_MAX = 1 << 26
IDLE_HOUR = """
import time
from broker_sim.cluster import Cluster, TopicSpec
from sim_runtime.world import World
world = World(1)
cluster = Cluster(
    reactor=world.reactor,
    streams=world.streams,
    topics=[TopicSpec.parse("orders:6:3")],
    host=lambda broker_id: f"b{broker_id}",
    broker_reactor=lambda broker_id: world.network.host(f"b{broker_id}"),
)
cluster.start()
started = time.perf_counter()
world.run_for(ms=3_600_000)
print(time.perf_counter() - started)
"""


class Client:
    """One connection, which waits for each response."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, RESPONSE_SECONDS_MAX)
        self._reader = FrameReader(limit_bytes=FRAME_BYTES_MAX, option="benchmark")

    def call(self, request: ApiVersionsRequest | MetadataRequest, version: int) -> bytes:
        """Send a request and return the frame of the response."""
        self._socket.sendall(encode_request(request, version, correlation_id=1, client_id="scale"))
        frames: list[bytes] = []
        while not frames:
            data = self._socket.recv(1 << 20)
            assert data, "the broker has closed the connection"
            frames = self._reader.receive(data)
        return frames[0]

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def run(connections: int = CONNECTIONS, topics: int = TOPICS) -> list[Result]:
    """Run all parts, one server after the other."""
    return [*served(connections, topics), idle_hour()]


def served(connections: int, topics: int) -> list[Result]:
    """Start with all topics, connect, send requests."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 200
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
    arguments = [text for index in range(topics) for text in ("--topic", f"topic-{index}:{PARTITIONS}:1")]
    started = time.perf_counter()
    with served_cluster("--brokers", "3", "--port", "0", *arguments) as cluster:
        ready_s = time.perf_counter() - started
        ready_cpu_s = cpu_seconds(cluster.process.pid)
        addresses = [_address(text) for text in cluster.bootstrap_servers.split(",")]
        first = Client(addresses[0])
        first.call(ApiVersionsRequest(), 3)  # its response comes when the server has imported its APIs
        first.close()
        cpu_before_s = cpu_seconds(cluster.process.pid)
        clients = [Client(addresses[index % len(addresses)]) for index in range(connections)]
        for index, client in enumerate(clients):
            client.call(ApiVersionsRequest(), 3)
            wanted_topic = MetadataRequestTopic(name=f"topic-{index % topics}")
            client.call(MetadataRequest(topics=[wanted_topic], allow_auto_topic_creation=False), METADATA_VERSION)
        connected_cpu_s = cpu_seconds(cluster.process.pid) - cpu_before_s
        cpu_before_s = cpu_seconds(cluster.process.pid)
        times_ms = [_all_topics_ms(clients[0], topics) for _ in range(METADATA_REQUESTS)]
        metadata_cpu_ms = 1000 * (cpu_seconds(cluster.process.pid) - cpu_before_s) / METADATA_REQUESTS
        cpu_before_s = cpu_seconds(cluster.process.pid)
        time.sleep(2.0)  # the server idles in its own process
        idle_cpu_s = (cpu_seconds(cluster.process.pid) - cpu_before_s) / 2.0
        memory_mb = peak_memory_mb(cluster.process.pid)
        for client in clients:
            client.close()
    load = f"{connections} connections, {topics} topics x {PARTITIONS}"
    return [
        Result.at_most(f"serve, ready with {topics} topics x {PARTITIONS}", ready_s, SERVE_SECONDS_MAX, " s"),
        Result.at_most("the same, CPU", ready_cpu_s, SERVE_SECONDS_MAX, " s"),
        Result.at_most(f"{load}: Metadata for all, first", times_ms[0], METADATA_MS_MAX, " ms"),
        Result.at_most(f"{load}: Metadata for all, median", statistics.median(times_ms), METADATA_MS_MAX, " ms"),
        Result.at_most("the same, CPU of the server per request", metadata_cpu_ms, METADATA_MS_MAX, " ms"),
        Result.at_most(f"{load}: memory at most", memory_mb, MEMORY_MB_MAX, " MB"),
        Result.at_most(f"{load}: CPU for connection and two requests each", connected_cpu_s, 1.0, " s"),
        Result.at_most(f"{load}: CPU of an idle second", 1000 * idle_cpu_s, 100.0, " ms"),
    ]


def idle_hour() -> Result:
    """Measure an hour of three brokers on virtual time without clients."""
    program = [sys.executable, "-c", IDLE_HOUR]
    done = subprocess.run(
        program, stdout=subprocess.PIPE, text=True, check=True, timeout=RUN_SECONDS_MAX, env=environment()
    )
    return Result.at_most("an idle hour of 3 brokers, virtual time", float(done.stdout), IDLE_SECONDS_MAX, " s")


def _all_topics_ms(client: Client, topics: int) -> float:
    started = time.perf_counter()
    frame = client.call(MetadataRequest(topics=None), METADATA_VERSION)
    took_ms = (time.perf_counter() - started) * 1000
    response = decode_response(MetadataResponse, METADATA_VERSION, frame)[1]
    assert isinstance(response, MetadataResponse)
    assert sum(len(topic.partitions) for topic in response.topics) == topics * PARTITIONS
    return took_ms


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--topics", type=int, default=TOPICS)
    options = parser.parse_args()
    print(table(run(options.connections, options.topics)))


if __name__ == "__main__":
    main()
