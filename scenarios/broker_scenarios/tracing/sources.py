"""The sources of a trace: a scenario that is run, or files (brokers' journals and producers' traces)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from broker_client.trace_file import TraceFileError, read_trace
from broker_scenarios.errors import ScenarioError
from broker_sim.control.journal_file import read_journal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from broker_client.core.producer.trace import BatchEvent
    from broker_scenarios.language.scenario import Scenario
    from broker_sim.control.events import Event

__all__ = ["TraceSource", "has_events", "read_files", "run_scenario"]

FILE_SUFFIX: Final = ".jsonl"


@dataclass(slots=True, kw_only=True)
class TraceSource:
    """The events of a run: `journal` of the brokers, numbered and in order, `batches` of the producers."""

    name: str
    journal: Sequence[tuple[int, Event]] = ()
    batches: list[BatchEvent] = field(default_factory=list)

    @property
    def start_us(self) -> int:
        """The time of the first event."""
        starts = [event.time_us for event in self.batches[:1]]
        return min([*starts, *(event.time_us for _, event in self.journal[:1])], default=0)


def run_scenario(scenario: Scenario, seed: int, *, with_batches: bool) -> TraceSource:
    """Run it on virtual time; the events of producers cost memory and are kept only `with_batches`."""
    from broker_scenarios.virtual_run import VirtualRun

    source = TraceSource(name=scenario.name)
    run = VirtualRun(scenario, seed, trace=source.batches.append if with_batches else None)
    run.run(None)
    source.journal = list(run.cluster.journal.numbered())
    return source


def read_files(paths: Sequence[Path]) -> TraceSource:
    """Read all files. Raises ScenarioError with the line of a file that cannot be read."""
    source = TraceSource(name=" and ".join(map(str, paths)))
    journals = []
    for path in paths:
        if _is_trace(path):
            try:
                source.batches += read_trace(path)
            except TraceFileError as error:
                raise ScenarioError(str(error)) from error
        else:
            journals.append(list(read_journal(path)))
    if len(journals) == 1:
        source.journal = journals[0]
    else:
        events = sorted((event for journal in journals for _, event in journal), key=lambda event: event.time_us)
        source.journal = list(enumerate(events, 1))
    return source


def has_events(path: Path) -> bool:
    """Return True for a journal or a trace, by its name or its first line; False for a scenario."""
    return path.suffix == FILE_SUFFIX or "kind" in _first_event(path)


def _is_trace(path: Path) -> bool:
    """Return True if the first line is an event of a producer: those of a journal are numbered."""
    values = _first_event(path)
    return "client_id" in values and "sequence" not in values


def _first_event(path: Path) -> dict[str, Any]:
    """Return the object in the first line, an empty one without: the reader of the file reports the error."""
    try:
        with path.open(encoding="utf-8") as file:
            values = json.loads(file.readline())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
