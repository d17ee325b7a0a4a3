from collections import Counter

import pyarrow as pa
import pytest

from broker_scenarios.arrow.history_table import read_history
from broker_scenarios.arrow.load_table import load_batch
from broker_scenarios.drive import DriveSpec
from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.drive import drive, drive_keyed_load
from broker_scenarios.workloads.keyed_load import LoadSpec, build_load, shares_of
from broker_sim.threaded_cluster import ThreadedCluster

SPEC = LoadSpec(topic="orders", records=400, producers=3, keys=20, rate_per_s=4_000)
DRIVE = DriveSpec(run_id="run-1", bootstrap_servers="broker:9092", producer_config={"acks": "all"})


def fake_producers():
    """A factory without names of this module, so that it can be sent to Spark's workers."""
    from types import SimpleNamespace

    class FakeProducer:
        """Acknowledges each record at close, in order; the first one at once."""

        def __init__(self, config):
            self.config = dict(config)
            self.waiting = []
            self.offset = -1

        def send(self, topic, *, value, key, on_delivery):  # noqa: ARG002  (the face of a producer)
            self.offset += 1
            metadata = SimpleNamespace(partition=len(key) % 2, offset=self.offset, timestamp_ms=1)
            self.waiting.append((on_delivery, metadata))

        def close(self, timeout_s):  # noqa: ARG002  (the face of a producer)
            for delivered, metadata in self.waiting:
                delivered(metadata, None)
            self.waiting.clear()

    return FakeProducer


def load_frame(spark):
    return spark.createDataFrame(pa.Table.from_batches([load_batch(build_load(SPEC, 7))]))


@pytest.fixture(scope="module")
def history(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("drive") / "history"
    events = drive(load_frame(spark), DRIVE, str(path), producers=3, make_producer=fake_producers())
    found = read_history(path)
    assert len(found) == events
    return found


def invokes(history):
    return [event for event in history if event.type == "invoke"]


def test_every_record_of_the_load_is_sent_once_and_reported_once(history):
    assert Counter(event.type for event in history) == {"invoke": 400, "ok": 400}
    assert sorted(event.value_id for event in invokes(history)) == list(range(400))


def test_each_producer_sends_its_own_share_in_the_order_of_the_load(history):
    for producer_id, share in enumerate(shares_of(build_load(SPEC, 7), SPEC.producers)):
        mine = [event for event in invokes(history) if event.process == producer_id]
        mine.sort(key=lambda event: event.index)
        assert [(event.value_id, event.key) for event in mine] == [(row.value_id, row.key) for row in share]
        assert [event.index for event in mine] == list(range(len(mine)))


def test_producers_start_together_and_keep_the_rate(history):
    due = {row.value_id: row.due_us for row in build_load(SPEC, 7)}
    starts = [event.time_us - due[event.value_id] for event in invokes(history)]
    # A record may be late on a busy machine; none is early by more than the tolerance of the waits.
    assert max(starts) - min(starts) < 5_000_000


def test_more_producers_than_task_slots_are_refused(spark):
    with pytest.raises(ScenarioError, match="9 producers need as many Spark task slots, there are 3"):
        drive(load_frame(spark), DRIVE, "unused", producers=9)


def test_a_bulk_load_is_sent_by_the_column_and_replaces_what_the_folder_contains(spark, tmp_path):
    spec = LoadSpec(topic="orders", records=400, producers=2, keys=20)
    assert spec.is_bulk
    (tmp_path / "part-00002.parquet").write_text("of an earlier run")
    with ThreadedCluster(brokers=1, topics=["orders:2:1"]) as cluster:
        settings = DriveSpec(run_id="run-1", bootstrap_servers=cluster.bootstrap_servers)
        events = drive_keyed_load(spark, spec, 7, settings, str(tmp_path))
    history = read_history(tmp_path)
    assert len(history) == events == 800
    assert Counter(event.type for event in history) == {"invoke": 400, "ok": 400}
    for producer_id, share in enumerate(shares_of(build_load(spec, 7), spec.producers)):
        mine = [event for event in invokes(history) if event.process == producer_id]
        assert [(event.index, event.value_id, event.key) for event in mine] == [
            (index, row.value_id, row.key) for index, row in enumerate(share)
        ]
