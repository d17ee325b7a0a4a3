"""A real Apache Kafka cluster (KRaft, combined roles) on 127.0.0.1, the reference for our responses."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from broker_scenarios.targets.free_ports import free_ports
from broker_sim.config.per_broker import split_by_broker
from tests.differential.extra_listeners import extra_listeners, probe_servers, with_listeners
from tests.interop.accepting_ports import accepts
from tests.interop.kafka_release import classpath, java_tool
from tests.interop.prepared_release import format_log_directory, quick_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

START_SECONDS_MAX = 180
"""An idle machine needs five seconds, an overloaded one has needed 81."""
STOP_SECONDS_MAX = 60
SHUT_DOWN_SECONDS_MAX = 60
LOG4J = """log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.Target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


HEAP = "-Xmx512m"
AS_SHIPPED = ("-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
"""As kafka-server-start.sh starts it, for measurements."""


class RealKafka:
    """One cluster: broker ids from 1, a JVM each. `settings` are broker configurations, `2:NAME` that of broker 2.

    `jvm` are the options of the JVMs; without any they start soon.
    """

    def __init__(
        self,
        release: str,
        folder: Path,
        *,
        brokers: int = 1,
        settings: Mapping[str, str] | None = None,
        jvm: Sequence[str] = (),
    ) -> None:
        self.release = release
        self._jvm_options = jvm or (HEAP, *quick_start(release))
        self._folder = folder
        self._classpath = classpath(release)
        self._java = java_tool("java")
        self._ids = list(range(1, brokers + 1))
        # Every broker must know every controller's port before the first one starts.
        ports = free_ports(2 * brokers)
        self._ports = dict(zip(self._ids, ports[:brokers], strict=True))
        self._controller_ports = dict(zip(self._ids, ports[brokers:], strict=True))
        names = [each.name for each in extra_listeners(settings or {})]
        extra = iter(free_ports(brokers * len(names)))
        self._extra_ports = {(broker_id, name): next(extra) for broker_id in self._ids for name in names}
        given = with_listeners(
            settings or {},
            brokers,
            main=lambda broker_id: f"PLAINTEXT://127.0.0.1:{self._ports[broker_id]}",
            port=lambda broker_id, name: self._extra_ports[broker_id, name],
            also=lambda broker_id: f"CONTROLLER://127.0.0.1:{self._controller_ports[broker_id]}",
        )
        self._settings, self._own_settings = split_by_broker(given, self._ids)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def bootstrap_servers(self) -> str:
        """The value of a client's bootstrap.servers."""
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    @property
    def probe_servers(self) -> str:
        """The servers argument of a Probe."""
        controllers = {(node_id, "CONTROLLER"): port for node_id, port in self._controller_ports.items()}
        return probe_servers(self.bootstrap_servers, self._extra_ports | controllers)

    def start(self) -> None:
        """Format the log directories, start every broker, wait until each is in the cluster's metadata."""
        (self._folder / "log4j.properties").write_text(LOG4J)
        for broker_id in self._ids:
            self._write_properties(broker_id)
            format_log_directory(self.release, self._folder / f"data-{broker_id}", broker_id)
        for broker_id in self._ids:
            self.restart(broker_id)
        self._await_metadata()

    def restart(self, broker_id: int) -> None:
        """Start a broker on the log directory that it had."""
        with (self._folder / f"broker-{broker_id}.log").open("ab") as log:
            self._processes[broker_id] = subprocess.Popen(
                [*self._jvm(), "kafka.Kafka", str(self._properties(broker_id))], stdout=log, stderr=log
            )

    def pid_of(self, broker_id: int) -> int:
        """Return the process id of a running broker."""
        return self._processes[broker_id].pid

    def kill(self, broker_id: int) -> None:
        """End a broker at once (SIGKILL), as a crash does."""
        process = self._processes.pop(broker_id)
        process.kill()
        process.wait(STOP_SECONDS_MAX)

    def shut_down(self, broker_id: int) -> None:
        """End a broker in order (SIGTERM), and wait until it is down."""
        process = self._processes.pop(broker_id)
        process.terminate()
        try:
            process.wait(SHUT_DOWN_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            raise

    def stop(self) -> None:
        """End every broker; the data is of no further use, so that no controlled shutdown is needed."""
        for broker_id in list(self._processes):
            self.kill(broker_id)

    def log_files(self, topic: str) -> list[Path]:
        """The segment files of every partition of a topic, on all brokers."""
        return sorted(self._folder.glob(f"data-*/{topic}-*/*.log"))

    def _jvm(self) -> list[str]:
        return [
            self._java,
            *self._jvm_options,
            f"-Dlog4j.configuration=file:{self._folder}/log4j.properties",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            "-cp",
            self._classpath,
        ]

    def _properties(self, broker_id: int) -> Path:
        return self._folder / f"broker-{broker_id}.properties"

    def _write_properties(self, broker_id: int) -> str:
        listener = f"PLAINTEXT://127.0.0.1:{self._ports[broker_id]}"
        factor = str(min(len(self._ids), 3))
        settings = {
            "process.roles": "broker,controller",
            "node.id": str(broker_id),
            "controller.quorum.voters": ",".join(f"{i}@127.0.0.1:{p}" for i, p in self._controller_ports.items()),
            "listeners": f"{listener},CONTROLLER://127.0.0.1:{self._controller_ports[broker_id]}",
            "advertised.listeners": listener,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self._folder / f"data-{broker_id}"),
            "offsets.topic.num.partitions": "3",
            "offsets.topic.replication.factor": factor,
            "transaction.state.log.num.partitions": "3",
            "transaction.state.log.replication.factor": factor,
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **self._own_settings.get(broker_id, self._settings),
        }
        self._properties(broker_id).write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return str(self._properties(broker_id))

    def _await_metadata(self) -> None:
        admin = AdminClient(
            {"bootstrap.servers": self.bootstrap_servers, "reconnect.backoff.max.ms": 200, "log_level": 0}
        )
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            with contextlib.suppress(KafkaException):
                # The metadata may list a broker before its own listener is open.
                if sorted(admin.list_topics(timeout=1).brokers) == self._ids and all(
                    map(accepts, self._ports.values())
                ):
                    return
            dead = [broker_id for broker_id, process in self._processes.items() if process.poll() is not None]
            if dead or time.monotonic() > deadline:
                log = (self._folder / f"broker-{(dead or self._ids)[0]}.log").read_text()
                raise RuntimeError(f"Kafka {self.release} did not start within {START_SECONDS_MAX} s:\n{log[-4000:]}")


@contextlib.contextmanager
def real_kafka(
    release: str, *, brokers: int = 1, settings: Mapping[str, str] | None = None, jvm: Sequence[str] = ()
) -> Iterator[RealKafka]:
    """A started cluster in a temporary folder, stopped at the end. Raise ToolMissingError for Java or Maven."""
    with tempfile.TemporaryDirectory(prefix=f"kafka-{release}-") as folder:
        cluster = RealKafka(release, Path(folder), brokers=brokers, settings=settings, jvm=jvm)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
