"""The action `read_error`: files of a log that cannot be read."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.log_files import FileAction

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadError(FileAction):
    """Let every read of files of `broker` raise an I/O error until the rule closes.

    A Fetch that reads a `log` fails its log directory (KIP-112). The other kinds are read when a broker starts: its
    directory is then offline.
    """

    def fire(self, firing: Firing) -> None:
        """Begin."""
        self.begin(firing, read_error=errno.EIO)
