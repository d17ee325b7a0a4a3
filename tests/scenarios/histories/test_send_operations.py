from __future__ import annotations

from broker_scenarios.histories.send_operations import send_operations
from broker_scenarios.history import EventType, HistoryRecorder
from broker_scenarios.operations import Send


def test_a_send_has_the_partition_of_its_response_else_that_of_its_log() -> None:
    recorder = HistoryRecorder("")
    for value, (event, partition) in enumerate(
        [(EventType.OK, 0), (EventType.OK, 3), (EventType.FAIL, -1), (EventType.INFO, 2), (EventType.OK, -1)]
    ):
        for kind, place in ((EventType.INVOKE, -1), (event, partition)):
            recorder.record(
                kind, process=7, producer_id=1, index=value, time_us=1_000 + value, topic="orders", value_id=value,
                size_bytes=1, partition=place, offset=9, error=None if kind is EventType.INVOKE else "e",
            )  # fmt: skip
    events = recorder.drain()
    found = list(send_operations(events, 500, {2: "other-5", 0: "other-6"}))
    assert [(time_us, op.time_ms, op.process) for time_us, op in found[:2]] == [(1_000, 0.5, 7)] * 2
    assert [op.mops for _, op in found] == [
        [Send(key, value, offset)]
        for value, (key, at) in enumerate(
            [("orders-0", 9), ("orders-3", 9), ("other-5", -1), ("orders-2", -1), ("orders-0", 9)]
        )
        for offset in (-1, at)
    ]
    assert [op.error for _, op in found[:2]] == [None, "e"]
    assert [op.mops[0].key for _, op in send_operations(events[4:6], 0)] == ["orders-0"] * 2  # type: ignore[union-attr]
