from collections import Counter

import pyarrow.compute as pc
import pytest

from broker_client.errors import BufferExhausted
from broker_scenarios.errors import ScenarioError
from broker_scenarios.history import HISTORY_SCHEMA, read_history
from broker_scenarios.spark.drive import DriveSpec, drive, drive_share
from broker_scenarios.spark.load import load_frame
from broker_scenarios.workloads.keyed_load import LoadSpec, build_load
from broker_scenarios.workloads.values import value_id_of

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


class Clock:
    def __init__(self):
        self.now = 1_000.0
        self.waits = []

    def wait(self, seconds):
        self.waits.append(seconds)
        self.now += seconds


class Client:
    made = []

    def __init__(self, config):
        self.config = config
        self.sent = []
        self.closed = None
        Client.made.append(self)

    def send(self, topic, *, value, key, on_delivery):  # noqa: ARG002  (the face of a producer)
        self.sent.append(value_id_of(value))
        if len(self.sent) == 3:
            raise BufferExhausted("no memory for the record within 60000 ms", "max.block.ms")

    def close(self, timeout_s):
        self.closed = timeout_s


def share_of(spec, drive_spec=DRIVE, clock=None):
    clock = clock or Clock()
    Client.made = []
    batches = build_load(spec, 7).to_batches(max_chunksize=7)
    parts = drive_share(batches, drive_spec, Client, now_s=lambda: clock.now, wait_s=clock.wait)
    rows = [row for part in parts for row in part.to_pylist()]
    return clock, rows


def test_a_share_is_sent_when_it_is_due_by_a_client_with_a_name_of_its_own():
    clock, rows = share_of(LoadSpec(topic="t", records=5, rate_per_s=10))
    (client,) = Client.made
    assert client.sent == [0, 1, 2, 3, 4]
    assert clock.waits == pytest.approx([0.1] * 4)
    assert client.config == {"acks": "all", "bootstrap.servers": "broker:9092", "client.id": "producer-0"}
    assert client.closed == DRIVE.close_timeout_s
    assert [row["time_us"] for row in rows if row["type"] == "invoke"][-1] == pytest.approx(1_000_400_000)


def test_a_record_that_the_client_refuses_has_failed():
    _, rows = share_of(LoadSpec(topic="t", records=5))
    assert [(row["index"], row["error"]) for row in rows if row["type"] == "fail"] == [
        (2, "BufferExhausted: no memory for the record within 60000 ms; max.block.ms allows longer")
    ]


def test_a_record_that_is_never_reported_stays_open_in_the_history():
    _, rows = share_of(LoadSpec(topic="t", records=2))
    assert [row["type"] for row in rows] == ["invoke", "invoke"]


def test_several_producers_in_one_share_keep_apart():
    _, rows = share_of(LoadSpec(topic="t", records=8, producers=2))
    sent = {client.config["client.id"]: client.sent for client in Client.made}
    assert sorted(sent) == ["producer-0", "producer-1"]
    for process in (0, 1):
        invoked = [row for row in rows if row["process"] == process and row["type"] == "invoke"]
        assert [row["index"] for row in invoked] == list(range(len(invoked)))
        assert [row["value_id"] for row in invoked] == sent[f"producer-{process}"]


def test_a_cluster_that_is_too_slow_ends_the_drive_by_its_deadline():
    class SlowClient(Client):
        def send(self, topic, *, value, key, on_delivery):  # noqa: ARG002  (the face of a producer)
            clock.now += 3

    clock = Clock()
    batches = build_load(LoadSpec(topic="t", records=9), 7).to_batches()
    spec = DriveSpec(run_id="r", bootstrap_servers="b:1", deadline_s=10)
    with pytest.raises(ScenarioError, match=r"a record is 12 s late.*deadline_s allows 10"):
        list(drive_share(batches, spec, SlowClient, now_s=lambda: clock.now, wait_s=clock.wait))
    assert Client.made[-1].closed is not None
