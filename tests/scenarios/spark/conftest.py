"""One Spark session for all tests of the folder: it takes seconds to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.spark.session import start_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = start_session("tests", task_slots=3, attempts=4, memory="1g")
    yield session
    session.stop()
