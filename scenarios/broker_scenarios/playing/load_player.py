"""Sends one producer's share of a load: each record when it is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.playing.client_process import ClientProcess
from broker_scenarios.playing.outbox import SentRecord
from broker_scenarios.playing.run_limits import RunLimitExceeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.playing.stage import Stage
    from broker_scenarios.workloads.keyed_load import LoadRow

__all__ = ["LoadPlayer"]


class LoadPlayer:
    """One client that sends rows of a load; the times of the load count from `start`."""

    def __init__(self, stage: Stage, group: ClientGroup, number: int, rows: Sequence[LoadRow]) -> None:
        self.stage = stage
        self.group = group
        self.client_id = group.client_id(number)
        self._left = len(rows)
        self._due = iter(rows)
        self._start_s = 0.0
        self.process = ClientProcess(stage, group, self.client_id, self.client_id)

    @property
    def unfinished(self) -> int:
        """How many records have no outcome yet."""
        return self._left + self.process.sends.invoked - self.process.sends.completed

    @property
    def place(self) -> str:
        """The part of the load that is played."""
        return "load" if self._left else "load, all sent"

    @property
    def has_ended(self) -> bool:
        """True if every record has an outcome."""
        return not self.unfinished

    def start(self) -> None:
        """Start sending."""
        self.process.start()
        self._start_s = self.process.reactor.seconds() + self.group.load_after_ms / 1000
        self._next()

    def kill(self) -> None:
        """Kill the process, as a rule does: what it has not sent is never sent."""
        self._left = 0
        self._due = iter(())
        self.process.crash()

    def _next(self) -> None:
        row = next(self._due, None)
        if row is not None:
            delay_s = max(0.0, self._start_s + row.due_us / 1e6 - self.process.reactor.seconds())
            self.process.reactor.callLater(delay_s, self._send, row)

    def _send(self, row: LoadRow) -> None:
        self._left -= 1
        record = SentRecord(topic=row.topic, value_id=row.value_id, size_bytes=row.size_bytes, key=row.key, headers={})
        try:
            self.process.send(record)
        except RunLimitExceeded as error:
            self.stage.problems.append(f"client {self.client_id}: {error}")
            self._left = 0
            return
        self._next()
