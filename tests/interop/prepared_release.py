"""Prepares each release once: an archive of loaded classes (AppCDS) and a formatted log directory.

Both are kept in the user's cache. Each start of a broker or a tool then takes about half of the processor time.
"""

from __future__ import annotations

import base64
import fcntl
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

from broker_scenarios.targets.free_ports import free_ports
from tests.differential.probe import attempts
from tests.interop.accepting_ports import accepts
from tests.interop.kafka_release import RELEASES, cache_folder, classpath, java_tool

QUICK_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""A process that lives for a minute starts sooner without the second compiler."""
START_SECONDS_MAX = 90
STOP_SECONDS_MAX = 60
ARCHIVE = "classes.jsa"
FORMATTED = "formatted"


def java_command(release: str, *options: str) -> list[str]:
    """The beginning of a command that runs a program of a release: what starts soon, and its class path."""
    return [java_tool("java"), *quick_start(release), *options, "-cp", classpath(release)]


def quick_start(release: str) -> tuple[str, ...]:
    """The options with which a JVM on the release's class path starts soon.

    A JVM that cannot use the archive starts without it; its warning of that, on standard output, is disabled.
    """
    return (*QUICK_START, f"-XX:SharedArchiveFile={_prepared(release) / ARCHIVE}", "-Xlog:disable")


def format_log_directory(release: str, folder: Path, node_id: int) -> None:
    """Create the log directory of a node, as `kafka-storage format` leaves it. The cluster id is always the same."""
    shutil.copytree(_prepared(release) / FORMATTED, folder)
    own = {"node.id": str(node_id), "directory.id": _directory_id(node_id)}
    properties = folder / "meta.properties"
    names = (line.partition("=")[::2] for line in properties.read_text().splitlines())
    properties.write_text("".join(f"{name}={own.get(name, value)}\n" for name, value in names if value))


def _directory_id(node_id: int) -> str:
    return base64.urlsafe_b64encode(random.Random(node_id).randbytes(16)).decode().rstrip("=")


def _prepared(release: str) -> Path:
    folder = cache_folder() / f"kafka-{release}-prepared"
    if not folder.exists():
        classpath(release)
        with (
            (cache_folder() / "prepared.lock").open("w") as lock,
            tempfile.TemporaryDirectory(dir=cache_folder()) as scratch,
        ):
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                _prepare(release, Path(scratch)).rename(folder)
    return folder


def _prepare(release: str, scratch: Path) -> Path:
    """Format a log directory, then run a broker on a copy of it, until it serves clients; return what to keep."""
    kept, data = scratch / "kept", scratch / "data"
    properties, log = scratch / "properties", scratch / "log"
    port, controller_port = free_ports(2)
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(data),
    }
    properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    java = [java_tool("java"), *QUICK_START]
    cluster_id = base64.urlsafe_b64encode(random.Random(release).randbytes(16)).decode().rstrip("=")
    tool = ["kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(properties)]
    with log.open("wb") as output:
        subprocess.run(
            [*java, "-cp", classpath(release), *tool],
            stdout=output,
            stderr=output,
            check=True,
            timeout=START_SECONDS_MAX,
        )
        kept.mkdir()
        shutil.copytree(data, kept / FORMATTED)
        archive = f"-XX:ArchiveClassesAtExit={kept / ARCHIVE}"
        broker = subprocess.Popen(
            [*java, archive, "-cp", classpath(release), "kafka.Kafka", str(properties)], stdout=output, stderr=output
        )
    try:
        for _ in attempts(f"Kafka {release} accepts connections", seconds=START_SECONDS_MAX):
            if broker.poll() is not None:
                raise RuntimeError(f"Kafka {release} did not start:\n{log.read_text()}")
            if accepts(port):
                break
        broker.terminate()
        broker.wait(STOP_SECONDS_MAX)
    finally:
        broker.kill()
    return kept


if __name__ == "__main__":
    # Before the tests, which have less time than the first fetch may take.
    for wanted in RELEASES:
        _prepared(wanted)
