"""The action `torn_write`: a write of which the first part alone is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.log_files import WrongWriteAction
from sim_runtime.file_faults import TornWrite as TornBytes

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True, kw_only=True)
class TornWrite(WrongWriteAction):
    """Tear the next write to a file of `broker`, with an `until` all writes up to it: zeros follow the first bytes.

    The broker learns nothing of it. Its next start finds out: recovery truncates a log at the first invalid batch, a
    snapshot or an index is made anew. After an orderly stop a log is trusted, and consumers find the wrong checksum.
    """

    def fire(self, firing: Firing) -> None:
        """Begin."""
        self.begin(firing, write=TornBytes(firing.number("place", self.place)))
