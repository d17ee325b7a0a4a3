"""A sweep on Spark: each task runs some seeds and writes their results as Parquet; what is there is not run again.

The results of a task are in the folder once the task has ended, so that they outlast a driver that is interrupted.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql.pandas.types import from_arrow_schema

from broker_scenarios.arrow.seed_table import SEED_SCHEMA, SweepIdentity, seed_batch, seed_result
from broker_scenarios.errors import ScenarioError
from broker_scenarios.garbage import rare_collections
from broker_scenarios.spark.failures import spark_errors
from broker_scenarios.sweeps.failing_seeds import ShrunkSeed, shrink_seed
from broker_scenarios.sweeps.identity import code_version, scenario_fingerprint
from broker_scenarios.sweeps.seed_run import SeedResult, swept_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.table import LoadProgress

__all__ = ["SparkSweep"]

_SEEDS_PER_TASK_MIN: Final = 10
_SEEDS_PER_TASK_MAX: Final = 100
"""The limits of a task: the first seed of a worker waits for its imports, and a lost task is run again."""
_TASKS_PER_SLOT: Final = 20
"""The number of tasks per slot within these limits: the slots end at about the same time."""
_ROWS_FETCHED: Final = 10_000
"""The most results that the driver holds at a time."""
_POLL_S: Final = 0.5
_PROBE: Final = "_writable"
"""A name that a reader of Parquet files ignores: it begins with an underscore."""
_SEED_TYPE: Final = from_arrow_schema(SEED_SCHEMA)
_SHRUNK_TYPE: Final = "seed long, summary string, text string"
_TASK_COMMIT: Final = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}
"""Hadoop's committer moves the file of a task to its place when the task ends, not when the job ends."""


R = TypeVar("R")


