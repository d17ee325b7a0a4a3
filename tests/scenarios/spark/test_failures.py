from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.failures import spark_errors

IN_THE_JVM = """An error occurred while calling o56.parquet.
: org.apache.spark.SparkException: Job aborted: Task 0 failed 4 times, most recent \
failure: Lost task 0.3 in stage 0.0 (TID 7) (10.0.0.1 executor driver): java.io.IOException: Mkdirs failed: /x
\tat org.apache.hadoop.fs.ChecksumFileSystem.create(ChecksumFileSystem.java:774)

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.$anonfun$abortStage$3(DAGScheduler.scala:4568)"""
IN_PYTHON = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "sweep.py", line 21, in run
    for seed in seeds: swept_seed(seed)
broker_scenarios.errors.ScenarioError: swarm.yaml: needs a real cluster

JVM stacktrace:
org.apache.spark.api.python.PythonException
\tat org.apache.spark.api.python.BasePythonRunner.run(PythonRunner.scala:1)"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            IN_THE_JVM,
            "Job aborted: Task 0 failed 4 times, most recent failure: Mkdirs failed: /x",
        ),
        (IN_PYTHON, "swarm.yaml: needs a real cluster"),
        ("java.net.UnknownHostException: nohost", "nohost"),
        ("Cannot call methods.\nThis stopped SparkContext was created at:\n\norg.apache", "Cannot call methods."),
    ],
)
def test_an_error_of_spark_is_one_line_with_its_option(text: str, reason: str) -> None:
    with pytest.raises(ScenarioError) as raised, spark_errors("results (--out)"):
        raise PySparkException(text)
    assert str(raised.value) == f"results (--out): {reason}"
