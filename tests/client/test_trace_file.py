from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from broker_client.core.trace import BatchEvent, BatchEventKind
from broker_client.records import TopicPartition
from broker_client.trace_file import TraceFile, TraceFileError, event_of_line

if TYPE_CHECKING:
    from pathlib import Path

EVENT = BatchEvent(
    kind=BatchEventKind.APPENDED,
    time_us=12,
    client_id="c",
    topic_partition=TopicPartition("t", 3),
    batch=0,
    records=5,
    size_bytes=100,
    base_sequence=0,
    appends=((10, 2), (11, 3)),
)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_an_event_comes_back_as_it_was_and_unset_fields_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with TraceFile(path) as trace:
        trace(EVENT)
        (line,) = lines(path)
        assert "correlation_id" not in line
        assert event_of_line(json.loads(line), "here") == EVENT


def test_what_is_beyond_the_limit_or_comes_after_the_end_is_counted(tmp_path: Path) -> None:
    trace = TraceFile(tmp_path / "trace.jsonl", limit_events=2)
    for _ in range(3):
        trace(EVENT)
    assert (trace.events, trace.left_out) == (2, 1)
    trace.close()
    trace(EVENT)
    assert (trace.left_out, len(lines(tmp_path / "trace.jsonl"))) == (2, 2)


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceFileError, match=r"cannot write the trace .*nowhere.*: No such file or directory"):
        TraceFile(tmp_path / "nowhere" / "trace.jsonl")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"kind": "drowned"}, "here: unknown kind of event 'drowned' (there are created, ready"),
        ({"partition": None}, "here: topic is 't', partition is None"),
        ({"batch": "1"}, "here: batch is '1'"),
        ({"appends": [3]}, "here: cannot unpack"),
        ({"colour": 3}, "unexpected keyword argument 'colour'"),
    ],
)
def test_a_line_that_is_no_event_is_refused(changes: dict[str, object], problem: str) -> None:
    values = {"kind": "sent", "time_us": 1, "client_id": "c", "topic": "t", "partition": 0, "batch": 1}
    values |= {"records": 1, "size_bytes": 1}
    with pytest.raises(TraceFileError) as caught:
        event_of_line(values | changes, "here")
    assert problem in str(caught.value)
    del values["topic"]
    with pytest.raises(TraceFileError, match="here: an event of a batch has a 'topic'"):
        event_of_line(values, "here")
