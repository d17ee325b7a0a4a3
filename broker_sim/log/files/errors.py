"""What can be wrong with files that were there before this process was."""

from __future__ import annotations

from broker_sim.errors import BrokerSimError


class CorruptFile(BrokerSimError):
    """A file that nobody can read: the path, the byte where it goes wrong, and what is wrong there."""

    def __init__(self, path: str, position: int, problem: str) -> None:
        super().__init__(path, position, problem)
        self.path = path
        self.position = position
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: byte {self.position}: {self.problem}"


class ForeignDirectory(BrokerSimError):
    """A directory that is somebody else's: in use, of another cluster, or of another broker."""
