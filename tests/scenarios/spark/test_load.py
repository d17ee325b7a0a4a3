import pyarrow as pa
import pytest

from broker_scenarios.arrow.load_table import LOAD_SCHEMA, load_batch
from broker_scenarios.spark.load import load_frame
from broker_scenarios.workloads.keyed_load import LoadSpec, build_load

SPEC = LoadSpec(topic="orders", records=3_000, producers=3, keys=50, rate_per_s=1_000)


@pytest.mark.parametrize("partitions", [1, 5])
def test_spark_makes_the_load_that_a_plain_run_makes(spark, partitions):
    made = load_frame(spark, SPEC, 7, partitions=partitions).toArrow().cast(LOAD_SCHEMA)
    assert made.sort_by("value_id") == pa.Table.from_batches([load_batch(build_load(SPEC, 7))])
