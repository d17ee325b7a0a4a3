"""A quiet Spark, in this process or on a cluster: no web UI, no progress bar, errors alone on stderr."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import gettempdir
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import SparkSession

from broker_scenarios.spark.failures import spark_errors
from broker_scenarios.spark.java import find_java_home
from broker_scenarios.termination import interruptions_deferred

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["end_session", "run_workers_on_this_python", "start_session"]

_LOG4J: Final = Path(__file__).with_name("log4j2.properties")
_PY4J: Final = "py4j"
_JVM_RESPONSE_S: Final = 10
"""How long a JVM under load may take to switch its log off: without that its tasks log that they end with it."""
_JVM_END_S: Final = 5
_OF_SPARK_SUBMIT: Final = "PYSPARK_GATEWAY_PORT"
"""A variable that spark-submit sets: the JVM runs already, with its own master and settings."""


def start_session(
    app_name: str = "broker-sim",
    *,
    task_slots: int = 2,
    attempts: int = 1,
    master: str | None = None,
    memory: str = "2g",
    jars: Sequence[Path] = (),
) -> SparkSession:
    """Return the active session, or start one: by default in this process, with `task_slots` parallel tasks.

    A drive needs one task per producer. Spark tries a task `attempts` times: a drive would send its records again.
    `master` is the URL of a cluster, or of a local Spark, in place of both numbers.
    Under spark-submit the session has what that program was given. `jars` are further libraries, such as a connector.
    Sets JAVA_HOME and PYSPARK_PYTHON of this process, which the JVM and its workers inherit; the workers of a cluster
    have the PYSPARK_PYTHON that the environment states, if it states one.

    Raises:
        ScenarioError: there is no Java 17, or Spark cannot start.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(task_slots),
        # One task per producer: adaptive execution would merge small ones.
        "spark.sql.adaptive.enabled": "false",
    }
    builder = SparkSession.builder.appName(app_name)
    if master is not None or _OF_SPARK_SUBMIT not in os.environ:
        master = master or f"local[{task_slots},{attempts}]"
        builder = builder.master(master)
        settings |= _of_new_jvm(memory, is_local=master.startswith("local"))
    if jars:
        settings["spark.jars"] = ",".join(map(str, jars))
    for name, value in settings.items():
        builder = builder.config(name, value)
    _quieten_py4j()
    problem = "Spark cannot start" if master is None else f"Spark cannot start with the master {master}"
    # A JVM that starts cannot be ended from here, and PySpark would handle SIGINT by a call to the JVM.
    with spark_errors(problem), interruptions_deferred():
        return builder.getOrCreate()


def end_session() -> None:
    """End the JVM of the active session after an interruption, without the errors of the tasks that end with it."""
    active = SparkSession.getActiveSession()
    process: Any = None if active is None else getattr(active.sparkContext._gateway, "proc", None)  # noqa: SLF001 - PySpark leaves its JVM to the end of the process
    if active is None or process is None:
        return

    def be_quiet() -> None:
        with suppress(Exception):  # the JVM may have ended
            active.sparkContext.setLogLevel("OFF")

    # A thread of its own has a connection of its own: that of this one may have a call in it which was interrupted.
    thread = Thread(target=be_quiet, daemon=True)
    thread.start()
    thread.join(_JVM_RESPONSE_S)
    process.terminate()  # it removes its temporary files
    try:
        process.wait(_JVM_END_S)
    except TimeoutExpired:
        process.kill()


def _quieten_py4j() -> None:
    """Have Py4J log no stacks of what it raises too: an interruption of a call, and the end of the JVM after that."""
    logging.getLogger(_PY4J).setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Return False for what Py4J logs without a logger of its own."""
    return Path(record.pathname).parent.name != _PY4J


def run_workers_on_this_python(spark: SparkSession) -> None:
    """Have the workers of a local session run this interpreter, unless the environment states another one.

    Without PYSPARK_PYTHON they run the first `python3` of the PATH. That one has this package only if the virtual
    environment is activated, which an IDE and a call of `venv/bin/python` do without.
    """
    context = spark.sparkContext
    if context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable


def _of_new_jvm(memory: str, *, is_local: bool) -> dict[str, str]:
    """Prepare the environment of a JVM, and return its settings."""
    os.environ["JAVA_HOME"] = str(find_java_home(os.environ))
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if is_local:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(Path(gettempdir()) / "broker-sim-warehouse"),
    }
    if is_local:
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings
