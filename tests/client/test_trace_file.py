from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from broker_client.core.producer.trace import BatchEvent, BatchEventKind
from broker_client.records import TopicPartition
from broker_client.trace_file import TraceFile, TraceFileError, read_trace

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
        assert list(read_trace(path)) == [EVENT]


def test_an_incomplete_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with TraceFile(path) as trace:
        trace(EVENT)
    path.write_text(path.read_text() + '{"kind":"sent"')
    assert list(read_trace(path)) == [EVENT]


def test_events_beyond_the_limit_or_after_close_are_counted(tmp_path: Path) -> None:
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
        ({"kind": "drowned"}, "line 1: unknown kind of event 'drowned' (there are created, ready"),
        ({"topic": None}, "line 1: topic is None, partition is 0"),
        ({"batch": "1"}, "line 1: batch is '1'"),
        ({"appends": [3]}, "line 1: cannot unpack"),
        ({"colour": 3}, "unexpected keyword argument 'colour'"),
    ],
)
def test_a_line_without_an_event_is_refused(tmp_path: Path, changes: dict[str, object], problem: str) -> None:
    values = {"kind": "sent", "time_us": 1, "client_id": "c", "topic": "t", "partition": 0, "batch": 1}
    values |= {"records": 1, "size_bytes": 1}
    assert problem in refusal(tmp_path / "trace.jsonl", json.dumps(values | changes))
    del values["topic"]
    assert "line 1: an event of a batch has a 'topic'" in refusal(tmp_path / "trace.jsonl", json.dumps(values))


def test_a_file_without_a_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    assert "line 1: Expecting value" in refusal(path, "hello")
    assert "line 1: an event is an object, not [1]" in refusal(path, "[1]")
    path.write_bytes(b"\xff\n")
    with pytest.raises(TraceFileError, match="is no trace"):
        list(read_trace(path))
    with pytest.raises(TraceFileError, match="cannot read the trace"):
        list(read_trace(tmp_path / "none.jsonl"))


def refusal(path: Path, line: str) -> str:
    path.write_text(f"{line}\n")
    with pytest.raises(TraceFileError) as caught:
        list(read_trace(path))
    return str(caught.value)
