"""Errors of files that an earlier process has written."""

from __future__ import annotations

from broker_sim.errors import BrokerSimError


class CorruptFile(BrokerSimError):
    """An unreadable file: its path, the position of the first wrong byte, and the reason."""

    def __init__(self, path: str, position: int, problem: str) -> None:
        super().__init__(path, position, problem)
        self.path = path
        self.position = position
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: byte {self.position}: {self.problem}"


class ForeignDirectory(BrokerSimError):
    """A directory of another owner: in use, of another cluster, or of another broker."""
