"""A real Kafka of the run's own: a node is a JVM on this machine, with the configurations of the scenario (KRaft).

One broker is its own controller. Several have controllers of their own, so that a killed broker takes none with it.
"""

from __future__ import annotations

import base64
import os
import random
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from twisted.internet.threads import deferToThreadPool

from broker_scenarios.errors import ScenarioError
from broker_scenarios.targets.attached_checks import rules_of
from broker_scenarios.targets.client_listeners import LISTENERS, SASL, has_sasl_listener
from broker_scenarios.targets.free_ports import free_ports
from broker_scenarios.targets.node_processes import NodeProcesses
from broker_scenarios.targets.upstream import Upstream
from broker_sim.config.per_broker import split_by_broker
from broker_sim.faults.actions.cluster.alter_quota import AlterQuota

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from twisted.internet.defer import Deferred

    from broker_scenarios.language.scenario import Scenario
    from sim_runtime.real_reactor import RealReactor

__all__ = ["KafkaClusters", "KafkaRelease", "StartedKafka"]

HOST: Final = "127.0.0.1"
CONTROLLER_FIRST: Final = 3000
START_SECONDS_MAX: Final = 120
SOON: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xlog:disable")
"""Options of a JVM that starts soon and is small; KAFKA_OPTS comes after them."""
LOG4J: Final = """log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.Target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


@dataclass(frozen=True)
class KafkaRelease:
    """An unpacked release of Kafka, or a folder of its jars."""

    folder: Path

    @cached_property
    def _server_jar(self) -> Path:
        for jars in (self.folder / "libs", self.folder):
            for jar in sorted(jars.glob("kafka_2.*-*.jar")):
                if jar.stem.rpartition("-")[2][:1].isdigit():
                    return jar
        raise ScenarioError(f"--kafka {self.folder}: there is no libs/kafka_2.13-*.jar: expected an unpacked Kafka")

    @property
    def version(self) -> str:
        """The version, such as 4.3.1."""
        return self._server_jar.stem.rpartition("-")[2]

    def command(self, main: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
        """Return the command of a JVM. Raises ScenarioError without a java or a Kafka."""
        home = os.environ.get("JAVA_HOME")
        java = shutil.which("java", path=f"{home}/bin" if home else None)
        if java is None:
            raise ScenarioError(f"--kafka: there is no java in {'JAVA_HOME' if home else 'PATH'}")
        own = os.environ.get("KAFKA_OPTS", "").split()
        return [java, *SOON, *options, *own, "-cp", f"{self._server_jar.parent}/*", main, *arguments]

    def format(self, folder: Path, features: Mapping[str, int]) -> Path:
        """Create a log directory in a folder, for copies of it; returns it."""
        formatted, properties = folder / "formatted", folder / "formatted.properties"
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{HOST}:9093",
            "listeners": f"PLAINTEXT://{HOST}:9092,CONTROLLER://{HOST}:9093",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(formatted),
        }
        _write_properties(properties, settings)
        cluster_id = base64.urlsafe_b64encode(random.Random(self.version).randbytes(16)).decode().rstrip("=")
        levels = (part for name, level in features.items() for part in ("--feature", f"{name}={level}"))
        tool = self.command("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(properties), *levels)
        done = subprocess.run(tool, capture_output=True, text=True, timeout=START_SECONDS_MAX, check=False)
        if done.returncode:
            raise ScenarioError(f"--kafka {self.folder}: its storage tool has failed: {done.stderr[-1000:]}")
        return formatted


class StartedKafka:
    """A cluster of a release that `start` starts; `upstream` is for runs."""

    def __init__(
        self,
        release: KafkaRelease,
        folder: Path,
        *,
        brokers: int,
        controllers: int,
        config: Mapping[str, str],
        features: Mapping[str, int],
    ) -> None:
        self.release = release
        self._folder = folder
        self._features = features
        self._broker_ids = list(range(1, brokers + 1))
        own_controllers = brokers > 1 or controllers > 1
        self._voters = list(range(CONTROLLER_FIRST, CONTROLLER_FIRST + controllers)) if own_controllers else [1]
        self.controller_ids: Sequence[int] = tuple(self._voters) if controllers > 1 else ()
        has_sasl = has_sasl_listener(config)
        config = {name: value for name, value in config.items() if name != LISTENERS}
        self._common, self._own = split_by_broker(config, self._broker_ids)
        ports = iter(free_ports(2 * brokers + len(self._voters)))
        self._ports = {each: next(ports) for each in self._broker_ids}
        self._client_ports = {each: next(ports) for each in self._broker_ids} if has_sasl else {}
        self._controller_ports = {each: next(ports) for each in self._voters}
        self._processes = NodeProcesses()

    @property
    def upstream(self) -> Upstream:
        """The cluster for a run."""
        return Upstream(
            address=(HOST, self._ports[1]),
            client_ports=self._client_ports,
            processes=lambda reactor: _Processes(self, reactor),
            release=self.release.version,
            has_config=True,
            patience_s=START_SECONDS_MAX,
        )

    def start(self) -> None:
        """Start every node, without waiting for its service. Raises ScenarioError without a java or a Kafka."""
        (self._folder / "log4j.properties").write_text(LOG4J)
        formatted = self.release.format(self._folder, self._features)
        nodes = dict.fromkeys([*self._voters, *self._broker_ids])
        for node_id in nodes:
            _copy_formatted(formatted, self._folder / f"data-{node_id}", node_id)
            _write_properties(self._folder / f"{node_id}.properties", self._settings(node_id))
        for node_id in nodes:
            self._start(node_id)

    def problem(self) -> str | None:
        """Return why a node has ended by itself, with the end of its log; None while all run."""
        for node_id in self._processes.ended():
            log = self._log_path(node_id).read_text(errors="replace")
            return f"--kafka {self.release.folder}: node {node_id} has ended: {log[-2000:]}"
        return None

    def end(self) -> None:
        """End every node at once."""
        self._processes.kill_all()

    def act(self, action: str, node_id: int) -> None:
        """Do one of ACTIONS to a node, and wait until it is done; nothing to a node that does not run."""
        if action == "start":
            self._start(node_id)
        else:
            self._processes.signal(action, node_id)

    def _start(self, node_id: int) -> None:
        options = [
            f"-Dlog4j.configuration=file:{self._folder}/log4j.properties",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        ]
        command = self.release.command("kafka.Kafka", str(self._folder / f"{node_id}.properties"), options=options)
        self._processes.start(node_id, command, self._log_path(node_id))

    def _log_path(self, node_id: int) -> Path:
        return self._folder / f"{node_id}.log"

    def _settings(self, node_id: int) -> dict[str, str]:
        roles, listeners = [], []
        settings = {
            "node.id": str(node_id),
            "controller.quorum.voters": ",".join(f"{i}@{HOST}:{p}" for i, p in self._controller_ports.items()),
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self._folder / f"data-{node_id}"),
        }
        if node_id in self._ports:
            roles.append("broker")
            listeners.append(f"PLAINTEXT://{HOST}:{self._ports[node_id]}")
            if node_id in self._client_ports:
                listeners.append(f"{SASL}://{HOST}:{self._client_ports[node_id]}")
                settings["listener.security.protocol.map"] += f",{SASL}:{SASL}"
            settings["inter.broker.listener.name"] = "PLAINTEXT"
            settings["advertised.listeners"] = ",".join(listeners)
        if node_id in self._controller_ports:
            roles.append("controller")
            listeners.append(f"CONTROLLER://{HOST}:{self._controller_ports[node_id]}")
        factor = str(min(len(self._broker_ids), 3))
        return {
            **settings,
            "process.roles": ",".join(roles),
            "listeners": ",".join(listeners),
            "offsets.topic.num.partitions": "3",
            "offsets.topic.replication.factor": factor,
            "transaction.state.log.num.partitions": "3",
            "transaction.state.log.replication.factor": factor,
            "transaction.state.log.min.isr": "1",
            **self._own.get(node_id, self._common),
        }


class KafkaClusters:
    """Clusters of a release for one run after the other: runs with the same brokers and configurations share one."""

    def __init__(self, release: KafkaRelease) -> None:
        self.release = release
        self._stack = ExitStack()
        self._running: tuple[object, StartedKafka] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @staticmethod
    def shape_of(scenario: Scenario) -> tuple[object, ...]:
        """Return what scenarios on one cluster have in common.

        One with quotas has a cluster of its own: a broker that throttles a client reads what the client has sent when
        the throttle time ends, perhaps in the next run, and appends it to the next topic of the same name.
        """
        has_quotas = any(isinstance(rule.act, AlterQuota) for rule in rules_of(scenario))
        config = tuple(sorted(scenario.broker_config.items()))
        features = tuple(sorted(scenario.features.items()))
        return scenario.brokers, scenario.controllers, config, features, scenario.name if has_quotas else ""

    def of(self, scenario: Scenario) -> Upstream:
        """Return a cluster as the scenario has it, which takes seconds until it serves."""
        shape = self.shape_of(scenario)
        if self._running is None or self._running[0] != shape or self._running[1].problem() is not None:
            self.end()
            folder = tempfile.TemporaryDirectory(prefix="broker-sim-kafka-", ignore_cleanup_errors=True)
            cluster = StartedKafka(
                self.release,
                Path(self._stack.enter_context(folder)),
                brokers=scenario.brokers,
                controllers=scenario.controllers,
                config=scenario.broker_config,
                features=scenario.features,
            )
            self._stack.callback(cluster.end)
            cluster.start()
            self._running = shape, cluster
        return self._running[1].upstream

    def end(self) -> None:
        """End the cluster that runs."""
        self._running = None
        self._stack.close()


class _Processes:
    """A StartedKafka for the rules of one run; what takes its time is done in a thread."""

    def __init__(self, cluster: StartedKafka, reactor: RealReactor) -> None:
        self.controller_ids = cluster.controller_ids
        self._cluster = cluster
        self._reactor = reactor

    def problem(self) -> str | None:
        """Return why a node has ended by itself."""
        return self._cluster.problem()

    def do(self, action: str, node_id: int) -> Deferred[None]:
        """Do one of ACTIONS to a node."""
        return deferToThreadPool(self._reactor, self._reactor.getThreadPool(), self._cluster.act, action, node_id)


def _copy_formatted(formatted: Path, folder: Path, node_id: int) -> None:
    """Each node has its own id in a log directory, and an own id of the directory."""
    shutil.copytree(formatted, folder)
    own = {
        "node.id": str(node_id),
        "directory.id": base64.urlsafe_b64encode(random.Random(node_id).randbytes(16)).decode().rstrip("="),
    }
    properties = folder / "meta.properties"
    names = (line.partition("=")[::2] for line in properties.read_text().splitlines())
    properties.write_text("".join(f"{name}={own.get(name, value)}\n" for name, value in names if value))


def _write_properties(path: Path, settings: Mapping[str, str]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
