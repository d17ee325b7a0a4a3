"""The action `lost_write`: a write that is acknowledged and never stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.log_files import FileAction
from sim_runtime.file_faults import LostWrite as LostBytes

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True, kw_only=True)
class LostWrite(FileAction):
    """Lose the next write to a file of `broker`, with an `until` all writes up to it: their place has zeros.

    The broker learns nothing of it. Its next start finds out: recovery truncates a log at the first invalid batch, a
    snapshot or an index is made anew. After an orderly stop a log is trusted, and an unreadable one ends the start.
    """

    def fire(self, firing: Firing) -> None:
        """Begin."""
        self.begin(firing, write=LostBytes())
