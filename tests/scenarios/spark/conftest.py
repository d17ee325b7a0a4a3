"""One Spark session for all tests of the folder: it takes seconds to start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest

from broker_scenarios.spark.session import start_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for a JVM of seconds: without the second compiler it takes half the time of the processors."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    os.environ["JDK_JAVA_OPTIONS"] = QUICK
    session = start_session("tests", task_slots=3, attempts=4, memory="1g")
    del os.environ["JDK_JAVA_OPTIONS"]
    yield session
    session.stop()
