from collections import Counter

import pyarrow.compute as pc
import pytest

from broker_scenarios.drive import DriveSpec
from broker_scenarios.errors import ScenarioError
from broker_scenarios.history import HISTORY_SCHEMA, read_history
from broker_scenarios.spark.drive import drive
from broker_scenarios.spark.load import load_frame
from broker_scenarios.workloads.keyed_load import LoadSpec, build_load

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


@pytest.fixture(scope="module")
def history(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("drive") / "history"
    drive(load_frame(spark, SPEC, 7), DRIVE, producers=3, make_producer=fake_producers()).write.parquet(str(path))
    return read_history(path)


def test_every_record_of_the_load_is_sent_once_and_reported_once(history):
    assert history.schema == HISTORY_SCHEMA
    assert Counter(history.column("type").to_pylist()) == {"invoke": 400, "ok": 400}
    invoked = history.filter(pc.equal(history.column("type"), "invoke"))
    assert sorted(invoked.column("value_id").to_pylist()) == list(range(400))


def test_each_producer_sends_its_own_share_in_the_order_of_the_load(history):
    invoked = history.filter(pc.equal(history.column("type"), "invoke"))
    expected = build_load(SPEC, 7)
    for producer_id in range(3):
        mine = invoked.filter(pc.equal(invoked.column("process"), producer_id)).sort_by("index")
        share = expected.filter(pc.equal(expected.column("producer_id"), producer_id))
        assert mine.column("value_id").to_pylist() == share.column("value_id").to_pylist()
        assert mine.column("key").to_pylist() == share.column("key").to_pylist()
        assert mine.column("index").to_pylist() == list(range(mine.num_rows))


def test_producers_begin_together_and_keep_the_rate(history):
    invoked = history.filter(pc.equal(history.column("type"), "invoke"))
    due = dict(zip(*(build_load(SPEC, 7).column(name).to_pylist() for name in ("value_id", "due_us")), strict=True))
    times = zip(invoked.column("value_id").to_pylist(), invoked.column("time_us").to_pylist(), strict=True)
    starts = [time_us - due[value_id] for value_id, time_us in times]
    # A record may be late on a busy machine; none is early by more than the waits' slack.
    assert max(starts) - min(starts) < 5_000_000


def test_more_producers_than_task_slots_are_refused(spark):
    with pytest.raises(ScenarioError, match="9 producers need as many Spark task slots, there are 3"):
        drive(load_frame(spark, SPEC, 7), DRIVE, producers=9)