class SparkSweep:
    """Runs seeds in tasks of a Spark session; `folder` is a path or URI that driver and executors can reach."""

    def __init__(
        self, spark: SparkSession, scenario: Scenario, folder: str, *, coverage: bool = False, limit_s: float
    ) -> None:
        self._spark = spark
        self._scenario = scenario
        self._folder = folder
        self._limit_s = limit_s
        self._identity = SweepIdentity(
            scenario=scenario.name,
            fingerprint=scenario_fingerprint(scenario),
            version=code_version(),
            coverage=coverage,
        )

    def run(self, seeds: range, progress: LoadProgress) -> Iterator[SeedResult]:
        """Run the seeds whose results are not in the folder, then yield the result of each seed in order.

        Raises:
            ScenarioError: the folder has another sweep, or cannot be used; or a task failed too often.
        """
        present = self._present()
        absent = [seed for seed in seeds if seed not in present]
        if absent:
            with spark_errors(f"{self._folder} (--out)"):
                self._make_folder()
                self._write(absent, progress, done=len(seeds) - len(absent))
        yield from self._read(seeds)

    def shrink(self, seeds: Sequence[int], progress: LoadProgress) -> Iterator[ShrunkSeed]:
        """Yield the smallest scenario of each seed, in the order of the seeds: one task per seed.

        Raises:
            ScenarioError: a task failed too often.
        """
        scenario, limit_s = self._scenario, self._limit_s
        ended = self._spark.sparkContext.accumulator(0)

        def shrunk(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for seed in _seeds_of(batches, seeds):
                each = shrink_seed(scenario, seed, limit_s=limit_s)
                ended.add(1)
                yield pa.RecordBatch.from_pylist([{"seed": seed, "summary": each.summary, "text": each.text}])

        frame = self._places(seeds, len(seeds)).mapInArrow(shrunk, _SHRUNK_TYPE)
        with spark_errors("--shrink"):
            rows = _while_running(self._spark, frame.collect, lambda: progress.update(ended.value))
        found = {row.seed: ShrunkSeed(seed=row.seed, summary=row.summary, text=row.text) for row in rows}
        yield from map(found.__getitem__, seeds)

    def _present(self) -> Collection[int]:
        """Return the seeds whose results are in the folder, none if it is not there."""
        with spark_errors(f"{self._folder} (--out)"):
            try:
                results = self._results()
            except AnalysisException as error:
                if error.getCondition() != "PATH_NOT_FOUND":
                    raise
                return frozenset()
            others = results.select("scenario", "fingerprint", "version", "coverage").distinct().collect()
            seeds = results.select("seed").distinct().toArrow()
        for row in others:
            self._refuse_other(row)
        return frozenset(seeds["seed"].to_pylist())

    def _make_folder(self) -> None:
        """Create the folder, and an empty one in it for a moment: an error here is one error, not one per attempt."""
        context: Any = self._spark.sparkContext
        hadoop = context._jvm.org.apache.hadoop.fs  # noqa: SLF001 - PySpark has no public way to Hadoop's file systems
        probe = hadoop.Path(hadoop.Path(self._folder), _PROBE)
        files = probe.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
        if not files.mkdirs(probe):
            raise ScenarioError(f"{self._folder} (--out): no folder can be made there")
        files.delete(probe, True)

    def _refuse_other(self, row: Any) -> None:
        mine = self._identity
        for what, there, given in (
            ("scenario", row.scenario, mine.scenario),
            ("text of the scenario or number of records", row.fingerprint, mine.fingerprint),
            ("version of broker-sim", row.version, mine.version),
            ("--coverage", row.coverage, mine.coverage),
        ):
            if there != given:
                raise ScenarioError(
                    f"{self._folder} (--out) has the results of another {what}: {there}, not {given}:"
                    " expected a new folder, or that of the same sweep"
                )

    def _results(self) -> DataFrame:
        return self._spark.read.schema(_SEED_TYPE).parquet(self._folder)

    def _write(self, seeds: Sequence[int], progress: LoadProgress, *, done: int) -> None:
        scenario, identity, limit_s = self._scenario, self._identity, self._limit_s
        ended = self._spark.sparkContext.accumulator(0)

        def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with rare_collections():
                for seed in _seeds_of(batches, seeds):
                    result = swept_seed(scenario, seed, coverage=identity.coverage, limit_s=limit_s)
                    ended.add(1)
                    yield seed_batch(result, identity)

        slots = self._spark.sparkContext.defaultParallelism
        per_task = min(max(len(seeds) // (slots * _TASKS_PER_SLOT), _SEEDS_PER_TASK_MIN), _SEEDS_PER_TASK_MAX)
        results = self._places(seeds, -(-len(seeds) // per_task)).mapInArrow(run, _SEED_TYPE)
        writer = results.write.mode("append").options(**_TASK_COMMIT)
        _while_running(
            self._spark,
            lambda: writer.parquet(self._folder),
            lambda: progress.update(done + ended.value, f"of them {done:,} were there" if done else ""),
        )

    def _places(self, seeds: Sequence[int], tasks: int) -> DataFrame:
        """Return the places in a sequence of seeds, one partition per task. A range needs no shuffle, whose blocks
        would be lost with the worker that has them.
        """
        return self._spark.range(0, len(seeds), 1, tasks)

    def _read(self, seeds: range) -> Iterator[SeedResult]:
        """Yield the results in the order of the seeds. A task that was run again may have left a row twice."""
        rows = self._results().where(f"seed between {seeds[0]} and {seeds[-1]}")
        ordered = rows.repartitionByRange(-(-len(seeds) // _ROWS_FETCHED), "seed").sortWithinPartitions("seed")
        expected = seeds.start
        with spark_errors(f"{self._folder} (--out)"):
            for row in ordered.toLocalIterator(prefetchPartitions=True):
                if row.seed > expected:
                    break
                if row.seed == expected:
                    yield seed_result(row.asDict(recursive=True))
                    expected += 1
        if expected < seeds.stop:
            raise ScenarioError(f"{self._folder} (--out) has no result of seed {expected}")


def _seeds_of(batches: Iterable[pa.RecordBatch], seeds: Sequence[int]) -> Iterator[int]:
    for batch in batches:
        yield from map(seeds.__getitem__, batch.column("id").to_pylist())


def _while_running(spark: SparkSession, action: Callable[[], R], report: Callable[[], None]) -> R:
    """Run the action in a thread, report its progress until it ends, and return its result.

    An interruption cancels the jobs of the action, which has the thread end.
    """
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(action)
        try:
            while not running.done():
                wait([running], timeout=_POLL_S)
                report()
        except BaseException:
            spark.sparkContext.cancelAllJobs()
            raise
        return running.result()
