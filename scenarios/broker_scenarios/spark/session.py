"""A quiet local Spark: no web UI, no progress bar, errors alone on stderr, this Python in its workers."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from broker_scenarios.spark.java import find_java_home

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["start_session"]

_LOG4J = Path(__file__).with_name("log4j2.properties")


def start_session(
    app_name: str = "broker-sim", *, task_slots: int = 2, memory: str = "2g", jars: Sequence[Path] = ()
) -> SparkSession:
    """Start Spark in this process with `task_slots` parallel tasks: a drive needs one per producer.

    `jars` are further libraries, such as a connector.
    Sets JAVA_HOME and PYSPARK_PYTHON of this process, which the JVM and its workers inherit. An active
    session is returned unchanged.

    Raises:
        ScenarioError: there is no Java 17.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ["JAVA_HOME"] = str(find_java_home(os.environ))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(task_slots),
        # One task per producer: adaptive execution would merge small ones.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.warehouse.dir": str(Path(gettempdir()) / "broker-sim-warehouse"),
    }
    if jars:
        settings["spark.jars"] = ",".join(map(str, jars))
    builder = SparkSession.builder.master(f"local[{task_slots}]").appName(app_name)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
