"""The fast paths of clients and event loop, each against the path below it: the gains in docs/design/fast-paths.md.

    python benchmarks/client_fast_paths.py [ROUNDS]

Append buffers and events are measured in this process, in CPU time. Spinning is measured by brokers in processes of
their own, to which confluent-kafka producers send in turns. Wakers are measured by producers of this project in
processes too.
"""

from __future__ import annotations

import contextlib
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from twisted.internet.epollreactor import EPollReactor
from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory

from benchmarks.measured_process import measure
from benchmarks.measured_producers import Run, blocking
from broker_client.core.batching.append_buffer import AppendBuffers
from broker_client.core.batching.buffer_pool import BufferPool
from broker_client.core.batching.record_accumulator import AccumulatorConfig, RecordAccumulator
from broker_client.core.network.cluster import Cluster, Node, TopicMetadata
from broker_client.core.network.metadata import Metadata
from broker_client.records import UNKNOWN_PARTITION, PartitionInfo
from sim_runtime import real_reactor
from sim_runtime.backoff import ExponentialBackoff
from sim_runtime.direct_send import send_at_once
from sim_runtime.epoll_reactor import RealEPollReactor

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPIC: Final = "measured"
RECORDS: Final = 50_000
MESSAGES: Final = 10_000
BATCH_SIZE: Final = 16_384
REACTORS: Final = ("spinning", "blocking")
WAKERS: Final = ("edge-triggered waker", "Twisted's waker")
SENDS: Final = 1_500
LOADS: Final = (
    ("one record per request", "throughput", 20_000, ("linger.ms=0", "batch.num.messages=1")),
    ("synchronous sends", "latency", 1_000, ("linger.ms=0",)),
)


def append_seconds(*, buffered: bool) -> float:
    """The CPU seconds of one append, 100 bytes without key, all in one millisecond."""
    backoff = ExponentialBackoff(100, 1_000, 2, 0, random.Random(1))
    metadata = Metadata(bootstrap=(), refresh_backoff=backoff, expire_ms=300_000, idle_ms=300_000)
    partition = PartitionInfo(
        topic=TOPIC, partition=0, leader=1, leader_epoch=0, replicas=(), in_sync_replicas=(), offline_replicas=()
    )
    topic = TopicMetadata(name=TOPIC, topic_id=None, partitions=(partition,))
    cluster = metadata.cluster = Cluster(nodes={1: Node(1, "h", 1)}, topics={TOPIC: topic})
    buffers = AppendBuffers(metadata, lambda: 1.0, 1_000_000)
    accumulator = RecordAccumulator(
        config=AccumulatorConfig(batch_size=BATCH_SIZE, linger_ms=5, delivery_timeout_ms=120_000),
        pool=BufferPool(1 << 30, BATCH_SIZE),
        retry_backoff=backoff,
        transactions=None,
        random=random.Random(1),
        wakeup=lambda: None,
        append_buffers=buffers if buffered else None,
    )
    value = bytes(100)
    started = time.thread_time()
    for _ in range(RECORDS):
        buffer = buffers.by_topic.get(TOPIC)
        if buffer is None or buffer.append(value, None) is None:
            accumulator.append(TOPIC, UNKNOWN_PARTITION, 1_000, None, value, (), None, 1_000, cluster)
    return (time.thread_time() - started) / RECORDS


def serve(reactor: str) -> None:
    """Serve with one of REACTORS until the process is terminated."""
    from broker_scenarios.cli import main

    def new_reactor(*, spins: bool = False) -> Any:
        return RealEPollReactor(spins=spins and reactor == REACTORS[0])

    real_reactor.new_reactor = new_reactor
    main(["serve", "--brokers", "1", "--port", "0", "--topic", f"{TOPIC}:4:1", "-o", "log.retention.bytes=5242880"])


