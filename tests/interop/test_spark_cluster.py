"""A sweep on a standalone Spark cluster, by the commands of its page; the Python of the executors has no packages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from twisted.python.runtime import seconds

from broker_scenarios.targets.free_ports import free_ports
from tests.interop.accepting_ports import accepts
from tests.interop.kafka_release import java_tool
from tests.interop.served_cluster import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "sweep-on-spark.md"
SPARK = Path(pyspark.__file__).parent
SEEDS = 6
START_SECONDS_MAX = 60
QUICK_START = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
QUICK_ARCHIVE = {"PIP_NO_COMPILE": "1", "GZIP": "-1"}
"""The packages are the same: not compiled for Python in advance, and compressed in a fifth of the time."""
PAGE_SECONDS_MAX = 560


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """A master and a worker with two cores; yields the URL of the master."""
    [port] = free_ports(1)
    url = f"spark://127.0.0.1:{port}"
    master = ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = ["worker.Worker", "-c", "2", "-m", "2g", "--work-dir", str(folder / "work"), "--webui-port", "0", url]
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with ExitStack() as ending:
        for daemon, *arguments in (master, worker):
            log = ending.enter_context((folder / f"{daemon}.log").open("w"))
            process = subprocess.Popen(
                [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{daemon}", *arguments],
                env={**alone, **QUICK_START, "SPARK_LOCAL_IP": "127.0.0.1"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            ending.callback(process.wait, timeout=START_SECONDS_MAX)
            ending.callback(process.terminate)
            deadline = seconds() + START_SECONDS_MAX
            while not accepts(port):
                assert seconds() < deadline, (folder / f"{daemon}.log").read_text()
        yield url


def commands_of_the_page(url: str) -> str:
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    script = re.sub(r"^\$ ", "", "".join(blocks), flags=re.MULTILINE)
    for shown, here in (
        ("-w dist .", f"-w dist {ROOT}"),
        ("=python3.11", f"={Path(sys.base_prefix) / 'bin' / 'python3'}"),
        ("spark://127.0.0.1:7077", url),
        ("/mnt/shared/results", "$PWD/results-$((run += 1))"),
        ("--seeds 100", f"--seeds {SEEDS}"),
    ):
        assert shown in script
        script = script.replace(shown, here)
    return script


@pytest.mark.timeout(PAGE_SECONDS_MAX + 2 * START_SECONDS_MAX)
def test_the_commands_of_the_page_sweep_on_a_cluster(tmp_path: Path) -> None:
    java_tool("java")
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    path = os.pathsep.join([str(Path(sys.executable).parent), str(SPARK / "bin"), os.environ["PATH"]])
    with standalone(tmp_path) as url:
        run = subprocess.run(
            ["bash", "-e", "-c", commands_of_the_page(url)],
            cwd=tmp_path,
            env={
                **environment(),
                **QUICK_START,
                **QUICK_ARCHIVE,
                "PATH": path,
                "SPARK_HOME": str(SPARK),
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=PAGE_SECONDS_MAX,
        )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count(f"replication: {SEEDS} of {SEEDS} seeds ended as expected") == 2
