from types import SimpleNamespace

import pytest

from broker_client.errors import BatchExpired, BrokerError, RecordTooLarge
from broker_scenarios.history import HistoryRecorder
from broker_scenarios.sends import Sends
from protocol_specs.error_codes import ErrorCode


@pytest.fixture
def recorder():
    return HistoryRecorder("run-1")


@pytest.fixture
def sends(recorder):
    ticks = iter(range(100, 200))
    return Sends(recorder, process=2, producer_id=1, now_us=lambda: next(ticks))


def metadata(offset=-1, partition=3):
    return SimpleNamespace(partition=partition, offset=offset, timestamp_ms=17)


def test_a_completion_carries_the_number_of_its_invoke(recorder, sends):
    first = sends.invoke(topic="t", key=b"a", value_id=10, size_bytes=8)
    second = sends.invoke(topic="t", key=b"b", value_id=11, size_bytes=9)
    second(metadata(offset=5), None)
    first(metadata(offset=6), None)
    events = recorder.drain()
    assert [(each.type, each.index, each.value_id, each.time_us) for each in events] == [
        ("invoke", 0, 10, 100),
        ("invoke", 1, 11, 101),
        ("ok", 1, 11, 102),
        ("ok", 0, 10, 103),
    ]
    assert (events[2].partition, events[2].offset, events[2].timestamp_ms, events[2].key) == (3, 5, 17, b"b")
    assert (sends.invoked, sends.completed) == (2, 2)


def maybe_written(error):
    error.maybe_written = True
    return error


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (RecordTooLarge(10, 5, "max.request.size"), "fail"),
        (BrokerError(ErrorCode.NOT_ENOUGH_REPLICAS), "fail"),
        (maybe_written(BrokerError(ErrorCode.NOT_ENOUGH_REPLICAS)), "info"),
        (BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER), "info"),
        (BatchExpired("never left", "delivery.timeout.ms"), "fail"),
        (maybe_written(BatchExpired("was sent once", "delivery.timeout.ms")), "info"),
    ],
)
def test_an_error_is_a_failure_only_when_nothing_can_be_stored(recorder, sends, error, event):
    sends.invoke(topic="t", key=None, value_id=1, size_bytes=8)(metadata(), error)
    _, completion = recorder.drain()
    assert (completion.type, completion.error_code, completion.offset) == (event, int(error.error_code), -1)
    assert completion.error.startswith(type(error).__name__)
