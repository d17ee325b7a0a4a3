"""A producer's trace as a file of JSON lines, one event per line: `Producer(trace=TraceFile("trace.jsonl"))`.

`broker-sim trace trace.jsonl` draws the file. A line is `{"kind": "drained", "client_id": ..., field: value}`; numbers
that an event does not have and empty texts are left out. Lines are in the order of their times, except for events of
two threads at almost the same time.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Self

from broker_client.core.producer.trace import BatchEvent, BatchEventKind
from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

__all__ = ["LIMIT_EVENTS", "TraceFile", "TraceFileError", "read_trace"]

LIMIT_EVENTS: Final = 5_000_000
"""The number of events per file, about a gigabyte; later events are counted and left out."""

_DEFAULTS: Final = {field.name: field.default for field in fields(BatchEvent)}
_KINDS: Final = {kind.value: kind for kind in BatchEventKind}


class TraceFileError(ProducerError):
    """A trace file cannot be written, or one of its lines is not an event of a batch."""


class TraceFile:
    """Receives the events of producers, from any thread; close it after them, or use it in a `with` block.

    Raises:
        TraceFileError: the file cannot be written.
    """

    def __init__(self, path: str | Path, *, limit_events: int = LIMIT_EVENTS) -> None:
        try:
            # Line buffering: a killed program leaves the events so far.
            self._file = Path(path).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115 - closed by `close`
        except OSError as error:
            raise TraceFileError(f"cannot write the trace {path}: {reason_of(error)}") from error
        self._limit_events = limit_events
        self._lock = Lock()
        self.events = 0
        self.left_out = 0

    def __call__(self, event: BatchEvent) -> None:
        """Write one event."""
        line = json.dumps(_values(event), separators=(",", ":"))
        with self._lock:
            if self.events >= self._limit_events or self._file.closed:
                self.left_out += 1
                return
            self.events += 1
            self._file.write(f"{line}\n")

    def close(self) -> None:
        """Close the file; later events are counted in `left_out`."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_trace(path: Path) -> Iterator[BatchEvent]:
    """Yield the events of a file, without an incomplete last line of a running or killed program.

    Raises:
        TraceFileError: a line is not an event; names the line and the reason.
    """
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.endswith("\n"):
                    yield _event(line, f"{path}, line {number}")
    except OSError as error:
        raise TraceFileError(f"cannot read the trace {path}: {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise TraceFileError(f"{path} is no trace: {error}") from error


def _event(line: str, where: str) -> BatchEvent:
    try:
        given = json.loads(line)
    except json.JSONDecodeError as error:
        raise TraceFileError(f"{where}: {error}") from error
    if not isinstance(given, dict):
        raise TraceFileError(f"{where}: an event is an object, not {line.strip()[:40]}")
    name = given.pop("kind", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise TraceFileError(f"{where}: unknown kind of event {name!r} (there are {', '.join(_KINDS)})")
    try:
        topic, partition = given.pop("topic"), given.pop("partition")
        if not (isinstance(topic, str) and isinstance(partition, int)):
            raise TypeError(f"topic is {topic!r}, partition is {partition!r}")  # noqa: TRY301
        key = TopicPartition(topic, partition)
        given["appends"] = tuple((time_us, count) for time_us, count in given.get("appends", ()))
        event = BatchEvent(kind=kind, topic_partition=key, **given)
    except KeyError as error:
        raise TraceFileError(f"{where}: an event of a batch has a {error}") from error
    except (TypeError, ValueError) as error:
        raise TraceFileError(f"{where}: {error}") from error
    for field in fields(event):
        value = getattr(event, field.name)
        if field.type in _TYPES and not isinstance(value, _TYPES[field.type]):
            raise TraceFileError(f"{where}: {field.name} is {value!r}")
    return event


_TYPES: Final[Mapping[Any, type]] = {"int": int, "str": str}


def _values(event: BatchEvent) -> dict[str, Any]:
    topic, partition = event.topic_partition
    values: dict[str, Any] = {
        "kind": event.kind.value,
        "time_us": event.time_us,
        "client_id": event.client_id,
        "topic": topic,
        "partition": partition,
    }
    for name, default in _DEFAULTS.items():
        if name not in ("kind", "topic_partition"):
            value = getattr(event, name)
            if default is MISSING or value != default:
                values[name] = value
    return values