@contextlib.contextmanager
def served(reactor: str) -> Iterator[tuple[str, int]]:
    """A broker on one of REACTORS: its bootstrap servers and its process id."""
    process = subprocess.Popen([sys.executable, __file__, "serve", reactor], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().partition("=")[2].strip(), process.pid
    finally:
        process.terminate()
        process.wait()


def send(waker: str, servers: str) -> None:
    """Print the median seconds of a synchronous send of this project's producer with one of WAKERS."""
    if waker == WAKERS[1]:
        for name in ("installWaker", "_wakerFactory"):
            delattr(RealEPollReactor, name)
    run = Run(client="ours", kind="latency", servers=servers, topic=TOPIC, records=SENDS)
    print(blocking(run)[0])


class Echo(Protocol):
    """Returns received bytes."""

    def connectionMade(self) -> None:  # noqa: N802
        """Send small messages at once."""
        self.transport.setTcpNoDelay(True)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Return the bytes."""
        send_at_once(self.transport, data)


class PingPong(Echo):
    """Sends a message, and returns what it receives until it has received MESSAGES of them."""

    def __init__(self, reactor: Any, cpu_s: list[float]) -> None:
        self.reactor, self.cpu_s = reactor, cpu_s
        self.received = 0

    def connectionMade(self) -> None:  # noqa: N802
        """Send the first message."""
        super().connectionMade()
        send_at_once(self.transport, bytes(60))

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Return the bytes; the measurement leaves the first messages out."""
        self.received += 1
        if self.received in {MESSAGES // 10, MESSAGES}:
            self.cpu_s.append(time.thread_time())
        if self.received == MESSAGES:
            self.reactor.stop()
        super().dataReceived(data)


def event_seconds(reactor_type: type[RealEPollReactor]) -> float:
    """The CPU seconds of one event: a message between two connections of one reactor, with its three system calls."""
    reactor: Any = reactor_type()
    cpu_s: list[float] = []
    client = ClientFactory()
    client.buildProtocol = lambda _: PingPong(reactor, cpu_s)  # type: ignore[method-assign]
    port = reactor.listenTCP(0, ServerFactory.forProtocol(Echo), interface="127.0.0.1")
    reactor.connectTCP("127.0.0.1", port.getHost().port, client)
    reactor.run(installSignalHandlers=False)
    reactor.release()
    began, ended = cpu_s
    return (ended - began) / (2 * (MESSAGES - MESSAGES // 10))


def poll_by_twisted(reactor: Any, timeout: float | None) -> None:
    """Wait, and have Twisted read and write what is ready, without a logging context."""
    selectables = reactor._selectables  # noqa: SLF001
    for descriptor, event in reactor._poller.poll(-1 if timeout is None else timeout, len(selectables)):  # noqa: SLF001
        if descriptor in selectables:
            reactor._doReadOrWrite(selectables[descriptor], descriptor, event)  # noqa: SLF001


def measure_events(rounds: int) -> None:
    """Print the CPU time of an event with Twisted's loop, and with its logging context too."""

    def of_twisted(name: str, poll: Any) -> type[RealEPollReactor]:
        methods = {"mainLoop": EPollReactor.mainLoop, "doPoll": poll, "doIteration": poll}
        return type(name, (RealEPollReactor,), methods)

    with_context = of_twisted("WithContext", EPollReactor.doPoll)
    with_loop = of_twisted("WithLoop", poll_by_twisted)
    kinds = {"with a logging context": with_context, "with Twisted's loop": with_loop, "without": RealEPollReactor}
    figures = [[event_seconds(kind) for kind in kinds.values()] for _ in range(rounds)]
    medians_us = [statistics.median(each) * 1e6 for each in zip(*figures, strict=True)]
    for name, us in zip(kinds, medians_us, strict=True):
        print(f"events: {us:.2f} us {name}, {us / medians_us[-1]:.2f} times")


def measure_wakers(rounds: int) -> None:
    """Print the median of a synchronous send with each waker."""
    seconds: dict[str, list[float]] = {waker: [] for waker in WAKERS}
    with served(REACTORS[0]) as (servers, _):
        for number in range(rounds):
            for waker in WAKERS if number % 2 else WAKERS[::-1]:
                done = subprocess.run(
                    [sys.executable, __file__, "send", waker, servers], capture_output=True, check=True
                )
                seconds[waker].append(float(done.stdout))
    for waker in WAKERS:
        print(
            f"synchronous sends of this project's producer: {waker}: {statistics.median(seconds[waker]) * 1e3:.3f} ms"
        )


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_reactors(rounds: int) -> None:
    """Print the median and the broker's CPU time per request of each reactor and load."""
    with contextlib.ExitStack() as stack:
        brokers = {reactor: stack.enter_context(served(reactor)) for reactor in REACTORS}
        for name, kind, records, configs in LOADS:
            figures: dict[str, list[float]] = {reactor: [] for reactor in REACTORS}
            cpu_s = dict.fromkeys(REACTORS, 0.0)
            for number in range(rounds):
                for reactor in REACTORS if number % 2 else REACTORS[::-1]:
                    servers, pid = brokers[reactor]
                    before_s = cpu_seconds(pid)
                    measured = measure("measured_producer", kind, [servers], TOPIC, 100, records, *configs)
                    cpu_s[reactor] += cpu_seconds(pid) - before_s
                    figures[reactor] += [one for (one,) in measured]
            for reactor in REACTORS:
                median = statistics.median(figures[reactor])
                shown = f"{median:,.0f} records/s" if kind == "throughput" else f"{median * 1e3:.3f} ms"
                # Each measurement has one round that is not counted before its own.
                cpu_us = 1e6 * cpu_s[reactor] / (2 * records * rounds)
                print(f"{name}: {reactor}: {shown}, {cpu_us:.1f} us of CPU per request")


def main() -> None:
    """Measure; or serve or send for the measurement."""
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2])
        return
    if sys.argv[1:2] == ["send"]:
        send(*sys.argv[2:])
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    ratios = [append_seconds(buffered=False) / append_seconds(buffered=True) for _ in range(rounds)]
    print(f"append buffer: {statistics.median(ratios):.2f} times faster")
    measure_events(rounds)
    measure_reactors(rounds)
    measure_wakers(rounds)


if __name__ == "__main__":
    main()
