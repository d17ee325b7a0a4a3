import pytest

from broker_client.errors import BufferExhausted
from broker_scenarios.drive import DriveSpec, drive_share
from broker_scenarios.errors import ScenarioError
from broker_scenarios.workloads.keyed_load import LoadSpec, build_load
from broker_scenarios.workloads.values import value_id_of

DRIVE = DriveSpec(run_id="run-1", bootstrap_servers="broker:9092", producer_config={"acks": "all"})


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
    parts = drive_share(build_load(spec, 7), drive_spec, Client, now_s=lambda: clock.now, wait_s=clock.wait)
    return clock, [event for part in parts for event in part]


def test_a_share_is_sent_when_it_is_due_by_a_client_with_a_name_of_its_own():
    clock, events = share_of(LoadSpec(topic="t", records=5, rate_per_s=10))
    (client,) = Client.made
    assert client.sent == [0, 1, 2, 3, 4]
    assert clock.waits == pytest.approx([0.1] * 4)
    assert client.config == {"acks": "all", "bootstrap.servers": "broker:9092", "client.id": "producer-0"}
    assert client.closed == DRIVE.close_timeout_s
    assert [event.time_us for event in events if event.type == "invoke"][-1] == pytest.approx(1_000_400_000)


def test_a_record_that_the_client_refuses_has_failed():
    _, events = share_of(LoadSpec(topic="t", records=5))
    assert [(event.index, event.error) for event in events if event.type == "fail"] == [
        (2, "BufferExhausted: no memory for the record within 60000 ms; raise max.block.ms to allow more")
    ]


def test_a_record_that_is_never_reported_stays_open_in_the_history():
    _, events = share_of(LoadSpec(topic="t", records=2))
    assert [event.type for event in events] == ["invoke", "invoke"]


def test_several_producers_in_one_share_keep_apart():
    _, events = share_of(LoadSpec(topic="t", records=8, producers=2))
    sent = {client.config["client.id"]: client.sent for client in Client.made}
    assert sorted(sent) == ["producer-0", "producer-1"]
    for process in (0, 1):
        invoked = [event for event in events if event.process == process and event.type == "invoke"]
        assert [event.index for event in invoked] == list(range(len(invoked)))
        assert [event.value_id for event in invoked] == sent[f"producer-{process}"]


def test_a_cluster_that_is_too_slow_ends_the_drive_by_its_deadline():
    class SlowClient(Client):
        def send(self, topic, *, value, key, on_delivery):  # noqa: ARG002  (the face of a producer)
            clock.now += 3

    clock = Clock()
    rows = build_load(LoadSpec(topic="t", records=9), 7)
    spec = DriveSpec(run_id="r", bootstrap_servers="b:1", deadline_s=10)
    with pytest.raises(ScenarioError, match=r"a record is 12 s late.*deadline_s allows 10"):
        list(drive_share(rows, spec, SlowClient, now_s=lambda: clock.now, wait_s=clock.wait))
    assert Client.made[-1].closed is not None
