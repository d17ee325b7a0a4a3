"""A sweep on Spark whose seeds exceed their limit and kill their workers: it has the results of a local sweep."""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.language.scenario import Scenario, load_scenario
from broker_scenarios.spark.session import start_session
from broker_scenarios.spark.sweep import SparkSweep
from broker_scenarios.sweeps.seed_run import run_seed
from broker_scenarios.table import load_progress
from tests.interop.kafka_release import java_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from broker_scenarios.sweeps.seed_run import SeedResult

pytestmark = pytest.mark.interop

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "sweep-on-spark.md"
CATALOG = Path(__file__).parents[2] / "scenarios" / "catalog"
LIMIT_S = 120
EXPIRES, KILLS = 3, 5


@pytest.fixture
def spark() -> Iterator[SparkSession]:
    java_tool("java")
    session = start_session("tests", task_slots=3, attempts=4, memory="1g")
    yield session
    session.stop()


def scenario(killed: Path) -> Scenario:
    """A scenario with a seed that exceeds its limit, and one that kills its process once: until `killed` is there."""

    class Hostile(Scenario):
        """It is defined in a function, so that it can be sent to Spark's workers."""

        def drawn(self, seed: int, replayed: Mapping[str, Any] | None = None) -> Scenario:
            if seed == EXPIRES:
                signal.raise_signal(signal.SIGALRM)
            if seed == KILLS and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return Scenario.drawn(self, seed, replayed)

    tame = load_scenario(CATALOG / "leader-crash-any-time-acks-1.yaml").with_records(20)
    return Hostile(**{each.name: getattr(tame, each.name) for each in fields(tame)})


def comparable(results: list[SeedResult]) -> list[tuple[Any, ...]]:
    results_alone = [(each.seed, each.counts, each.digest, each.signature, each.reached) for each in results]
    texts = [(each.misses, each.result.explanation, json.dumps(each.result.values)) for each in results]
    return [*zip(results_alone, texts, strict=True)]


def test_the_results_are_those_of_a_local_sweep_also_after_a_killed_worker_and_each_seed_is_run_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    killed, folder = tmp_path / "killed", tmp_path / "results"
    hostile = scenario(killed)
    engine = SparkSweep(spark, hostile, str(folder), limit_s=LIMIT_S)
    with load_progress("seeds", 8) as progress:
        results = [*engine.run(range(8), progress)]
        assert killed.exists()
        longer = [*engine.run(range(2, 10), progress)]
    local = [run_seed(hostile, seed, limit_s=LIMIT_S) for seed in range(10)]
    assert comparable(results) == comparable(local[:8])
    assert comparable(longer) == comparable(local[2:])
    assert results[EXPIRES].misses == ("the run was stopped: it did not end within 120 s (--seed-limit)",)

    rows = spark.read.parquet(str(folder)).select("seed", "as_expected", "verdict", "digest").collect()
    assert sorted(row.seed for row in rows) == [*range(10)]
    assert {row.seed: row.digest for row in rows} == {each.seed: each.digest for each in local}
    assert [row.seed for row in rows if not row.as_expected] == [EXPIRES]

    query = re.search(r"^```sql\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert query is not None
    [group] = spark.sql(query[1].replace("`results`", f"`{folder}`")).collect()
    assert tuple(group) == (results[EXPIRES].signature, 1, EXPIRES)

    other = SparkSweep(spark, hostile.with_records(21), str(folder), limit_s=LIMIT_S)
    with load_progress("seeds", 1) as progress, pytest.raises(ScenarioError, match="of another text of the scenario"):
        next(other.run(range(1), progress))
