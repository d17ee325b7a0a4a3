"""A journal as a file of JSON lines, one event a line in order: written while a cluster runs, read when it is over.

A line is `{"sequence": ..., "kind": ..., field: value, ...}`; bytes are hexadecimal. Whoever stops the cluster in any
way finds every event that was complete by then.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TextIO

from broker_sim.control.journal import EVENT_KINDS
from broker_sim.errors import BrokerSimError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from broker_sim.control.events import Event
    from broker_sim.control.journal import Journal

__all__ = ["JournalFileError", "JournalWriter", "read_journal", "write_journal"]

NOT_WRITTEN: Final = "batches"
"""What an event holds by reference alone: the stored batches that a truncation has removed."""


class JournalFileError(BrokerSimError):
    """A file is no journal; names the file, the line and what is wrong with it."""


class JournalWriter:
    """Writes what a journal takes, from now on, to a new file; `close` ends it."""

    def __init__(self, path: Path, journal: Journal) -> None:
        try:
            # By the line: a process that is killed leaves what had happened, and readers need not wait for its end.
            self._file: TextIO = path.open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise JournalFileError(f"cannot write the journal {path} (--journal): {error.strerror}") from error
        self._journal = journal
        for sequence, event in journal.numbered():
            self._write(sequence, event)
        journal.sink = self._write

    def close(self) -> None:
        """Write no more."""
        self._journal.sink = None
        self._file.close()

    def _write(self, sequence: int, event: Event) -> None:
        line: dict[str, Any] = {"sequence": sequence, "kind": event.kind}
        for field in fields(event):
            if field.name != NOT_WRITTEN:
                value = getattr(event, field.name)
                line[field.name] = value.hex() if isinstance(value, bytes) else value
        self._file.write(json.dumps(line, separators=(",", ":")))
        self._file.write("\n")


def write_journal(path: Path, journal: Journal) -> None:
    """Write the events that a journal holds now to a new file. Raises JournalFileError."""
    JournalWriter(path, journal).close()


def read_journal(path: Path) -> Iterator[tuple[int, Event]]:
    """The events of a file with their numbers, in order. A last line without an end is left out; see JournalWriter."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.endswith("\n"):
                    yield _event(line, f"{path}, line {number}")
    except OSError as error:
        raise JournalFileError(f"cannot read the journal {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise JournalFileError(f"{path} is no journal: {error}") from error


def _event(line: str, where: str) -> tuple[int, Event]:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise JournalFileError(f"{where}: {error}") from error
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
