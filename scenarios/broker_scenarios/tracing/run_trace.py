"""The files of a run for `broker-sim trace`: the events of its producers, and the journal of its brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from broker_client.trace_file import TraceFile, TraceFileError
from broker_scenarios.errors import ScenarioError
from broker_scenarios.tracing.sources import FILE_SUFFIX
from broker_sim.control.journal_file import JournalWriter
from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from broker_sim.control.journal import Journal

__all__ = ["RunTrace"]


class RunTrace:
    """The two files: `producers` is the trace of every producer, `follow` records the cluster's journal."""

    def __init__(self, folder: Path, name: str) -> None:
        self.paths = tuple(folder / f"{name}.{side}{FILE_SUFFIX}" for side in ("producers", "brokers"))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.producers = TraceFile(self.paths[0])
        except OSError as error:
            raise ScenarioError(f"cannot write to {folder} (--trace): {reason_of(error)}") from error
        except TraceFileError as error:
            raise ScenarioError(f"{error} (--trace)") from error
        self._brokers: JournalWriter | None = None

    def follow(self, journal: Journal) -> None:
        """Record the journal from its first event on."""
        self._brokers = JournalWriter(self.paths[1], journal)

    def stop(self) -> None:
        """Stop recording the journal; called on the thread of the cluster."""
        if self._brokers is not None:
            self._brokers.close()
            self._brokers = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.producers.close()
