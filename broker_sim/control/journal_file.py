"""A journal as a file of JSON lines, one event per line in order: written while a cluster runs, read when it is over.

A line is `{"sequence": ..., "kind": ..., field: value, ...}`; bytes are hexadecimal. A process that is
killed leaves every event that was complete by then.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TextIO

from broker_sim.control.events import BYTES_FIELDS
from broker_sim.control.journal import EVENT_KINDS
from broker_sim.errors import BrokerSimError, nearest
from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from broker_sim.control.events import Event
    from broker_sim.control.journal import Journal

__all__ = ["JournalFileError", "JournalWriter", "event_line", "read_event", "read_journal", "write_journal"]


class JournalFileError(BrokerSimError):
    """A file is no journal; the message names the file, the line and the problem."""


class JournalWriter:
    """Writes the events of a journal, those that it holds and all that follow, to a new file; `close` ends it."""

    def __init__(self, path: Path, journal: Journal) -> None:
        try:
            # Line by line: a process that is killed leaves all events, and readers need not wait for its end.
            self._file: TextIO = path.open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise JournalFileError(f"cannot write the journal {path} (--journal): {reason_of(error)}") from error
        self._journal = journal
        for sequence, event in journal.numbered():
            self._write(sequence, event)
        journal.sink = self._write

    def close(self) -> None:
        """Stop writing."""
        self._journal.sink = None
        self._file.close()

    def _write(self, sequence: int, event: Event) -> None:
        self._file.write(json.dumps(event_line(sequence, event), separators=(",", ":")))
        self._file.write("\n")


def event_line(sequence: int, event: Event) -> dict[str, Any]:
    """Return an event as the object of its line."""
    line: dict[str, Any] = {"sequence": sequence, "kind": event.kind}
    for field in fields(event):
        if field.name not in BYTES_FIELDS:
            value = getattr(event, field.name)
            line[field.name] = value.hex() if isinstance(value, bytes) else value
    return line


def write_journal(path: Path, journal: Journal) -> None:
    """Write the events that a journal holds now to a new file. Raises JournalFileError."""
    JournalWriter(path, journal).close()


def read_journal(path: Path) -> Iterator[tuple[int, Event]]:
    """Return the events of a file with their sequence numbers, in order, without an incomplete last line.

    Raises:
        JournalFileError: the file cannot be read, or a line is no event.
    """
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.endswith("\n"):
                    yield _event(line, f"{path}, line {number}")
    except OSError as error:
        raise JournalFileError(f"cannot read the journal {path}: {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise JournalFileError(f"{path} is no journal: {error}") from error


def _event(line: str, where: str) -> tuple[int, Event]:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise JournalFileError(f"{where}: no JSON, {error}; a journal has one event per line") from error
    return read_event(values, where)


def read_event(values: object, where: str) -> tuple[int, Event]:
    """Return the event of an object of a line, with its sequence number. Raises JournalFileError with `where`."""
    if not isinstance(values, dict) or not isinstance(values.get("sequence"), int):
        raise JournalFileError(f"{where}: an event has a sequence and a kind")
    sequence = values.pop("sequence")
    name = str(values.pop("kind", None))
    kind = EVENT_KINDS.get(name)
    if kind is None:
        raise JournalFileError(f"{where}: unknown kind of event {name!r}{nearest(name, EVENT_KINDS)}")
    for field in fields(kind):
        value = values.get(field.name)
        try:
            if field.type == "bytes" and isinstance(value, str):
                values[field.name] = bytes.fromhex(value)
        except ValueError as error:
            raise JournalFileError(f"{where}: {field.name}: {error}") from error
        if isinstance(value, list):
            values[field.name] = tuple(value)
    try:
        return sequence, kind(**values)
    except TypeError as error:
        raise JournalFileError(f"{where}: {error}") from error
