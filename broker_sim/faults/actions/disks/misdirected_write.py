"""The action `misdirected_write`: a write over earlier bytes of its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.log_files import WrongWriteAction
from sim_runtime.file_faults import MisdirectedWrite as MisdirectedBytes

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True, kw_only=True)
class MisdirectedWrite(WrongWriteAction):
    """Store the next write to a file of `broker` over earlier bytes of it, with an `until` all writes up to it.

    Its own place has zeros. The broker learns nothing of it. Its next start finds out: recovery truncates a log at the
    first invalid batch behind the recovery point. What lies before that is trusted, and consumers find the damage.
    """

    def fire(self, firing: Firing) -> None:
        """Begin."""
        self.begin(firing, write=MisdirectedBytes(firing.number("place", self.place)))
